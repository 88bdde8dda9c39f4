// The seed's names of the directives: thin aliases that throw what snooze() and fail() give.

import { fail, snooze } from '../../engine/job/directives.ts'
import { continueOptions } from '../options.ts'
import type { Schedule } from '../types/start-options.ts'

/**
 * Alias of `throw snooze(…)`: the job runs again then, and no attempt is spent.
 * @param cause becomes the job's `lastAttemptError`
 * @throws RescheduleJobError, which the handler must not catch
 */
export function rescheduleJob(schedule: Schedule, cause?: unknown): never {
  continueOptions.schedule.check('schedule', schedule)
  throw snooze({ delayMs: schedule.afterMs, runAt: schedule.at, cause })
}

/** Alias of `throw fail(…)`: the job fails for good, whatever attempts it has left. @throws UnrecoverableError */
export function failJob(cause?: unknown): never {
  throw fail(cause)
}
