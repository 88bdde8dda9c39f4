// The Queue on memory.

import { MemoryStorage } from 'holdfast'
import { queueTests } from './suites.ts'

queueTests({ name: 'memory', open: async () => ({ storage: new MemoryStorage(), close: async () => {} }) })
