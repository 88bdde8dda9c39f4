// One attempt of a job of a Queue, as a list of steps:
//
//   decode the payload → call the handler → encode the result → afterExecution → completed
//
// A step that throws ends the list, and engine/work/decision.ts decides what comes next, with `onError` if there is one:
//
//   released                               → as it is
//   failed, or a retry of the last attempt → afterExecution → failed
//   retry                                  → after its own delay, or the backoff

import type { Clock } from '../clock.ts'
import type { PublishEvent } from '../engine/events.ts'
import { type Backoff, delayAfter } from '../engine/job/backoff.ts'
import { isDirective } from '../engine/job/directives.ts'
import { decode, encode, type Serde } from '../engine/job/serde.ts'
import { installedTracing } from '../engine/tracing.ts'
import type { Attempt } from '../engine/work/attempt.ts'
import { askedDecision, type Decision, decisionOf, type ErrorAnswer, releasedEnd } from '../engine/work/decision.ts'
import type { AttemptEnd } from '../engine/work/outcomes.ts'
import type { OnAttemptEnd, WorkType } from '../engine/work/work-type.ts'
import { asError, encodeError } from '../error-details.ts'
import type { NewJob } from '../storage/storage.ts'
import { type AfterExecution, applyHook } from './after-execution.ts'
import { deadLetterOf } from './dead-letter.ts'
import { callHandler, HandlerJob, type Job, type JobHandler } from './handler.ts'
import type { ResolvedQueueConfig } from './queue-config.ts'
import { inAttemptSpan } from './tracing.ts'

export interface Handling<TPayload, TResult> {
  readonly handler: JobHandler<TPayload, TResult>
  readonly payloadSerde: Serde<TPayload>
  readonly resultSerde: Serde<TResult>
  readonly maxResultBytes: number
  /** Most runs, for jobs that do not set it. */
  readonly maxAttempts: number
  readonly maxSnoozes: number
  readonly backoff: Backoff
  readonly onError?: ((error: unknown, job: Job<TPayload>) => ErrorAnswer | Promise<ErrorAnswer>) | undefined
  readonly afterExecution?: AfterExecution<TPayload, TResult> | undefined
  /** Makes the dead letter of a job. Undefined: the queue has none. */
  readonly letterOf?: WorkType['deadLetterOf']
  readonly label: string
  readonly clock: Clock
  readonly publishEvent: PublishEvent
}

/** Makes the WorkType of a Queue. */
export function workOf<P, R>(
  config: ResolvedQueueConfig<P, R>,
  handler: JobHandler<P, R>,
  publishEvent: PublishEvent,
  onCompleted: NonNullable<WorkType['onCompleted']>,
): WorkType {
  const { name, type, workerId, timeoutMs = Infinity, maxAttempts, payloadSerde, keep } = config
  const letterOf = letters(config)
  const handling = { ...config, handler, label: workerId, publishEvent, letterOf }
  // Never longer than the timeout, so that the job of a dead worker is free by then.
  const leaseMs = Math.min(config.leaseMs, timeoutMs)
  return {
    type,
    leaseMs,
    renewMs: leaseMs / 3,
    capMs: timeoutMs,
    maxAttempts,
    keep,
    run: (attempt, onEnd) => {
      const tracing = installedTracing()
      // Without one, a span would cost each job two promises.
      if (!tracing) return runAttempt(attempt, handling, onEnd)
      const run = (): Promise<AttemptEnd> =>
        new Promise((resolve) => void runAttempt(attempt, handling, (_, end) => resolve(end)))
      return inAttemptSpan(tracing, name, attempt.job, run).then((end) => onEnd(attempt, end))
    },
    onCompleted,
    ...(letterOf && { deadLetterOf: letterOf }),
    payloadOf: (bytes) => {
      try {
        return decode('payload', payloadSerde, bytes)
      } catch {
        return undefined
      }
    },
  }
}

function letters<P, R>(config: ResolvedQueueConfig<P, R>): WorkType['deadLetterOf'] {
  const { name, deadLetterType, retention, clock } = config
  if (deadLetterType === undefined) return undefined
  const lettering = { name, deadLetterType, retention, clock, payloadSerde: config.payloadSerde as Serde<unknown> }
  return (failed) => deadLetterOf(failed, lettering)
}

