// What a handler throws to end its attempt otherwise than by an error.

import { RescheduleJobError, UnrecoverableError } from '../../errors.ts'
import { asError } from '../../error-details.ts'
import { continueOptions } from '../options.ts'
import type { Schedule } from '../types/start-options.ts'

/**
 * Ends this attempt: the job runs again then, and nothing failed.
 * @param cause becomes the job's `lastAttemptError`
 * @throws RescheduleJobError, which the handler must let through
 */
export function rescheduleJob(schedule: Schedule, cause?: unknown): never {
  continueOptions.schedule.check('schedule', schedule)
  throw new RescheduleJobError(schedule, cause)
}

/** The job fails now and for good, whatever attempts it has left. @throws UnrecoverableError */
export function failJob(cause?: unknown): never {
  throw new UnrecoverableError(cause === undefined ? 'the handler failed the job' : asError(cause).message, { cause })
}
