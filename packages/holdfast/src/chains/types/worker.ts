// A worker, as a type: its options, and its life-cycle.

import type { Clock } from '../../clock.ts'
import type { Logger } from '../../engine/emit.ts'
import type { Health } from '../../engine/health.ts'
import type { Backoff } from '../../engine/job/backoff.ts'
import type { RetentionCounts } from '../../engine/job/retention.ts'
import type { LimitsOptions } from '../../engine/limits/limits-options.ts'
import type { ErrorAnswer } from '../../engine/work/decision.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Log } from '../events/log.ts'
import type { Notifier } from '../events/notifier.ts'
import type { Observer } from '../events/observer.ts'
import type { JobTypeRegistry } from '../registry.ts'
import type { JobAttemptMiddleware, Process } from './handler.ts'
import type { JobTypeName } from './job-types.ts'
import type { RunningJob } from './records.ts'
import type { ChainSchedule } from './schedules.ts'

/** How attempts are run: on a worker for all its types; on a processor over the worker's, field by field. */
export interface AttemptOptions {
  /** Failures after which a job fails for good. @default Infinity */
  readonly maxAttempts?: number | undefined
  /** Pause before the next attempt of a job that failed. @default exponential: 10 s, doubled up to 300 s, up to a fifth shorter by jitter */
  readonly backoff?: Backoff | undefined
  /** How long the jobs of a dead worker stay its own, in ms. @default 60_000 */
  readonly leaseMs?: number | undefined
  /** Pause between two renewals of a lease, in ms; below leaseMs. Without it: a third of leaseMs if that is given, else 30 s. */
  readonly renewIntervalMs?: number | undefined
  /** Longest run of one attempt, in ms, from the handler's start. Without it, an attempt may take any time. */
  readonly timeoutMs?: number | undefined
  /** Most snoozes of a job. One more fails it with code MAX_SNOOZES. @default Infinity */
  readonly maxSnoozes?: number | undefined
}

/** How a worker looks for jobs and runs them. */
interface ProcessingOptions<T> extends AttemptOptions {
  /** Longest idle wait without a hint, in ms. Infinity: hints and due times alone. @default 60_000 */
  readonly pollMs?: number | undefined
  /** Pause of a slot between two jobs, in ms. @default 0 */
  readonly nextJobDelayMs?: number | undefined
  /** Pause between two claims while the storage fails; `maxAttempts` has no effect here. @default as RetryConfig */
  readonly workerLoopRetryConfig?: RetryConfig | undefined
  /** Run around every attempt, the first outermost. @default [] */
  readonly jobAttemptMiddlewares?: readonly JobAttemptMiddleware<T>[] | undefined
}

/** Alias of `maxAttempts` and an exponential `backoff`. */
export interface RetryConfig {
  /** Pause after the first failure, in ms. @default 10_000 */
  readonly initialDelayMs?: number | undefined
  /** Factor from one pause to the next. @default 2 */
  readonly multiplier?: number | undefined
  /** Longest pause, in ms. @default 300_000 */
  readonly maxDelayMs?: number | undefined
  /** Share of the pause that is random, 0 … 1. @default 0.2 */
  readonly jitter?: number | undefined
  /** Failures after which a job fails for good. @default Infinity */
  readonly maxAttempts?: number | undefined
}

/** Alias of `leaseMs` and `renewIntervalMs`. */
export interface LeaseConfig {
  /** How long the jobs of a dead worker stay its own, in ms. @default 60_000 */
  readonly leaseMs?: number | undefined
  /** Pause between two renewals, in ms; below leaseMs. @default 30_000 */
  readonly renewIntervalMs?: number | undefined
}

/** Options of stop(). */
export interface StopOptions {
  /** How long handlers may go on, in ms, before their signals abort. @default 20_000 */
  readonly graceMs?: number | undefined
  /** When attempts that still run are released, in ms from the stop; at least graceMs, and 5 s after it if that is later. @default 25_000 */
  readonly deadlineMs?: number | undefined
}

/** The handler of one job type, with options that go before those of the worker. */
export interface JobTypeProcessor<T, N extends JobTypeName<T>, Tx> extends AttemptOptions {
  /** Handler of the job type. */
  readonly process: Process<T, N, Tx>
  /**
   * Decides what comes after an error of the handler: answers retry(), retry({ delayMs }), fail(), snooze(…), rateLimited(…), or undefined for
   * the normal course. Not called for directives. If it throws: an error event, and the normal course.
   */
  readonly onError?: ((error: unknown, job: RunningJob<T, N>) => ErrorAnswer | Promise<ErrorAnswer>) | undefined
  /** How many ended chains that start with this type are kept. Older ones are deleted by sweeps. @default any number */
  readonly retention?: RetentionCounts | undefined
  /**
   * Limits of the job type and of its groups, over all processes: `concurrency`, `rate`, `maxWaiting`, `group`. Stored at start(), so that
   * all processes agree; an operator may set others with createAdmin(). `{}` declares that there are none. @default none
   */
  readonly limits?: LimitsOptions | undefined
  /** Alias of `maxAttempts` and `backoff`. */
  readonly retryConfig?: RetryConfig | undefined
  /** Alias of `leaseMs` and `renewIntervalMs`. */
  readonly leaseConfig?: LeaseConfig | undefined
}

