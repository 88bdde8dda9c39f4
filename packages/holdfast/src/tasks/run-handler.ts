// Calls the handler of a task, within its time, and decides how the run ends:
//
//   returns                → completed
//   snooze()               → released, with its time
//   rateLimited()          → released, with its time, and on a storage's queue others with it
//   the worker stops       → released
//   its message cancelled  → cancelled, by the queue
//   any other throw        → onError, which may decide; else retried or failed

import {
  type Directive,
  isDirective,
  rateLimited,
  rateLimitOf,
  retryOf,
  snooze,
  snoozeOf,
} from '../engine/job/directives.ts'
import type { ErrorAnswer } from '../engine/work/decision.ts'
import { AttemptAbortedError, isHoldfastError } from '../errors.ts'
import type { When } from '../storage/storage.ts'
import { conclude, postpone } from './conclude.ts'
import type { DefinedTask, TaskContext } from './define.ts'
import type { Processing } from './process.ts'
import { abandonRun } from './queue/deliver.ts'
import { leavesRetriesToQueue, queueOf, type Received } from './received.ts'
import { isRetryError } from './retry.ts'
import type { TaskEvent } from './telemetry/events.ts'
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
  events.publishEvent({ name: 'started', ...about })
  try {
    const returned = await withinTime(
      clock,
      run.timeoutMs,
      (running) => run.abort(running),
      () => task.handler(run.context, data),
    )
    if (isDirective(returned)) throw returned
  } catch (error) {
    const durationMs = clock.monotonic() - startedAt
    const when = postponedTo(error)
    if (when || isAbortedFor(received, 'STOPPING')) {
      publishReleased(env, { ...about, durationMs }, error)
      if (!when) throw error
      return postpone(env, received, when, error)
    }
    if (isAbortedFor(received, 'JOB_CANCELLED')) {
      events.publishEvent({ name: 'cancelled', ...about, durationMs })
      throw error
    }
    const delayMs = isLeftToQueue(received, error) ? undefined : delayBefore(error)
    const answer = await callOnError(env, task, run.context, error, data, delayMs ?? null)
    const later = postponedTo(answer)
    if (later) {
      publishReleased(env, { ...about, durationMs }, answer)
      return postpone(env, received, later, withCause(answer, later, error))
    }
    return conclude(env, received, { reason: 'handler', error, delayMs: decidedDelay(answer, delayMs), durationMs })
  }
  events.publishEvent({ name: 'completed', ...about, durationMs: clock.monotonic() - startedAt })
}

/** When a run that was put off is due again. Undefined: the value puts nothing off. */
function postponedTo(value: unknown): When | undefined {
  const slowDown = rateLimitOf(value)
  return slowDown ? { delayMs: slowDown.retryAfterMs } : snoozeOf(value)
}

/** An answer of onError, with the error of the handler as its reason. */
function withCause(answer: unknown, when: When, cause: unknown): Directive {
  const slowDown = rateLimitOf(answer)
  if (!slowDown) return snooze({ ...when, cause })
  const { retryAfterMs, scope } = slowDown
  return rateLimited({ retryAfterMs, scope, cause })
}

type EndedRun = Omit<Extract<TaskEvent, { name: 'released' }>, 'name'>

function publishReleased({ events }: Processing, about: EndedRun, directive: unknown): void {
  const slowDown = rateLimitOf(directive)
  if (slowDown) {
    const { scope, retryAfterMs } = slowDown
    const { durationMs: _, ...rest } = about
    events.publishEvent({ name: 'rate_limited', ...rest, scope, retryAfterMs })
  }
  events.publishEvent({ name: 'released', ...about })
}

const isAbortedFor = ({ delivery }: Received, code: 'STOPPING' | 'JOB_CANCELLED'): boolean =>
  delivery !== undefined && delivery.signal.aborted && isHoldfastError(delivery.signal.reason, code)

/** The limit of the message; else the shorter one of its task and its queue. */
function timeoutOf(task: DefinedTask, { delivery, from }: Received): number | undefined {
  if (delivery?.timeoutMs !== undefined) return delivery.timeoutMs
  const ofQueue = from?.queue.timeoutMs
  if (task.timeoutMs === undefined || ofQueue === undefined) return task.timeoutMs ?? ofQueue
  return Math.min(task.timeoutMs, ofQueue)
}

/** What onError makes of the delay. Where no run is left, or the queue decides about retries, retry() changes nothing. */
function decidedDelay(answer: unknown, delayMs: number | null | undefined): number | null | undefined {
  if (isHoldfastError(answer, 'UNRECOVERABLE')) return null
  return typeof delayMs === 'number' ? (retryOf(answer)?.delayMs ?? delayMs) : delayMs
}

/** A queue that retries by itself decides about every error that does not say by itself what comes next. */
function isLeftToQueue(received: Received, error: unknown): boolean {
  return leavesRetriesToQueue(received) && !isRetryError(error) && !isDirective(error)
}

const neverAborts = new AbortController().signal

/** One run: the context of its handler, and the signal that a time limit aborts. */
class TaskRun {
  readonly context: TaskContext
  /** Longest run, in ms. Undefined: any time. */
  readonly timeoutMs: number | undefined
  readonly #received: Received
  readonly #timeout: AbortController | undefined
  #signal: AbortSignal | undefined

  constructor(env: Processing, task: DefinedTask, received: Received) {
    this.#received = received
    this.timeoutMs = timeoutOf(task, received)
    this.#timeout = this.timeoutMs === undefined ? undefined : new AbortController()
    const { message, delivery, attempt, enqueuedAt } = received
    const orderingKey = delivery?.orderingKey ?? message.orderingKey
    const signal = (): AbortSignal => this.#newSignal()
    this.context = {
      id: message.id,
      task: task.name,
      attempt,
      enqueuedAt,
      ...(orderingKey !== undefined && { orderingKey }),
      schedule: delivery?.schedule,
      tasks: env.tasks,
      progress: (value) => delivery?.progress?.(value),
      log: (text, fields) => delivery?.log?.(text, fields),
      // Made when it is read: most handlers never read it.
      get signal() {
        return signal()
      },
    }
  }

  /** Aborts the signal. @param running what the handler returned @returns the error that the run ends with */
  abort(running: unknown): AttemptAbortedError {
    abandonRun(this.#received.delivery, running)
    const error = new AttemptAbortedError('timeout', this.#received.message.id, this.#received.attempt)
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
): Promise<ErrorAnswer> {
  try {
    const withDelay = Object.defineProperties({ nextDelayMs }, Object.getOwnPropertyDescriptors(context))
    return await task.onError?.(withDelay as TaskContext & { nextDelayMs: number | null }, error, data)
  } catch (problem) {
    const message = `task '${task.name}': its onError failed. The retry or failure is recorded nevertheless.`
    log.error({ err: problem, task: task.name }, message)
    return undefined
  }
}
