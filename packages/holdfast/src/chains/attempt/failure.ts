// What an attempt ends in that did not complete: run again at another time, a retry after its backoff, or failed for good.

import { type Backoff, delayAfter } from '../../engine/job/backoff.ts'
import { snoozeOf } from '../../engine/job/directives.ts'
import type { Attempt } from '../../engine/work/attempt.ts'
import type { AttemptEnd } from '../../engine/work/outcomes.ts'
import { asError, encodeError, errorDetails } from '../../error-details.ts'
import { isHoldfastError } from '../../errors.ts'
import type { Bytes } from '../../storage/storage.ts'
import type { Dependencies } from '../dependencies.ts'
import { defaultBackoff } from '../options.ts'

/** Most bytes that are stored of an error. */
const mostBytes = 8_192

interface Retries {
  readonly maxAttempts: number
  readonly backoff: Backoff
}

export function failureOf(
  attempt: Attempt,
  thrown: unknown,
  { maxAttempts, backoff }: Retries,
  dependencies: Pick<Dependencies, 'clock' | 'tell'>,
): AttemptEnd {
  const error = asError(thrown)
  const when = snoozeOf(thrown)
  if (when) {
    const cause = error.cause === undefined ? undefined : stored(error.cause)
    return { ending: { kind: 'released', ...when, error: cause }, error }
  }
  // The handler ended because the worker stops: that is no failure.
  if (attempt.abortedFor === 'stopping') return { ending: { kind: 'released' }, error }
  const isLast = attempt.counted >= maxAttempts || isHoldfastError(error, 'UNRECOVERABLE')
  if (isLast) return { ending: { kind: 'failed', error: stored(thrown) }, error }
  const delayMs = retryDelay(backoff, attempt.counted, error, dependencies)
  return { ending: { kind: 'retry', error: stored(thrown), delayMs }, error }
}

/** A function of the user's that gives no delay is an event, and the default of this face is used. */
function retryDelay(
  backoff: Backoff,
  failures: number,
  error: Error,
  { clock, tell }: Pick<Dependencies, 'clock' | 'tell'>,
): number {
  let misfit: Error | undefined
  const delayMs = delayAfter(backoff, failures, error, clock, (problem) => (misfit = problem))
  if (!misfit) return delayMs
  tell({ name: 'error', error: misfit })
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
