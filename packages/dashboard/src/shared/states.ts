// The states of a job, in the order in which a job passes them.

import type { JobItem } from 'holdfast'

export type JobState = JobItem['state']

export const jobStates = [
  'scheduled',
  'blocked',
  'queued',
  'processing',
  'failing',
  'completed',
  'failed',
  'cancelled',
] as const satisfies readonly JobState[]

export const isJobState = (text: string): text is JobState => (jobStates as readonly string[]).includes(text)

/** Actions on jobs, one by one or many at once. */
export type JobAction = 'retry' | 'cancel' | 'remove'

/** The states in which a job can be changed by an action. A running job can be cancelled only by `abort`. */
export const statesOfAction: Readonly<Record<JobAction, readonly JobState[]>> = {
  retry: ['failed', 'cancelled'],
  cancel: ['scheduled', 'blocked', 'queued', 'failing'],
  remove: ['completed', 'failed', 'cancelled'],
}
