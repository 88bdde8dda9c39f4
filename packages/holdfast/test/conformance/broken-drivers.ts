// Drivers that are broken on purpose, each in one way. A suite that passes on one of them proves nothing.

import type { BrokenDriver } from './broken/driver.ts'
import { brokenFences } from './broken/fences.ts'
import { brokenStoredData } from './broken/stored-data.ts'
import { brokenAttempts } from './broken/attempts.ts'
import { brokenLimits } from './broken/limits.ts'
import { brokenOrder } from './broken/order.ts'

export { openBroken } from './broken/driver.ts'

export const brokenDrivers: readonly BrokenDriver[] = [
  ...brokenFences,
  ...brokenOrder,
  ...brokenAttempts,
  ...brokenStoredData,
  ...brokenLimits,
]
