// A call to enqueue: its options, and the caller's answer. draft.ts makes the job for the storage.

import { DuplicateJobError } from '../errors.ts'
import type { AddVerdict, NewJob } from '../storage/storage.ts'
import type { SharedJobOptions } from '../engine/job/job-options.ts'
import type { RetentionOptions } from '../engine/job/retention.ts'
import { decode, type Serde } from '../engine/job/serde.ts'
import type { MessageState } from './status.ts'
import type { WaitStart } from './waits.ts'

/** Options of enqueue(). @typeParam Tx transaction of the storage; never: it has none */
export interface EnqueueOptions<Tx = unknown> extends JobOptions {
  /**
   * Transaction of the storage that the job joins: the job exists when it commits, and never if it rolls back. There is no
   * `enqueued` event, because it may still roll back. Not for enqueueAndWait(). @throws FEATURE_UNSUPPORTED if the storage has none
   */
  readonly tx?: Tx | undefined
}

/** Options of both enqueue() and enqueueAndWait(). They are stored with the job. */
export interface JobOptions extends SharedJobOptions {
  /** Most runs of the job, the first included. @default the queue's */
  readonly maxAttempts?: number | undefined
  /** How long the record is kept after any end, in ms. @default the queue's */
  readonly resultTTL?: number | undefined
  /** How long the record is kept, by end state. Wins over resultTTL. @default the queue's */
  readonly retention?: RetentionOptions | undefined
  /**
   * What to do if a job has the id or the deduplication key. `return`: answer with that job, and change nothing. `replace`: if it has
   * the id and waits, this job takes its place; else as `return`. `reject`: reject with DuplicateJobError, for a stale version too.
   * @default 'return'
   */
  readonly onDuplicate?: OnDuplicate | undefined
}

/** What enqueue() does if a job has the id or the deduplication key. */
export type OnDuplicate = 'return' | 'replace' | 'reject'

/** Options of enqueueAndWait(). */
export interface EnqueueAndWaitOptions extends JobOptions {
  /** Longest wait, in ms from the call. 0: read once. Infinity: no limit. The job goes on after it. @default 30_000 */
  readonly timeout?: number | undefined
  /** Ends the wait with its reason. The job goes on. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Answer of enqueue().
 *
 * - `queued`: the job was added.
 * - `replaced`: it took the place of the waiting job with its id (`onDuplicate`), or its payload that of the job with its key
 *   (deduplication modes `debounce` and `followUp`). `id` and `state` are those of the job that stands.
 * - `duplicate`: another job has the id or the deduplication key, and nothing was changed; `id` and `state` are those of the other
 *   job, and `existingState` is an alias of `state`.
 * - `stale`: the version is not above the last accepted one of the key, which is `version` (mode `ascending`). Nothing was changed.
 * - `completed`: a job with this id completed, and this is its cached result.
 */
export type EnqueueResult<TResult> =
  | { status: 'queued' }
  | { status: 'replaced'; id: string; state: MessageState }
  | { status: 'duplicate'; id: string; state: MessageState; existingState: MessageState }
  | { status: 'stale'; version: number }
  | { status: 'completed'; result: TResult }

/** The answer to nearly every call: one frozen object serves all. */
const queued = Object.freeze({ status: 'queued' } as const)

/** Makes the caller's answer. @throws SerializationError if the cached result cannot be decoded */
export function enqueueResult<R>(verdict: AddVerdict, serde: Serde<R>): EnqueueResult<R> {
  if (verdict.verdict === 'stale') return { status: 'stale', version: verdict.version }
  if (verdict.verdict === 'replaced') return { status: 'replaced', id: verdict.job.id, state: verdict.job.state }
  if (verdict.verdict !== 'duplicate') return queued
  const { id, state, result } = verdict.job
  // A cached result belongs to its id: a job with another id and the same key does not ask for it.
  if (state === 'completed' && verdict.by === 'id')
    return { status: 'completed', result: decode('result', serde, result) }
  return { status: 'duplicate', id, state, existingState: state }
}

/** Answer of enqueueMany() for an item: as that of enqueue(), or why the limits or the group refused it. Nothing was written then. */
export type EnqueueItemResult<TResult> =
  | EnqueueResult<TResult>
  /** As many jobs wait as `maxWaiting` of the queue, or of the group, allows. */
  | { status: 'queue_full'; of: 'type' | 'group'; waiting: number; max: number }
  /** The group has unfinished jobs of the other kind: `ordered` says which. */
  | { status: 'group_kind'; ordered: boolean }

/** Makes the answer for an item of enqueueMany(). @throws as enqueueResult() */
export function itemResult<R>(
  verdict: AddVerdict,
  job: Pick<NewJob, 'maxWaiting'>,
  serde: Serde<R>,
): EnqueueItemResult<R> {
  if (verdict.verdict === 'group_kind') return { status: 'group_kind', ordered: verdict.ordered }
  if (verdict.verdict !== 'queue_full') return enqueueResult(verdict, serde)
  const { of, waiting } = verdict
  return { status: 'queue_full', of, waiting, max: job.maxWaiting?.[of] ?? waiting }
}

/** For `onDuplicate: 'reject'`. @throws DuplicateJobError */
export function rejectDuplicate(verdict: AddVerdict): AddVerdict {
  if (verdict.verdict === 'stale') throw new DuplicateJobError({ by: 'version', version: verdict.version })
  if (verdict.verdict !== 'duplicate') return verdict
  const { id, state } = verdict.job
  throw new DuplicateJobError({ by: verdict.by, jobId: id, state })
}

/** What enqueueAndWait() waits for: the added job, or the one that has its id or key. @throws DuplicateJobError for a stale version */
export function waitStartOf(verdict: AddVerdict): WaitStart {
  if (verdict.verdict === 'added' || verdict.verdict === 'replaced') return { job: verdict.job }
  if (verdict.verdict === 'stale') rejectDuplicate(verdict)
  if (verdict.verdict !== 'duplicate') return 'gone'
  const { job } = verdict
  if (job.state !== 'completed') return { job }
  // Only the window of its key is left of a job without createdAt.
  return verdict.by === 'key' && job.createdAt === undefined ? 'gone' : { standing: job }
}
