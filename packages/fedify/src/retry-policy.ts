// A retry policy of Fedify as one of holdfast/tasks. The policy gets the fields of both, so that either kind can be passed.

import type { RetryPolicy as FedifyRetryPolicy } from '@fedify/fedify'
import type { RetryPolicy } from 'holdfast/tasks'
import { temporalOf, type TemporalNamespace } from './temporal.ts'

/** @throws TypeError INVALID_ARGUMENT */
export function retryPolicyOf(
  policy: FedifyRetryPolicy | RetryPolicy,
  temporal: TemporalNamespace | undefined,
): RetryPolicy {
  if (typeof policy !== 'function') {
    const message = `HoldfastMessageQueue: retryPolicy: expected a function, got ${JSON.stringify(policy)}`
    throw Object.assign(new TypeError(message), { code: 'INVALID_ARGUMENT' })
  }
  const call = policy as (context: object) => ReturnType<RetryPolicy>
  return (failed) =>
    call({
      ...failed,
      // Fedify counts the attempts before the one that failed: 0 after the first.
      attempts: failed.attempt - 1,
      // Made when it is read: few policies read it, and this runtime may have no Temporal.
      get elapsedTime() {
        return elapsedTime(failed.elapsedMs, temporal)
      },
    })
}

function elapsedTime(milliseconds: number, given: TemporalNamespace | undefined): Temporal.Duration {
  const temporal = temporalOf(given)
  // A fraction is no valid field.
  if (temporal) return temporal.Duration.from({ milliseconds: Math.round(milliseconds) })
  throw new TypeError(
    'retry policy: it reads elapsedTime, a Temporal.Duration, which this Node.js does not have. Pass temporal to HoldfastMessageQueue: the Temporal of @js-temporal/polyfill.',
  )
}
