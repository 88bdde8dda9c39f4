// A wait for the end of a job: what it is for, how it ended, and what is kept of it meanwhile.

import type { JobRecord, Signal, Standing } from '../storage/storage.ts'

/**
 * How a wait ended. `record`: read from the storage. `standing`: a completed job, as the add or a hint described it. `gone`: the job
 * was removed, replaced or expired before.
 */
export type WaitEnd = { readonly record: JobRecord } | { readonly standing: Standing } | 'gone'

/** What a wait is for: a job, or its end if the caller knows it already. */
export type WaitStart = WaitEnd | { readonly job: Pick<Standing, 'id' | 'token' | 'state'> }

/** A completed job, as a hint describes it. */
export type Completed = NonNullable<Signal['completed']>[number]

/** One call that waits (waits.ts). */
export class Wait {
  /** Id of the job: of another one than was asked for, if that has its deduplication key. */
  id: string
  /** Token of the job. Undefined until the start is answered. */
  token: string | undefined
  /** Whether a hint for this id came; and the completed job that it described, if any. */
  hinted = false
  hint: Completed | undefined
  readonly timeoutMs: number
  /** When it times out: local, monotonic ms. */
  readonly deadline: number
  /** Whether it timed out, and its record is read a last time. */
  isTimedOut: boolean
  isOver = false
  /** Ends the subscription to the signal of the caller. */
  offAbort: (() => void) | undefined
  /** Both are called by #end() only. */
  readonly resolve: (end: WaitEnd) => void
  readonly reject: (error: unknown) => void

  constructor(
    id: string,
    timeoutMs: number,
    deadline: number,
    resolve: (end: WaitEnd) => void,
    reject: (error: unknown) => void,
  ) {
    this.id = id
    this.timeoutMs = timeoutMs
    this.deadline = deadline
    this.isTimedOut = timeoutMs === 0
    this.resolve = resolve
    this.reject = reject
  }
}
