import { MemoryStorage } from 'holdfast'
import { anyValueTests } from './any-value.ts'
import { badLineTests } from './bad-line.ts'
import { byteTests } from './bytes.ts'
import { costTests } from './cost.ts'
import type { TestDriver } from './driver.ts'
import { duplicateTests } from './duplicates.ts'
import { fencingTests } from './fencing.ts'
import { growthTests } from './growth.ts'
import { idleWorkerTests } from './idle-workers.ts'
import { racingTests } from './racing.ts'
import { sharingTests } from './sharing.ts'
import { statusTests } from './status.ts'

const memory: TestDriver = {
  name: 'memory',
  open: async () => ({ storage: new MemoryStorage(), close: async () => {} }),
}
for (const tests of [
  anyValueTests,
  badLineTests,
  byteTests,
  costTests,
  duplicateTests,
  fencingTests,
  growthTests,
  idleWorkerTests,
  racingTests,
  sharingTests,
  statusTests,
])
  tests(memory)