/** Never rejects. Not an async function: what that keeps for each await would be made for every job. */
function runAttempt<P, R>(attempt: Attempt, handling: Handling<P, R>, onEnd: OnAttemptEnd): Promise<unknown> {
  let payload: P | undefined
  let job: Job<P> | undefined
  const fail = (thrown: unknown): Promise<void> =>
    endOfThrown(attempt, handling, payload as P, job, thrown).then((end) => onEnd(attempt, end))
  let answered: Promise<unknown>
  try {
    payload = decode('payload', handling.payloadSerde, attempt.job.payload)
    job = new HandlerJob(attempt, payload, maxAttemptsOf(attempt, handling))
    answered = Promise.resolve<unknown>(callHandler(handling.handler, job))
  } catch (thrown) {
    return fail(thrown)
  }
  return answered.then((value) => {
    let end: AttemptEnd | Promise<AttemptEnd>
    try {
      if (isDirective(value)) return fail(value)
      end = complete(attempt, handling, payload as P, value as R)
    } catch (thrown) {
      return fail(thrown)
    }
    if (end instanceof Promise) return end.then((later) => onEnd(attempt, later), fail)
    onEnd(attempt, end)
    return undefined
  }, fail)
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
  if (!handling.afterExecution || attempt.isOver) return { ending: { kind: 'completed', result }, value, payload }
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

async function endOfThrown<P, R>(
  attempt: Attempt,
  handling: Handling<P, R>,
  payload: P,
  job: Job<P> | undefined,
  thrown: unknown,
): Promise<AttemptEnd> {
  return endOf(attempt, handling, payload, await decisionAbout(attempt, handling, job, thrown))
}

/** @param job undefined: its payload could not be decoded, and onError has nothing to judge */
function decisionAbout<P, R>(
  attempt: Attempt,
  handling: Handling<P, R>,
  job: Job<P> | undefined,
  thrown: unknown,
): Decision | Promise<Decision> {
  const { onError, maxSnoozes } = handling
  if (!onError || !job) return decisionOf(attempt, thrown, maxSnoozes)
  return askedDecision(attempt, thrown, () => onError(thrown, job), handling)
}

function endOf<P, R>(
  attempt: Attempt,
  handling: Handling<P, R>,
  payload: P,
  decision: Decision,
): AttemptEnd | Promise<AttemptEnd> {
  if (decision.kind === 'released') {
    return releasedEnd(decision, decision.cause === undefined ? undefined : encodeError(decision.cause))
  }
  const { thrown } = decision
  const isLast = attempt.counted >= maxAttemptsOf(attempt, handling)
  if (isLast || decision.kind === 'failed') return failForGood(attempt, handling, payload, thrown)
  const error = asError(thrown)
  const delayMs =
    decision.delayMs ??
    delayAfter(handling.backoff, attempt.counted, error, handling.clock, (problem) =>
      handling.publishEvent({ name: 'error', error: problem }),
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
  // Without the hook if it was cancelled with `abort`: the failed attempt ends as cancelled.
  if (!handling.afterExecution || attempt.isOver || attempt.abortedFor === 'cancelled') {
    return {
      ending: { kind: 'failed', error: encodeError(thrown), ...adding(attempt, handling, thrown) },
      error,
      payload,
    }
  }
  const changed = await applyHook(attempt, handling, { payload, status: 'failed', error })
  const recorded = changed.error === error ? thrown : changed.error
  return {
    ending: {
      kind: 'failed',
      error: encodeError(recorded),
      keepMs: changed.keepMs,
      ...adding(attempt, handling, recorded),
    },
    error: changed.error,
    payload,
  }
}

/** The dead letter of the job, if the queue has them. */
function adding<P, R>(
  { job, counted, storageNow }: Attempt,
  handling: Handling<P, R>,
  error: unknown,
): { add?: readonly NewJob[] } {
  if (!handling.letterOf) return {}
  const { id, payload } = job
  return { add: [handling.letterOf({ id, payload, error, attempts: counted, failedAt: storageNow })] }
}

function maxAttemptsOf<P, R>({ job }: Attempt, { maxAttempts }: Handling<P, R>): number {
  return job.maxAttempts ?? maxAttempts
}
