// The two queues. A queue serves one type; the name of a job is data beside its data.

import {
  type Clock,
  type EnqueueOptions,
  JsonSerde,
  type Logger,
  Queue,
  type QueueConfig,
  type Storage,
} from 'holdfast'
import { type JobState } from 'holdfast/storage'
import {
  DELIVERY_QUEUE_NAME,
  type FederationDeliveryJob,
  HEALTH_CHECK_QUEUE_NAME,
  type HealthCheckJob,
} from './jobs.ts'
import { healthCheckId } from './peers/health-check-id.ts'
import { canonicalOrigin } from './origin.ts'
import type { Policies } from './policies.ts'

export interface StoredJob<Data> {
  readonly name: string
  readonly data: Data
}

export interface QueuedJob<Data> extends StoredJob<Data> {
  readonly id: string
  readonly state: JobState
  /** That count. */
  readonly failures: number
  readonly maxAttempts: number
  readonly runAt: number
}

export interface AddOptions extends EnqueueOptions {
  /** It deduplicates. */
  readonly id?: string
}

export interface FederationQueue<Data> {
  /** `added` is false where a job of this id was there. @throws as Queue.enqueue */
  add(name: string, data: Data, options?: AddOptions): Promise<{ readonly id: string; readonly added: boolean }>
  get(id: string): Promise<QueuedJob<Data> | undefined>
  close(): Promise<void>
  readonly queue: Queue<StoredJob<Data>>
}

interface Ground {
  readonly policies: Policies
  readonly clock: Clock
  readonly logger: Logger | undefined
}

type Config<Data> = QueueConfig<StoredJob<Data>>

/** @param storage the producers', or the workers' */
export function deliveryQueueConfig({ policies, clock, logger }: Ground, storage: Storage): Config<FederationDeliveryJob> {
  const { maxAttempts, backoff, keepCompletedMs, keepFailedMs, concurrency, timeoutMs } = policies.delivery
  const { discovery, relay } = policies
  return {
    storage,
    name: DELIVERY_QUEUE_NAME,
    maxRetries: maxAttempts,
    backoff,
    retention: {
      completed: { ageMs: keepCompletedMs },
      failed: { ageMs: keepFailedMs },
      cancelled: { ageMs: keepFailedMs },
    },
    concurrency,
    // Discovery, REGISTER, the direct way, the sweep and the relay, each at its deadline; and as much again to spare.
    visibilityTimeout: 2 * (2 * discovery.timeoutMs + 2 * timeoutMs + relay.sweepTimeoutMs),
    clock,
    ...(logger && { logger }),
  }
}

export function healthCheckQueueConfig({ policies, clock, logger }: Ground, storage: Storage): Config<HealthCheckJob> {
  return {
    storage,
    name: HEALTH_CHECK_QUEUE_NAME,
    maxRetries: 1,
    concurrency: policies.health.concurrency,
    visibilityTimeout: Math.max(30_000, 2 * policies.health.timeoutMs),
    clock,
    ...(logger && { logger }),
  }
}

/** @param idOf of a job whose id is not given */
export function federationQueue<Data>(config: Config<Data>, idOf: (data: Data) => string): FederationQueue<Data> {
  const queue = new Queue<StoredJob<Data>>(config)
  const serde = new JsonSerde<StoredJob<Data>>()
  return {
    queue,
    add: async (name, data, { id = idOf(data), ...options } = {}) => {
      const { status } = await queue.enqueue(id, { name, data }, options)
      return { id, added: status === 'queued' }
    },
    get: async (id) => {
      // Without a handler it only connects.
      await queue.start()
      const [record] = await config.storage.get([{ type: queue.name, id }], { parts: ['payload'] })
      if (!record?.payload) return undefined
      const { name, data } = serde.deserialize(Buffer.from(record.payload))
      const { state, failures, runAt, maxAttempts = config.maxRetries! } = record
      return { id, name, data, state, failures, maxAttempts, runAt }
    },
    close: () => queue.stop(),
  }
}

/** Not kept after either end. */
const notKept = { completed: { ageMs: 0 }, failed: { ageMs: 0 }, cancelled: { ageMs: 0 } }

/** The check of this number, once. @throws TypeError INVALID_ARGUMENT, FederationError ORIGIN_INVALID */
export async function scheduleHealthCheck(
  { policies, allowHttp }: Ground & { readonly allowHttp: boolean },
  queue: FederationQueue<HealthCheckJob>,
  serverUrl: string,
  attempt: number,
): Promise<void> {
  if (!Number.isInteger(attempt) || attempt < 0) {
    const error = new TypeError(`attempt: expected an integer >= 0, got ${String(attempt)}`)
    throw Object.assign(error, { code: 'INVALID_ARGUMENT' })
  }
  const origin = canonicalOrigin(serverUrl, { allowHttp })
  const delayMs = policies.health.delayMs(attempt)
  const id = healthCheckId(origin, attempt)
  await queue.add('health-check', { serverUrl: origin }, { id, delayMs, retention: notKept })
}
