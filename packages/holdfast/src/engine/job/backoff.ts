// The delay between a failed attempt and the next one.

import type { Clock } from '../../clock.ts'
import { asError } from '../../error-details.ts'
import { printable } from '../../errors.ts'
import { exponentialBackoff } from '../options.ts'

/** Delay after a failed attempt. Named `exponential`: 1 s, doubled up to 5 min, less up to 20 % jitter. */
export type Backoff =
  | 'none'
  | 'exponential'
  | { readonly type: 'fixed'; readonly delayMs: number }
  | {
      readonly type: 'exponential'
      /** Delay after the first failure, in ms. @default 1000 */
      readonly delayMs?: number
      /** Factor by which each delay grows; at least 1. @default 2 */
      readonly factor?: number
      /** Longest delay, in ms. @default 300_000 */
      readonly maxDelayMs?: number
      /** Random part of the delay, 0 … 1: the delay is shorter by up to this share. @default 0.2 */
      readonly jitter?: number
    }
  /** Returns the delay in ms. If it throws, or returns no finite number >= 0: an `error` event, and `exponential` is used. */
  | ((attempt: number, error: Error) => number)

/** Upper limit of every delay: 100 years. */
const longestMs = 100 * 365 * 86_400_000

/**
 * Returns the delay after a failed attempt, in whole ms.
 * @param attempt number of the attempt that failed, from 1
 * @param onMisfit called when a custom backoff throws or returns no delay
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

/** Returns the delay after attempt n, from 1, in ms, not rounded: min(delayMs · factor^(n−1), maxDelayMs), less up to its jitter. */
export function exponentialDelay(
  { delayMs, factor, maxDelayMs, jitter }: ExponentialDelay,
  attempt: number,
  clock: Pick<Clock, 'random'>,
): number {
  // The growth is bounded before it is used: 0 times Infinity would be NaN.
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
    onMisfit(new TypeError(`backoff: expected a finite number >= 0, got ${printable(delayMs)}. The default is used.`))
  } catch (problem) {
    const message = `backoff: the function threw: ${asError(problem).message}. The default is used.`
    onMisfit(new Error(message, { cause: problem }))
  }
  return exactDelay('exponential', attempt, error, clock, onMisfit)
}
