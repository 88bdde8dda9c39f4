// The tests of chains, the same on every driver.

import type { TestDriver } from '../queue/driver.ts'
import { attemptTests } from './attempts.ts'
import { blockerTests } from './blockers.ts'
import { leaseTests } from './leases.ts'
import { startTests } from './starts.ts'
import { waitTests } from './waits.ts'
import { workerlessTests } from './workerless.ts'

export function chainTests(driver: TestDriver): void {
  attemptTests(driver)
  blockerTests(driver)
  leaseTests(driver)
  startTests(driver)
  waitTests(driver)
  workerlessTests(driver)
}
