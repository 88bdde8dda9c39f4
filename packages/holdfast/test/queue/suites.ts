// The Queue's tests, the same on every driver; and the part of them for another way to a driver that has passed them all.

import { anyValueTests } from './any-value.ts'

import { busyLoopTests } from './busy-loops.ts'
import { byteTests } from './bytes.ts'
import { cancelOptionTests } from './cancel-options.ts'
import { cancelTests } from './cancel.ts'
import { costTests } from './cost.ts'
import { connectionTests } from './connections.ts'
import { deadLetterTests } from './dead-letters.ts'
import type { TestDriver } from './driver.ts'
import { deduplicationModeTests } from './deduplication-modes.ts'
import { duplicateTests } from './duplicates.ts'
import { enqueueManyTests } from './enqueue-many.ts'
import { enqueueTests } from './enqueue.ts'
import { abortErrorTests } from './errors-aborts.ts'
import { storedErrorTests } from './errors-stored.ts'
import { errorTests } from './errors.ts'
import { lostEventTests } from './events-lost.ts'
import { eventTests } from './events.ts'
import { fencingTests } from './fencing.ts'
import { getJobTests } from './get-job.ts'
import { growthTests } from './growth.ts'
import { handlerTests } from './handler.ts'
import { hostileIdTests } from './hostile-ids.ts'
import { idleCostTests } from './idle-cost.ts'
import { idleWorkerTests } from './idle-workers.ts'
import { inputConfigTests } from './input-config.ts'
import { inputOptionTests } from './input-options.ts'
import { inputTests } from './input.ts'
import { jobOptionTests } from './job-options.ts'
import { leftoverTests } from './leftovers.ts'
import { lifecycleTests } from './lifecycle.ts'
import { listenerTests } from './listeners.ts'
import { operatingTests } from './operating.ts'
import { onDuplicateTests } from './on-duplicate.ts'
import { orderTests } from './order.ts'
import { outageTests } from './outages.ts'
import { racingTests } from './racing.ts'
import { reaperTests } from './reaper.ts'
import { rescheduleTests } from './reschedule.ts'
import { reportTests } from './reports.ts'
import { resultTests } from './results.ts'
import { retentionTests } from './retention.ts'
import { scheduleTests } from './schedules.ts'
import { searchTests } from './search.ts'
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
import { isFull, isUsual } from '../full-size.ts'

export function queueTests(driver: TestDriver): void {
  if (isFull || driver.name === 'memory') faceTests(driver)
  if (isUsual(driver.name)) engineTests(driver)
  busyLoopTests(driver)
  byteTests(driver)
  connectionTests(driver)
  enqueueManyTests(driver)
  eventTests(driver)
  fencingTests(driver)
  growthTests(driver)
  leftoverTests(driver)
  hostileIdTests(driver)
  idleCostTests(driver)
  idleWorkerTests(driver)
  lostEventTests(driver)
  outageTests(driver)
  racingTests(driver)
  sharingTests(driver)
  streamTests(driver)
  transactionTests(driver)
  waitTests(driver)
}

/**
 * What the engine makes of the answers of a storage, of its faults and of the options of a job. The verbs that it calls have their cases
 * in the conformance suite, on each driver. What can differ on a driver that passes it (connections, concurrent calls, bytes, hints, cost)
 * is above.
 */
function engineTests(driver: TestDriver): void {
  abortErrorTests(driver)
  storageFaultTests(driver)
  cancelOptionTests(driver)
  cancelTests(driver)
  costTests(driver)
  deadLetterTests(driver)
  deduplicationModeTests(driver)
  duplicateTests(driver)
  enqueueTests(driver)
  getJobTests(driver)
  jobOptionTests(driver)
  lifecycleTests(driver)
  onDuplicateTests(driver)
  operatingTests(driver)
  orderTests(driver)
  reaperTests(driver)
  rescheduleTests(driver)
  reportTests(driver)
  resultTests(driver)
  retentionTests(driver)
  scheduleTests(driver)
  searchTests(driver)
  stallTests(driver)
  statusTests(driver)
  stopTests(driver)
  streamGapTests(driver)
  undecodableTests(driver)
}

/** Checks of input, types, handlers, listeners and errors: the Queue's own code, which calls no verb that other tests do not. */
function faceTests(driver: TestDriver): void {
  anyValueTests(driver)
  errorTests(driver)
  handlerTests(driver)
  inputConfigTests(driver)
  inputOptionTests(driver)
  inputTests(driver)
  listenerTests(driver)
  storedErrorTests(driver)
  typeTests(driver)
}

/** What can differ by a pooler before the server: connections. Bytes go through the same client, and hints do not go through it. */
export function poolerTests(driver: TestDriver): void {
  if (isFull) return queueTests(driver)
  connectionTests(driver)
}

/** What can differ by the way to a server: connections, bytes, hints. HOLDFAST_TEST_ALL=1 runs everything. */
export function otherWayTests(driver: TestDriver): void {
  if (isFull) return queueTests(driver)
  byteTests(driver)
  connectionTests(driver)
  waitTests(driver)
}
