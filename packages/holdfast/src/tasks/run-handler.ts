// Calls the handler of a task, within its time, and decides how the run ends:
//
//   returns                → completed
//   snooze()               → released, with its time
//   the worker stops       → released
//   any other throw        → onError, then retried or failed

import { isDirective, snoozeOf } from '../engine/job/directives.ts'
import { AttemptAbortedError, isHoldfastError } from '../errors.ts'
import { conclude, postpone } from './conclude.ts'
import type { DefinedTask, TaskContext } from './define.ts'
import type { Processing } from './process.ts'
import { leavesRetriesToQueue, queueOf, type Received } from './received.ts'
import { isRetryError } from './retry.ts'
import { withinTime } from './time-limit.ts'

/** @param delayBefore the delay before the next run in ms, or null to give up */
export async function runHandler(
  env: Processing,
  task: DefinedTask,
  received: Received,
  data: unknown,
  delayBefore: (error: unknown) => number | null,
): Promise<void> {
  const { events, clock } = env
  const about = { task: task.name, queue: queueOf(received), id: received.message.id, attempt: received.attempt }
  const run = new TaskRun(env, task, received)
  const startedAt = clock.monotonic()
  events.tell({ name: 'started', ...about })
  try {
    const returned = await withinTime(
      clock,
      task.timeoutMs,
      () => run.abort(),
      () => task.handler(run.context, data),
    )
    if (isDirective(returned)) throw returned
  } catch (error) {
    const durationMs = clock.monotonic() - startedAt
    const when = snoozeOf(error)
    if (when || isStopping(received)) {
      events.tell({ name: 'released', ...about, durationMs })
      if (!when) throw error
      return postpone(env, received, when, error)
    }
    const delayMs = isLeftToQueue(received, error) ? undefined : delayBefore(error)
    await callOnError(env, task, run.context, error, data, delayMs ?? null)
    return conclude(env, received, { reason: 'handler', error, delayMs, durationMs })
  }
  events.tell({ name: 'completed', ...about, durationMs: clock.monotonic() - startedAt })
}

const isStopping = ({ delivery }: Received): boolean =>
  delivery !== undefined && delivery.signal.aborted && isHoldfastError(delivery.signal.reason, 'STOPPING')

/** A queue that retries by itself decides about every error that does not say by itself what comes next. */
function isLeftToQueue(received: Received, error: unknown): boolean {
  return leavesRetriesToQueue(received) && !isRetryError(error) && !isHoldfastError(error, 'UNRECOVERABLE')
}

const neverAborts = new AbortController().signal

/** One run: the context of its handler, and the signal that a time limit aborts. */
class TaskRun {
  readonly context: TaskContext
  readonly #received: Received
  readonly #timeout: AbortController | undefined
  #signal: AbortSignal | undefined

  constructor(env: Processing, task: DefinedTask, received: Received) {
    this.#received = received
    this.#timeout = task.timeoutMs === undefined ? undefined : new AbortController()
    const { message, delivery, attempt, enqueuedAt } = received
    const orderingKey = delivery?.orderingKey ?? message.orderingKey
    const signal = (): AbortSignal => this.#newSignal()
    this.context = {
      id: message.id,
      task: task.name,
      attempt,
      enqueuedAt,
      ...(orderingKey !== undefined && { orderingKey }),
      tasks: env.tasks,
      // Made when it is read: most handlers never read it.
      get signal() {
        return signal()
      },
    }
  }

  /** Aborts the signal. @returns the error that the run ends with */
  abort(): AttemptAbortedError {
    const error = new AttemptAbortedError('ATTEMPT_TIMEOUT', this.#received.message.id, this.#received.attempt)
    this.#timeout?.abort(error)
    return error
  }

  #newSignal(): AbortSignal {
    const own = this.#timeout?.signal
    const given = this.#received.delivery?.signal
    this.#signal ??= own && given ? AbortSignal.any([own, given]) : (own ?? given ?? neverAborts)
    return this.#signal
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
    const withDelay = Object.defineProperties({ nextDelayMs }, Object.getOwnPropertyDescriptors(context))
    await task.onError?.(withDelay as TaskContext & { nextDelayMs: number | null }, error, data)
  } catch (problem) {
    const message = `task '${task.name}': its onError failed. The retry or failure is recorded nevertheless.`
    log.error({ err: problem, task: task.name }, message)
  }
}
