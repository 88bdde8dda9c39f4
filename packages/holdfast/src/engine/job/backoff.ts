// How long after a failed attempt the next one is due.

import type { Clock } from '../../clock.ts'
import { printable } from '../../errors.ts'
import { exponentialBackoff } from '../options.ts'

export type Backoff =
  | 'none'
  | 'exponential'
  | { readonly type: 'fixed'; readonly delayMs: number }
  | {
      readonly type: 'exponential'
      /** @default 1000 */
      readonly delayMs?: number
      /** @default 2 */
      readonly factor?: number
      /** @default 300_000 */
      readonly maxDelayMs?: number
      /** The share of the delay that is left to chance, 0 … 1. @default 0.2 */
      readonly jitter?: number
    }
  /** The delay in ms after that attempt. Not finite or negative: an `error` event, and the default is used. */
  | ((attempt: number, error: Error) => number)

/** No delay is longer: 100 years. */
const longestMs = 100 * 365 * 86_400_000

/**
 * In whole ms.
 * @param attempt the one that failed, from 1
 * @param onMisfit told when a function of the user's throws or gives no delay
 */
export function delayAfter(...args: Parameters<typeof exactDelay>): number {
  return Math.min(Math.ceil(exactDelay(...args)), longestMs)
}

function exactDelay(
  backoff: Backoff,
  attempt: number,
  error: Error,
  clock: Pick<Clock, 'random'>,
  onMisfit: (problem: Error) => void,
): number {
  if (typeof backoff === 'function') return customDelay(backoff, attempt, error, clock, onMisfit)
  if (backoff === 'none') return 0
  if (backoff !== 'exponential' && backoff.type === 'fixed') return backoff.delayMs
  const given = backoff === 'exponential' ? undefined : backoff
  return exponentialDelay(
    {
      delayMs: given?.delayMs ?? exponentialBackoff.delayMs.default,
      factor: given?.factor ?? exponentialBackoff.factor.default,
      maxDelayMs: given?.maxDelayMs ?? exponentialBackoff.maxDelayMs.default,
      jitter: given?.jitter ?? exponentialBackoff.jitter.default,
    },
    attempt,
    clock,
  )
}

interface ExponentialDelay {
  readonly delayMs: number
  readonly factor: number
  readonly maxDelayMs: number
  readonly jitter: number
}

/** The delay in ms after that attempt, from 1, unrounded: base = min(delayMs · factor^(n−1), maxDelayMs), less up to its jitter. */
export function exponentialDelay(
  { delayMs, factor, maxDelayMs, jitter }: ExponentialDelay,
  attempt: number,
  clock: Pick<Clock, 'random'>,
): number {
  // The growth is bounded by itself: 0 times Infinity would be NaN.
  const growth = Math.min(factor ** (attempt - 1), Number.MAX_VALUE)
  return Math.min(delayMs * growth, maxDelayMs) * (1 - jitter * clock.random())
}

function customDelay(
  backoff: (attempt: number, error: Error) => number,
  attempt: number,
  error: Error,
  clock: Pick<Clock, 'random'>,
  onMisfit: (problem: Error) => void,
): number {
  try {
    const delayMs: unknown = backoff(attempt, error)
    if (typeof delayMs === 'number' && Number.isFinite(delayMs) && delayMs >= 0) return delayMs
    onMisfit(new TypeError(`backoff: expected a finite number >= 0, got ${printable(delayMs)}`))
  } catch (problem) {
    onMisfit(new Error('the backoff function threw', { cause: problem }))
  }
  return exactDelay('exponential', attempt, error, clock, onMisfit)
}
