// An enqueue of tasks, in this order: handle, options, queue, deduplication plan, all of them synchronous; then validate all,
// encode all, take the key, send. What fails before the key is taken has touched neither queue nor store.

import type { Clock } from '../clock.ts'
import { invalidArgument } from '../errors.ts'
import { resolveOptions } from '../resolve-options.ts'
import { Marker, type Plan, planDeduplication } from './deduplicate.ts'
import type { DefinedTask, Definitions } from './define.ts'
import { toMs } from './duration.ts'
import type { TaskEvents } from './telemetry/events.ts'
import type { KvStore, StoreKey } from './kv/kv-store.ts'
import type { Log } from './telemetry/log.ts'
import type {
  EnqueueReceipt,
  ExtendedEnqueueOptions,
  JobOptions,
  MessageQueueEnqueueOptions,
} from './queue/message-queue.ts'
import { jobOptions, taskEnqueueOptions } from './options.ts'
import type { NamedQueue, Queues } from './queue/queues.ts'
import { validate } from './schema.ts'
import { encodeData, type TaskMessage } from './task-message.ts'
import { inEnqueueSpan } from './telemetry/trace.ts'

export interface TaskEnqueueOptions extends MessageQueueEnqueueOptions {
  /** For queues that are `extended`. */
  readonly job?: JobOptions
}

/** `forwarded`: a foreign queue decides about the key, and does not tell. */
type EnqueueStatus = 'enqueued' | 'deduplicated' | 'forwarded'
/** Deduplicated: the id is the survivor's, if it is known. */
export type EnqueueTaskResult = { readonly status: EnqueueStatus; readonly id?: string }
export type EnqueueManyResult = { readonly status: EnqueueStatus; readonly ids: readonly string[] }

export interface Enqueuing {
  readonly definitions: Definitions
  readonly queues: Queues
  readonly kv: KvStore | undefined
  readonly prefix: StoreKey
  readonly deduplicationTtlMs: number
  readonly deduplicationFallback: 'open' | 'closed'
  readonly clock: Clock
  readonly log: Log
  readonly events: TaskEvents
}

/** A call that was checked. */
export interface Prepared {
  readonly task: DefinedTask
  readonly to: NamedQueue
  readonly plan: Plan
  readonly delayMs: number | undefined
  readonly orderingKey: string | undefined
  readonly job: JobOptions | undefined
}

/** @throws TypeError for whatever is wrong with the call */
export function prepare(
  env: Enqueuing,
  handle: unknown,
  size: number,
  options: TaskEnqueueOptions | undefined,
): Prepared {
  const task = env.definitions.ofHandle(handle)
  const { delay, orderingKey, deduplicationKey: key, job } = resolveOptions('enqueueTask', options, taskEnqueueOptions)
  resolveOptions('job', job, jobOptions)
  const to = env.queues.required(task)
  if (job !== undefined && to.queue.extended !== true) throw invalidArgument('job', 'nothing, for a foreign queue', job)
  const { kv, deduplicationFallback: fallback, log } = env
  const plan = planDeduplication({ task: task.name, key, queue: to.queue, kv, fallback, size, log })
  return { task, to, plan, delayMs: delay === undefined ? undefined : toMs(delay), orderingKey, job }
}

/** @throws SCHEMA_REJECTED, SERIALIZATION_ERROR, KV_FAILED, and whatever the queue throws */
export async function send(
  env: Enqueuing,
  prepared: Prepared,
  payloads: readonly unknown[],
  isBatch: boolean,
): Promise<EnqueueManyResult> {
  if (payloads.length === 0) return { status: 'enqueued', ids: [] }
  const about = { task: prepared.task.name, queue: prepared.to.name, count: payloads.length }
  return inEnqueueSpan(about, async (trace) => {
    return sendMessages(env, prepared, await messagesOf(env, prepared, payloads, isBatch, trace))
  })
}

