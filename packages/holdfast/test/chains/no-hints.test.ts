// Chains on memory without a single hint: polling finds everything, later.

import { MemoryStorage } from 'holdfast'
import { chainTests } from './suites.ts'

chainTests({
  name: 'memory without hints',
  hints: false,
  open: async () => ({ storage: new MemoryStorage(), close: async () => {} }),
})
