// A handler: what it is given and must give back; and the middlewares around it.

import type { Directive } from '../../engine/job/directives.ts'
import type { AttemptSignal } from '../../errors.ts'
import type { ContinuationName, GivenOutput, JobTypeName } from './job-types.ts'
import type { AnyRunningJob, RunningJob } from './records.ts'
import type { Continuation, ContinueWith, TxContext } from './start-options.ts'

declare const completion: unique symbol

/** What `complete` gives, and a handler must return. */
export interface Completion<N extends string = string> {
  readonly [completion]: N
}

/** What a handler of chains is given: the job, its signal, and the calls that report and end the attempt. */
export interface ProcessContext<T, N extends JobTypeName<T>, Tx> {
  /** The job of this attempt: id, input, blockers with their outputs, attempt number. */
  readonly job: RunningJob<T, N>
  /** Aborts when the attempt should end. Its reason is an AttemptAbortedError. */
  readonly signal: AttemptSignal
  /**
   * Reports how far the attempt has come: any JSON value of at most 4 KiB, of which the last is stored with the job. Stored within
   * 250 ms, or with the end of the attempt; in a transaction, when that commits.
   * @throws SerializationError, TOO_LARGE, INVALID_ARGUMENT
   */
  readonly progress: (value: unknown) => void
  /** Adds a line of at most 8 KiB to the log of the job, stored as soon as a progress is. @throws INVALID_ARGUMENT */
  readonly log: (text: string, fields?: Readonly<Record<string, unknown>>) => void
  /** Optional. Works once, before `complete`. */
  readonly prepare: Prepare<Tx>
  /** Works once. Its outcome becomes durable when the handler resolves. */
  readonly complete: Complete<T, N, Tx>
}

/** Returns the result of `complete`; or snooze() to run again later, fail() to fail the job for good. */
export type Process<T, N extends JobTypeName<T>, Tx> = (
  context: ProcessContext<T, N, Tx>,
) => Promise<Completion<N> | Directive>

interface PrepareOptions {
  /** `atomic`: one transaction from here to the end of the attempt. `staged`: a short transaction of its own. */
  readonly mode: 'atomic' | 'staged'
}

/** Reads and writes at the start of an attempt, while the lease is checked; in a transaction where the storage has them. */
export interface Prepare<Tx> {
  /** Runs the callback while the job is still held. @throws LeaseLostError, PREPARE_TWICE, PREPARE_AFTER_COMPLETE */
  <R>(options: PrepareOptions, run: (context: TxContext<Tx>) => R): Promise<Awaited<R>>
  (options: PrepareOptions): Promise<void>
}

/** Ends the job: with an output, or by continuing with the next job. Recorded once the handler has resolved. */
export interface Complete<T, N extends JobTypeName<T>, Tx> {
  /** Runs the callback in a transaction, where the storage has them. @throws LeaseLostError, COMPLETE_TWICE */
  (
    run: (context: CompleteContext<T, N, Tx> & TxContext<Tx>) => CompleteResult<T, N> | Promise<CompleteResult<T, N>>,
  ): Promise<Completion<N>>
  /** Runs the callback without a transaction of its own. */
  (
    run: (context: CompleteContext<T, N, never>) => CompleteResult<T, N> | Promise<CompleteResult<T, N>>,
    options: { readonly tx: false },
  ): Promise<Completion<N>>
  /** Ends the chain with an output, without a callback or a transaction of its own. */
  (output: OutputArgument<T, N>): Promise<Completion<N>>
}

export interface CompleteContext<T, N extends JobTypeName<T>, Tx> {
  /** Works once. Its result must be returned from the callback. */
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

/** How an attempt ended that completed its job. */
export type AttemptResult =
  | { readonly outcome: 'completed'; readonly output: unknown }
  | { readonly outcome: 'continued'; readonly job: { readonly typeName: string; readonly id: string } }

/**
 * Runs around every attempt; the first in the list is outermost. `next()` resolves after the commit, and rejects with what the
 * handler threw. Without a type argument it fits every registry.
 */
export type JobAttemptMiddleware<T = unknown> = (
  context: {
    readonly job: unknown extends T ? AnyRunningJob : RunningJob<T>
    readonly workerId: string
    readonly signal: AttemptSignal
  },
  next: () => Promise<AttemptResult>,
) => Promise<AttemptResult>
