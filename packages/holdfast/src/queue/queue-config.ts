// What a Queue is made with, and what it makes of it.

import { type Clock, systemClock } from '../clock.ts'
import type { Logger } from '../engine/emit.ts'
import type { Backoff } from '../engine/job/backoff.ts'
import { type QueueRetention, retainedBy } from '../engine/job/retention.ts'
import { JsonSerde, type Serde } from '../engine/job/serde.ts'
import { queueOptions } from '../engine/options.ts'
import { resolveOptions } from '../resolve-options.ts'
import { evenRetention } from '../storage/retention.ts'
import type { Storage } from '../storage/storage.ts'
import type { AfterExecution } from './after-execution.ts'

/** @typeParam Tx a transaction of the storage, for enqueue's `tx` */
export interface QueueConfig<TPayload, TResult = void, Tx = unknown> {
  readonly storage: Storage<Tx>
  /** The job type: queues of one name on one storage share their jobs. @default 'default' */
  readonly name?: string
  /** @default JSON */
  readonly payloadSerde?: Serde<TPayload>
  /** @default JSON */
  readonly resultSerde?: Serde<TResult>
  /** How long results, errors and cancelled records are kept, in ms. @default 3_600_000 */
  readonly resultTTL?: number
  /** How long they are kept, by the job's end; wins over resultTTL. @default resultTTL for each */
  readonly retention?: QueueRetention
  /** Executions in all. @default 3 */
  readonly maxRetries?: number
  /** After serialisation. @default 16_777_216 */
  readonly maxPayloadBytes?: number
  /** After serialisation. @default 16_777_216 */
  readonly maxResultBytes?: number
  /** A label for people. @default a random UUID */
  readonly workerId?: string
  /** Jobs at a time. @default 1 */
  readonly concurrency?: number
  /** The longest that one attempt may take, in ms. @default 30_000 */
  readonly visibilityTimeout?: number
  /** How long a dead worker's job stays its own, in ms; renewed every third of it. @default 30_000 */
  readonly leaseMs?: number
  /** @default 'exponential' */
  readonly backoff?: Backoff
  /** The longest sleep of an idle worker, in **seconds**; if given, it wins over the storage's. @default 5 */
  readonly blockTimeout?: number
  /** How long traces of a dead worker are kept, in ms (never jobs). @default 604_800_000 */
  readonly processingQueueTTL?: number
  /** Runs after a success or the final failure, before it is recorded. */
  readonly afterExecution?: AfterExecution<TPayload, TResult>
  readonly logger?: Logger
  /** Where local time comes from: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock
}

/** Complete: nothing inside asks for a default. */
export type ResolvedQueueConfig<P, R> = ReturnType<typeof resolveQueueConfig<P, R>>

/** @throws TypeError INVALID_ARGUMENT */
export function resolveQueueConfig<P, R>(config: QueueConfig<P, R, unknown>) {
  // Executions in all, so inside they are called what they are.
  const { maxRetries: maxAttempts, ...resolved } = resolveOptions('Queue', config, queueOptions)
  queueOptions.storage.check('storage', resolved.storage)
  const clock = resolved.clock ?? systemClock
  return {
    ...resolved,
    maxAttempts,
    clock,
    workerId: resolved.workerId ?? clock.newId(),
    payloadSerde: resolved.payloadSerde ?? new JsonSerde<P>(),
    resultSerde: resolved.resultSerde ?? new JsonSerde<R>(),
    retention: retainedBy(resolved.retention, evenRetention(resolved.resultTTL)),
    blockTimeout: config.blockTimeout ?? resolved.storage.settings.blockTimeout ?? resolved.blockTimeout,
  }
}
