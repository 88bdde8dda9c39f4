// Chains on memory.

import { MemoryStorage } from 'holdfast'
import { chainTests } from './suites.ts'

chainTests({ name: 'memory', open: async () => ({ storage: new MemoryStorage(), close: async () => {} }) })
