// An enqueue of tasks: handle → options → queue → deduplication plan → validate all → encode all → take the key → send.
// Invariant: a failure before the key is taken has touched neither queue nor store.

import type { Clock } from '../clock.ts'
import { invalidArgument } from '../errors.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { JobState, When } from '../storage/storage.ts'
import { Marker, type Plan, planDeduplication } from './deduplicate.ts'
import type { DefinedTask, Definitions } from './define.ts'
import type { TaskEvents } from './telemetry/events.ts'
import type { KvStore, StoreKey } from './kv/kv-store.ts'
import type { Log } from './telemetry/log.ts'
import { delayMsOf, dueOf, windowMsOf } from './queue/due.ts'
import type {
  DueOptions,
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

export interface TaskEnqueueOptions extends MessageQueueEnqueueOptions, DueOptions {
  /** Options of the job underneath, for queues that are `extended`. */
  readonly job?: JobOptions | undefined
}

interface EnqueueOutcome {
  /**
   * `duplicate`: another message has the deduplication key, and nothing was sent. `forwarded`: a foreign queue decides about the
   * key, and does not tell.
   */
  readonly status: 'enqueued' | 'duplicate' | 'forwarded'
  /** Of a duplicate: the state of the message that has the key, if it is known. */
  readonly state?: JobState | undefined
  /** True of a duplicate. Alias of the status. */
  readonly deduplicated?: true | undefined
}

/** The id of a duplicate is that of the message that has the key, if it is known. */
export type EnqueueTaskResult = EnqueueOutcome & { readonly id?: string | undefined }
/** The ids of a duplicate are those of the messages that have the key, as far as they are known. */
export type EnqueueManyResult = EnqueueOutcome & { readonly ids: readonly string[] }

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
  readonly due: When
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
  const given = resolveOptions('enqueueTask', options, taskEnqueueOptions)
  const { orderingKey, deduplicationKey: key, job } = given
  const due = dueOf(given)
  resolveOptions('job', job, jobOptions)
  const to = env.queues.required(task)
  if (job !== undefined && to.queue.extended !== true) throw invalidArgument('job', 'nothing, for a foreign queue', job)
  const { kv, deduplicationFallback: fallback, log } = env
  const plan = planDeduplication({ task: task.name, key, queue: to.queue, kv, fallback, size, log })
  return { task, to, plan, due, orderingKey, job }
}

/** @throws SCHEMA_REJECTED, SERIALIZATION_ERROR, KV_FAILED, and what the queue throws */
export async function send(
  env: Enqueuing,
  prepared: Prepared,
  payloads: readonly unknown[],
  isBatch: boolean,
): Promise<EnqueueManyResult> {
  if (payloads.length === 0) return { status: 'enqueued', ids: [] }
  const about = { task: prepared.task.name, queue: prepared.to.name, count: payloads.length }
  return inEnqueueSpan(about, async (trace) => {
    const messages = await messagesOf(env, prepared, payloads, isBatch, trace)
    const result = await sendMessages(env, prepared, messages)
    report(env, prepared, messages, result)
    return result
  })
}

async function sendMessages(
  env: Enqueuing,
  prepared: Prepared,
  messages: readonly TaskMessage[],
): Promise<EnqueueManyResult> {
  const { plan, task, to, due } = prepared
  if (plan.path !== 'kv') return dispatch(env, prepared, messages)
  const key: StoreKey = [...env.prefix, task.name, plan.key]
  const ttlMs = windowMsOf(due, env.deduplicationTtlMs, env.clock)
  const marker = await Marker.take(plan, key, messages[0]!.id, ttlMs, env.clock)
  if (!(marker instanceof Marker)) {
    const ids = marker.holder === undefined ? [] : [marker.holder]
    return { status: 'duplicate', deduplicated: true, ids }
  }
  try {
    return await dispatch(env, prepared, messages)
  } catch (error) {
    const message = `task '${task.name}': the send failed. Its deduplication key is given back.`
    env.log.debug({ task: task.name, queue: to.name }, message)
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
  // The message carries the input, so a schema that transforms need not be idempotent.
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

/** Returns the queue's answer; for a queue that returns none, its meaning. */
async function dispatch(
  env: Enqueuing,
  prepared: Prepared,
  messages: readonly TaskMessage[],
): Promise<EnqueueManyResult> {
  const { task, to, plan, due, orderingKey, job } = prepared
  const { queue } = to
  const isKeyed = plan.path === 'native'
  const shared = {
    ...(orderingKey !== undefined && { orderingKey }),
    ...(isKeyed && { deduplicationKey: plan.key }),
  }
  const ids = messages.map(({ id }) => id)
  if (queue.extended !== true) {
    const delay = delayMsOf(due, env.clock)
    await dispatchForeign(queue, messages, { ...shared, ...(delay !== undefined && { delay }) })
    return { status: isKeyed ? 'forwarded' : 'enqueued', ids }
  }
  const extended: ExtendedEnqueueOptions = {
    ...shared,
    ...due,
    ...(job !== undefined && { job }),
    ...(isKeyed && { deduplicationScope: task.name, deduplicationTtl: env.deduplicationTtlMs }),
  }
  const receipt =
    messages.length === 1
      ? await queue.enqueue(messages[0], { ...extended, id: ids[0] } as MessageQueueEnqueueOptions)
      : await queue.enqueueMany!(messages, { ...extended, ids } as MessageQueueEnqueueOptions)
  return receipt as EnqueueReceipt
}

async function dispatchForeign(
  queue: NamedQueue['queue'],
  messages: readonly TaskMessage[],
  options: MessageQueueEnqueueOptions,
): Promise<void> {
  if (messages.length === 1) await queue.enqueue(messages[0], options)
  else if (queue.enqueueMany) await queue.enqueueMany(messages, options)
  else for (const message of messages) await queue.enqueue(message, options)
}

function report(
  { events, log }: Enqueuing,
  { task: { name: task }, to: { name: queue }, plan }: Prepared,
  messages: readonly TaskMessage[],
  { status, ids: [id] }: EnqueueManyResult,
): void {
  if (status === 'enqueued')
    for (const message of messages) events.tell({ name: 'enqueued', task, queue, id: message.id })
  if (status !== 'duplicate') return
  const path = plan.path === 'kv' ? 'kv' : 'native'
  events.tell({ name: 'deduplicated', task, queue, id, path })
  log.debug({ task, queue, id, path }, `task '${task}': skipped, its deduplication key is taken`)
}
