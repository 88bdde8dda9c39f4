// reschedule and runNow, on a queue and for operators: their options, and the caller's answer.

import { setWhen } from '../job/job-options.ts'
import { sharedOptions } from '../options.ts'
import { invalidArgument } from '../../errors.ts'
import { resolveOptions, type Table } from '../../resolve-options.ts'
import { isWaiting } from '../../storage/rules/job/states.ts'
import type { JobState, ReviveVerdict, When } from '../../storage/storage.ts'

/** Options of reschedule(): one of the two times. @typeParam Tx transaction of the storage; never: it has none */
export interface RescheduleOptions<Tx = unknown> extends RunNowOptions<Tx> {
  /** Delay from now, in ms of the storage's clock. */
  readonly delayMs?: number | undefined
  /** Instant at which the job is due: epoch ms, or a Date. One in the past is due at once. */
  readonly runAt?: number | Date | undefined
}

/** Options of runNow(). @typeParam Tx transaction of the storage; never: it has none */
export interface RunNowOptions<Tx = unknown> {
  /** Transaction of the storage in which the job is moved: at its commit, and never if it rolls back. @throws FEATURE_UNSUPPORTED if the storage has none */
  readonly tx?: Tx | undefined
}

export const runNowOptions = { tx: sharedOptions.tx } as const satisfies Table

export const rescheduleOptions = {
  ...runNowOptions,
  delayMs: sharedOptions.delayMs,
  runAt: sharedOptions.runAt,
} as const satisfies Table

/** A new time of a job, and the transaction in which it is set. */
export type NewTime = When & RunNowOptions

/**
 * Answer of reschedule() and runNow(). `rescheduled`: the job waits for its new time. `not_waiting`: the job is blocked, runs or has
 * ended, and nothing was changed; `state` is its state. `not_found`: no record of this id exists.
 */
export type RescheduleResult = { status: 'rescheduled' | 'not_found' } | { status: 'not_waiting'; state?: JobState }

/** @param where for the message @throws TypeError INVALID_ARGUMENT unless one time is given */
export function newTimeOf(where: string, given: RescheduleOptions): NewTime {
  const options = resolveOptions(where, given, rescheduleOptions)
  const when = setWhen({}, options)
  if (options.delayMs === undefined && options.runAt === undefined) {
    throw invalidArgument('runAt', 'a time: runAt or delayMs', undefined)
  }
  return options.tx === undefined ? when : { ...when, tx: options.tx }
}

/** @param state of the job, read after the call, if the storage did not move it */
export function rescheduleResult({ verdict }: ReviveVerdict, state: JobState | undefined): RescheduleResult {
  if (verdict === 'moved') return { status: 'rescheduled' }
  if (verdict === 'not_found') return { status: 'not_found' }
  // It waits again by now: the state at the time of the call is not known.
  return state === undefined || isWaiting(state) ? { status: 'not_waiting' } : { status: 'not_waiting', state }
}
