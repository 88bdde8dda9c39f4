// What a handler answers or throws to end its attempt otherwise than by a result or an error. The same values work in every face,
// returned or thrown: snooze() puts the job off and costs no attempt, fail() ends it for good.

import { asError } from '../../error-details.ts'
import { invalidArgument, isHoldfastError, RescheduleJobError, UnrecoverableError } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import type { When } from '../../storage/storage.ts'
import { sharedOptions } from '../options.ts'

/** What a handler may return in place of a result: snooze() or fail(). */
export type Directive = RescheduleJobError | UnrecoverableError

export interface SnoozeOptions {
  /** From now, in ms. */
  readonly delayMs?: number | undefined
  /** An instant: epoch ms, or a Date. One in the past is due at once. */
  readonly runAt?: number | Date | undefined
  /** Why, for the job's record. */
  readonly cause?: unknown
}

const snoozeOptions = { delayMs: sharedOptions.delayMs, runAt: sharedOptions.runAt, cause: sharedOptions.tx } as const

/**
 * Puts the job off: it runs again then, and no attempt is spent. Return or throw what it gives.
 * @throws TypeError INVALID_ARGUMENT unless exactly one of `delayMs` and `runAt` is given
 */
export function snooze(options: SnoozeOptions): RescheduleJobError {
  const { delayMs, runAt, cause } = resolveOptions('snooze', options, snoozeOptions)
  if ((delayMs === undefined) === (runAt === undefined)) {
    throw invalidArgument('snooze options', 'either delayMs or runAt', options)
  }
  return new RescheduleJobError(delayMs === undefined ? { at: Number(runAt) } : { afterMs: delayMs }, cause)
}

/** Fails the job for good, whatever attempts it has left. Return or throw what it gives. */
export function fail(cause?: unknown): UnrecoverableError {
  if (typeof cause === 'string') return new UnrecoverableError(cause)
  return new UnrecoverableError(cause === undefined ? 'the handler failed the job' : asError(cause).message, { cause })
}

/** The time a snooze asks for, if the value is one: also of another installed copy of the package. */
export function snoozeOf(
  value: unknown,
): (Required<Pick<When, 'runAt'>> | Required<Pick<When, 'delayMs'>>) | undefined {
  if (!isHoldfastError(value, 'RESCHEDULED')) return undefined
  const { at, afterMs } = (value as RescheduleJobError).schedule as { at?: number | Date; afterMs?: number }
  // Never early: a fraction of a millisecond counts as a whole one.
  return at === undefined ? { delayMs: Math.ceil(afterMs ?? 0) } : { runAt: Math.ceil(Number(at)) }
}

/** What a handler returned is a directive, and so as good as thrown. Tested before anything else: nearly no result is an Error. */
export function isDirective(value: unknown): value is Directive {
  return value instanceof Error && (isHoldfastError(value, 'RESCHEDULED') || isHoldfastError(value, 'UNRECOVERABLE'))
}
