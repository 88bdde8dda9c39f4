// When a failed run is tried again: `maxAttempts` and `backoff`, or a retry policy in their place.

import { readable } from '../copy-option.ts'
import { type Clock, systemClock } from '../clock.ts'
import { type Backoff, delayAfter, exponentialDelay } from '../engine/job/backoff.ts'
import { retryOf } from '../engine/job/directives.ts'
import { asError } from '../error-details.ts'
import { invalidArgument, isHoldfastError, printable } from '../errors.ts'
import { resolveOptions } from '../resolve-options.ts'
import { type Duration, toMs } from './duration.ts'
import { backoffOptions, defaultRetry } from './options.ts'

/** A failed run, as a retry policy sees it. */
export interface FailedAttempt {
  /** Number of the run that failed, from 1. */
  readonly attempt: number
  /** Time since the enqueue, in ms. */
  readonly elapsedMs: number
  /** What the handler threw. */
  readonly error: unknown
}

/** Returns the delay before the next run, or null to give up. */
export type RetryPolicy = (failed: FailedAttempt) => Duration | null

/** Options of exponentialBackoff(). */
export interface ExponentialBackoffOptions {
  /** Delay after the first run. @default 1 s */
  readonly initialDelay?: Duration | undefined
  /** Longest delay. @default 12 h */
  readonly maxDelay?: Duration | undefined
  /** Runs in all, the first included. @default 10 */
  readonly maxAttempts?: number | undefined
  /** Growth of the delay from run to run. @default 2 */
  readonly factor?: number | undefined
  /** Share of the delay that is left to chance, 0 … 1. @default 0.5 */
  readonly jitter?: number | undefined
  /** Source of randomness. @default the system's */
  readonly clock?: Pick<Clock, 'random'> | undefined
}

/**
 * A retry policy: the alias of `maxAttempts` and `backoff` in one function.
 * @throws TypeError INVALID_ARGUMENT
 */
export function exponentialBackoff(options?: ExponentialBackoffOptions): RetryPolicy {
  const given = resolveOptions('exponentialBackoff', options, backoffOptions)
  const { maxAttempts, factor, jitter, clock = systemClock } = given
  const delayMs = toMs(given.initialDelay, 'initialDelay')
  const backoff = { delayMs, maxDelayMs: toMs(given.maxDelay, 'maxDelay'), factor, jitter }
  return ({ attempt }) => (attempt >= maxAttempts ? null : exponentialDelay(backoff, attempt, clock))
}

// ── options to policies ──────────────────────────────────────────────────────────────────────────────────────────────

/** A retry policy, under the word that it is an alias of. */
interface PolicyBackoff {
  readonly policy: RetryPolicy
}

/** What the options of a level resolve to. */
export interface Retry {
  readonly maxAttempts: number
  readonly backoff: Backoff | PolicyBackoff
}

const isPolicy = (backoff: Retry['backoff'] | undefined): backoff is PolicyBackoff =>
  typeof backoff === 'object' && 'policy' in backoff

/** A policy decides about the number of runs by itself. @throws TypeError INVALID_ARGUMENT */
export function refuseBoth(where: string, options: object | undefined, alias: 'retryPolicy' | 'taskRetryPolicy'): void {
  const given = (options ?? {}) as Record<string, unknown>
  const isBoth = readable(`${where} options`, () => given[alias] !== undefined && given.maxAttempts !== undefined)
  if (isBoth) {
    throw invalidArgument(`${where} options`, `either maxAttempts or ${alias}`, options)
  }
}

/** @param onMisfit called with the error of a backoff function that throws or returns no delay */
export function policyOf({ maxAttempts, backoff }: Retry, clock: Clock, onMisfit: (error: Error) => void): RetryPolicy {
  if (isPolicy(backoff)) return backoff.policy
  return ({ attempt, error }) =>
    attempt >= maxAttempts ? null : delayAfter(backoff, attempt, asError(error), clock, onMisfit)
}

/**
 * The retry options of a task over those of createTasks. Its `maxAttempts` or `backoff` replaces a `taskRetryPolicy` altogether.
 * @returns undefined if the task has none of its own
 */
export function ownRetry(
  given: { readonly [key in keyof Retry]?: Retry[key] | undefined },
  inherited: Retry,
): Retry | undefined {
  if (given.maxAttempts === undefined && given.backoff === undefined) return undefined
  const base = isPolicy(inherited.backoff) ? defaultRetry : inherited
  return { maxAttempts: given.maxAttempts ?? base.maxAttempts, backoff: given.backoff ?? base.backoff }
}

// ── one failed run ───────────────────────────────────────────────────────────────────────────────────────────────────

const brand = Symbol.for('holdfast.retry')

/**
 * Thrown by a handler: retry after this delay, or never if it is null, whatever the policy says. The run counts as an attempt.
 * `snooze()` is for a run that should not count; `new RetryError(null)` is an alias of `fail()`.
 */
export class RetryError extends Error {
  /** Delay before the next run, in ms. Null: never. */
  readonly delayMs: number | null

  /** @throws TypeError INVALID_DELAY */
  constructor(delay: Duration | null, options?: ErrorOptions) {
    const delayMs = delay === null ? null : toMs(delay, 'delay', { code: 'INVALID_DELAY', min: 0 })
    super(delayMs === null ? 'the run failed and is not retried' : `the run failed; retry in ${delayMs} ms`, options)
    this.name = 'RetryError'
    this.delayMs = delayMs
  }

  get [brand](): true {
    return true
  }
}

/** Also an instance of another installed copy of the package. */
export function isRetryError(value: unknown): value is RetryError {
  return value instanceof Error && brand in value
}

/** A RetryError and a retry() only say when; their cause says why. */
export function reasonOf(error: unknown): unknown {
  return (isRetryError(error) || retryOf(error)) && 'cause' in (error as Error) ? (error as Error).cause : error
}

const fallback = exponentialBackoff()

/**
 * The delay before the next run in ms, or null to give up. A policy that throws or returns no delay is reported, and the default
 * is used instead.
 * @param onMisfit called with the error of such a policy
 */
export function retryDelay(
  policy: RetryPolicy,
  failed: FailedAttempt,
  onMisfit: (error: Error) => void,
): number | null {
  const { error } = failed
  if (isRetryError(error)) return error.delayMs
  if (isHoldfastError(error, 'UNRECOVERABLE')) return null
  try {
    // The policy decides whether there is another run, and a retry() when.
    const delayMs = delayOf(policy, failed)
    return delayMs === null ? null : (retryOf(error)?.delayMs ?? delayMs)
  } catch (cause) {
    const message = `retry policy: it failed (${printable(cause)}). The default policy is used for this run.`
    onMisfit(new Error(message, { cause }))
    return delayOf(fallback, failed)
  }
}

function delayOf(policy: RetryPolicy, failed: FailedAttempt): number | null {
  const delay = policy(failed)
  return delay === null ? null : toMs(delay, 'the delay of a retry policy', { min: 0 })
}
