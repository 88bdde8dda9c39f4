// The client of chains, as a type.

import type { Clock } from '../../clock.ts'
import type { Logger } from '../../engine/emit.ts'
import type { RetentionOptions } from '../../engine/job/retention.ts'
import type { CancelVerdict, JobState, Storage } from '../../storage/storage.ts'
import type { Log } from '../events/log.ts'
import type { Notifier } from '../events/notifier.ts'
import type { Observer } from '../events/observer.ts'
import type { JobTypeRegistry } from '../registry.ts'
import type { CompleteContext, CompleteResult } from './handler.ts'
import type { EntryName, IsUnion, JobTypeName, Reachable } from './job-types.ts'
import type { ChainRef, CompletedJobChain, JobChainOf, JobOf, PageOf } from './records.ts'
import type { ChainSchedules } from './schedules.ts'
import type { Continuation, StartedJobChain, StartItem, StartOptions, TxContext, TxOption } from './start-options.ts'

/** Options of createClient(). */
export interface ClientOptions<T, Tx> {
  /** Where the jobs live; the same as the worker's. */
  readonly storage: Storage<Tx>
  /** The same as the worker's. */
  readonly jobTypeRegistry: JobTypeRegistry<T>
  /** Carries hints in place of the storage; the same as the worker's. @default the storage's own hints */
  readonly notifier?: Notifier | undefined
  /** Called with each event, after its commit. */
  readonly observer?: Partial<Observer> | undefined
  /** Receives failures and lost connections, each at its level. pino and console fit. */
  readonly logger?: Logger | undefined
  /** Receives every event as one entry, beside the logger. */
  readonly log?: Log | undefined
  /** How long ended chains are kept; fixed at a chain's start. Without it: completed 7 days, failed 14 days, cancelled 1 day. */
  readonly retention?: RetentionOptions | undefined
  /** Source of local time: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock | undefined
}

/** Options of cancelJobChain, beside the chain. */
export interface CancelChainOptions {
  /** Kept with the job. Null is none. */
  readonly reason?: string | null | undefined
  /** Aborts the signal of a running job, and lets its handler end, instead of ending the job at once. @default false */
  readonly abort?: boolean | undefined
  /** With `abort`: longest wait for the end of a running job, in ms. Without it the call does not wait. */
  readonly waitMs?: number | undefined
}

/** Starts chains, and reads, completes, cancels and deletes them. Made by createClient(); end it with close(). */
export interface Client<T, Tx = never> {
  /**
   * Starts a chain, or gives the one that has its id or key. Resolves after the commit; with `tx`, once it is written there.
   * @throws INVALID_ARGUMENT, JobTypeValidationError, SerializationError, TOO_LARGE, BLOCKER_NOT_FOUND, QueueFullError, GROUP_KIND,
   * StorageError
   */
  startJobChain<N extends JobTypeName<T>>(
    options: StartOptions<T, N, Tx>,
  ): Promise<StartedJobChain<T, N & EntryName<T>>>

  /** Starts several chains in one move: all or none. @throws as startJobChain */
  startJobChains<const Names extends readonly JobTypeName<T>[]>(
    options: { readonly items: StartItems<T, Names, Tx> } & TxOption<Tx>,
  ): Promise<StartedJobChains<T, Names>>

  /** A chain by its first job, or null. */
  getJobChain<N extends EntryName<T>>(options: ChainRef<N> & TxOption<Tx>): Promise<JobChainOf<T, N> | null>

  /** A job of a chain, or null. */
  getJob<N extends JobTypeName<T>>(options: ChainRef<N> & TxOption<Tx>): Promise<JobOf<T, N> | null>

  /** A page of chains, the newest first by default. @throws INVALID_ARGUMENT */
  listJobChains<N extends EntryName<T> = EntryName<T>>(
    options?: ListOptions<ChainFilter<N>>,
  ): Promise<PageOf<JobChainOf<T, N>>>

  /** A page of jobs, the newest first by default. @throws INVALID_ARGUMENT */
  listJobs<N extends JobTypeName<T> = JobTypeName<T>>(options?: ListOptions<JobFilter<N>>): Promise<PageOf<JobOf<T, N>>>

  /**
   * Completes the last job of a chain, and those that follow it, without a worker.
   * @throws CHAIN_NOT_FOUND, CHAIN_CANCELLED, JOB_ALREADY_COMPLETED, JobTypeValidationError, and what the callback throws
   */
  completeJobChain<N extends EntryName<T>, R>(
    options: ChainRef<N> & {
      readonly complete: (
        context: {
          readonly job: JobOf<T, Reachable<T, N>>
          readonly complete: WorkerlessComplete<T, N, Tx>
        } & TxContext<Tx>,
      ) => Promise<R>
    } & TxOption<Tx>,
  ): Promise<[R] extends [EndedJob] ? CompletedJobChain<T, N> : JobChainOf<T, N>>

