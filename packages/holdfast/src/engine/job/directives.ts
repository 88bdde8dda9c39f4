// Values that a handler returns or throws to end its attempt without a result, and that onError answers. They work in every face:
// snooze() runs the job again later and costs no attempt, retry() costs one, fail() fails the job for good. rateLimited() is a snooze
// for others, too: of the type or group of the job, until then none starts.

import { asError } from '../../error-details.ts'
import {
  invalidArgument,
  isHoldfastError,
  RateLimitedError,
  type RateLimitScope,
  RescheduleJobError,
  RetryJobError,
  UnrecoverableError,
} from '../../errors.ts'
import { oneOf } from '../../option-checks.ts'
import { resolveOptions, type Table } from '../../resolve-options.ts'
import type { When } from '../../storage/storage.ts'
import { sharedOptions } from '../options.ts'

/** What a handler may return in place of a result: snooze(), rateLimited(), retry() or fail(). */
export type Directive = RescheduleJobError | RateLimitedError | RetryJobError | UnrecoverableError

/** Options of snooze(): exactly one of `delayMs` and `runAt`. */
export interface SnoozeOptions {
  /** Delay from now, in ms of the storage's clock. */
  readonly delayMs?: number | undefined
  /** Instant of the next run: epoch ms, or a Date. One in the past is due at once. */
  readonly runAt?: number | Date | undefined
  /** Reason, kept as the job's error until its next run ends. */
  readonly cause?: unknown
}

const snoozeOptions = { delayMs: sharedOptions.delayMs, runAt: sharedOptions.runAt, cause: sharedOptions.tx } as const

/**
 * Makes a directive that runs the job again later, without spending an attempt. Return it from the handler, or throw it.
 * @throws TypeError INVALID_ARGUMENT unless exactly one of `delayMs` and `runAt` is given
 */
export function snooze(options: SnoozeOptions): RescheduleJobError {
  const { delayMs, runAt, cause } = resolveOptions('snooze', options, snoozeOptions)
  if ((delayMs === undefined) === (runAt === undefined)) {
    throw invalidArgument('snooze options', 'either delayMs or runAt', options)
  }
  return new RescheduleJobError(delayMs === undefined ? { at: Number(runAt) } : { afterMs: delayMs }, cause)
}

/** Options of rateLimited(). */
export interface RateLimitedOptions {
  /** Time until the next run, in ms of the storage's clock. Required. */
  readonly retryAfterMs: number
  /** What waits until then: every job of the type, those of the job's group, or the job alone. Running jobs go on. @default 'type' */
  readonly scope?: RateLimitScope | undefined
  /** Reason, kept as the job's error until its next run ends. */
  readonly cause?: unknown
}

export const rateLimitedOptions = {
  retryAfterMs: { check: sharedOptions.delayMs.check },
  scope: { default: 'type', check: oneOf('type', 'group', 'job') },
  cause: sharedOptions.tx,
} as const satisfies Table

/**
 * Makes a directive for a run that was told to slow down, such as by status 429 of a service: the job runs again later, without spending
 * an attempt or a snooze, and no process starts another job of the scope before. Return it from the handler, throw it, or answer it from
 * onError.
 * @throws TypeError INVALID_ARGUMENT
 */
export function rateLimited(options: RateLimitedOptions): RateLimitedError {
  const { retryAfterMs, scope, cause } = resolveOptions('rateLimited', options, rateLimitedOptions)
  rateLimitedOptions.retryAfterMs.check('retryAfterMs', retryAfterMs)
  return new RateLimitedError(retryAfterMs, scope, cause)
}

/** Options of retry(). */
export interface RetryOptions {
  /** Delay from now, in ms of the storage's clock. @default the backoff */
  readonly delayMs?: number | undefined
  /** Reason, recorded as the error of the run. @default the directive itself */
  readonly cause?: unknown
}

const retryOptions = { delayMs: sharedOptions.delayMs, cause: sharedOptions.tx } as const

/**
 * Makes a directive that fails this run and tries the job again. Return it from the handler, throw it, or answer it from onError. The
 * run counts as an attempt: after `maxAttempts` of them the job fails instead.
 * @throws TypeError INVALID_ARGUMENT
 */
export function retry(options?: RetryOptions): RetryJobError {
  const { delayMs, cause } = resolveOptions('retry', options, retryOptions)
  return new RetryJobError(delayMs, cause)
}

/** Makes a directive that fails the job for good, whatever attempts it has left. Return it from the handler, or throw it. */
export function fail(cause?: unknown): UnrecoverableError {
  if (typeof cause === 'string') return new UnrecoverableError(cause)
  return new UnrecoverableError(cause === undefined ? 'the handler called fail()' : asError(cause).message, { cause })
}

/** The time that a snooze asks for; undefined if the value is none. Recognises one of another installed copy of the package. */
export function snoozeOf(
  value: unknown,
): (Required<Pick<When, 'runAt'>> | Required<Pick<When, 'delayMs'>>) | undefined {
  if (!isHoldfastError(value, 'RESCHEDULED')) return undefined
  const { at, afterMs } = (value as RescheduleJobError).schedule as { at?: number | Date; afterMs?: number }
  // Never early: a fraction of a millisecond counts as a whole one.
  return at === undefined ? { delayMs: Math.ceil(afterMs ?? 0) } : { runAt: Math.ceil(Number(at)) }
}

/** How a run was told to slow down. */
export type SlowDown = Pick<RateLimitedError, 'retryAfterMs' | 'scope'>

/** What a rateLimited() asks for; undefined if the value is none. Recognises one of another installed copy of the package. */
export function rateLimitOf(value: unknown): SlowDown | undefined {
  return isHoldfastError(value, 'RATE_LIMITED') ? (value as RateLimitedError) : undefined
}

/** The delay that a retry() asks for; undefined if the value is none. Recognises one of another installed copy of the package. */
export function retryOf(value: unknown): Pick<RetryJobError, 'delayMs'> | undefined {
  return isHoldfastError(value, 'RETRY_REQUESTED') ? (value as RetryJobError) : undefined
}

/** The reason that a directive was given. */
export const causeOf = (directive: unknown): unknown => (directive as { cause?: unknown }).cause

/** Whether a returned value is a directive. Tests for Error first: nearly no result is one. */
export function isDirective(value: unknown): value is Directive {
  return value instanceof Error && isHoldfastError(value) && codes.has(value.code)
}

const codes: ReadonlySet<string> = new Set(['RESCHEDULED', 'RATE_LIMITED', 'RETRY_REQUESTED', 'UNRECOVERABLE'])
