// Numbers for the words of the contract. The columns of SQLite and Postgres, and the scripts and codec of Redis, take them from
// here. SQL and Lua texts are built from these constants, so a number is never written twice.
// Invariant: a number that was stored never changes its meaning. New words are appended.

import type { AttemptRecord, EndReason, JobState, Refusal } from '../../storage.ts'

/** States below `completed` are live. */
export const stateCodes = {
  scheduled: 0,
  blocked: 1,
  queued: 2,
  processing: 3,
  failing: 4,
  completed: 5,
  failed: 6,
  cancelled: 7,
} as const satisfies Record<JobState, number>

/** Index = code. */
export const stateNames = namesOf(stateCodes)

/** How an attempt ended: the outcomes of `settle`, then the ends that other calls decide. */
export const outcomeCodes = {
  completed: 0,
  retry: 1,
  failed: 2,
  released: 3,
  continued: 4,
  stalled: 5,
  cancelled: 6,
} as const satisfies Record<AttemptRecord['outcome'], number>

/** Index = code. */
export const outcomeNames = namesOf(outcomeCodes)

/** Why a fenced write was refused. */
export const refusalCodes = {
  taken_by_another_worker: 0,
  already_completed: 1,
  not_found: 2,
  cancelled: 3,
} as const satisfies Record<Refusal, number>

/** Index = code. */
export const refusalNames = namesOf(refusalCodes)

/** Why the storage itself ended a job. */
export const reasonCodes = { stalled: 0, blocker_failed: 1, expired: 2 } as const satisfies Record<EndReason, number>

/** Index = code. */
export const reasonNames = namesOf(reasonCodes)

/** Attempts that a record keeps; older ones are dropped. */
export const attemptsKept = 10

/** Lines of the log that a record keeps, and their bytes; older ones are dropped. */
export const logLinesKept = 1_000
export const logBytesKept = 65_536

function namesOf<Word extends string>(codes: Readonly<Record<Word, number>>): readonly Word[] {
  return (Object.keys(codes) as Word[]).toSorted((a, b) => codes[a] - codes[b])
}
