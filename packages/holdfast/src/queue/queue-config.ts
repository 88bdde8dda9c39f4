// The options of a Queue, and the complete record that the code inside receives.

import { type Clock, systemClock } from '../clock.ts'
import type { Logger } from '../engine/emit.ts'
import type { Backoff } from '../engine/job/backoff.ts'
import { type RetentionOptions, retainedBy } from '../engine/job/retention.ts'
import type { Serde } from '../engine/job/serde.ts'
import { ValueSerde } from '../engine/job/values.ts'
import { sharedOptions } from '../engine/options.ts'
import { resolveOptions } from '../resolve-options.ts'
import { evenRetention } from '../storage/retention.ts'
import type { Storage } from '../storage/storage.ts'
import { storedType } from '../storage/stored-type.ts'
import type { AfterExecution } from './after-execution.ts'
import { defaultRetention, queueOptions } from './options.ts'

/** @typeParam Tx a transaction of the storage, for enqueue's `tx` */
export interface QueueConfig<TPayload, TResult = void, Tx = unknown> {
  /** Where the jobs live. One storage may serve many queues. */
  readonly storage: Storage<Tx>
  /** Queues of one name on one storage share their jobs. @default 'default' */
  readonly name?: string | undefined
  /** The face that the jobs are stored under: for packages that build on a Queue. Other faces never see its jobs. @default 'queue' */
  readonly face?: string | undefined
  /** Turns payloads into bytes and back. @default plain JSON, with Date, Map, Set, bigint, bytes and URL kept */
  readonly payloadSerde?: Serde<TPayload> | undefined
  /** Turns results into bytes and back. @default as payloadSerde */
  readonly resultSerde?: Serde<TResult> | undefined
  /** How long results, errors and cancelled records are kept, in ms: all three, if it is given. */
  readonly resultTTL?: number | undefined
  /**
   * How long records are kept, by end state; wins over resultTTL. Without either: completed 1 hour, failed 14 days, cancelled
   * 1 day.
   */
  readonly retention?: RetentionOptions | undefined
  /** Runs in all, the first included. @default 3 */
  readonly maxAttempts?: number | undefined
  /** Alias of maxAttempts. */
  readonly maxRetries?: number | undefined
  /** Largest payload in bytes, after serialisation. @default 16_777_216 */
  readonly maxPayloadBytes?: number | undefined
  /** Largest result in bytes, after serialisation. @default 16_777_216 */
  readonly maxResultBytes?: number | undefined
  /** A label for people, in records and events. @default a random UUID */
  readonly workerId?: string | undefined
  /** Jobs that run at a time. @default 1 */
  readonly concurrency?: number | undefined
  /** Longest run of one attempt, in ms. Without it, a run may take any time: its lease is renewed while it lasts. */
  readonly timeoutMs?: number | undefined
  /** Alias of timeoutMs. */
  readonly visibilityTimeout?: number | undefined
  /** How long the jobs of a dead worker stay its own, in ms; renewed every third of it. @default 30_000 */
  readonly leaseMs?: number | undefined
  /** Pause before the next run of a job that failed. @default 'exponential' */
  readonly backoff?: Backoff | undefined
  /** Longest idle wait without a hint, in ms. Infinity: hints alone. Without it: the storage's own, else 5 s. */
  readonly pollMs?: number | undefined
  /** Alias of pollMs, in **seconds**, below 1000. */
  readonly blockTimeout?: number | undefined
  /** Accepted and ignored: no trace of a dead worker is kept, and so none expires. */
  readonly processingQueueTTL?: number | undefined
  /** Runs after a success or the final failure, before it is recorded; may change the result, the error and the TTL. */
  readonly afterExecution?: AfterExecution<TPayload, TResult> | undefined
  /** Receives start, stop, failures, stalls and lost connections, each at its level. pino and console fit. */
  readonly logger?: Logger | undefined
  /** Source of local time: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock | undefined
}

/** Complete: nothing inside asks for a default. */
export type ResolvedQueueConfig<P, R> = ReturnType<typeof resolveQueueConfig<P, R>>

/** @throws TypeError INVALID_ARGUMENT */
export function resolveQueueConfig<P, R>(config: QueueConfig<P, R, unknown>) {
  const { resultTTL, ...resolved } = resolveOptions('Queue', config, queueOptions)
  queueOptions.storage.check('storage', resolved.storage)
  const clock = resolved.clock ?? systemClock
  return {
    ...resolved,
    type: storedType(resolved.face, resolved.name),
    clock,
    workerId: resolved.workerId ?? clock.newId(),
    payloadSerde: resolved.payloadSerde ?? new ValueSerde<P>(),
    resultSerde: resolved.resultSerde ?? new ValueSerde<R>(),
    retention: retainedBy(resolved.retention, resultTTL === undefined ? defaultRetention : evenRetention(resultTTL)),
    pollMs: resolved.pollMs ?? resolved.storage.settings.pollMs ?? sharedOptions.pollMs.default,
  }
}
