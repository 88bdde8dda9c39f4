// Reasons of a job that waits for its own time, or whose time is over.

import type { JobRecord } from '../../../storage/storage.ts'
import { errorOf } from '../../job/job-error.ts'
import type { Reason } from '../explanation.ts'
import type { Facts } from '../facts.ts'
import { clockTime, reason } from '../sentence.ts'

/** @param record of a job that waits */
export function dueReasons({ now }: Facts, record: JobRecord): Reason[] {
  const { runAt, deadlineAt, state, failures, maxAttempts, snoozes } = record
  if (deadlineAt !== undefined && deadlineAt <= now) {
    const sentence = `was to start by ${clockTime(deadlineAt, now)}: the next claim or sweep cancels it`
    return [reason('expired', sentence, { deadlineAt })]
  }
  if (runAt <= now) return []
  const at = clockTime(runAt, now)
  if (state === 'failing') {
    const of = maxAttempts === undefined ? '' : ` of ${maxAttempts}`
    const error = errorOf(record)
    const sentence = `waits until ${at} for attempt ${failures + 1}${of}: the last one failed with "${error.message}"`
    return [reason('retry_wait', sentence, { until: runAt, attempt: failures + 1, maxAttempts, error })]
  }
  if (record.attempts?.at(-1)?.outcome === 'released') {
    return [reason('snoozed', `was put off by its handler until ${at}`, { until: runAt, snoozes })]
  }
  return [reason('not_due', `is due at ${at}`, { until: runAt })]
}
