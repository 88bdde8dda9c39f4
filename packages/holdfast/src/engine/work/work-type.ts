// What a worker is told of a kind of jobs: how long it holds one, and what runs it. A Queue has one, chains and tasks many.

import type { Attempt } from './attempt.ts'
import type { AttemptEnd } from './outcomes.ts'

/** One kind of job that a worker serves. */
export interface WorkType {
  readonly type: string
  /** Not above capMs. */
  readonly leaseMs: number
  /** Between two renewals of the lease; below leaseMs. */
  readonly renewMs: number
  /** The longest that one attempt may take; then it is given up as stalled. Infinity: any time. */
  readonly capMs: number
  /** For jobs that have none of their own. */
  readonly maxAttempts?: number
  /** Runs one attempt; for a Queue: execute.ts. Never rejects: what goes wrong is an outcome. */
  run(attempt: Attempt): Promise<AttemptEnd>
  /** The payload of a job that is not run, for those who are told of its end. Never throws. */
  payloadOf(bytes: Uint8Array | undefined): unknown
  // Of chains alone:
  /** The signal's reason is a JobAbortReason. @default an AttemptAbortedError */
  readonly plainReasons?: boolean
  /** `started` is told even if nobody watches everything, and what becomes of the lease. */
  readonly tellsStarts?: boolean
}
