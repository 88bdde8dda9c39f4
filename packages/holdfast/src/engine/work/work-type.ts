// A kind of job, as a worker serves it: how long the worker holds one, and what runs it. A Queue has one, chains and tasks many.

import type { Bytes, ClaimedJob, ClaimType, KeepCount, NewJob } from '../../storage/storage.ts'
import type { LimitsCopy } from '../limits/limits-copy.ts'
import type { Attempt } from './attempt.ts'
import type { FailedJob } from './dead-letters.ts'
import type { AttemptEnd } from './outcomes.ts'

/** The fields of a type that a claim sends. `limits` is absent unless the type has some. */
export function claimTypes(types: readonly WorkType[], limits: LimitsCopy | undefined): ClaimType[] {
  return types.map(({ type, leaseMs, maxAttempts }) => {
    const bounds = limits?.claimLimits(type)
    return bounds ? { type, leaseMs, maxAttempts, limits: bounds } : { type, leaseMs, maxAttempts }
  })
}

/** Takes how an attempt ended. Never throws. One function serves all attempts of a worker. */
export type OnAttemptEnd = (attempt: Attempt, end: AttemptEnd) => void

/** One kind of job that a worker serves. */
export interface WorkType {
  readonly type: string
  /** Length of the lease in ms. Not above capMs. */
  readonly leaseMs: number
  /** Time between two renewals of the lease in ms; below leaseMs. */
  readonly renewMs: number
  /** Longest run of one attempt in ms; after it the attempt ends as stalled. Infinity: no limit. A job may have its own. */
  readonly capMs: number
  /** Runs in all, for jobs that do not set it. */
  readonly maxAttempts?: number
  /** How many ended records of the type are kept. @default any number */
  readonly keep?: readonly KeepCount[]
  /**
   * Runs one attempt, and calls `onEnd` once, never before it returns. An error becomes an outcome. The callback saves each job a promise.
   * @returns resolves when the attempt has ended; never rejects
   */
  run(attempt: Attempt, onEnd: OnAttemptEnd): Promise<unknown>
  /** Called when the storage has recorded that an attempt completed its job. @param result as it was stored */
  onCompleted?(job: ClaimedJob, result: Bytes | undefined): void
  /** The job to add when one of this type fails for good. Never throws. @default none is added */
  deadLetterOf?(failed: FailedJob): NewJob
  /** Decodes the payload of a job that ended without a run, for the event about it. Never throws. */
  payloadOf(bytes: Uint8Array | undefined): unknown
  /** Chains and tasks: `run` applies the timeoutMs of a job itself, and the attempt fails instead of stalling. @default false */
  readonly hasOwnTimer?: boolean
  // Chains only:
  /** Whether `started`, `renewed` and `lease_expired` are published although the channel has no subscriber. @default false */
  readonly publishesStarts?: boolean
}