  /** Resolves with the completed chain. @throws WAIT_TIMEOUT, CHAIN_NOT_FOUND, CHAIN_FAILED, CHAIN_CANCELLED, or the signal's reason */
  waitForJobChainCompletion<N extends EntryName<T>>(
    chain: ChainRef<N>,
    options: WaitOptions,
  ): Promise<CompletedJobChain<T, N>>

  /**
   * Cancels the last job of a chain at once, a running one too; with `abort`, a running one is asked to stop. A chain that has
   * ended stays as it is. @throws INVALID_ARGUMENT
   */
  cancelJobChain<N extends EntryName<T>>(options: ChainRef<N> & CancelChainOptions): Promise<CancelVerdict>

  /** Deletes the trees of these root chains with every job in them: all or none. @throws CHAIN_NOT_FOUND, NOT_ROOT_CHAIN, BLOCKER_REFERENCED */
  deleteJobChains(options: { readonly rootChainIds: readonly ChainRef<EntryName<T>>[] } & TxOption<Tx>): Promise<void>

  /** Makes a waiting job due now, and a failed or cancelled last job live again. @throws JOB_NOT_FOUND, NOT_TRIGGERABLE, DEDUPLICATION_CONFLICT */
  triggerJob<N extends JobTypeName<T>>(options: ChainRef<N> & TxOption<Tx>): Promise<JobOf<T, N>>

  /** Its schedules, which workers fire: put, list, pause, fire and preview them. */
  readonly schedules: ChainSchedules<T>

  /** Keeps hints and events of the user's transactions until `run` resolves; drops them if it throws. */
  withNotify<R>(run: () => Promise<R>): Promise<R>

  /** Ends the waits, and gives the connection back. Idempotent. */
  close(): Promise<void>

  [Symbol.asyncDispose](): Promise<void>
}

// ── several starts ───────────────────────────────────────────────────────────────────────────────────────────────────

type StartItems<T, Names extends readonly JobTypeName<T>[], Tx> = {
  readonly [I in keyof Names]: StartItem<T, Names[I], Tx>
}

type StartedJobChains<T, Names extends readonly JobTypeName<T>[]> = {
  -readonly [I in keyof Names]: StartedJobChain<T, Names[I] & EntryName<T>>
}

// ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Options of listJobs() and listJobChains(): a filter, and which page. */
export interface ListOptions<F> {
  /** Only items that match. @default all */
  readonly filter?: F | undefined
  /** By createdAt. @default 'desc' */
  readonly orderDirection?: 'asc' | 'desc' | undefined
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined
  /** Items of a page, at most 1000. @default 50 */
  readonly limit?: number | undefined
}

interface Filter<N extends string> {
  readonly typeName?: readonly N[] | undefined
  readonly state?: readonly JobState[] | undefined
  /** Epoch ms. */
  readonly createdFrom?: number | undefined
  /** Epoch ms, exclusive. */
  readonly createdTo?: number | undefined
}

/** Filter of listJobs(). Fields that are absent match every job. */
export interface JobFilter<N extends string> extends Filter<N> {
  /** Jobs of this chain. */
  readonly chain?: ChainRef | undefined
}

/** Filter of listJobChains(). Fields that are absent match every chain. */
export interface ChainFilter<N extends string> extends Filter<N> {
  /** Only chains that were not started as blockers. */
  readonly rootOnly?: boolean | undefined
}

/** Options of waitForJobChainCompletion(). */
export interface WaitOptions {
  /** Longest wait, in ms. 0: read once. Infinity: no end. */
  readonly timeoutMs: number
  /** Pause between two reads without a hint, in ms. @default 15_000 */
  readonly pollMs?: number | undefined
  /** Alias of pollMs. */
  readonly pollIntervalMs?: number | undefined
  /** Ends the wait with its reason. */
  readonly signal?: AbortSignal | undefined
}

// ── completing without a worker ──────────────────────────────────────────────────────────────────────────────────────

declare const ended: unique symbol

/** A job that was completed with an output: its chain has ended. */
interface EndedJob {
  readonly [ended]: true
}

/** Completes one job. May be called again with the job that it gives, if that is a continuation. */
export type WorkerlessComplete<T, N extends EntryName<T>, Tx> = <
  M extends Reachable<T, N> & string,
  R extends CompleteResult<T, M>,
>(
  job: { readonly id: string; readonly typeName: OneName<M> },
  run: (context: CompleteContext<T, M, Tx> & TxContext<Tx>) => R | Promise<R>,
) => Promise<Completed<T, R>>

type Completed<T, R> = R extends Continuation<infer M extends JobTypeName<T>> ? JobOf<T, M> : EndedJob

type OneName<M extends string> =
  IsUnion<M> extends true ? 'narrow job by its typeName first: each job type has an end of its own' : M
