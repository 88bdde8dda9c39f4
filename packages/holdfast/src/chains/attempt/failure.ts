// What an attempt ends in that did not complete: run again at another time, a retry after its delay, or failed for good.

import type { Clock } from '../../clock.ts'
import { isHoldfastError, RescheduleJobError } from '../../errors.ts'
import { delayAfter } from '../../engine/job/backoff.ts'
import { asError, encodeError, errorDetails } from '../../error-details.ts'
import type { Bytes } from '../../storage/storage.ts'
import type { Attempt } from '../../engine/work/attempt.ts'
import type { AttemptEnd } from '../../engine/work/outcomes.ts'
import type { RetryConfig } from '../types/processing.ts'
import { whenOf } from '../client/schedule.ts'
import type { Schedule } from '../types/start-options.ts'

/** What is stored of an error, at most. */
const mostBytes = 8_192

export function failureOf(
  attempt: Attempt,
  thrown: unknown,
  retry: Required<RetryConfig>,
  clock: Pick<Clock, 'random'>,
): AttemptEnd {
  if (thrown instanceof RescheduleJobError) {
    const when = whenOf(thrown.schedule as Schedule)
    const cause = thrown.cause === undefined ? undefined : stored(thrown.cause)
    return { ending: { kind: 'released', ...when, error: cause }, error: thrown }
  }
  // Asked to stop, it did: that is no failure.
  if (attempt.abortedFor === 'stopping') return { ending: { kind: 'released' }, error: asError(thrown) }
  const error = asError(thrown)
  const isLast = attempt.counted >= retry.maxAttempts || isHoldfastError(error, 'UNRECOVERABLE')
  if (isLast) return { ending: { kind: 'failed', error: stored(thrown) }, error }
  const { initialDelayMs, multiplier, maxDelayMs, jitter } = retry
  const backoff = { type: 'exponential', delayMs: initialDelayMs, factor: multiplier, maxDelayMs, jitter } as const
  const delayMs = delayAfter(backoff, attempt.counted, error, clock, () => {})
  return { ending: { kind: 'retry', error: stored(thrown), delayMs }, error }
}

/** With its own properties, such as a status or a response code. */
function stored(thrown: unknown): Bytes {
  return encodeError({ toJSON: () => ({ ...ownProperties(thrown), ...errorDetails(thrown) }) }, mostBytes)
}

function ownProperties(thrown: unknown): object {
  try {
    return thrown instanceof Error ? { ...thrown } : {}
  } catch {
    return {} // A property that cannot be read.
  }
}
