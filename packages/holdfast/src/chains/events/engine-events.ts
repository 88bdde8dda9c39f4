// What the engine tells of attempts and of the storage, as events of chains.

import type { EngineEvent } from '../../engine/events.ts'
import { isHoldfastError } from '../../errors.ts'
import type { ClaimedJob, NewJob } from '../../storage/storage.ts'
import { chainStartOf } from '../job/carried.ts'
import { chainRefOf, typeNameOf } from '../job/stored-type.ts'
import { aboutChain, tellAdded, type TellChains, tellFailedWith } from './chain-events.ts'

/** The value of an attempt that continued: the jobs that were to be added. */
export class Continued {
  readonly jobs: readonly NewJob[]

  constructor(jobs: readonly NewJob[]) {
    this.jobs = jobs
  }
}

/** @param workerId of a worker */
export function translateEvent(event: EngineEvent, tell: TellChains, workerId: string | undefined): void {
  const about = 'job' in event && event.job ? { ...aboutJob(event.job), workerId } : undefined
  switch (event.name) {
    case 'worker_online':
      return tell('workerStarted', { workerId, typeNames: event.types.map(typeNameOf) })
    case 'worker_offline':
      return tell('workerStopped', { workerId, typeNames: event.types.map(typeNameOf) })
    case 'loop_stalled':
      return tell('eventLoopStalled', { workerId, durationMs: event.ms, typeNames: event.types.map(typeNameOf) })
    case 'connection_lost':
      return tell('connectionLost', { workerId, driver: event.driver, error: event.error })
    case 'connection_restored':
      return tell('connectionRestored', { workerId, driver: event.driver, durationMs: event.ms })
    case 'error':
      return tell(isHoldfastError(event.error, 'STORAGE_ERROR') ? 'storageError' : 'workerError', {
        workerId,
        error: event.error,
      })
    case 'started':
      return tell('jobAttemptStarted', about!)
    case 'renewed':
      return tell('jobLeaseRenewed', about!)
    case 'lease_expired':
      return tell('jobLeaseExpired', about!)
    case 'stalled':
      return tell('jobStalled', { ...chainRefOf(event), workerId })
    case 'fenced':
      return tell('jobAttemptLost', { ...chainRefOf(event), attempt: event.attempt, reason: event.verdict, workerId })
    case 'released':
      return tell('jobAttemptReleased', about!)
    case 'failing': {
      const { error, runAt, durationMs } = event
      return tell('jobAttemptFailed', { ...about, error, runAt, durationMs })
    }
    case 'completed':
      return tellCompleted(event, tell, workerId)
    case 'failed':
      return tellFailed(event, tell, workerId)
    case 'cancelled':
      tell('jobChainCancelled', { ...chainRefOf(event.job?.chain ?? event.chain ?? event) })
      return tellFailedWith(tell, event.verdict?.ended ?? [])
    default:
      return undefined
  }
}

function tellCompleted(
  { job, verdict, durationMs, result }: EngineEvent & { name: 'completed' },
  tell: TellChains,
  workerId: string | undefined,
): void {
  if (!job || !verdict) return
  const about = { ...aboutJob(job), workerId }
  tell('jobAttemptCompleted', { ...about, durationMs })
  const sinceCreatedMs = job.startedAt - job.createdAt + durationMs
  tell('jobCompleted', { ...about, durationMs: sinceCreatedMs })
  const [next] = verdict.added
  if (!(result instanceof Continued)) {
    const chainMs = job.startedAt + durationMs - (chainStartOf(job) ?? NaN)
    const known = Number.isNaN(chainMs) ? {} : { durationMs: chainMs }
    tell('jobChainCompleted', { ...chainRefOf(job.chain), output: result, ...known })
  } else if (next) {
    tellAdded(tell, result.jobs, verdict.added, { continues: job })
  }
  for (const ref of verdict.unblocked) tell('jobUnblocked', { ...chainRefOf(ref) })
}

function tellFailed(
  { job, verdict, error, reason, type, id, chain = { type, id }, durationMs }: EngineEvent & { name: 'failed' },
  tell: TellChains,
  workerId: string | undefined,
): void {
  const cause = error.lastError
  if (job) {
    const about = { ...aboutJob(job), workerId, error: cause }
    tell('jobAttemptFailed', { ...about, durationMs })
    tell('jobFailed', about)
    tell('jobChainFailed', { ...chainRefOf(job.chain), error: cause })
  } else {
    tell('jobFailed', { ...chainRefOf({ type, id }), ...aboutChain(chain), workerId, reason, error: cause })
    tell('jobChainFailed', { ...chainRefOf(chain), reason, error: cause })
  }
  tellFailedWith(tell, verdict?.ended ?? [])
}

const aboutJob = (job: ClaimedJob) => ({
  ...chainRefOf(job),
  ...aboutChain(job.chain),
  chainIndex: job.chainIndex,
  attempt: job.attempt,
  failures: job.failures,
})
