// One attempt of a task: decode → validate → handler. What goes wrong ends by the kind of queue that delivered it:
//
//   extended               a RetryError: the queue retries in place, or keeps it as failed
//   foreign, nativeRetrial the error goes to the queue, which retries
//   any other foreign      enqueued again, one attempt later; or, when all is over, an event and an acknowledgement

import { isHoldfastError, usageError } from '../errors.ts'
import { stalledError } from '../engine/work/outcomes.ts'
import type { DefinedTask, TaskContext } from './define.ts'
import type { Enqueuing } from './enqueue.ts'
import type { TaskFailure } from './telemetry/events.ts'
import type { Delivery } from './queue/message-queue.ts'
import type { NamedQueue } from './queue/queues.ts'
import { delayAfter, isRetryError, RetryError, type RetryPolicy } from './retry.ts'
import { validate } from './schema.ts'
import { decodeData, type TaskMessage, taskMessageOf } from './task-message.ts'
import type { Tasks } from './tasks.ts'
import { type AttemptSpan, inAttemptSpan } from './telemetry/trace.ts'

export interface Processing extends Enqueuing {
  readonly tasks: Tasks
  readonly retryPolicy: RetryPolicy
}

/** What came, from where. */
interface Received {
  readonly message: TaskMessage
  readonly from: NamedQueue | undefined
  readonly delivery: Delivery | undefined
  readonly attempt: number
  readonly elapsedMs: number
  readonly enqueuedAt: number
  readonly span: AttemptSpan | undefined
}

interface Failure {
  readonly reason: TaskFailure
  readonly error: unknown
  /** Null: for good. Undefined: the queue will say. */
  readonly delayMs: number | null | undefined
  readonly durationMs?: number
}

const neverAborts = new AbortController().signal

/** @param from the queue that delivered it; absent: it was pushed, and the task's own is used */
export async function processTask(
  env: Processing,
  from: NamedQueue | undefined,
  raw: unknown,
  delivery: Delivery | undefined,
): Promise<void> {
  const now = env.clock.now()
  const parsed = taskMessageOf(raw, now)
  const message = parsed ?? foreignMessage(delivery, now)
  const enqueuedAt = delivery?.enqueuedAt ?? message.enqueuedAt
  const task = parsed && env.definitions.ofName(message.task)
  const received: Omit<Received, 'span'> = {
    message,
    from: from ?? (task && env.queues.of(task)),
    delivery,
    attempt: delivery?.attempt ?? message.attempt,
    enqueuedAt,
    elapsedMs: Math.max(0, now - enqueuedAt),
  }
  const { id, trace } = message
  // Names from the wire are anybody's.
  const about = { task: task?.name ?? 'unknown', queue: queueOf(received), id, attempt: received.attempt, trace }
  return inAttemptSpan(about, (span) => attemptMessage(env, task, parsed !== undefined, { ...received, span }))
}

async function attemptMessage(
  env: Processing,
  task: DefinedTask | undefined,
  isOurs: boolean,
  received: Received,
): Promise<void> {
  const { message } = received
  if (!isOurs) {
    const error = usageError('INVALID_MESSAGE', 'a message that is no task was delivered')
    return conclude(env, received, { reason: 'deserialization', error, delayMs: null })
  }
  if (!task) {
    const error = usageError('UNKNOWN_TASK', `this worker has no task '${message.task}'`, { task: message.task })
    const delayMs = decide(env, env.retryPolicy, received, error)
    return conclude(env, received, { reason: 'unknown_task', error, delayMs })
  }
  return attemptTask(env, task, received)
}

async function attemptTask(env: Processing, task: DefinedTask, received: Received): Promise<void> {
  const policy = task.retryPolicy ?? env.retryPolicy
  const { delivery, attempt, message } = received
  if (delivery?.lost && decide(env, policy, { ...received, attempt: attempt - 1 }, stalledError(message.id)) === null) {
    return conclude(env, received, { reason: 'handler', error: stalledError(message.id), delayMs: null })
  }
  let data: unknown
  try {
    data = decodeData(message.data)
  } catch (error) {
    return conclude(env, received, { reason: 'deserialization', error, delayMs: null })
  }
  try {
    data = await validate(task.schema, data)
  } catch (error) {
    return conclude(env, received, { reason: 'validation', error, delayMs: null })
  }
  await runHandler(env, task, policy, received, data)
}

