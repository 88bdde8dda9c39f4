// When a failed attempt is tried again: policies, what overrides them, and what is done about one that misbehaves.

import { type Clock, systemClock } from '../clock.ts'
import { printable } from '../errors.ts'
import { resolveOptions } from '../resolve-options.ts'
import { type Duration, toMs } from './duration.ts'
import { backoffOptions } from './options.ts'

export interface FailedAttempt {
  /** The run that just failed, from 1. */
  readonly attempt: number
  /** Since the enqueue. */
  readonly elapsedMs: number
  readonly error: unknown
}

/** The delay before the next run, or null: give up. */
export type RetryPolicy = (failed: FailedAttempt) => Duration | null

export interface ExponentialBackoffOptions {
  /** @default 1 s */
  readonly initialDelay?: Duration
  /** @default 12 h */
  readonly maxDelay?: Duration
  /** Runs in all. @default 10 */
  readonly maxAttempts?: number
  /** @default 2 */
  readonly factor?: number
  /** The share of the delay that is left to chance, 0 … 1. @default 0.5 */
  readonly jitter?: number
  /** Where chance comes from. @default the system's */
  readonly clock?: Pick<Clock, 'random'>
}

/** @throws TypeError INVALID_ARGUMENT */
export function exponentialBackoff(options?: ExponentialBackoffOptions): RetryPolicy {
  const { initialDelay, maxDelay, maxAttempts, factor, jitter, clock } = resolveOptions(
    'exponentialBackoff',
    options,
    backoffOptions,
  )
  const [initialMs, maxMs] = [toMs(initialDelay, 'initialDelay'), toMs(maxDelay, 'maxDelay')]
  const random = clock ?? systemClock
  return ({ attempt }) => {
    if (attempt >= maxAttempts) return null
    // Bounded by itself, for 0 times Infinity is no delay.
    const growth = Math.min(factor ** (attempt - 1), Number.MAX_VALUE)
    return Math.min(initialMs * growth, maxMs) * (1 - jitter * random.random())
  }
}

const brand = Symbol.for('holdfast.retry')

/** Thrown by a handler: retry after this delay, or never (null), whatever the policy says. */
export class RetryError extends Error {
  /** Null: never. */
  readonly delayMs: number | null

  /** @throws TypeError INVALID_DELAY */
  constructor(delay: Duration | null, options?: ErrorOptions) {
    const delayMs = delay === null ? null : toMs(delay, 'delay', { code: 'INVALID_DELAY', min: 0 })
    super(delayMs === null ? 'not to be tried again' : `to be tried again in ${delayMs} ms`, options)
    this.name = 'RetryError'
    this.delayMs = delayMs
  }

  get [brand](): true {
    return true
  }
}

/** Of another installed copy of the package too. */
export function isRetryError(value: unknown): value is RetryError {
  return value instanceof Error && brand in value
}

const fallback = exponentialBackoff()

/**
 * In ms, or null: give up. A policy that throws or answers nonsense is reported, and the default one used.
 * @param onMisfit told of such a policy
 */
export function delayAfter(
  policy: RetryPolicy,
  failed: FailedAttempt,
  onMisfit: (problem: Error) => void,
): number | null {
  if (isRetryError(failed.error)) return failed.error.delayMs
  try {
    const delay = policy(failed)
    return delay === null ? null : toMs(delay, 'the delay of a retry policy', { min: 0 })
  } catch (problem) {
    onMisfit(new Error(`a retry policy failed, and the default one is used: ${printable(problem)}`, { cause: problem }))
    return toDefault(failed)
  }
}

function toDefault(failed: FailedAttempt): number | null {
  const delay = fallback(failed)
  return delay === null ? null : toMs(delay)
}
