// An enqueue of tasks: handle → options → queue → deduplication plan → validate all → encode all → take the key → send.
// Invariant: a failure before the key is taken has touched neither queue nor store.

import type { Clock } from '../clock.ts'
import { BatchInterruptedError, HoldfastError, invalidArgument, isHoldfastError } from '../errors.ts'
import { resolveOptions } from '../resolve-options.ts'
import type { JobState, When } from '../storage/storage.ts'
import { Marker, type Plan, planDeduplication } from './deduplicate.ts'
import type { DefinedTask, Definitions } from './define.ts'
import type { TaskEvents } from './telemetry/events.ts'
import type { KvStore, StoreKey } from './kv/kv-store.ts'
import type { Log } from './telemetry/log.ts'
import { durationFor } from './foreign-durations.ts'
import { type Batch, batchOf, checkKeyedBatch, messageIdIn, moveSize, newBatch, resumeText } from './queue/batch.ts'
import { checkNoKey, checkNoMode } from './queue/deduplication-mode.ts'
import { checkOneGroup } from './queue/group.ts'
import { delayMsOf, dueOf, windowMsOf } from './queue/due.ts'
import type {
  DueOptions,
  EnqueueReceipt,
  ExtendedEnqueueOptions,
  GroupedOptions,
  JobOptions,
  MessageQueueEnqueueOptions,
  ModeOptions,
} from './queue/message-queue.ts'
import { taskEnqueueManyOptions, taskEnqueueOptions } from './options.ts'
import type { NamedQueue, Queues } from './queue/queues.ts'
import { validate } from './schema.ts'
import { carriedTrace, encodeData, type TaskMessage } from './task-message.ts'
import { inEnqueueSpan } from './telemetry/trace.ts'

/**
 * Options of enqueueTask(). `priority`, `timeoutMs`, `expiresInMs`, `search`, `weight`, `group` and `deduplication` need a queue over a
 * Holdfast storage; other queues refuse them.
 */
export interface TaskEnqueueOptions
  extends MessageQueueEnqueueOptions, DueOptions, JobOptions, ModeOptions, GroupedOptions {
  /** Alias of priority, timeoutMs, expiresInMs, search and weight, as one object. */
  readonly job?: JobOptions | undefined
}

export interface TaskEnqueueManyOptions extends TaskEnqueueOptions {
  /** The `resume` of a BATCH_INTERRUPTED error. Sends the payloads of that call which are missing; the payloads must be the same. */
  readonly resume?: string | undefined
}

interface EnqueueOutcome {
  /**
   * `duplicate`: another message has the deduplication key, and nothing was sent. `forwarded`: a foreign queue decides about the
   * key, and does not tell. `replaced`: the task took the place of the waiting one that has the key (modes `debounce` and
   * `followUp`). `stale`: its version is not above the last one (mode `ascending`), and nothing was sent.
   */
  readonly status: 'enqueued' | 'duplicate' | 'forwarded' | 'replaced' | 'stale'
  /** Of a duplicate: the state of the message that has the key, if it is known. */
  readonly state?: JobState | undefined
  /** Of a stale task: the last accepted version. */
  readonly version?: number | undefined
  /** True of a duplicate and of a stale task: nothing was sent. */
  readonly deduplicated?: true | undefined
}

/** The id of a duplicate is that of the message that has the key, if it is known. */
export type EnqueueTaskResult = EnqueueOutcome & { readonly id?: string | undefined }
/** One id for each payload, in order. The ids of a duplicate are those of the messages that have the key, as far as they are known. */
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
  /** Present only if the call has one of them. */
  readonly job: (JobOptions & ModeOptions & GroupedOptions) | undefined
  /** Of a call that may end with a part of its messages stored. */
  readonly batch: Batch | undefined
}

/** @param size of a batch. Absent: the call sends one task @throws TypeError for whatever is wrong with the call */
export function prepare(
  env: Enqueuing,
  handle: unknown,
  options: TaskEnqueueManyOptions | undefined,
  size?: number,
): Prepared {
  const task = env.definitions.ofHandle(handle)
  const given =
    size === undefined
      ? resolveOptions('enqueueTask', options, taskEnqueueOptions)
      : resolveOptions('enqueueTaskMany', options, taskEnqueueManyOptions)
  const { orderingKey, deduplicationKey: key } = given
  const due = dueOf(given)
  const to = env.queues.required(task)
  const job = jobOf(given)
  checkNoKey(given.deduplication, key)
  checkOneGroup(given)
  if (size !== undefined) checkNoMode(given.deduplication)
  if (job && to.queue.extended !== true) throw foreignJob(task.name, options, job)
  const { kv, deduplicationFallback: fallback, log } = env
  const plan = planDeduplication({ task: task.name, key, queue: to.queue, kv, fallback, size: size ?? 1, log })
  const batch = size === undefined ? undefined : batchFor(env, to, plan, size, options?.resume)
  return { task, to, plan, due, orderingKey, job, batch }
}

function jobOf(given: JobOptions & ModeOptions & GroupedOptions): Prepared['job'] {
  const { priority, timeoutMs, expiresInMs, search, weight, group, deduplication } = given
  const job = { priority, timeoutMs, expiresInMs, search, weight, group, deduplication }
  return Object.values(job).every((value) => value === undefined) ? undefined : job
}

