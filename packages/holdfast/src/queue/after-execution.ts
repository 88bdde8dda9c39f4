// The hook afterExecution: called between the end of an attempt and its record. It may change the TTL, and the result or the error.
// Invariant: if it throws, or leaves a value that cannot be stored, none of its changes apply.

import { asError } from '../error-details.ts'
import { encode } from '../engine/job/serde.ts'
import { queueOptions } from './options.ts'
import type { Attempt } from '../engine/work/attempt.ts'
import type { Handling } from './execute.ts'

/** Argument of afterExecution. Instants are epoch ms; `ttl`, `result` and `error` may be changed, the rest is read-only. */
export interface AfterExecutionContext<TPayload, TResult> {
  /** Id of the job. */
  readonly id: string
  /** Payload of the job, as this run got it. */
  readonly payload: TPayload
  /** Number of this run, from 1; released runs do not count. */
  readonly attempts: number
  /** Most runs, the first included. */
  readonly maxAttempts: number
  /** When the job was accepted, in epoch ms. */
  readonly createdAt: number
  /** `failed`: the job failed for good. */
  readonly status: 'completed' | 'failed'
  /** Name of this worker. */
  readonly workerId: string
  /** When this run began, in epoch ms. */
  readonly startedAt: number
  /** When this run ended, in epoch ms. */
  readonly finishedAt: number
  /** Run time of the handler, in ms. */
  readonly durationMs: number
  /** How long the record is kept, in ms. May be changed to an integer 1 … 100 years. */
  ttl: number
  /** Result of the handler. May be changed. */
  result?: TResult
  /** Error of the handler. May be changed. */
  error?: Error
}

export type AfterExecution<P, R> = (context: AfterExecutionContext<P, R>) => void | Promise<void>

/** How an attempt ended, before the hook. */
type HookInput<P, R> =
  | { payload: P; status: 'completed'; value: R; result: Uint8Array | undefined; error?: undefined }
  | { payload: P; status: 'failed'; error: Error; value?: undefined; result?: undefined }

interface Changed<R> {
  readonly keepMs: number | undefined
  readonly value: R | undefined
  readonly result: Uint8Array | undefined
  readonly error: Error | undefined
}

export async function applyHook<P, R>(
  attempt: Attempt,
  handling: Handling<P, R>,
  ended: HookInput<P, R>,
): Promise<Changed<R>> {
  const { status, value, result, error } = ended
  try {
    const context = contextOf(attempt, handling, ended)
    const { ttl } = context
    await handling.afterExecution!(context)
    const keepMs = context.ttl === ttl ? undefined : context.ttl
    // Checked only if changed: a retention may be 0 or Infinity, which no TTL is.
    if (keepMs !== undefined) queueOptions.resultTTL.check('ttl', keepMs)
    if (status === 'failed') return { keepMs, value, result, error: asError(context.error) }
    const changed = context.result as R
    const same = changed === value && (changed === null || typeof changed !== 'object')
    return {
      keepMs,
      value: changed,
      result: same ? result : encode('result', handling.resultSerde, changed, handling.maxResultBytes),
      error,
    }
  } catch (problem) {
    handling.publishEvent({
      name: 'error',
      error: new Error(hookFailure(attempt, problem), { cause: problem }),
    })
    return { keepMs: undefined, value, result, error }
  }
}

const hookFailure = ({ job }: Attempt, problem: unknown): string =>
  `Job '${job.id}': afterExecution failed: ${asError(problem).message}. None of its changes apply; the outcome is recorded as it was.`

function contextOf<P, R>(
  attempt: Attempt,
  handling: Handling<P, R>,
  ended: HookInput<P, R>,
): AfterExecutionContext<P, R> {
  const { job } = attempt
  const durationMs = handling.clock.monotonic() - attempt.startedAt
  const fixed = {
    id: job.id,
    payload: ended.payload,
    attempts: attempt.counted,
    maxAttempts: job.maxAttempts ?? handling.maxAttempts,
    createdAt: job.createdAt,
    status: ended.status,
    workerId: handling.label,
    startedAt: job.startedAt,
    finishedAt: job.startedAt + durationMs,
    durationMs,
  }
  const context = { ...fixed, ttl: job.retention[`${ended.status}Ms`], result: ended.value, error: ended.error }
  for (const key of Object.keys(fixed)) Object.defineProperty(context, key, { writable: false, configurable: false })
  return context
}
