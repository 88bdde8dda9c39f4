// The tests of chains: what can differ by driver on every driver, the others on the usual ones.

import { attemptTests } from './attempts.ts'
import { blockerTests } from './blockers.ts'
import { busyLoopTests } from './busy-loops.ts'
import { isUsual } from '../full-size.ts'
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
  if (isUsual(driver.name)) ownTests(driver)
  blockerTests(driver)
  busyLoopTests(driver)
  leaseTests(driver)
  manyBlockerTests(driver)
  transactionTests(driver)
  waitTests(driver)
}

/** What the chains make of the answers of a storage. The verbs that they call have their cases in the conformance suite. */
function ownTests(driver: ChainDriver): void {
  attemptTests(driver)
  faceTests(driver)
  flakyTests(driver)
  middlewareTests(driver)
  observerTests(driver)
  operatingTests(driver)
  reportTests(driver)
  startTests(driver)
  deduplicationModeTests(driver)
  stopTests(driver)
  workerlessTests(driver)
}