/** A handler for each type that the worker serves. */
export type JobTypeProcessors<T, Tx> = { readonly [N in JobTypeName<T>]?: JobTypeProcessor<T, N, Tx> | undefined }

/** The same options in a group, also by their aliases. */
export interface JobTypeProcessing<T> extends ProcessingOptions<T> {
  /** Alias of `pollMs`. */
  readonly pollIntervalMs?: number | undefined
  /** Alias of `maxAttempts` and `backoff`. */
  readonly defaultRetryConfig?: RetryConfig | undefined
  /** Alias of `leaseMs` and `renewIntervalMs`. */
  readonly defaultLeaseConfig?: LeaseConfig | undefined
  /** Alias of `timeoutMs`. */
  readonly defaultTimeoutMs?: number | undefined
}

// NoInfer: a middleware for every registry must not make this one unknown.
export interface InProcessWorkerOptions<T, Tx> extends ProcessingOptions<NoInfer<T>>, StopOptions {
  /** Where the jobs live; the same as the client's. */
  readonly storage: Storage<Tx>
  /** The same as the client's. */
  readonly jobTypeRegistry: JobTypeRegistry<T>
  /** Carries hints in place of the storage; the same as the client's. @default the storage's own hints */
  readonly notifier?: Notifier | undefined
  /** Called with each event, after its commit. */
  readonly observer?: Partial<Observer> | undefined
  /** Receives start, stop, failures, stalls and lost connections, each at its level. pino and console fit. */
  readonly logger?: Logger | undefined
  /** Receives every event as one entry, beside the logger. */
  readonly log?: Log | undefined
  /** A label for people, in records and events. @default a random UUID */
  readonly workerId?: string | undefined
  /** Jobs that run at a time. @default 1 */
  readonly concurrency?: number | undefined
  /** Time between two writes of this worker's entry in workers(), in ms. False: no entry, and no call while idle. @default 60_000 */
  readonly presenceMs?: number | false | undefined
  /**
   * While handlers are short, jobs are claimed ahead of a free slot, and held for this time at most, in ms. False: a job is claimed only
   * when a slot is free, and each outcome is stored before the slot takes its next job. @default 20
   */
  readonly prefetchMs?: number | false | undefined
  /** A handler for each type that the worker serves; at least one. */
  readonly jobTypeProcessors: JobTypeProcessors<T, Tx>
  /**
   * Schedules by name, stored at start(): new ones are added, changed ones replaced. Every started worker of a job type fires its
   * schedules, and the storage starts one chain per slot.
   */
  readonly schedules?: Readonly<Record<string, ChainSchedule<NoInfer<T>>>> | undefined
  /**
   * Number of the deployed version, which grows with each. Only a greater one removes schedules and limits that are no longer declared, and
   * a lower one changes none. @default 0
   */
  readonly release?: number | undefined
  /** Source of local time: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock | undefined
  /** Alias of `graceMs` and `deadlineMs`. */
  readonly stop?: StopOptions | undefined
  /** The options of a worker in a group, also by their aliases. */
  readonly jobTypeProcessing?: JobTypeProcessing<NoInfer<T>> | undefined
}

/** A worker of chains in this process. Made by createInProcessWorker(); it works between start() and stop(). */
export interface InProcessWorker {
  /**
   * Connects and begins to work. Resolves when ready, with the function that stops this start; a storage that is unavailable is
   * retried until then. Idempotent; a stopped worker may be started again.
   * @throws StorageError that another try cannot mend, such as a wrong password
   */
  start(): Promise<(options?: StopOptions) => Promise<void>>
  /** Starts, and resolves once the worker was stopped. @param options.signal stops it @throws as start, INVALID_ARGUMENT */
  run(options?: StopOptions & { readonly signal?: AbortSignal | undefined }): Promise<void>
  /**
   * Takes no new job, lets handlers run for `graceMs`, aborts them, and releases at `deadlineMs` what still runs. Resolves by
   * deadlineMs + 1 s at the latest. A second call joins the first.
   * @throws TypeError INVALID_ARGUMENT, and the worker goes on
   */
  stop(options?: StopOptions): Promise<void>
  /** Returns whether the worker runs jobs, and why not. Makes no call to the storage. */
  health(): Health
  /** As stop(), at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void>
}
