// What an attempt ends in that did not complete: run again at another time, a retry after its backoff, or failed for good.

import { type Backoff, delayAfter } from '../../engine/job/backoff.ts'
import type { Attempt } from '../../engine/work/attempt.ts'
import { askedDecision, type Decision, decisionOf, releasedEnd } from '../../engine/work/decision.ts'
import type { AttemptEnd } from '../../engine/work/outcomes.ts'
import { asError, encodeError, errorDetails } from '../../error-details.ts'
import type { Bytes } from '../../storage/storage.ts'
import type { Dependencies } from '../dependencies.ts'
import { defaultBackoff } from '../options.ts'
import type { ChainAttempt, Processor } from './chain-attempt.ts'

/** Most bytes that are stored of an error. */
const mostBytes = 8_192

type Publishing = Pick<Dependencies, 'clock' | 'publishEvent'>

/** With the answer of the type's onError, if it has one. */
export async function failureAfter(
  { attempt, job, processor, dependencies }: ChainAttempt,
  thrown: unknown,
): Promise<AttemptEnd> {
  const { onError, maxSnoozes } = processor
  if (!onError) return failureOf(attempt, thrown, processor, dependencies)
  const { publishEvent } = dependencies
  const decision = await askedDecision(attempt, thrown, () => onError(thrown, job), { maxSnoozes, publishEvent })
  return endOf(attempt, asError(thrown), decision, processor, dependencies)
}

/** Without onError: for what is not an error of the handler. */
export function failureOf(
  attempt: Attempt,
  thrown: unknown,
  processor: Processor,
  dependencies: Publishing,
): AttemptEnd {
  const decision = decisionOf(attempt, thrown, processor.maxSnoozes)
  return endOf(attempt, asError(thrown), decision, processor, dependencies)
}

/** @param error what middlewares are told */
function endOf(
  attempt: Attempt,
  error: Error,
  decision: Decision,
  { maxAttempts, backoff }: Processor,
  dependencies: Publishing,
): AttemptEnd {
  if (decision.kind === 'released') {
    const { when, cause } = decision
    return { ...releasedEnd(decision, when && cause !== undefined ? stored(cause) : undefined), error }
  }
  const { thrown } = decision
  if (decision.kind === 'failed' || attempt.counted >= maxAttempts) {
    return { ending: { kind: 'failed', error: stored(thrown) }, error: asError(thrown) }
  }
  const delayMs = decision.delayMs ?? retryDelay(backoff, attempt.counted, error, dependencies)
  return { ending: { kind: 'retry', error: stored(thrown), delayMs }, error: asError(thrown) }
}

/** A function of the user's that gives no delay is an event, and the default of this face is used. */
function retryDelay(backoff: Backoff, failures: number, error: Error, { clock, publishEvent }: Publishing): number {
  let misfit: Error | undefined
  const delayMs = delayAfter(backoff, failures, error, clock, (problem) => (misfit = problem))
  if (!misfit) return delayMs
  publishEvent({ name: 'error', error: misfit })
  return delayAfter(defaultBackoff, failures, error, clock, () => {})
}

/** With its own properties, such as a status or a response code. */
function stored(thrown: unknown): Bytes {
  return encodeError({ toJSON: () => ({ ...ownProperties(thrown), ...errorDetails(thrown) }) }, mostBytes)
}

function ownProperties(thrown: unknown): object {
  try {
    return thrown instanceof Error ? { ...thrown } : {}
  } catch {
    return {} // A property cannot be read.
  }
}
