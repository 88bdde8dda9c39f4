// The worker's side: what a handler is given and must give back, middlewares, and the options of a worker.

import type { Clock } from '../../clock.ts'
import type { ContinuationName, GivenOutput, JobTypeName } from './job-types.ts'
import type { Log } from '../events/log.ts'
import type { Notifier } from '../events/notifier.ts'
import type { Observer } from '../events/observer.ts'
import type { AnyRunningJob, RunningJob } from './records.ts'
import type { JobTypeRegistry } from '../registry.ts'
import type { Continuation, ContinueWith, TxContext } from './start-options.ts'
import type { Refusal, Storage } from '../../storage/storage.ts'

/**
 * Why an attempt should end. The first four: it is no longer this worker's. `error`: its lease could not be renewed in
 * time. `timeout`: it ran for `timeoutMs`. `stopping`: the worker stops, and its grace period is over.
 */
export type JobAbortReason = Refusal | 'error' | 'timeout' | 'stopping'

export interface TypedAbortSignal<Reason> extends AbortSignal {
  /** Undefined until it aborts. */
  readonly reason: Reason | undefined
}

// ── a handler ────────────────────────────────────────────────────────────────────────────────────────────────────────

declare const completion: unique symbol

/** What `complete` gives, and a handler must return. */
export interface Completion<N extends string = string> {
  readonly [completion]: N
}

export interface ProcessContext<T, N extends JobTypeName<T>, Tx> {
  readonly job: RunningJob<T, N>
  readonly signal: TypedAbortSignal<JobAbortReason>
  /** Optional, once, before `complete`. */
  readonly prepare: Prepare<Tx>
  /** Once. What it says becomes durable when the handler resolves. */
  readonly complete: Complete<T, N, Tx>
}

export type Process<T, N extends JobTypeName<T>, Tx> = (context: ProcessContext<T, N, Tx>) => Promise<Completion<N>>

export interface PrepareOptions {
  /** `atomic`: one transaction from here to the end. `staged`: a short one of its own. */
  readonly mode: 'atomic' | 'staged'
}

export interface Prepare<Tx> {
  <R>(options: PrepareOptions, run: (context: TxContext<Tx>) => R): Promise<Awaited<R>>
  (options: PrepareOptions): Promise<void>
}

export interface Complete<T, N extends JobTypeName<T>, Tx> {
  /** In a transaction, where the storage has such. */
  (
    run: (context: CompleteContext<T, N, Tx> & TxContext<Tx>) => CompleteResult<T, N> | Promise<CompleteResult<T, N>>,
  ): Promise<Completion<N>>
  /** Without one of its own. */
  (
    run: (context: CompleteContext<T, N, never>) => CompleteResult<T, N> | Promise<CompleteResult<T, N>>,
    options: { readonly tx: false },
  ): Promise<Completion<N>>
  /** Ends the chain, without a callback and a transaction of its own. */
  (output: OutputArgument<T, N>): Promise<Completion<N>>
}

export interface CompleteContext<T, N extends JobTypeName<T>, Tx> {
  /** Once; return what it gives. */
  readonly continueWith: ContinueWith<T, N, Tx>
}

/** What the callback of `complete` returns: the output, which ends the chain, or a continuation. */
export type CompleteResult<T, N extends JobTypeName<T>> =
  | GivenOutput<T, N>
  | ([ContinuationName<T, N>] extends [never] ? never : Continuation<ContinuationName<T, N>>)

type OutputArgument<T, N extends JobTypeName<T>> = T[N] extends { readonly output: unknown }
  ? GivenOutput<T, N>
  : `job type '${N}' has no output: it must continue`

// ── middlewares ──────────────────────────────────────────────────────────────────────────────────────────────────────

export type AttemptResult =
  | { readonly outcome: 'completed'; readonly output: unknown }
  | { readonly outcome: 'continued'; readonly job: { readonly typeName: string; readonly id: string } }

/**
 * The first in the list is outermost. `next()` resolves after the commit, and rejects with what the handler threw. Without
 * a type argument: one that fits every registry.
 */
export type JobAttemptMiddleware<T = unknown> = (
  context: {
    readonly job: unknown extends T ? AnyRunningJob : RunningJob<T>
    readonly workerId: string
    readonly signal: TypedAbortSignal<JobAbortReason>
  },
  next: () => Promise<AttemptResult>,
) => Promise<AttemptResult>

// ── options ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface RetryConfig {
  /** @default 10_000 */
  readonly initialDelayMs?: number
  /** @default 2 */
  readonly multiplier?: number
  /** @default 300_000 */
  readonly maxDelayMs?: number
  /** The share of the delay that is left to chance, 0 … 1. @default 0.2 */
  readonly jitter?: number
  /** Failures after which a job fails for good. @default Infinity */
  readonly maxAttempts?: number
}

export interface LeaseConfig {
  /** @default 60_000 */
  readonly leaseMs?: number
  /** Less than `leaseMs`. @default 30_000 */
  readonly renewIntervalMs?: number
}

export interface StopOptions {
  /** So long handlers go on undisturbed. @default 20_000 */
  readonly graceMs?: number
  /** Then what still runs is released. At least `graceMs`. @default 25_000 */
  readonly deadlineMs?: number
}

export interface JobTypeProcessor<T, N extends JobTypeName<T>, Tx> {
  readonly process: Process<T, N, Tx>
  /** Over the worker's default, field by field. */
  readonly retryConfig?: RetryConfig
  /** Over the worker's default, field by field. */
  readonly leaseConfig?: LeaseConfig
  /** From the handler's start. @default the worker's */
  readonly timeoutMs?: number
}

/** A handler for each type that the worker serves. */
export type JobTypeProcessors<T, Tx> = { readonly [N in JobTypeName<T>]?: JobTypeProcessor<T, N, Tx> }

export interface JobTypeProcessing<T> {
  /** Infinity: hints alone wake. @default 60_000 */
  readonly pollIntervalMs?: number
  /** Pause of a slot between two jobs. @default 0 */
  readonly nextJobDelayMs?: number
  readonly defaultRetryConfig?: RetryConfig
  readonly defaultLeaseConfig?: LeaseConfig
  /** @default none */
  readonly defaultTimeoutMs?: number
  /** When the storage fails; without end. */
  readonly workerLoopRetryConfig?: RetryConfig
  /** @default [] */
  readonly jobAttemptMiddlewares?: readonly JobAttemptMiddleware<T>[]
}

export interface InProcessWorkerOptions<T, Tx> {
  readonly storage: Storage<Tx>
  readonly jobTypeRegistry: JobTypeRegistry<T>
  /** @default the storage's own hints */
  readonly notifier?: Notifier
  readonly observer?: Partial<Observer>
  readonly log?: Log
  /** @default a random UUID */
  readonly workerId?: string
  /** @default 1 */
  readonly concurrency?: number
  readonly stop?: StopOptions
  // NoInfer: a middleware for every registry must not make this one unknown.
  readonly jobTypeProcessing?: JobTypeProcessing<NoInfer<T>>
  /** At least one. */
  readonly jobTypeProcessors: JobTypeProcessors<T, Tx>
  /** Where local time comes from: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock
}

export interface InProcessWorker {
  /** Resolves with what stops it. It may be started again then. */
  start(): Promise<(options?: StopOptions) => Promise<void>>
}
