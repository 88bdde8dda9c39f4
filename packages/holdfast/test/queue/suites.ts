// The Queue's tests, the same on every driver; and the part of them for another way to a driver that has passed them all.

import { anyValueTests } from './any-value.ts'

import { byteTests } from './bytes.ts'
import { cancelTests } from './cancel.ts'
import { costTests } from './cost.ts'
import { connectionTests } from './connections.ts'
import type { TestDriver } from './driver.ts'
import { duplicateTests } from './duplicates.ts'
import { enqueueTests } from './enqueue.ts'
import { abortErrorTests } from './errors-aborts.ts'
import { storedErrorTests } from './errors-stored.ts'
import { errorTests } from './errors.ts'
import { lostEventTests } from './events-lost.ts'
import { eventTests } from './events.ts'
import { fencingTests } from './fencing.ts'
import { growthTests } from './growth.ts'
import { handlerTests } from './handler.ts'
import { hostileIdTests } from './hostile-ids.ts'
import { idleWorkerTests } from './idle-workers.ts'
import { inputConfigTests } from './input-config.ts'
import { inputOptionTests } from './input-options.ts'
import { inputTests } from './input.ts'
import { lifecycleTests } from './lifecycle.ts'
import { listenerTests } from './listeners.ts'
import { orderTests } from './order.ts'
import { outageTests } from './outages.ts'
import { racingTests } from './racing.ts'
import { reaperTests } from './reaper.ts'
import { resultTests } from './results.ts'
import { retentionTests } from './retention.ts'
import { sharingTests } from './sharing.ts'
import { stallTests } from './stalls.ts'
import { statusTests } from './status.ts'
import { stopTests } from './stop.ts'
import { storageFaultTests } from './storage-faults.ts'
import { streamGapTests } from './stream-gaps.ts'
import { streamTests } from './stream.ts'
import { transactionTests } from './transactions.ts'
import { typeTests } from './types.ts'
import { undecodableTests } from './undecodable.ts'
import { waitTests } from './wait.ts'
import { isFull } from '../full-size.ts'

export function queueTests(driver: TestDriver): void {
  abortErrorTests(driver)
  anyValueTests(driver)
  storageFaultTests(driver)
  byteTests(driver)
  cancelTests(driver)
  connectionTests(driver)
  costTests(driver)
  duplicateTests(driver)
  enqueueTests(driver)
  errorTests(driver)
  eventTests(driver)
  fencingTests(driver)
  growthTests(driver)
  handlerTests(driver)
  hostileIdTests(driver)
  idleWorkerTests(driver)
  inputConfigTests(driver)
  inputOptionTests(driver)
  inputTests(driver)
  lifecycleTests(driver)
  listenerTests(driver)
  lostEventTests(driver)
  orderTests(driver)
  outageTests(driver)
  racingTests(driver)
  reaperTests(driver)
  resultTests(driver)
  retentionTests(driver)
  sharingTests(driver)
  stallTests(driver)
  statusTests(driver)
  stopTests(driver)
  storedErrorTests(driver)
  streamGapTests(driver)
  streamTests(driver)
  transactionTests(driver)
  typeTests(driver)
  undecodableTests(driver)
  waitTests(driver)
}

/** What can differ by the way to a server: connections, bytes, hints. HOLDFAST_TEST_ALL=1 runs everything. */
export function otherWayTests(driver: TestDriver): void {
  if (isFull) return queueTests(driver)
  byteTests(driver)
  connectionTests(driver)
  lifecycleTests(driver)
  listenerTests(driver)
  sharingTests(driver)
  waitTests(driver)
}
