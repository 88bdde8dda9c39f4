// The tests of tasks that run on every driver.

import { busyLoopTests } from './busy-loops.ts'
import { conformanceTests } from './conformance.ts'
import { deduplicationModeTests } from './deduplication-modes.ts'
import { isUsual } from '../full-size.ts'
import type { ProcessDriver } from '../processes/drivers.ts'
import { largeBatchTests } from './large-batches.ts'
import { modelTests } from './model.ts'
import { onDriverTests } from './on-drivers.ts'
import { operationTests } from './operations.ts'
import { processTests } from './processes.ts'

export async function taskTests(driver: ProcessDriver): Promise<void> {
  await conformanceTests(driver)
  processTests(driver)
  if (isUsual(driver.name)) ownTests(driver)
}

/** What the tasks make of a message queue and a store that conform. */
function ownTests(driver: ProcessDriver): void {
  onDriverTests(driver)
  busyLoopTests(driver)
  deduplicationModeTests(driver)
  largeBatchTests(driver)
  operationTests(driver)
  modelTests(driver)
}
