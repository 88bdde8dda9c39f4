// Chains on memory without hints: the fallback poll finds everything.

import { MemoryStorage } from 'holdfast'
import { chainTests } from './suites.ts'

chainTests({
  name: 'memory without hints',
  hints: false,
  open: async () => ({ storage: new MemoryStorage(), close: async () => {} }),
})
