// The tests of chains, the same on every driver.

import type { TestDriver } from '../queue/driver.ts'
import { blockerTests } from './blockers.ts'
import { startTests } from './starts.ts'

export function chainTests(driver: TestDriver): void {
  blockerTests(driver)
  startTests(driver)
}
