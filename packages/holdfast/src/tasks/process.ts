// One run of a task, as a list of steps:
//
//   parse the message → find the task → decode the data → validate → handler → completed
//
// A step that fails ends the list. A failed step before the handler cannot be mended by a retry, except an unknown task: a newer
// worker may have it. conclude.ts tells the queue how the run ended.

import { stalledError } from '../engine/work/outcomes.ts'
import { usageError } from '../errors.ts'
import { conclude } from './conclude.ts'
import type { DefinedTask } from './define.ts'
import type { Enqueuing } from './enqueue.ts'
import type { Delivery } from './queue/message-queue.ts'
import type { NamedQueue } from './queue/queues.ts'
import { queueOf, type Received } from './received.ts'
import { retryDelay, type RetryPolicy } from './retry.ts'
import { runHandler } from './run-handler.ts'
import { validate } from './schema.ts'
import { decodeData, type TaskMessage, taskMessageOf, traceOf } from './task-message.ts'
import type { Tasks } from './tasks.ts'
import { inAttemptSpan } from './telemetry/trace.ts'

export interface Processing extends Enqueuing {
  readonly tasks: Tasks
  /** For tasks without one of their own. */
  readonly retryPolicy: RetryPolicy
}

/** @param from the queue that delivered it. Absent: it was pushed, and the task's own queue is used */
export async function processTask(
  env: Processing,
  from: NamedQueue | undefined,
  raw: unknown,
  delivery: Delivery | undefined,
): Promise<void> {
  const now = env.clock.now()
  const parsed = identified(taskMessageOf(raw, now), delivery)
  const message = parsed ?? unknownMessage(delivery, now)
  const enqueuedAt = delivery?.enqueuedAt ?? message.enqueuedAt
  const task = parsed && env.definitions.ofName(message.task)
  const received: Omit<Received, 'span'> = {
    message,
    defined: task !== undefined,
    from: from ?? (task && env.queues.of(task)),
    delivery,
    attempt: delivery?.attempt ?? message.attempt,
    enqueuedAt,
    elapsedMs: Math.max(0, now - enqueuedAt),
  }
  const { id } = message
  // A span is never named by the message: its names are not under our control.
  const about = {
    task: task?.name ?? 'unknown',
    queue: queueOf(received),
    id,
    attempt: received.attempt,
    trace: traceOf(message),
  }
  return inAttemptSpan(about, (span) => attemptMessage(env, task, parsed !== undefined, { ...received, span }))
}

/** The messages of a schedule are the same bytes: each has the id of its record. */
function identified(message: TaskMessage | undefined, delivery: Delivery | undefined): TaskMessage | undefined {
  return message && delivery?.schedule ? { ...message, id: delivery.id } : message
}

async function attemptMessage(
  env: Processing,
  task: DefinedTask | undefined,
  isParsed: boolean,
  received: Received,
): Promise<void> {
  const { message } = received
  if (!isParsed) {
    const error = usageError('INVALID_MESSAGE', 'tasks: a message was delivered that is not a task. It is not retried.')
    return conclude(env, received, { reason: 'deserialization', error, delayMs: null })
  }
  if (!task) {
    const unknown = `task '${message.task}': this worker does not define it. The message is retried, for a worker that does.`
    const error = usageError('UNKNOWN_TASK', unknown, { task: message.task })
    const delayMs = delayBefore(env, env.retryPolicy, received, error)
    return conclude(env, received, { reason: 'unknown_task', error, delayMs })
  }
  return attemptTask(env, task, received)
}

async function attemptTask(env: Processing, task: DefinedTask, received: Received): Promise<void> {
  const policy = task.retryPolicy ?? env.retryPolicy
  const { delivery, attempt, message } = received
  if (delivery?.lost) {
    const error = stalledError(message.id)
    const isGivenUp = delayBefore(env, policy, { ...received, attempt: attempt - 1 }, error) === null
    if (isGivenUp) return conclude(env, received, { reason: 'handler', error, delayMs: null })
  }
  let data: unknown
  try {
    data = decodeData(message.data)
  } catch (error) {
    return conclude(env, received, { reason: 'deserialization', error, delayMs: null })
  }
  try {
    data = (await validate(task.schema, data)).value
  } catch (error) {
    return conclude(env, received, { reason: 'validation', error, delayMs: null })
  }
  await runHandler(env, task, received, data, (error) => delayBefore(env, policy, received, error))
}

/** The delay before the next run in ms, or null to give up. */
function delayBefore(env: Processing, policy: RetryPolicy, received: Received, error: unknown): number | null {
  const { attempt, elapsedMs, message } = received
  return retryDelay(policy, { attempt, elapsedMs, error }, (problem) =>
    env.log.error({ err: problem, task: message.task }, `task '${message.task}': ${problem.message}`),
  )
}

/** Stands for a message that is no task: only the fields that events need. */
function unknownMessage(delivery: Delivery | undefined, now: number): TaskMessage {
  const id = delivery?.id ?? 'unknown'
  return { v: 1, type: 'holdfast.task', id, task: 'unknown', data: '', enqueuedAt: now, attempt: 1 }
}
