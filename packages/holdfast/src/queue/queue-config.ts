// The options of a Queue, and the resolved record that its parts receive.

import { type Clock, systemClock } from '../clock.ts'
import type { Logger } from '../engine/emit.ts'
import type { Backoff } from '../engine/job/backoff.ts'
import { keptCounts, retainedBy, type TypeRetentionOptions } from '../engine/job/retention.ts'
import type { GivenFields, SearchFieldTypes } from '../engine/job/search-fields.ts'
import type { Serde } from '../engine/job/serde.ts'
import { ValueSerde } from '../engine/job/values.ts'
import { type LimitsOptions, resolveLimits } from '../engine/limits/limits-options.ts'
import { sharedOptions } from '../engine/options.ts'
import type { ErrorAnswer } from '../engine/work/decision.ts'
import { invalidArgument } from '../errors.ts'
import { resolveOptions } from '../resolve-options.ts'
import { evenRetention } from '../storage/retention.ts'
import type { Storage } from '../storage/storage.ts'
import { storedType } from '../storage/stored-type.ts'
import type { AfterExecution } from './after-execution.ts'
import type { Job } from './handler.ts'
import { defaultRetention, queueOptions } from './options.ts'
import type { QueueSchedule } from './schedules.ts'

/** Options of a Queue. @typeParam Tx transaction of the storage, for the `tx` of enqueue() */
export interface QueueConfig<TPayload, TResult = void, Tx = unknown> {
  /** Storage of the jobs. One storage may serve many queues. Required. */
  readonly storage: Storage<Tx>
  /** Name of the queue. Queues of one name on one storage share their jobs. @default 'default' */
  readonly name?: string | undefined
  /** Face that the jobs are stored under, for packages that build on a Queue. Other faces never see its jobs. @default 'queue' */
  readonly face?: string | undefined
  /** Turns payloads into bytes and back. @default plain JSON, with Date, Map, Set, bigint, bytes and URL kept */
  readonly payloadSerde?: Serde<TPayload> | undefined
  /** Turns results into bytes and back. @default as payloadSerde */
  readonly resultSerde?: Serde<TResult> | undefined
  /** How long records are kept after any end, in ms. Without it, `retention` applies. */
  readonly resultTTL?: number | undefined
  /**
   * How long records are kept, and how many, by end state: `{ completed: { ageMs, count } }` and so on. Wins over resultTTL. Without
   * either: completed 1 hour, failed 14 days, cancelled 1 day, any number.
   */
  readonly retention?: TypeRetentionOptions | undefined
  /** Most runs of a job, the first included. @default 3 */
  readonly maxAttempts?: number | undefined
  /** Alias of maxAttempts. */
  readonly maxRetries?: number | undefined
  /** Largest payload after serialisation, in bytes. @default 16_777_216 */
  readonly maxPayloadBytes?: number | undefined
  /** Largest result after serialisation, in bytes. @default 16_777_216 */
  readonly maxResultBytes?: number | undefined
  /** Name of this worker, in records and events. It need not be unique. @default a random UUID */
  readonly workerId?: string | undefined
  /** Most jobs that this queue runs at a time. @default 1 */
  readonly concurrency?: number | undefined
  /** Longest run of one attempt, in ms. Without it, a run may take any time: heartbeats renew its lease. */
  readonly timeoutMs?: number | undefined
  /** Alias of timeoutMs. */
  readonly visibilityTimeout?: number | undefined
  /** Lease in ms: how soon another worker takes over the jobs of a dead one. Heartbeats renew it every third of that time. @default 30_000 */
  readonly leaseMs?: number | undefined
  /** Delay after a failed run: 'none', 'exponential', an object, or a function. @default 'exponential' */
  readonly backoff?: Backoff | undefined
  /**
   * Decides what comes after an error of the handler: answers retry(), retry({ delayMs }), fail(), snooze(…), rateLimited(…), or undefined for
   * the normal course. Not called for directives. If it throws: an `error` event, and the normal course.
   */
  readonly onError?: ((error: unknown, job: Job<TPayload>) => ErrorAnswer | Promise<ErrorAnswer>) | undefined
  /** Most snoozes of a job. One more fails it with code MAX_SNOOZES. @default Infinity */
  readonly maxSnoozes?: number | undefined
  /**
   * Name of another queue of the same face, to which each job that fails for good adds a job: a DeadLetter with the id of the failed
   * one. In the same write as the failure, unless the storage itself ended the job. @default none
   */
  readonly deadLetter?: string | undefined
  /** Fallback poll in ms: the longest idle wait without a hint. Infinity: hints alone. @default the storage's own, else 5_000 */
  readonly pollMs?: number | undefined
  /** Alias of pollMs, in **seconds**, below 1000. */
  readonly blockTimeout?: number | undefined
  /** Time between two writes of this worker's entry in workers(), in ms. False: no entry, and no call while idle. @default 60_000 */
  readonly presenceMs?: number | false | undefined
  /**
   * While handlers are short, jobs are claimed ahead of a free slot, and held for this time at most, in ms. False: a job is claimed only
   * when a slot is free, and each outcome is stored before the slot takes its next job. @default 20
   */
  readonly prefetchMs?: number | false | undefined
  /**
   * Schedules by name, stored at start(): new ones are added, changed ones replaced. Every started queue of this name
   * that has a handler or declares schedules fires them, and the storage adds one job per slot.
   */
  readonly schedules?: Readonly<Record<string, QueueSchedule<TPayload>>> | undefined
  /**
   * Number of the deployed version, which grows with each. Only a greater one removes schedules and limits that are no longer declared, and
   * a lower one changes none. @default 0
   */
  readonly release?: number | undefined
  /**
   * Limits of the queue and of its groups, over all processes: `concurrency`, `rate`, `maxWaiting`, `group`. Stored at start(), so that all
   * processes agree; an operator may set others with setLimits(). `{}` declares that there are none. @default none
   */
  readonly limits?: LimitsOptions | undefined
  /** Accepted without effect: no data of dead workers is kept, so none expires. */
  readonly processingQueueTTL?: number | undefined
  /** Called after a success or the final failure, before it is recorded. May change the result, the error and the TTL. */
  readonly afterExecution?: AfterExecution<TPayload, TResult> | undefined
  /**
   * Fields by which list() finds jobs, each with the type of its values: `{ customerId: 'string', total: 'number' }`. A job with
   * another field, or a value of another type, is refused. Without it, jobs may have any fields.
   */
  readonly searchFields?: SearchFieldTypes | undefined
  /** Returns the search fields of a job from its payload. Fields that a call gives itself win over them. */
  readonly search?: ((payload: TPayload) => GivenFields) | undefined
  /** Receives start, stop, failures, stalls and lost connections, each at its level. pino and console fit. @default none */
  readonly logger?: Logger | undefined
  /** Source of local time; a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock | undefined
}

/** The options of a Queue with every default resolved. */
export type ResolvedQueueConfig<P, R> = ReturnType<typeof resolveQueueConfig<P, R>>

/** Options of stop(). */
export interface QueueStopOptions {
  /** How long handlers may go on before their signals abort, in ms. @default 30_000 */
  readonly graceMs?: number | undefined
  /** Alias of graceMs. */
  readonly timeout?: number | undefined
}

/** @throws TypeError INVALID_ARGUMENT */
export function resolveQueueConfig<P, R>(config: QueueConfig<P, R, unknown>) {
  if (typeof config === 'string') {
    throw invalidArgument('Queue options', "an object, as in new Queue({ storage, name: 'mail' })", config)
  }
  const { resultTTL, ...resolved } = resolveOptions('Queue', config, queueOptions)
  queueOptions.storage.check('storage', resolved.storage)
  const clock = resolved.clock ?? systemClock
  const { face, name, deadLetter } = resolved
  if (deadLetter === name) throw invalidArgument('deadLetter', 'the name of another queue', deadLetter)
  const type = storedType(face, name)
  return {
    ...resolved,
    type,
    deadLetterType: deadLetter === undefined ? undefined : storedType(face, deadLetter),
    keep: keptCounts(type, resolved.retention),
    limits: resolved.limits && resolveLimits(resolved.limits),
    clock,
    workerId: resolved.workerId ?? clock.newId(),
    payloadSerde: resolved.payloadSerde ?? new ValueSerde<P>(),
    resultSerde: resolved.resultSerde ?? new ValueSerde<R>(),
    retention: retainedBy(resolved.retention, resultTTL === undefined ? defaultRetention : evenRetention(resultTTL)),
    pollMs: resolved.pollMs ?? resolved.storage.settings.pollMs ?? sharedOptions.pollMs.default,
  }
}
