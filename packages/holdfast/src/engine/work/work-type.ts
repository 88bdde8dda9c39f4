// A kind of job, as a worker serves it: how long the worker holds one, and what runs it. A Queue has one, chains and tasks many.

import type { Attempt } from './attempt.ts'
import type { AttemptEnd } from './outcomes.ts'

/** One kind of job that a worker serves. */
export interface WorkType {
  readonly type: string
  /** Length of the lease in ms. Not above capMs. */
  readonly leaseMs: number
  /** Time between two renewals of the lease in ms; below leaseMs. */
  readonly renewMs: number
  /** Longest run of one attempt in ms; after it the attempt ends as stalled. Infinity: no limit. */
  readonly capMs: number
  /** Runs in all, for jobs that do not set it. */
  readonly maxAttempts?: number
  /** Runs one attempt. Never rejects: an error becomes an outcome. */
  run(attempt: Attempt): Promise<AttemptEnd>
  /** Decodes the payload of a job that ended without a run, for the event about it. Never throws. */
  payloadOf(bytes: Uint8Array | undefined): unknown
  // Chains only:
  /** Whether the signal's reason is a JobAbortReason instead of an AttemptAbortedError. @default false */
  readonly plainReasons?: boolean
  /** Whether `started`, `renewed` and `lease_expired` are published although the channel has no subscriber. @default false */
  readonly tellsStarts?: boolean
}
