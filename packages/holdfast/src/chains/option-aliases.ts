// The seed's groups of options, as the words that they are aliases of.

import type { Backoff } from '../engine/job/backoff.ts'
import type { Schedule } from './types/start-options.ts'
import type { AttemptOptions, RetryConfig } from './types/worker.ts'

/** `retryConfig` → `maxAttempts` and `backoff`: fields that are absent stay so. */
export function retryWords(given: RetryConfig): Pick<AttemptOptions, 'maxAttempts' | 'backoff'> {
  const { maxAttempts, initialDelayMs: delayMs, multiplier: factor, maxDelayMs, jitter } = given
  const delays = defined({ delayMs, factor, maxDelayMs, jitter })
  if (Object.keys(delays).length === 0) return { maxAttempts }
  return { maxAttempts, backoff: { type: 'exponential', ...delays } as Backoff }
}

/** `schedule` → `delayMs` or `runAt`. */
export function scheduleWords({ afterMs, at }: Schedule): {
  delayMs?: number | undefined
  runAt?: number | Date | undefined
} {
  return { delayMs: afterMs, runAt: at }
}

/**
 * A lease that is given by its word is renewed at a third of it, unless the same level sets the interval. A lease
 * of `leaseConfig`, or of the default, keeps the seed's interval.
 */
export function leaseWords<R extends object>(given: { readonly leaseMs?: number | undefined }, resolved: R): R {
  const { renewIntervalMs } = resolved as { renewIntervalMs?: number }
  if (given.leaseMs === undefined || renewIntervalMs !== undefined) return resolved
  return { ...resolved, renewIntervalMs: given.leaseMs / 3 }
}

/** Without the fields that are undefined: an option that is undefined is as good as absent. */
export function defined<C extends object>(config: C): Partial<C> {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined)) as Partial<C>
}
