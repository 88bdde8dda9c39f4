// Events and errors for how attempts and jobs ended.

import { HoldfastError, MaxRetriesError, StorageError } from '../../errors.ts'
import type { Ended, SettleVerdict } from '../../storage/storage.ts'
import { isWatched, type PublishEvent } from '../events.ts'
import type { Attempt } from './attempt.ts'
import type { AttemptEnd } from './outcomes.ts'
import type { ReportBuffer } from './reports.ts'
import type { WorkType } from './work-type.ts'

/** Publishes what the storage made of an attempt's outcome. */
export function publishOutcome(
  attempt: Attempt,
  end: AttemptEnd,
  verdict: SettleVerdict,
  publishEvent: PublishEvent,
): void {
  if (verdict.verdict === 'settled' && verdict.state === 'completed') {
    publishCompleted(attempt, end, verdict, publishEvent)
    return
  }
  const { type, id } = attempt.job
  const about = { type, id, attempt: attempt.counted }
  const durationMs = attempt.endedAt - attempt.startedAt
  if (verdict.verdict === 'conflict') return publishEvent({ name: 'error', error: conflictError(id) })
  if (verdict.verdict !== 'settled') return publishEvent({ name: 'fenced', ...about, verdict: verdict.verdict })
  if (attempt.report) publishProgress(attempt, attempt.report, publishEvent)
  const { ending } = end
  const stalled = (ending.kind === 'retry' || ending.kind === 'failed') && ending.stalled === true
  if (stalled) publishEvent({ name: 'stalled', type, id })
  switch (verdict.state) {
    case 'failing':
      return publishEvent({
        name: 'failing',
        ...about,
        error: end.error!,
        runAt: verdict.runAt,
        job: attempt.job,
        durationMs,
      })
    case 'failed': {
      const cause = stalled || !end.error ? stalledError(id) : end.error
      return publishEvent({
        name: 'failed',
        ...about,
        error: new MaxRetriesError(id, about.attempt, cause, end.payload),
        job: attempt.job,
        verdict,
        durationMs,
      })
    }
    case 'cancelled':
      return publishEvent({ name: 'cancelled', type, id, job: attempt.job, verdict })
    // Queued or scheduled: the job waits again, without a failure.
    default: {
      if (stalled) return
      const { slowDown } = end
      if (slowDown)
        publishEvent({ name: 'rate_limited', ...about, ...slowDown, runAt: verdict.runAt, job: attempt.job })
      return publishEvent({ name: 'released', ...about, job: attempt.job })
    }
  }
}

/** Nearly every job publishes this one, and nothing else. */
function publishCompleted(
  attempt: Attempt,
  { value }: AttemptEnd,
  verdict: SettleVerdict & { readonly verdict: 'settled' },
  publishEvent: PublishEvent,
): void {
  const { job, counted, startedAt, endedAt, report } = attempt
  if (report) publishProgress(attempt, report, publishEvent)
  const { type, id } = job
  const durationMs = endedAt - startedAt
  publishEvent({ name: 'completed', type, id, attempt: counted, result: value, durationMs, job, verdict })
}

/** Publishes the progress that the storage has just taken, if there is one. */
export function publishProgress({ job, counted }: Attempt, { value }: ReportBuffer, publishEvent: PublishEvent): void {
  if (value === undefined || !isWatched()) return
  publishEvent({ name: 'progress', type: job.type, id: job.id, attempt: counted, value })
}

/** Publishes the jobs that the storage ended by itself. */
export function publishEnded(
  ended: readonly Ended[],
  types: ReadonlyMap<string, WorkType>,
  publishEvent: PublishEvent,
): void {
  for (const { type, id, chain, state, reason, failures, payload } of ended) {
    if (state === 'cancelled') {
      publishEvent({ name: 'cancelled', type, id, chain, reason })
      continue
    }
    const cause = reason === 'blocker_failed' ? blockerError(id) : stalledError(id)
    const error = new MaxRetriesError(id, failures, cause, types.get(type)?.payloadOf(payload))
    publishEvent({ name: 'failed', type, id, attempt: failures, error, reason, chain })
  }
}

function conflictError(id: string): StorageError {
  const message = `Job '${id}': its outcome was not recorded, because the storage refused a job that it adds. The job is taken back when its lease ends.`
  return new StorageError(message, { maybeApplied: false })
}

export function stalledError(id: string): HoldfastError {
  const message = `Job '${id}': it stalled in its last attempt. That attempt ran longer than it may, or its worker died. Raise the timeout or maxAttempts, or find what ends the worker.`
  return new HoldfastError('STALLED', message, { jobId: id })
}

export function blockerError(id: string): HoldfastError {
  const message = `Job '${id}': a chain that it waits for failed or was cancelled. The job did not run.`
  return new HoldfastError('BLOCKER_FAILED', message, { jobId: id })
}
