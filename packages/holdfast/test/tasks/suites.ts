// The tests of tasks that are the same on every driver.

import { conformanceTests } from './conformance.ts'
import type { TaskDriver } from './drivers.ts'

export async function taskTests(driver: TaskDriver): Promise<void> {
  await conformanceTests(driver)
}
