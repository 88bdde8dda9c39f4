// The client of job chains, as a type; and the one place from which the types of this face are imported.

import type { Clock } from '../clock.ts'
import type { CancelVerdict, JobState, Storage } from '../storage/storage.ts'
import type { EntryName, IsUnion, JobTypeName, Reachable } from './types/job-types.ts'
import type { Log } from './events/log.ts'
import type { Notifier } from './events/notifier.ts'
import type { Observer } from './events/observer.ts'
import type { CompleteContext, CompleteResult } from './types/processing.ts'
import type { ChainRef, CompletedJobChain, JobChainOf, JobOf, PageOf } from './types/records.ts'
import type { JobTypeRegistry } from './registry.ts'
import type {
  Continuation,
  StartedJobChain,
  StartItem,
  StartOptions,
  TxContext,
  TxOption,
} from './types/start-options.ts'

export type * from './types/job-types.ts'
export type * from './events/log.ts'
export type * from './events/notifier.ts'
export type * from './events/observer.ts'
export type * from './types/processing.ts'
export type * from './types/records.ts'
export type * from './types/start-options.ts'

export interface ClientOptions<T, Tx> {
  readonly storage: Storage<Tx>
  readonly jobTypeRegistry: JobTypeRegistry<T>
  /** @default the storage's own hints */
  readonly notifier?: Notifier
  readonly observer?: Partial<Observer>
  readonly log?: Log
  /** How long ended chains are kept; fixed at a chain's start. */
  readonly retention?: ChainRetention
  /** Where local time comes from: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock
}

export interface ChainRetention {
  /** @default 7 days */
  readonly completed?: { readonly ageMs?: number }
  /** @default 14 days */
  readonly failed?: { readonly ageMs?: number }
  /** Infinity keeps for ever. @default 1 day */
  readonly cancelled?: { readonly ageMs?: number }
}

export interface Client<T, Tx = never> {
  /** Starts a chain, or gives the one that stands under the id or key. */
  startJobChain<N extends JobTypeName<T>>(
    options: StartOptions<T, N, Tx>,
  ): Promise<StartedJobChain<T, N & EntryName<T>>>

  /** All in one move, or none. */
  startJobChains<const Names extends readonly JobTypeName<T>[]>(
    options: { readonly items: StartItems<T, Names, Tx> } & TxOption<Tx>,
  ): Promise<StartedJobChains<T, Names>>

  getJobChain<N extends EntryName<T>>(options: ChainRef<N> & TxOption<Tx>): Promise<JobChainOf<T, N> | null>

  getJob<N extends JobTypeName<T>>(options: ChainRef<N> & TxOption<Tx>): Promise<JobOf<T, N> | null>

  /** Newest first, unless told otherwise. */
  listJobChains<N extends EntryName<T> = EntryName<T>>(
    options?: ListOptions<ChainFilter<N>>,
  ): Promise<PageOf<JobChainOf<T, N>>>

  listJobs<N extends JobTypeName<T> = JobTypeName<T>>(options?: ListOptions<JobFilter<N>>): Promise<PageOf<JobOf<T, N>>>

  /** Completes the last job of a chain, and those that follow it, without a worker. */
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

  /** @throws WAIT_TIMEOUT, CHAIN_NOT_FOUND, CHAIN_FAILED, CHAIN_CANCELLED, or the signal's reason */
  waitForJobChainCompletion<N extends EntryName<T>>(
    chain: ChainRef<N>,
    options: WaitOptions,
  ): Promise<CompletedJobChain<T, N>>

  /** Cancels its last job at once, a running one too. */
  cancelJobChain<N extends EntryName<T>>(
    options: ChainRef<N> & { readonly reason?: string | null },
  ): Promise<CancelVerdict>

  /** The trees of these root chains with every job in them, all or none. */
  deleteJobChains(options: { readonly rootChainIds: readonly ChainRef<EntryName<T>>[] } & TxOption<Tx>): Promise<void>

  /** A waiting job is due now; a failed or cancelled last job is live again. */
  triggerJob<N extends JobTypeName<T>>(options: ChainRef<N> & TxOption<Tx>): Promise<JobOf<T, N>>

  /** Keeps hints and events until `run` resolves; drops them if it throws. */
  withNotify<R>(run: () => Promise<R>): Promise<R>

  close(): Promise<void>
}

// ── several starts ───────────────────────────────────────────────────────────────────────────────────────────────────

type StartItems<T, Names extends readonly JobTypeName<T>[], Tx> = {
  readonly [I in keyof Names]: StartItem<T, Names[I], Tx>
}

type StartedJobChains<T, Names extends readonly JobTypeName<T>[]> = {
  -readonly [I in keyof Names]: StartedJobChain<T, Names[I] & EntryName<T>>
}

// ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ListOptions<F> {
  readonly filter?: F
  /** By createdAt. @default 'desc' */
  readonly orderDirection?: 'asc' | 'desc'
  readonly cursor?: string
  /** At most 1000. @default 50 */
  readonly limit?: number
}

interface Filter<N extends string> {
  readonly typeName?: readonly N[]
  readonly state?: readonly JobState[]
  /** Epoch ms. */
  readonly createdFrom?: number
  /** Epoch ms, exclusive. */
  readonly createdTo?: number
}

export interface JobFilter<N extends string> extends Filter<N> {
  readonly chain?: ChainRef
}

export interface ChainFilter<N extends string> extends Filter<N> {
  /** Only chains that nobody started as blockers. */
  readonly rootOnly?: boolean
}

export interface WaitOptions {
  readonly timeoutMs: number
  /** @default 15_000 */
  readonly pollIntervalMs?: number
  readonly signal?: AbortSignal
}

// ── completing without a worker ──────────────────────────────────────────────────────────────────────────────────────

declare const ended: unique symbol

/** A job that was completed with an output: its chain has ended. */
export interface EndedJob {
  readonly [ended]: true
}

/** May be called again with the job that it gives, if that is one that follows. */
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
