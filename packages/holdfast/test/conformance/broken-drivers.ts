// Drivers that are wrong on purpose, each in one way. A suite that lets one of them pass proves nothing.

import type { BrokenDriver } from './broken/driver.ts'
import { brokenFences } from './broken/fences.ts'
import { brokenKeeping } from './broken/keeping.ts'
import { brokenLife } from './broken/life.ts'
import { brokenOrder } from './broken/order.ts'

export { openBroken } from './broken/driver.ts'

export const brokenDrivers: readonly BrokenDriver[] = [...brokenFences, ...brokenOrder, ...brokenLife, ...brokenKeeping]
