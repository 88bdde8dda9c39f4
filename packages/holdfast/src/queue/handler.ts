// The handler of a Queue: its arguments, and how it is called.

import type { Directive } from '../engine/job/directives.ts'
import type { Attempt } from '../engine/work/attempt.ts'
import { type JobSchedule, scheduleOf } from '../engine/schedule/slot-job.ts'
import type { AttemptSignal } from '../errors.ts'

/** Argument of a handler: one run of a job. */
export interface Job<TPayload> {
  /** Id of the job, as enqueue() was given it. The same in every run: a good idempotency key. */
  readonly id: string
  /** Payload of the job: a fresh copy for each run. */
  readonly payload: TPayload
  /** Number of this run, from 1; released runs do not count. */
  readonly attempts: number
  /** Most runs, the first included. */
  readonly maxAttempts: number
  /** When the job was accepted, in epoch ms. */
  readonly createdAt: number
  /** Aborts when this run should end: at timeoutMs, a cancel with `abort`, a stop, a lost lease. Its reason is an AttemptAbortedError. */
  readonly signal: AttemptSignal
  /** The schedule that added the job, and the slot. Undefined: none did. */
  readonly schedule: JobSchedule | undefined
  /**
   * Reports how far this run has come: any JSON value of at most 4 KiB. The last one is stored with the job, within 250 ms or with
   * the end of the run, whichever is first. Dropped once the run is over.
   * @throws SerializationError, TOO_LARGE, INVALID_ARGUMENT
   */
  progress(value: unknown): void
  /**
   * Adds a line to the log of the job, stored as soon as a progress is. A line has at most 8 KiB, a longer one is cut. A job keeps
   * its last 1,000 lines and 64 KiB. Dropped once the run is over.
   * @throws INVALID_ARGUMENT
   */
  log(text: string, fields?: Readonly<Record<string, unknown>>): void
}

/** Runs a job. Returns the result, a promise of it, or a directive. With a second parameter, the callback takes the result instead. */
export type JobHandler<TPayload, TResult> = (
  job: Job<TPayload>,
  callback: (error: Error | null, result?: TResult) => void,
) => TResult | Directive | Promise<TResult | Directive> | void

export class HandlerJob<P> implements Job<P> {
  readonly id: string
  readonly payload: P
  readonly attempts: number
  readonly maxAttempts: number
  readonly createdAt: number
  readonly #attempt: Attempt

  constructor(attempt: Attempt, payload: P, maxAttempts: number) {
    this.id = attempt.job.id
    this.payload = payload
    this.attempts = attempt.counted
    this.maxAttempts = maxAttempts
    this.createdAt = attempt.job.createdAt
    this.#attempt = attempt
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  get schedule(): JobSchedule | undefined {
    return scheduleOf(this.#attempt.job.token)
  }

  // Bound when they are read: a handler may destructure its job.

  get progress(): Job<P>['progress'] {
    return (value) => this.#attempt.progress(value)
  }

  get log(): Job<P>['log'] {
    return (text, fields) => this.#attempt.log(text, fields)
  }
}

/** For a handler that does not take it. */
const noCallback = (): void => {}

export function callHandler<P, R>(handler: JobHandler<P, R>, job: Job<P>): R | Promise<R> {
  if (handler.length < 2) return handler(job, noCallback) as R | Promise<R>
  // The first outcome counts. Of a promise that is returned as well, only a rejection counts.
  return new Promise<R>((resolve, reject) => {
    const returned: unknown = handler(job, (error, result) => {
      if (error === null || error === undefined) resolve(result as R)
      else reject(error)
    })
    if (returned instanceof Promise) returned.catch(reject)
  })
}
