// The tests of tasks that are the same on every driver.

import { conformanceTests } from './conformance.ts'
import type { TaskDriver } from './drivers.ts'
import { modelTests } from './model.ts'
import { onDriverTests } from './on-drivers.ts'
import { processTests } from './processes.ts'

export async function taskTests(driver: TaskDriver): Promise<void> {
  await conformanceTests(driver)
  onDriverTests(driver)
  modelTests(driver)
  processTests(driver)
}
