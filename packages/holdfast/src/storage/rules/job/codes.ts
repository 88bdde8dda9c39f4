// The states of jobs as numbers, in the tables of SQLite and Postgres: they never change.

import type { JobState } from '../../storage.ts'

/** Those below 5 are live. */
export const stateCodes = {
  scheduled: 0,
  blocked: 1,
  queued: 2,
  processing: 3,
  failing: 4,
  completed: 5,
  failed: 6,
  cancelled: 7,
} as const

export const stateNames = Object.keys(stateCodes) as JobState[]
