// One attempt of a job of a Queue, as a list of steps:
//
//   decode the payload → call the handler → encode the result → afterExecution → completed
//
// A step that throws ends the list, and `endOf` decides what the attempt ends in:
//
//   snooze()                               → released, until its time
//   the worker is stopping                 → released
//   the last attempt, or unrecoverable     → afterExecution → failed
//   anything else                          → retry, after the backoff

import type { Clock } from '../clock.ts'
import type { Tell } from '../engine/events.ts'
import { type Backoff, delayAfter } from '../engine/job/backoff.ts'
import { isDirective, snoozeOf } from '../engine/job/directives.ts'
import { decode, encode, type Serde } from '../engine/job/serde.ts'
import type { Attempt } from '../engine/work/attempt.ts'
import type { AttemptEnd } from '../engine/work/outcomes.ts'
import type { WorkType } from '../engine/work/work-type.ts'
import { asError, encodeError } from '../error-details.ts'
import { isHoldfastError } from '../errors.ts'
import { type AfterExecution, applyHook } from './after-execution.ts'
import { callHandler, HandlerJob, type JobHandler } from './handler.ts'
import type { ResolvedQueueConfig } from './queue-config.ts'

export interface Handling<TPayload, TResult> {
  readonly handler: JobHandler<TPayload, TResult>
  readonly payloadSerde: Serde<TPayload>
  readonly resultSerde: Serde<TResult>
  readonly maxResultBytes: number
  /** Most runs, for jobs that do not set it. */
  readonly maxAttempts: number
  readonly backoff: Backoff
  readonly afterExecution?: AfterExecution<TPayload, TResult> | undefined
  readonly label: string
  readonly clock: Clock
  readonly tell: Tell
}

/** Makes the WorkType of a Queue. */
export function workOf<P, R>(config: ResolvedQueueConfig<P, R>, handler: JobHandler<P, R>, tell: Tell): WorkType {
  const { type, workerId, timeoutMs = Infinity, maxAttempts, payloadSerde } = config
  const handling = { ...config, handler, label: workerId, tell }
  // Never longer than the timeout, so that the job of a dead worker is free by then.
  const leaseMs = Math.min(config.leaseMs, timeoutMs)
  return {
    type,
    leaseMs,
    renewMs: leaseMs / 3,
    capMs: timeoutMs,
    maxAttempts,
    run: (attempt) => runAttempt(attempt, handling),
    payloadOf: (bytes) => {
      try {
        return decode('payload', payloadSerde, bytes)
      } catch {
        return undefined
      }
    },
  }
}

/** Never rejects. */
async function runAttempt<P, R>(attempt: Attempt, handling: Handling<P, R>): Promise<AttemptEnd> {
  let payload: P | undefined
  try {
    payload = decode('payload', handling.payloadSerde, attempt.job.payload)
    const job = new HandlerJob(attempt, payload, maxAttemptsOf(attempt, handling))
    const value = await callHandler(handling.handler, job)
    if (isDirective(value)) throw value
    const end = complete(attempt, handling, payload, value)
    // Awaited only with a hook: without one it would cost a tick for nothing.
    return end instanceof Promise ? await end : end
  } catch (thrown) {
    return endOf(attempt, handling, payload as P, thrown)
  }
}

function complete<P, R>(
  attempt: Attempt,
  handling: Handling<P, R>,
  payload: P,
  value: R,
): AttemptEnd | Promise<AttemptEnd> {
  let result: Uint8Array | undefined
  try {
    result = encode('result', handling.resultSerde, value, handling.maxResultBytes)
  } catch (error) {
    // Failed for good: another run would only repeat the side effects.
    return failForGood(attempt, handling, payload, error)
  }
  if (!handling.afterExecution || isOver(attempt)) return { ending: { kind: 'completed', result }, value, payload }
  return completeWithHook(attempt, handling, payload, value, result)
}

async function completeWithHook<P, R>(
  attempt: Attempt,
  handling: Handling<P, R>,
  payload: P,
  value: R,
  result: Uint8Array | undefined,
): Promise<AttemptEnd> {
  const changed = await applyHook(attempt, handling, { payload, status: 'completed', value, result })
  return {
    ending: { kind: 'completed', result: changed.result, keepMs: changed.keepMs },
    value: changed.value,
    payload,
  }
}

function endOf<P, R>(
  attempt: Attempt,
  handling: Handling<P, R>,
  payload: P,
  thrown: unknown,
): AttemptEnd | Promise<AttemptEnd> {
  const when = snoozeOf(thrown)
  if (when) return { ending: { kind: 'released', ...when, ...snoozeCause(thrown) } }
  if (attempt.abortedFor === 'stopping') return { ending: { kind: 'released' } }
  const error = asError(thrown)
  const isLast = attempt.counted >= maxAttemptsOf(attempt, handling)
  if (isLast || isHoldfastError(error, 'UNRECOVERABLE')) return failForGood(attempt, handling, payload, thrown)
  const delayMs = delayAfter(handling.backoff, attempt.counted, error, handling.clock, (problem) =>
    handling.tell({ name: 'error', error: problem }),
  )
  return { ending: { kind: 'retry', error: encodeError(thrown), delayMs }, error, payload }
}

function snoozeCause(thrown: unknown): { error?: Uint8Array } {
  const { cause } = thrown as { cause?: unknown }
  return cause === undefined ? {} : { error: encodeError(cause) }
}

async function failForGood<P, R>(
  attempt: Attempt,
  handling: Handling<P, R>,
  payload: P,
  thrown: unknown,
): Promise<AttemptEnd> {
  const error = asError(thrown)
  // Without the hook if it was cancelled with `abort`: the failed attempt ends as cancelled.
  if (!handling.afterExecution || isOver(attempt) || attempt.abortedFor === 'cancelled') {
    return { ending: { kind: 'failed', error: encodeError(thrown) }, error, payload }
  }
  const changed = await applyHook(attempt, handling, { payload, status: 'failed', error })
  const recorded = encodeError(changed.error === error ? thrown : changed.error)
  return {
    ending: { kind: 'failed', error: recorded, keepMs: changed.keepMs },
    error: changed.error,
    payload,
  }
}

/** Whether the attempt timed out, was released or lost: its outcome is dropped, and the hook is not called. */
const isOver = ({ decided, lost }: Attempt): boolean => decided || lost

function maxAttemptsOf<P, R>({ job }: Attempt, { maxAttempts }: Handling<P, R>): number {
  return job.maxAttempts ?? maxAttempts
}
