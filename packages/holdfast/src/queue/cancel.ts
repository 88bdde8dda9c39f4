// A call to cancel that waits for the end of the running job.

import { type CancelOptions, cancelOptions, type CancelResult } from '../engine/operate/cancel.ts'
import { invalidArgument } from '../errors.ts'
import { resolveOptions } from '../resolve-options.ts'
import { isTerminal } from '../storage/rules/job/states.ts'
import type { JobRecord } from '../storage/storage.ts'
import type { WaitEnd, WaitStart } from './waits.ts'

/** @throws TypeError INVALID_ARGUMENT, also for a wait without an abort */
export function resolveCancelOptions(options: CancelOptions | undefined) {
  const resolved = resolveOptions('cancel', options, cancelOptions)
  const { abort, force, waitMs } = resolved
  if (waitMs > 0 && !abort && !force) throw invalidArgument('waitMs', 'abort: true beside it', waitMs)
  return resolved
}

/** What a cancel waits for: the running job, or its end. @param record read after the cancel */
export function abortedJob(record: JobRecord | undefined): WaitStart {
  // A job that is not asked to stop is a later one with the same id: the cancelled one is gone.
  if (!record || (!isTerminal(record.state) && !record.cancelling)) return 'gone'
  return isTerminal(record.state) ? { record } : { job: record }
}

/** The answer after the wait. */
export function abortedResult(end: WaitEnd): CancelResult {
  if (end === 'gone') return { status: 'not_found' }
  const { state } = 'record' in end ? end.record : end.standing
  return { status: state as 'cancelled' | 'completed' | 'failed' }
}
