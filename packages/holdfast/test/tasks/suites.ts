// The tests of tasks that run on every driver.

import { conformanceTests } from './conformance.ts'
import type { ProcessDriver } from '../processes/drivers.ts'
import { modelTests } from './model.ts'
import { onDriverTests } from './on-drivers.ts'
import { processTests } from './processes.ts'

export async function taskTests(driver: ProcessDriver): Promise<void> {
  await conformanceTests(driver)
  onDriverTests(driver)
  modelTests(driver)
  processTests(driver)
}