async function runHandler(
  env: Processing,
  task: DefinedTask,
  policy: RetryPolicy,
  received: Received,
  data: unknown,
): Promise<void> {
  const { events, clock } = env
  const { attempt, message, delivery } = received
  const about = { task: task.name, queue: queueOf(received), id: message.id, attempt }
  const context = contextOf(env, task, received)
  const startedAt = clock.monotonic()
  events.tell({ name: 'started', ...about })
  try {
    await task.handler(context, data)
  } catch (error) {
    const durationMs = clock.monotonic() - startedAt
    if (delivery?.signal.aborted && isHoldfastError(delivery.signal.reason, 'STOPPING')) {
      events.tell({ name: 'released', ...about, durationMs })
      throw error
    }
    const isLeft = leavesRetriesToQueue(received) && !isRetryError(error)
    const delayMs = isLeft ? undefined : decide(env, policy, received, error)
    await callOnError(env, task, context, error, data, delayMs ?? null)
    return conclude(env, received, { reason: 'handler', error, delayMs, durationMs })
  }
  events.tell({ name: 'completed', ...about, durationMs: clock.monotonic() - startedAt })
}

function contextOf(env: Processing, task: DefinedTask, received: Received): TaskContext {
  const { message, delivery, attempt, enqueuedAt } = received
  const orderingKey = delivery?.orderingKey ?? message.orderingKey
  return {
    id: message.id,
    task: task.name,
    attempt,
    enqueuedAt,
    ...(orderingKey !== undefined && { orderingKey }),
    tasks: env.tasks,
    // Asked for when somebody looks: most handlers never do.
    get signal() {
      return delivery?.signal ?? neverAborts
    },
  }
}

async function callOnError(
  { log }: Processing,
  task: DefinedTask,
  context: TaskContext,
  error: unknown,
  data: unknown,
  nextDelayMs: number | null,
): Promise<void> {
  try {
    const told = Object.defineProperties({ nextDelayMs }, Object.getOwnPropertyDescriptors(context))
    await task.onError?.(told as TaskContext & { nextDelayMs: number | null }, error, data)
  } catch (problem) {
    log.error({ err: problem, task: task.name }, 'onError failed; the retry is recorded all the same')
  }
}

function decide(env: Processing, policy: RetryPolicy, received: Received, error: unknown): number | null {
  const { attempt, elapsedMs, message } = received
  return delayAfter(policy, { attempt, elapsedMs, error }, (problem) =>
    env.log.error({ err: problem, task: message.task }, problem.message),
  )
}

async function conclude(env: Processing, received: Received, failure: Failure): Promise<void> {
  const { message, from, delivery, attempt } = received
  const { reason, error, delayMs, durationMs } = failure
  received.span?.failed(reason, isRetryError(error) ? (error.cause ?? error) : error)
  const about = { task: message.task, queue: queueOf(received), id: message.id, attempt, reason, error }
  if (delayMs === null) env.events.tell({ name: 'failed', ...about, durationMs })
  else env.events.tell({ name: 'retried', ...about, durationMs, delayMs })
  if (delivery && from?.queue.extended) {
    throw new RetryError(delayMs!, { cause: isRetryError(error) ? (error.cause ?? error) : error })
  }
  // A foreign queue has no failed state: the event was told, and the message is acknowledged.
  if (delayMs === null) {
    env.log.error({ err: error, task: message.task, id: message.id, reason }, 'a task failed for good')
    return
  }
  if (leavesRetriesToQueue(received)) throw error
  await sendAgain(env, received, delayMs!)
}

async function sendAgain(env: Processing, received: Received, delay: number): Promise<void> {
  const { message, from, attempt } = received
  const { orderingKey } = message
  try {
    // Never with the deduplication key: a retry is no duplicate.
    const options = { delay, ...(orderingKey !== undefined && { orderingKey }) }
    await from!.queue.enqueue({ ...message, attempt: attempt + 1 }, options)
  } catch (error) {
    const about = { task: message.task, queue: queueOf(received), id: message.id, attempt }
    env.events.tell({ name: 'failed', ...about, reason: 'retry_enqueue', error })
    received.span?.failed('retry_enqueue', error)
    throw error
  }
}

/** Its own policy cannot apply there. */
function leavesRetriesToQueue({ from, delivery }: Received): boolean {
  if (!from) return true
  if (delivery && from.queue.extended) return false
  return from.queue.nativeRetrial === true
}

const queueOf = ({ from }: Pick<Received, 'from'>): string => from?.name ?? 'pushed'

/** For a message that is none of ours: only what events need. */
function foreignMessage(delivery: Delivery | undefined, now: number): TaskMessage {
  const id = delivery?.id ?? 'unknown'
  return { v: 1, type: 'holdfast.task', id, task: 'unknown', data: '', enqueuedAt: now, attempt: 1 }
}
