// One run of a job in this worker: its lease, its signal, and whether this worker may still end it.

import { AttemptAbortedError } from '../../errors.ts'
import type { ClaimedJob, LeaseRef } from '../../storage/storage.ts'
import type { WorkType } from './work-type.ts'

/** Why the signal of an attempt aborts. */
export type JobAbortReason =
  | 'taken_by_another_worker'
  | 'already_completed'
  | 'not_found'
  | 'cancelled'
  | 'error' // the lease could not be renewed before its end; an outcome is still sent, and the fence decides
  | 'timeout'
  | 'stopping'

const abortCodes = {
  taken_by_another_worker: 'LEASE_LOST',
  already_completed: 'LEASE_LOST',
  not_found: 'LEASE_LOST',
  error: 'LEASE_LOST',
  cancelled: 'JOB_CANCELLED',
  timeout: 'ATTEMPT_TIMEOUT',
  stopping: 'STOPPING',
} as const satisfies Record<JobAbortReason, string>

export class Attempt {
  readonly job: ClaimedJob
  readonly work: WorkType
  /** Attempts that count, this one included: failures + 1. */
  readonly counted: number
  /** When it began: local, monotonic ms. */
  readonly startedAt: number
  endedAt = 0
  /** When it times out: local, monotonic ms. Infinity: never. */
  readonly capAt: number
  /** The earliest instant at which its lease may end: local, monotonic ms. */
  leaseEndsAt: number
  abortedFor: JobAbortReason | undefined = undefined
  /** Whether its outcome is decided, by its handler or by the worker. A later one is dropped. */
  decided = false
  /** Whether the storage refused its fence: another worker has the job, or it ended. Nothing is recorded then. */
  lost = false

  // Chains only:
  /** Whether a transaction has its record locked. That lock is its lease: it is not renewed, and it cannot be lost. */
  locked = false
  /** Called when `signal` aborts, with the reason. */
  onAbort: ((reason: JobAbortReason) => void) | undefined = undefined
  /** Called when the worker decided the outcome, not the handler. */
  onDecided: (() => void) | undefined = undefined

  #controller: AbortController | undefined

  /** @param leasedAt when the claim was sent: the lease began at that instant or later */
  constructor(job: ClaimedJob, work: WorkType, startedAt: number, leasedAt = startedAt) {
    this.job = job
    this.work = work
    this.counted = job.failures + 1
    this.startedAt = startedAt
    this.capAt = leasedAt + work.capMs
    this.leaseEndsAt = leasedAt + work.leaseMs
  }

  /** Created when it is read: most handlers never read it. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.abortedFor) this.#controller.abort(this.#reasonOf(this.abortedFor))
    }
    return this.#controller.signal
  }

  get fence(): LeaseRef {
    const { type, id, worker, attempt } = this.job
    return { type, id, worker, attempt }
  }

  /** Aborts the signal. The first reason stays. */
  abort(reason: JobAbortReason): void {
    if (this.abortedFor) return
    this.abortedFor = reason
    this.#controller?.abort(this.#reasonOf(reason))
    this.onAbort?.(reason)
  }

  #reasonOf(reason: JobAbortReason): unknown {
    if (this.work.plainReasons) return reason
    return new AttemptAbortedError(abortCodes[reason], this.job.id, this.counted)
  }
}
