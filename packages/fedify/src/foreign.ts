// Queues and stores of Fedify for createTasks() of holdfast/tasks. Tasks give durations as numbers of ms, Fedify's classes take
// Temporal.Duration.

import type { KvStore, MessageQueue } from '@fedify/fedify'
import {
  type Duration,
  type KvStore as TaskKvStore,
  type MessageQueue as TaskQueue,
  type MessageQueueEnqueueOptions,
  type StoreWrite,
  toMs,
} from 'holdfast/tasks'
import { temporalOf, type TemporalNamespace } from './temporal.ts'

export interface FedifyDurations {
  /** What durations are made with: `Temporal` of a polyfill. @default the global Temporal */
  readonly temporal?: TemporalNamespace | undefined
}

/**
 * A message queue of Fedify as a queue for tasks: it gets its delays as Temporal.Duration.
 * @throws TypeError INVALID_ARGUMENT if there is no Temporal
 */
export function fedifyQueue(queue: MessageQueue, options?: FedifyDurations): TaskQueue {
  const toDuration = durationsOf('fedifyQueue', options)
  const convert = ({ delay, ...rest }: MessageQueueEnqueueOptions = {}): object => ({
    ...rest,
    ...(delay !== undefined && { delay: toDuration(delay) }),
  })
  return {
    durations: 'ms',
    nativeRetrial: queue.nativeRetrial,
    // Members of later versions of Fedify.
    nativeDeduplication: (queue as TaskQueue).nativeDeduplication,
    atomicEnqueueMany: (queue as TaskQueue).atomicEnqueueMany,
    enqueue: (message, given) => queue.enqueue(message, convert(given)),
    ...(queue.enqueueMany && { enqueueMany: (messages, given) => queue.enqueueMany!(messages, convert(given)) }),
    listen: (handler, given) =>
      queue.listen(async (message) => void (await handler(message)), given?.signal ? { signal: given.signal } : {}),
    ...(queue.getDepth && { getDepth: () => queue.getDepth!() }),
  }
}

/**
 * A key-value store of Fedify as a store for tasks: it gets its TTLs as Temporal.Duration.
 * @throws TypeError INVALID_ARGUMENT if there is no Temporal
 */
export function fedifyKv(kv: KvStore, options?: FedifyDurations): TaskKvStore {
  const toDuration = durationsOf('fedifyKv', options)
  const convert = (given: StoreWrite | undefined) => (given?.ttl === undefined ? {} : { ttl: toDuration(given.ttl) })
  return {
    durations: 'ms',
    get: (key) => kv.get(key),
    set: (key, value, given) => kv.set(key, value, convert(given)),
    delete: (key) => kv.delete(key),
    ...(kv.cas && { cas: (key, expected, next, given) => kv.cas!(key, expected, next, convert(given)) }),
    list: (prefix) => kv.list(prefix),
  }
}

function durationsOf(where: string, options: FedifyDurations = {}): (duration: Duration) => Temporal.Duration {
  const temporal = temporalOf(options.temporal)
  if (typeof temporal?.Duration?.from !== 'function') {
    const message = `${where}: Fedify takes durations as Temporal.Duration, which this Node.js does not have. Pass { temporal: Temporal } with the Temporal of @js-temporal/polyfill.`
    throw Object.assign(new TypeError(message), { code: 'INVALID_ARGUMENT' })
  }
  return (duration) => temporal.Duration.from({ milliseconds: toMs(duration) })
}
