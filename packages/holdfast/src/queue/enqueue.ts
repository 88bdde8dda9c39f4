// A call to enqueue: its options, the job for the storage, and the caller's answer.

import { invalidArgument } from '../errors.ts'
import { evenRetention } from '../storage/retention.ts'
import type { AddVerdict, Bytes, Retention } from '../storage/storage.ts'
import type { Draft } from '../engine/job/adder.ts'
import { type RetentionOptions, retainedBy } from '../engine/job/retention.ts'
import { decode, type Serde } from '../engine/job/serde.ts'
import type { MessageState } from './status.ts'

/** Options of enqueue(). @typeParam Tx transaction of the storage; never: it has none */
export interface EnqueueOptions<Tx = unknown> extends JobOptions {
  /**
   * Transaction of the storage that the job joins: the job exists when it commits, and never if it rolls back. There is no
   * `enqueued` event, because it may still roll back. Not for enqueueAndWait(). @throws FEATURE_UNSUPPORTED if the storage has none
   */
  readonly tx?: Tx | undefined
}

/** Options of both enqueue() and enqueueAndWait(). They are stored with the job. */
export interface JobOptions {
  /** Most runs of the job, the first included. @default the queue's */
  readonly maxAttempts?: number | undefined
  /** How long the record is kept after any end, in ms. @default the queue's */
  readonly resultTTL?: number | undefined
  /** How long the record is kept, by end state. Wins over resultTTL. @default the queue's */
  readonly retention?: RetentionOptions | undefined
  /** Delay before the job is due, in ms of the storage's clock. Not together with runAt. */
  readonly delayMs?: number | undefined
  /** Instant at which the job is due: epoch ms, or a Date. One in the past is due at once. */
  readonly runAt?: number | Date | undefined
}

/** Options of enqueueAndWait(). */
export interface EnqueueAndWaitOptions extends JobOptions {
  /** Longest wait, in ms from the call. 0: read once. Infinity: no limit. The job goes on after it. @default 30_000 */
  readonly timeout?: number | undefined
  /** Ends the wait with its reason. The job goes on. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Answer of enqueue(). `queued`: the job was added. `duplicate`: a waiting or running job has the id, and nothing was changed;
 * `existingState` is an alias of `state`. `completed`: a job with this id completed, and this is its cached result.
 */
export type EnqueueResult<TResult> =
  | { status: 'queued' }
  | { status: 'duplicate'; id: string; state: MessageState; existingState: MessageState }
  | { status: 'completed'; result: TResult }

/** Makes the job for the storage. Its token comes from the batch that it joins. */
export function draftOf(
  type: string,
  id: string,
  payload: Bytes | undefined,
  options: JobOptions | undefined,
  defaults: { readonly maxAttempts: number; readonly retention: Retention },
): Draft {
  const { maxAttempts, retention } = defaults
  if (!options) return { type, id, token: undefined, payload, maxAttempts, retention }
  const { delayMs, runAt, resultTTL } = options
  if (delayMs !== undefined && runAt !== undefined)
    throw invalidArgument('delayMs', 'either delayMs or runAt, not both', delayMs)
  return {
    type,
    id,
    token: undefined,
    payload,
    maxAttempts: options.maxAttempts ?? maxAttempts,
    retention: retainedBy(options.retention, resultTTL === undefined ? retention : evenRetention(resultTTL)),
    delayMs,
    // Rounded up, so that the job is never early.
    runAt: runAt === undefined ? undefined : Math.ceil(Number(runAt)),
  }
}

/** The answer to nearly every call: one frozen object serves all. */
const queued = Object.freeze({ status: 'queued' } as const)

/** Makes the caller's answer. @throws SerializationError if the cached result cannot be decoded */
export function enqueueResult<R>(verdict: AddVerdict, serde: Serde<R>): EnqueueResult<R> {
  if (verdict.verdict !== 'duplicate') return queued
  const { id, state, result } = verdict.job
  if (state === 'completed') return { status: 'completed', result: decode('result', serde, result) }
  return { status: 'duplicate', id, state, existingState: state }
}
