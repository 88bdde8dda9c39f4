// One run of a job in this worker: its lease, its signal, and whether it is still ours to end.

import { AttemptAbortedError } from '../../errors.ts'
import type { ClaimedJob, LeaseRef } from '../../storage/storage.ts'
import type { WorkType } from './work-type.ts'

/** Why a handler is asked to stop. */
export type JobAbortReason =
  | 'taken_by_another_worker'
  | 'already_completed'
  | 'not_found'
  | 'cancelled'
  | 'error' // no renewal until the lease's end; an outcome is still sent, the fence decides
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
  /** Attempts that count, this one included. */
  readonly counted: number
  /** Local, monotonic. */
  readonly startedAt: number
  endedAt = 0
  /** When it is given up, local and monotonic. */
  readonly capAt: number
  /** When its lease ends, as far as we know; local and monotonic. */
  leaseEndsAt: number
  abortedFor: JobAbortReason | undefined = undefined
  /** Its outcome is decided, by its handler or for it: what comes later is dropped. */
  decided = false
  /** Another has it, or it is gone: nothing is left to record. */
  lost = false

  // Of chains alone:
  /** A transaction holds its record: that lock is its lease, and it is neither renewed nor believed lost. */
  locked = false
  /** Told at once of what `signal` tells the handler. */
  onAbort: ((reason: JobAbortReason) => void) | undefined = undefined
  /** Told when its outcome was decided for it. */
  onDecided: (() => void) | undefined = undefined

  #controller: AbortController | undefined

  /** @param leasedAt when its claim was sent: by then, at the earliest, its lease began */
  constructor(job: ClaimedJob, work: WorkType, startedAt: number, leasedAt = startedAt) {
    this.job = job
    this.work = work
    this.counted = job.failures + 1
    this.startedAt = startedAt
    this.capAt = leasedAt + work.capMs
    this.leaseEndsAt = leasedAt + work.leaseMs
  }

  /** Made when somebody looks: most handlers never do. */
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

  /** The first reason stays. */
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
