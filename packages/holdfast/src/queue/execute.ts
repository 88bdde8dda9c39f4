// One attempt of a job of a Queue, from its bytes to its outcome:
//
//   decode → call the handler → encode the result → afterExecution → completed
//      └────────────┴─ thrown          └─ cannot be encoded → afterExecution → failed
//                        ├─ because the worker stops → released
//                        ├─ the last attempt, or unrecoverable → afterExecution → failed
//                        └─ else → retry, after the backoff

import type { Clock } from '../clock.ts'
import { isHoldfastError } from '../errors.ts'
import type { Tell } from '../engine/events.ts'
import { type Backoff, delayAfter } from '../engine/job/backoff.ts'
import { asError, encodeError } from '../error-details.ts'
import { decode, encode, type Serde } from '../engine/job/serde.ts'
import type { ResolvedQueueConfig } from './queue-config.ts'
import { type AfterExecution, applyHook } from './after-execution.ts'
import type { Attempt } from '../engine/work/attempt.ts'
import type { AttemptEnd } from '../engine/work/outcomes.ts'
import type { WorkType } from '../engine/work/work-type.ts'

/** What a handler is given. */
export interface Job<TPayload> {
  readonly id: string
  readonly payload: TPayload
  /** This run included, from 1; released runs do not count. */
  readonly attempts: number
  readonly maxAttempts: number
  /** When the job was accepted, epoch ms. */
  readonly createdAt: number
  /** Aborts when this run should end. Its reason is an AttemptAbortedError. */
  readonly signal: AbortSignal
}

/** Declares a second parameter: it is called back. Otherwise what it returns counts. */
export type JobHandler<TPayload, TResult> = (
  job: Job<TPayload>,
  callback: (error: Error | null, result?: TResult) => void,
) => TResult | Promise<TResult> | void

export interface Handling<TPayload, TResult> {
  readonly handler: JobHandler<TPayload, TResult>
  readonly payloadSerde: Serde<TPayload>
  readonly resultSerde: Serde<TResult>
  readonly maxResultBytes: number
  /** For jobs that have none of their own. */
  readonly maxAttempts: number
  readonly backoff: Backoff
  readonly afterExecution?: AfterExecution<TPayload, TResult>
  readonly label: string
  readonly clock: Clock
  readonly tell: Tell
}

/** The jobs of a Queue, as a worker serves them. */
export function workOf<P, R>(config: ResolvedQueueConfig<P, R>, handler: JobHandler<P, R>, tell: Tell): WorkType {
  const { name, workerId, leaseMs, visibilityTimeout, maxAttempts, payloadSerde } = config
  const handling = { ...config, handler, label: workerId, tell }
  return {
    type: name,
    // Never past the cap, so that a dead worker's job is free by then.
    leaseMs: Math.min(leaseMs, visibilityTimeout),
    renewMs: Math.min(leaseMs, visibilityTimeout) / 3,
    capMs: visibilityTimeout,
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
    const value = await callHandler(
      handling.handler,
      new HandlerJob(attempt, payload, maxAttemptsOf(attempt, handling)),
    )
    // Awaited only where there is a hook: for the others it costs a tick and nothing else.
    const end = complete(attempt, handling, payload, value)
    return end instanceof Promise ? await end : end
  } catch (thrown) {
    return fail(attempt, handling, payload as P, thrown)
  }
}

class HandlerJob<P> implements Job<P> {
  readonly id: string
  readonly payload: P
  readonly attempts: number
  readonly maxAttempts: number
  readonly createdAt: number
  readonly #attempt: Attempt

  constructor(attempt: Attempt, payload: P, maxAttempts: number) {
    this.id = attempt.job.id
    this.payload = payload
    this.attempts = attempt.counted
    this.maxAttempts = maxAttempts
    this.createdAt = attempt.job.createdAt
    this.#attempt = attempt
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }
}

function callHandler<P, R>(handler: JobHandler<P, R>, job: Job<P>): R | Promise<R> {
  if (handler.length < 2) return handler(job, () => {}) as R | Promise<R>
  // The first outcome counts. A promise that it returns as well can only fail it.
  return new Promise<R>((resolve, reject) => {
    const returned: unknown = handler(job, (error, result) => {
      if (error === null || error === undefined) resolve(result as R)
      else reject(error)
    })
    if (returned instanceof Promise) returned.catch(reject)
  })
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
    // Running it again would only repeat what it did.
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

function fail<P, R>(
  attempt: Attempt,
  handling: Handling<P, R>,
  payload: P,
  thrown: unknown,
): AttemptEnd | Promise<AttemptEnd> {
  if (attempt.abortedFor === 'stopping') return { ending: { kind: 'released' } }
  const error = asError(thrown)
  const isLast = attempt.counted >= maxAttemptsOf(attempt, handling)
  if (isLast || isHoldfastError(error, 'UNRECOVERABLE')) return failForGood(attempt, handling, payload, thrown)
  const delayMs = delayAfter(handling.backoff, attempt.counted, error, handling.clock, (problem) =>
    handling.tell({ name: 'error', error: problem }),
  )
  return { ending: { kind: 'retry', error: encodeError(thrown), delayMs }, error, payload }
}

async function failForGood<P, R>(
  attempt: Attempt,
  handling: Handling<P, R>,
  payload: P,
  thrown: unknown,
): Promise<AttemptEnd> {
  const error = asError(thrown)
  // Asked to stop and failed: it ends cancelled, and the hook is not for that.
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

/** Given up, released or lost meanwhile: what its handler says is dropped, and the hook is not for that. */
const isOver = ({ decided, lost }: Attempt): boolean => decided || lost

function maxAttemptsOf<P, R>({ job }: Attempt, { maxAttempts }: Handling<P, R>): number {
  return job.maxAttempts ?? maxAttempts
}
