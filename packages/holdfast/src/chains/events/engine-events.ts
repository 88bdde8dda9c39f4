// What the engine tells of attempts and of the storage, as events of chains.

import type { EngineEvent } from '../../engine/events.ts'
import { isHoldfastError } from '../../errors.ts'
import type { ClaimedJob, NewJob } from '../../storage/storage.ts'
import { chainStartOf } from '../job/carried.ts'
import { chainRefOf, typeNameOf } from '../job/stored-type.ts'
import { aboutChain, publishAdded, type PublishChainEvent, publishFailedWith } from './chain-events.ts'

/** The value of an attempt that continued: the jobs that were to be added. */
export class Continued {
  readonly jobs: readonly NewJob[]

  constructor(jobs: readonly NewJob[]) {
    this.jobs = jobs
  }
}

/** @param workerId of a worker */
export function translateEvent(
  event: EngineEvent,
  publishEvent: PublishChainEvent,
  workerId: string | undefined,
): void {
  const about = 'job' in event && event.job ? { ...aboutJob(event.job), workerId } : undefined
  switch (event.name) {
    case 'worker_online':
      return publishEvent('workerStarted', { workerId, typeNames: event.types.map(typeNameOf) })
    case 'worker_offline':
      return publishEvent('workerStopped', { workerId, typeNames: event.types.map(typeNameOf) })
    case 'loop_stalled':
      return publishEvent('eventLoopStalled', {
        workerId,
        durationMs: event.ms,
        typeNames: event.types.map(typeNameOf),
      })
    case 'connection_lost':
      return publishEvent('connectionLost', { workerId, driver: event.driver, error: event.error })
    case 'connection_restored':
      return publishEvent('connectionRestored', { workerId, driver: event.driver, durationMs: event.ms })
    case 'error':
      return publishEvent(isHoldfastError(event.error, 'STORAGE_ERROR') ? 'storageError' : 'workerError', {
        workerId,
        error: event.error,
      })
    case 'started':
      return publishEvent('jobAttemptStarted', about!)
    case 'renewed':
      return publishEvent('jobLeaseRenewed', about!)
    case 'lease_expired':
      return publishEvent('jobLeaseExpired', about!)
    case 'stalled':
      return publishEvent('jobStalled', { ...chainRefOf(event), workerId })
    case 'fenced':
      return publishEvent('jobAttemptLost', {
        ...chainRefOf(event),
        attempt: event.attempt,
        reason: event.verdict,
        workerId,
      })
    case 'rate_limited': {
      const { scope, retryAfterMs, runAt } = event
      return publishEvent('jobRateLimited', { ...about, scope, retryAfterMs, runAt })
    }
    case 'released':
      return publishEvent('jobAttemptReleased', about!)
    case 'failing': {
      const { error, runAt, durationMs } = event
      return publishEvent('jobAttemptFailed', { ...about, error, runAt, durationMs })
    }
    case 'completed':
      return publishCompleted(event, publishEvent, workerId)
    case 'failed':
      return publishFailed(event, publishEvent, workerId)
    case 'cancelled':
      publishEvent('jobChainCancelled', { ...chainRefOf(event.job?.chain ?? event.chain ?? event) })
      return publishFailedWith(publishEvent, event.verdict?.ended ?? [])
    default:
      return undefined
  }
}

function publishCompleted(
  { job, verdict, durationMs, result }: EngineEvent & { name: 'completed' },
  publishEvent: PublishChainEvent,
  workerId: string | undefined,
): void {
  if (!job || !verdict) return
  const about = { ...aboutJob(job), workerId }
  publishEvent('jobAttemptCompleted', { ...about, durationMs })
  const sinceCreatedMs = job.startedAt - job.createdAt + durationMs
  publishEvent('jobCompleted', { ...about, durationMs: sinceCreatedMs })
  const [next] = verdict.added
  if (!(result instanceof Continued)) {
    const chainMs = job.startedAt + durationMs - (chainStartOf(job) ?? NaN)
    const known = Number.isNaN(chainMs) ? {} : { durationMs: chainMs }
    publishEvent('jobChainCompleted', { ...chainRefOf(job.chain), output: result, ...known })
  } else if (next) {
    publishAdded(publishEvent, result.jobs, verdict.added, { continues: job })
  }
  for (const ref of verdict.unblocked) publishEvent('jobUnblocked', { ...chainRefOf(ref) })
}

function publishFailed(
  { job, verdict, error, reason, type, id, chain = { type, id }, durationMs }: EngineEvent & { name: 'failed' },
  publishEvent: PublishChainEvent,
  workerId: string | undefined,
): void {
  const cause = error.lastError
  if (job) {
    const about = { ...aboutJob(job), workerId, error: cause }
    publishEvent('jobAttemptFailed', { ...about, durationMs })
    publishEvent('jobFailed', about)
    publishEvent('jobChainFailed', { ...chainRefOf(job.chain), error: cause })
  } else {
    publishEvent('jobFailed', { ...chainRefOf({ type, id }), ...aboutChain(chain), workerId, reason, error: cause })
    publishEvent('jobChainFailed', { ...chainRefOf(chain), reason, error: cause })
  }
  publishFailedWith(publishEvent, verdict?.ended ?? [])
}

const aboutJob = (job: ClaimedJob) => ({
  ...chainRefOf(job),
  ...aboutChain(job.chain),
  chainIndex: job.chainIndex,
  attempt: job.attempt,
  failures: job.failures,
})
