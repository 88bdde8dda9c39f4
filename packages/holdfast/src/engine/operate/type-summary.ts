// The counts of a type, for people.

import type { Counts, JobState, Paused, TypeCounts } from '../../storage/storage.ts'
import { parseType } from '../../storage/stored-type.ts'

/** Counts of the jobs of one type. Instants are epoch ms, by the storage's clock. */
export interface TypeSummary {
  /** `queue`, `chain`, `task`, or that of a package that builds on one of them; '' for a type that no face wrote. */
  readonly face: string
  /** Name of the queue, job type or message queue. */
  readonly name: string
  readonly states: Readonly<Record<JobState, number>>
  /** Jobs that could run now. Groups, limits and pauses are not considered. */
  readonly due: number
  /** Jobs that wait for their time. */
  readonly delayed: number
  /** When the oldest job that is due became due. */
  readonly oldestDueAt?: number
  /** How long that job has waited, in ms. */
  readonly oldestDueMs?: number
  /** Since when the type is paused, and the operator who paused it. Absent: it is not. */
  readonly paused?: Paused
  readonly pausedGroups: readonly (Paused & { readonly group: string })[]
  /** Until when the type waits because a handler was told to slow down (rateLimited). Absent: it does not. */
  readonly slowedUntil?: number
}

export function typeSummaries({ now, types }: Counts): TypeSummary[] {
  return types.map((counts) => typeSummary(counts, now))
}

function typeSummary(
  { type, states, due, delayed, oldestDueAt, paused, pausedGroups, slowedUntil }: TypeCounts,
  now: number,
): TypeSummary {
  return {
    ...parseType(type),
    states,
    due,
    delayed,
    ...(oldestDueAt !== undefined && { oldestDueAt, oldestDueMs: Math.max(0, now - oldestDueAt) }),
    ...(paused && { paused }),
    pausedGroups,
    ...(slowedUntil !== undefined && { slowedUntil }),
  }
}
