// The tests of chains, the same on every driver.

import { attemptTests } from './attempts.ts'
import { blockerTests } from './blockers.ts'
import { busyLoopTests } from './busy-loops.ts'
import type { ChainDriver } from './driver.ts'
import { faceTests } from './faces.ts'
import { flakyTests } from './flaky.ts'
import { leaseTests } from './leases.ts'
import { manyBlockerTests } from './many-blockers.ts'
import { middlewareTests } from './middlewares.ts'
import { observerTests } from './observing.ts'
import { operatingTests } from './operating.ts'
import { reportTests } from './reports.ts'
import { deduplicationModeTests } from './deduplication-modes.ts'
import { startTests } from './starts.ts'
import { stopTests } from './stops.ts'
import { transactionTests } from './transactions.ts'
import { waitTests } from './waits.ts'
import { workerlessTests } from './workerless.ts'

export function chainTests(driver: ChainDriver): void {
  attemptTests(driver)
  blockerTests(driver)
  busyLoopTests(driver)
  faceTests(driver)
  flakyTests(driver)
  leaseTests(driver)
  manyBlockerTests(driver)
  middlewareTests(driver)
  observerTests(driver)
  operatingTests(driver)
  reportTests(driver)
  startTests(driver)
  deduplicationModeTests(driver)
  stopTests(driver)
  transactionTests(driver)
  waitTests(driver)
  workerlessTests(driver)
}
