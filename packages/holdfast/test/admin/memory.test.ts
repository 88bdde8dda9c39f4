// The admin handle on memory.

import { MemoryStorage } from 'holdfast'
import { adminTests } from './admin-tests.ts'

adminTests({ name: 'memory', open: async () => ({ storage: new MemoryStorage(), close: async () => {} }) })
