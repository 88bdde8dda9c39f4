// The two queues. A queue serves one type of job, so the seed's job name is stored in the payload: `{ name, data }`.

import {
  type Clock,
  type EnqueueOptions,
  JsonSerde,
  type Logger,
  Queue,
  type QueueConfig,
  type Serde,
  type Storage,
} from 'holdfast'
import { type JobState, storedType } from 'holdfast/storage'
import { connectOnce } from './connect-once.ts'
import { invalidArgument } from './invalid-argument.ts'
import {
  DELIVERY_QUEUE_NAME,
  type FederationDeliveryJob,
  HEALTH_CHECK_QUEUE_NAME,
  type HealthCheckJob,
} from './jobs.ts'
import { healthCheckId } from './peers/health-check-id.ts'
import { canonicalOrigin } from './origin.ts'
import type { Policies } from './policies.ts'

/** Payload of a stored job. */
export interface StoredJob<Data> {
  readonly name: string
  readonly data: Data
}

export interface QueuedJob<Data> extends StoredJob<Data> {
  readonly id: string
  readonly state: JobState
  /** Failed attempts so far. Released attempts do not count. */
  readonly failures: number
  /** Attempts in all. */
  readonly maxAttempts: number
  /** Instant of the next attempt, epoch ms. */
  readonly runAt: number
}

export interface AddOptions extends EnqueueOptions {
  /** Job id. A second job with the same id is not added. @default deliveryJobId; of a health check, a new id */
  readonly id?: string
}

export interface FederationQueue<Data> {
  /** Adds a job. `added` is false if a job with this id exists. @throws as Queue.enqueue */
  add(name: string, data: Data, options?: AddOptions): Promise<{ readonly id: string; readonly added: boolean }>
  /** Adds jobs under the ids of their data. Those that exist are left alone. @param tx as that of Queue.enqueueMany */
  addMany(name: string, data: readonly Data[], tx?: unknown): Promise<void>
  /** Returns the job, or undefined if there is none with this id. */
  get(id: string): Promise<QueuedJob<Data> | undefined>
  /** Returns the states of jobs, in order; undefined of those that do not exist. */
  statesOf(ids: readonly string[]): Promise<(JobState | undefined)[]>
  /** Removes jobs that wait. Those that run go on. */
  discard(ids: readonly string[]): Promise<void>
  /** Disconnects this queue from its storage. */
  close(): Promise<void>
  /** The queue below, for its events and its other methods. */
  readonly queue: Queue<StoredJob<Data>>
}

interface QueueDependencies {
  readonly policies: Policies
  readonly clock: Clock
  readonly logger: Logger | undefined
}

type Config<Data> = QueueConfig<StoredJob<Data>> & {
  readonly payloadSerde: Serde<StoredJob<Data>>
  readonly maxAttempts: number
}

/** The face of both queues. A user's Queue of the same name has another one, so it never shares their jobs. */
const face = 'federation'

/** @param storage that of the producers, or of the workers */
export function deliveryQueueConfig(
  { policies, clock, logger }: QueueDependencies,
  storage: Storage,
): Config<FederationDeliveryJob> {
  const { maxAttempts, backoff, keepCompletedMs, keepFailedMs, concurrency, timeoutMs } = policies.delivery
  const { discovery, relay } = policies
  return {
    storage,
    name: DELIVERY_QUEUE_NAME,
    face,
    payloadSerde: new JsonSerde(),
    maxAttempts,
    backoff,
    retention: {
      completed: { ageMs: keepCompletedMs },
      failed: { ageMs: keepFailedMs },
      cancelled: { ageMs: keepFailedMs },
    },
    concurrency,
    // Twice the sum of all deadlines in an attempt: discovery, REGISTER, direct request, sweep, relay.
    timeoutMs: 2 * (2 * discovery.timeoutMs + 2 * timeoutMs + relay.sweepTimeoutMs),
    clock,
    logger,
  }
}

export function healthCheckQueueConfig(
  { policies, clock, logger }: QueueDependencies,
  storage: Storage,
): Config<HealthCheckJob> {
  return {
    storage,
    name: HEALTH_CHECK_QUEUE_NAME,
    face,
    payloadSerde: new JsonSerde(),
    maxAttempts: 1,
    concurrency: policies.health.concurrency,
    timeoutMs: Math.max(30_000, 2 * policies.health.timeoutMs),
    clock,
    logger,
  }
}

/**
 * @param idOf makes the id of a job that is added without one
 * @param groupOf makes the group of such a job; undefined: it has none
 */
export function federationQueue<Data>(
  config: Config<Data>,
  idOf: (data: Data) => string,
  groupOf: (data: Data) => string | undefined = () => undefined,
): FederationQueue<Data> {
  const { storage, payloadSerde, maxAttempts: defaultAttempts } = config
  const queue = new Queue<StoredJob<Data>>(config)
  const type = storedType(face, queue.name)
  // Not queue.start(), which retries until the storage answers: a read should fail instead.
  const connection = connectOnce(storage)
  return {
    queue,
    add: async (name, data, { id = idOf(data), ...options } = {}) => {
      const group = options.group ?? groupOf(data)
      const { status } = await queue.enqueue(id, { name, data }, { ...options, ...(group !== undefined && { group }) })
      return { id, added: status === 'queued' || status === 'replaced' }
    },
    addMany: async (name, all, tx) => {
      const items = all.map((data) => {
        const group = groupOf(data)
        return { id: idOf(data), payload: { name, data }, ...(group !== undefined && { group }) }
      })
      await queue.enqueueMany(items, tx === undefined ? {} : { tx })
    },
    get: async (id) => {
      await connection.open()
      const [record] = await storage.get([{ type, id }], { parts: ['payload'] })
      if (!record?.payload) return undefined
      const { name, data } = payloadSerde.deserialize(Buffer.from(record.payload))
      const { state, failures, runAt, maxAttempts = defaultAttempts } = record
      return { id, name, data, state, failures, maxAttempts, runAt }
    },
    statesOf: async (ids) => {
      await connection.open()
      return (await storage.get(ids.map((id) => ({ type, id })))).map((record) => record?.state)
    },
    discard: async (ids) => {
      await connection.open()
      const jobs = ids.map((id) => ({ type, id }))
      await storage.cancel(jobs)
      await storage.remove(jobs)
    },
    close: async () => {
      await queue.stop()
      await connection.close()
    },
  }
}

/** Records of health checks are not kept. */
export const notKept = { completed: { ageMs: 0 }, failed: { ageMs: 0 }, cancelled: { ageMs: 0 } }

/** Schedules the check with this number, from 0. A repeat changes nothing. @throws TypeError INVALID_ARGUMENT, FederationError ORIGIN_INVALID */
export async function scheduleHealthCheck(
  { policies, allowHttp }: QueueDependencies & { readonly allowHttp: boolean },
  queue: FederationQueue<HealthCheckJob>,
  serverUrl: string,
  attempt: number,
): Promise<void> {
  if (!Number.isInteger(attempt) || attempt < 0) throw invalidArgument('attempt', 'an integer >= 0', String(attempt))
  const origin = canonicalOrigin(serverUrl, { allowHttp })
  const delayMs = policies.health.delayMs(attempt)
  const id = healthCheckId(origin, attempt)
  await queue.add('health-check', { serverUrl: origin }, { id, delayMs, retention: notKept })
}