function foreignJob(task: string, options: TaskEnqueueOptions | undefined, job: object): Error {
  if (options?.job !== undefined) return invalidArgument('job', 'nothing, for a foreign queue', options.job)
  const what = Object.entries(job)
    .flatMap(([word, value]) => (value === undefined ? [] : [word]))
    .join(' and ')
  const message = `task '${task}': its queue is not over a Holdfast storage, and cannot carry ${what}. Nothing was sent. Leave it out, or give the task a StorageMessageQueue.`
  return new HoldfastError('FEATURE_UNSUPPORTED', message, { what })
}

/** @throws TypeError BATCH_TOO_LARGE, INVALID_ARGUMENT */
function batchFor(
  { clock }: Enqueuing,
  { queue }: NamedQueue,
  { path }: Plan,
  size: number,
  resume: string | undefined,
): Batch | undefined {
  if (path !== 'none') return void checkKeyedBatch(size, resume)
  if (resume !== undefined) return batchOf(resume, size)
  // A queue without enqueueMany gets the messages one by one.
  const isInMoves = queue.enqueueMany ? queue.extended === true && size > moveSize : size > 1
  return isInMoves ? newBatch(clock) : undefined
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
    const messages = await messagesOf(env, prepared, payloads, isBatch, carriedTrace(trace))
    const from = prepared.batch?.accepted ?? 0
    try {
      const result = await sendMessages(env, prepared, messages)
      report(env, prepared, from === 0 ? messages : messages.slice(from), result)
      return result
    } catch (error) {
      if (isHoldfastError(error, 'BATCH_INTERRUPTED')) {
        const stored = messages.slice(from, (error as BatchInterruptedError).accepted)
        report(env, prepared, stored, { status: 'enqueued', ids: [] })
      }
      throw error
    }
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
  { task, orderingKey, batch }: Prepared,
  payloads: readonly unknown[],
  isBatch: boolean,
  trace: Partial<TaskMessage>,
): Promise<TaskMessage[]> {
  const indexOf = (index: number): number | undefined => (isBatch ? index : undefined)
  for (const [index, data] of payloads.entries()) await validate(task.schema, data, indexOf(index))
  // The message carries the input, so a schema that transforms need not be idempotent.
  const texts = payloads.map((data, index) => encodeData(data, indexOf(index)))
  const enqueuedAt = env.clock.now()
  return texts.map((data, index) => ({
    v: 1,
    type: 'holdfast.task',
    id: batch ? messageIdIn(batch, index) : env.clock.newId(),
    task: task.name,
    data,
    enqueuedAt,
    attempt: 1,
    ...(orderingKey !== undefined && { orderingKey }),
    ...trace,
  }))
}

/** Returns the queue's answer; for a queue that returns none, its meaning. */
async function dispatch(
  env: Enqueuing,
  prepared: Prepared,
  messages: readonly TaskMessage[],
): Promise<EnqueueManyResult> {
  const { task, to, plan, due, orderingKey, job, batch } = prepared
  const { queue } = to
  const isKeyed = plan.path === 'native'
  const shared = {
    ...(orderingKey !== undefined && { orderingKey }),
    ...(isKeyed && { deduplicationKey: plan.key }),
  }
  const ids = messages.map(({ id }) => id)
  if (queue.extended !== true) {
    const delayMs = delayMsOf(due, env.clock)
    const options = { ...shared, ...(delayMs !== undefined && { delay: durationFor(queue, delayMs) }) }
    await dispatchForeign(queue, messages, options, batch)
    return { status: isKeyed ? 'forwarded' : 'enqueued', ids }
  }
  const extended: ExtendedEnqueueOptions = {
    ...shared,
    ...due,
    ...job,
    ...(batch && { resume: resumeText(batch) }),
    ...((isKeyed || job?.deduplication) && { deduplicationScope: task.name }),
    ...(isKeyed && { deduplicationTtl: env.deduplicationTtlMs }),
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
  batch: Batch | undefined,
): Promise<void> {
  const from = batch?.accepted ?? 0
  if (messages.length === 1 && from === 0) await queue.enqueue(messages[0], options)
  else if (queue.enqueueMany) await queue.enqueueMany(messages.slice(from), options)
  else await enqueueEach(queue, messages, options, batch!)
}

/** @throws BatchInterruptedError; the queue's own error, if it refuses the first message */
async function enqueueEach(
  queue: NamedQueue['queue'],
  messages: readonly TaskMessage[],
  options: MessageQueueEnqueueOptions,
  { name, accepted: from }: Batch,
): Promise<void> {
  for (let index = from; index < messages.length; index++) {
    try {
      await queue.enqueue(messages[index], options)
    } catch (error) {
      if (index === 0) throw error
      throw new BatchInterruptedError(index, messages.length, error, resumeText({ name, accepted: index }))
    }
  }
}

function report(
  { events, log }: Enqueuing,
  { task: { name: task }, to: { name: queue }, plan }: Prepared,
  messages: readonly TaskMessage[],
  { status, ids: [id] }: EnqueueManyResult,
): void {
  if (status === 'enqueued' || status === 'replaced')
    for (const message of messages) events.publishEvent({ name: 'enqueued', task, queue, id: message.id })
  if (status !== 'duplicate' && status !== 'stale') return
  const path = plan.path === 'kv' ? 'kv' : 'native'
  events.publishEvent({ name: 'deduplicated', task, queue, id, path })
  log.debug({ task, queue, id, path }, `task '${task}': skipped, its deduplication key is taken`)
}
