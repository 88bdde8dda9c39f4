// How a run that did not complete ends, by the kind of queue that delivered it:
//
//   extended                 the queue retries in place, keeps the failure, or releases: the thrown value says which
//   foreign, nativeRetrial   the error goes to the queue, which retries
//   any other foreign        enqueued again; when no retry is left: an event and an acknowledgement
//
// A snooze on a foreign queue, of either kind, is enqueued again under the same attempt number, behind the waiting messages.

import type { Enqueuing } from './enqueue.ts'
import { durationFor } from './foreign-durations.ts'
import { delayMsOf } from './queue/due.ts'
import { isExtended, leavesRetriesToQueue, queueOf, type Received } from './received.ts'
import { reasonOf, RetryError } from './retry.ts'
import type { TaskFailure } from './telemetry/events.ts'
import type { When } from '../storage/storage.ts'

interface Failure {
  readonly reason: TaskFailure
  readonly error: unknown
  /** Delay before the next run. Null: failed for good. Undefined: the queue decides. */
  readonly delayMs: number | null | undefined
  readonly durationMs?: number
}

export async function conclude(env: Enqueuing, received: Received, failure: Failure): Promise<void> {
  const { attempt } = received
  const { reason, error, delayMs } = failure
  received.span?.failed(reason, reasonOf(error))
  if (isExtended(received)) {
    publish(env, received, failure)
    // The queue logs it.
    throw new RetryError(delayMs!, { cause: reasonOf(error) })
  }
  logFailure(env, received, failure)
  // A foreign queue has no failed state: the event is emitted, and the message is acknowledged.
  const isSentAgain = delayMs !== null && !leavesRetriesToQueue(received)
  if (isSentAgain) await sendAgain(env, received, delayMs!, attempt + 1, failure.durationMs)
  // After the send: a run is retried or failed, not both.
  publish(env, received, failure)
  if (delayMs !== null && !isSentAgain) throw error
}

function publish({ events }: Enqueuing, received: Received, { reason, error, delayMs, durationMs }: Failure): void {
  const about = { ...aboutOf(received), reason, error, durationMs }
  if (delayMs === null) events.publishEvent({ name: 'failed', ...about })
  else events.publishEvent({ name: 'retried', ...about, delayMs })
}

const aboutOf = (received: Received) => ({
  task: received.message.task,
  defined: received.defined,
  queue: queueOf(received),
  id: received.message.id,
  attempt: received.attempt,
})

/** Runs the task again at that time, without spending an attempt. @param directive the snooze */
export async function postpone(env: Enqueuing, received: Received, when: When, directive: unknown): Promise<void> {
  // The extended queue releases it in place; a platform without a queue decides by itself.
  if (isExtended(received) || !received.from) throw directive
  await sendAgain(env, received, delayMsOf(when, env.clock) ?? 0, received.attempt)
}

/** @param durationMs of the run, unless its end was published */
async function sendAgain(
  env: Enqueuing,
  received: Received,
  delayMs: number,
  attempt: number,
  durationMs?: number,
): Promise<void> {
  const { message, from } = received
  const { orderingKey } = message
  try {
    // Never with the deduplication key: a retry is not a duplicate.
    const delay = durationFor(from!.queue, delayMs)
    const options = { delay, ...(orderingKey !== undefined && { orderingKey }) }
    await from!.queue.enqueue({ ...message, attempt }, options)
  } catch (error) {
    env.events.publishEvent({ name: 'failed', ...aboutOf(received), reason: 'retry_enqueue', error, durationMs })
    received.span?.failed('retry_enqueue', error)
    throw error
  }
}

function logFailure({ log }: Enqueuing, { message, attempt }: Received, { reason, error, delayMs }: Failure): void {
  const data = { err: error, task: message.task, id: message.id, attempt, reason }
  if (delayMs === null) log.error(data, `task '${message.task}': it failed for good after ${attempt} attempts`)
  else log.warn(data, `task '${message.task}': attempt ${attempt} failed and is retried`)
}
