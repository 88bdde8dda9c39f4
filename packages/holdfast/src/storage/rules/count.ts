// count, as far as it is the same everywhere: a count for every state, and which types are listed.

import type { JobState, TypeCounts } from '../storage.ts'
import { stateNames } from './job/codes.ts'

export type StateCounts = Record<JobState, number>

/** A count of 0 for each state. A literal, because every call on a type changes its counts, and a literal is fastest. */
export const emptyCounts = (): StateCounts => ({
  scheduled: 0,
  blocked: 0,
  queued: 0,
  processing: 0,
  failing: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
})

/** True of a type that has a record or a pause: one that only has listeners is not listed. */
export const isKnown = ({ states, paused, pausedGroups }: TypeCounts): boolean =>
  paused !== undefined || pausedGroups.length > 0 || stateNames.some((state) => states[state] > 0)
