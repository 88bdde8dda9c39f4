// The error of a job that did not complete, as every face shows it.

import { decodeError, errorDetails } from '../../error-details.ts'
import type { ErrorDetails } from '../../errors.ts'
import type { JobRecord } from '../../storage/storage.ts'
import { blockerError, stalledError } from '../work/outcomes.ts'

/** The error that the handler threw; for a job that the storage ended by itself, STALLED or BLOCKER_FAILED. */
export function errorOf({ reason, id, error }: Pick<JobRecord, 'reason' | 'id' | 'error'>): ErrorDetails {
  if (reason === 'stalled') return errorDetails(stalledError(id))
  if (reason === 'blocker_failed') return errorDetails(blockerError(id))
  return decodeError(error)
}
