// count, as far as it is the same everywhere: a count for every state, and which types are listed.

import type { JobState, TypeCounts } from '../storage.ts'
import { stateNames } from './job/codes.ts'

export type StateCounts = Record<JobState, number>

const zeros = Object.fromEntries(stateNames.map((state) => [state, 0])) as StateCounts

/** A count of 0 for each state. */
export const emptyCounts = (): StateCounts => ({ ...zeros })

/** True of a type that has a record or a pause: one that only has listeners is not listed. */
export const isKnown = ({ states, paused, pausedGroups }: TypeCounts): boolean =>
  paused !== undefined || pausedGroups.length > 0 || stateNames.some((state) => states[state] > 0)