async function sendMessages(
  env: Enqueuing,
  prepared: Prepared,
  messages: readonly TaskMessage[],
): Promise<EnqueueManyResult> {
  const { plan, to } = prepared
  if (plan.path !== 'kv') return tell(env, prepared, messages, await dispatch(env, prepared, messages))
  const ttlMs = (prepared.delayMs ?? 0) + env.deduplicationTtlMs
  const key: StoreKey = [...env.prefix, prepared.task.name, plan.key]
  const marker = await Marker.take(plan, key, messages[0]!.id, ttlMs, env.clock)
  if (!(marker instanceof Marker)) {
    const { survivor } = marker
    return tell(env, prepared, messages, { status: 'deduplicated', ids: survivor === undefined ? [] : [survivor] })
  }
  try {
    return tell(env, prepared, messages, await dispatch(env, prepared, messages))
  } catch (error) {
    env.log.debug(
      { task: prepared.task.name, queue: to.name },
      'the send failed, and the deduplication key is given back',
    )
    await marker.giveBack(env.log)
    throw error
  }
}

async function messagesOf(
  env: Enqueuing,
  { task, orderingKey }: Prepared,
  payloads: readonly unknown[],
  isBatch: boolean,
  trace: string | undefined,
): Promise<TaskMessage[]> {
  const indexOf = (index: number): number | undefined => (isBatch ? index : undefined)
  for (const [index, data] of payloads.entries()) await validate(task.schema, data, indexOf(index))
  // The input travels, so a schema that transforms need not be idempotent.
  const texts = payloads.map((data, index) => encodeData(data, indexOf(index)))
  const enqueuedAt = env.clock.now()
  return texts.map((data) => ({
    v: 1,
    type: 'holdfast.task',
    id: env.clock.newId(),
    task: task.name,
    data,
    enqueuedAt,
    attempt: 1,
    ...(orderingKey !== undefined && { orderingKey }),
    ...(trace !== undefined && { trace }),
  }))
}

/** The queue's answer, or what it stands for where there is none. */
async function dispatch(
  env: Enqueuing,
  { task, to: { queue }, plan, delayMs, orderingKey, job }: Prepared,
  messages: readonly TaskMessage[],
): Promise<Omit<EnqueueManyResult, 'status'> & { readonly status: EnqueueStatus }> {
  const isKeyed = plan.path === 'native'
  const given: MessageQueueEnqueueOptions = {
    ...(delayMs !== undefined && { delay: delayMs }),
    ...(orderingKey !== undefined && { orderingKey }),
    ...(isKeyed && { deduplicationKey: plan.key }),
  }
  const ids = messages.map(({ id }) => id)
  if (queue.extended !== true) {
    if (messages.length === 1) await queue.enqueue(messages[0], given)
    else if (queue.enqueueMany) await queue.enqueueMany(messages, given)
    else for (const message of messages) await queue.enqueue(message, given)
    return { status: isKeyed ? 'forwarded' : 'enqueued', ids }
  }
  const extended: ExtendedEnqueueOptions = {
    ...given,
    ...(job !== undefined && { job }),
    ...(isKeyed && { deduplicationScope: task.name, deduplicationTtl: env.deduplicationTtlMs }),
  }
  const receipt =
    messages.length === 1
      ? await queue.enqueue(messages[0], { ...extended, id: ids[0] } as MessageQueueEnqueueOptions)
      : await queue.enqueueMany!(messages, { ...extended, ids } as MessageQueueEnqueueOptions)
  return receipt as EnqueueReceipt
}

function tell(
  { events, log }: Enqueuing,
  { task: { name: task }, to: { name: queue }, plan }: Prepared,
  messages: readonly TaskMessage[],
  result: EnqueueManyResult,
): EnqueueManyResult {
  if (result.status === 'deduplicated') {
    const path = plan.path === 'kv' ? 'kv' : 'native'
    const [id] = result.ids
    events.tell({ name: 'deduplicated', task, queue, id, path })
    log.debug({ task, queue, id, path }, 'skipped: the deduplication key is taken')
  } else if (result.status === 'enqueued') {
    for (const { id } of messages) events.tell({ name: 'enqueued', task, queue, id })
  }
  return result
}
