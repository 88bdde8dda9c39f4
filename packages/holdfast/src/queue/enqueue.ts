// A call to enqueue: its options, the job that the storage is given, and the caller's answer.

import { invalidArgument } from '../errors.ts'
import { evenRetention } from '../storage/retention.ts'
import type { AddVerdict, Bytes, Retention } from '../storage/storage.ts'
import type { Draft } from '../engine/job/adder.ts'
import { type RetentionOptions, retainedBy } from '../engine/job/retention.ts'
import { decode, type Serde } from '../engine/job/serde.ts'
import type { MessageState } from './status.ts'

/** @typeParam Tx a transaction of the storage; never: it has none */
export interface EnqueueOptions<Tx = unknown> extends JobOptions {
  /**
   * A transaction of the storage: the job exists once that commits, and never if it rolls back. Which of the two is not known
   * yet, so there is no `enqueued` event. Not for enqueueAndWait. @throws FEATURE_UNSUPPORTED where the storage has none
   */
  readonly tx?: Tx | undefined
}

/** What enqueue and enqueueAndWait both take. */
export interface JobOptions {
  /** Runs in all, the first included. @default the queue's */
  readonly maxAttempts?: number | undefined
  /** How long the record is kept after any end, in ms. @default the queue's */
  readonly resultTTL?: number | undefined
  /** How long the record is kept, by end state; wins over resultTTL. @default the queue's */
  readonly retention?: RetentionOptions | undefined
  /** Due after this time, in ms of the storage's clock. Not together with runAt. */
  readonly delayMs?: number | undefined
  /** Due at this instant: epoch ms, or a Date. One in the past is due at once. */
  readonly runAt?: number | Date | undefined
}

export interface EnqueueAndWaitOptions extends JobOptions {
  /** How long to wait, in ms from the call. 0: look once. Infinity: no limit. @default 30_000 */
  readonly timeout?: number | undefined
  /** Ends the wait with its reason; the job goes on. */
  readonly signal?: AbortSignal | undefined
}

/**
 * `queued`: accepted. `duplicate`: a live job has the id; nothing was changed. `completed`: a job with this id completed, and
 * this is its cached result. `existingState` is an alias of `state`.
 */
export type EnqueueResult<TResult> =
  | { status: 'queued' }
  | { status: 'duplicate'; id: string; state: MessageState; existingState: MessageState }
  | { status: 'completed'; result: TResult }

/** What the storage will be given; its token comes from the batch that takes it. */
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
  if (delayMs !== undefined && runAt !== undefined) throw invalidArgument('delayMs', 'no runAt beside it', delayMs)
  return {
    type,
    id,
    token: undefined,
    payload,
    maxAttempts: options.maxAttempts ?? maxAttempts,
    retention: retainedBy(options.retention, resultTTL === undefined ? retention : evenRetention(resultTTL)),
    delayMs,
    // Never early: a fraction of a millisecond counts as a whole one.
    runAt: runAt === undefined ? undefined : Math.ceil(Number(runAt)),
  }
}

/** The answer to nearly every call: one frozen object for all of them. */
const queued = Object.freeze({ status: 'queued' } as const)

/** @throws SerializationError if the cached result cannot be decoded */
export function enqueueResult<R>(verdict: AddVerdict, serde: Serde<R>): EnqueueResult<R> {
  if (verdict.verdict !== 'duplicate') return queued
  const { id, state, result } = verdict.job
  if (state === 'completed') return { status: 'completed', result: decode('result', serde, result) }
  return { status: 'duplicate', id, state, existingState: state }
}
