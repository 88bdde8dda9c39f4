// Numbers that requests and answers of the scripts carry for words of the contract. The Lua texts and the decoders are both
// built from these tables. States, outcomes, refusals and end reasons have theirs in rules/job/codes.ts.
// Only the deduplication mode, the effect of a failed blocker and the kind of a group are stored; the other numbers live as
// long as one call or message.

import { stateCodes } from '../../rules/job/codes.ts'
import type {
  AddVerdict,
  CancelVerdict,
  DeduplicationMode,
  JobEvent,
  LeaseVerdict,
  OnBlockerFailure,
  Refusal,
  RemoveVerdict,
  ReviveOptions,
  ReviveVerdict,
  SettleVerdict,
} from '../../storage.ts'

export const addCodes = {
  added: 0,
  duplicate: 1,
  skipped: 2,
  blocker_not_found: 3,
  replaced: 4,
  stale: 5,
  queue_full: 6,
  group_kind: 7,
} as const satisfies Record<AddVerdict['verdict'], number>

/** What a duplicate has in common with the job that stands. */
export const duplicateCodes = { id: 0, key: 1 } as const

/** A refusal is `refused`, then one of the refusalCodes. */
export const settleCodes = {
  settled: 0,
  conflict: 1,
  refused: 2,
} as const satisfies Record<Exclude<SettleVerdict['verdict'], Refusal> | 'refused', number>

/** A refusal is `refused`, then one of the refusalCodes. A script locks nothing, so none answers `busy`. */
export const leaseCodes = {
  extended: 0,
  cancelling: 1,
  refused: 2,
} as const satisfies Record<Exclude<LeaseVerdict['verdict'], Refusal | 'busy'> | 'refused', number>

/** A verdict that is a state has the number of the state; the others are below 0. */
export const cancelCodes = {
  processing: stateCodes.processing,
  completed: stateCodes.completed,
  failed: stateCodes.failed,
  cancelled: stateCodes.cancelled,
  cancelling: -1,
  not_found: -2,
} as const satisfies Record<CancelVerdict['verdict'], number>

export const reviveCodes = {
  revived: 0,
  moved: 1,
  not_revivable: 2,
  conflict: 3,
  not_found: 4,
} as const satisfies Record<ReviveVerdict['verdict'], number>

/** Which jobs a revive is for. */
export const onlyCodes = { waiting: 0, ended: 1 } as const satisfies Record<NonNullable<ReviveOptions['only']>, number>

export const removeCodes = {
  removed: 0,
  not_terminal: 1,
  not_found: 2,
  untouched: 3,
  kept: 4,
  not_root: 5,
  referenced: 6,
} as const satisfies Record<RemoveVerdict['verdict'], number>

/** An event that is a state has the number of the state; the others are below 0. */
export const eventCodes = {
  scheduled: stateCodes.scheduled,
  queued: stateCodes.queued,
  processing: stateCodes.processing,
  failing: stateCodes.failing,
  completed: stateCodes.completed,
  failed: stateCodes.failed,
  cancelled: stateCodes.cancelled,
  stalled: -1,
  requeued: -2,
} as const satisfies Record<JobEvent['event'], number>

/** Stored with a deduplication key: a number never changes its meaning. */
export const modeCodes = {
  simple: 0,
  throttle: 1,
  debounce: 2,
  followUp: 3,
  ascending: 4,
} as const satisfies Record<DeduplicationMode, number>

/** Stored with a job: what a failed blocker does to it. `fail` is false. */
export const blockerFailureCodes = { wait: true, run: 2 } as const satisfies Record<
  Exclude<OnBlockerFailure, 'fail'>,
  boolean | number
>

/** Stored with a job of an ordered group: what its failure does to the others. An unordered group: false. */
export const orderedGroupCodes = { continue: 1, hold: 2 } as const

/** What a bound of waiting jobs counts. */
export const depthCodes = { type: 0, group: 1 } as const

/** What a release slows down. */
export const slowDownCodes = { type: 1, group: 2, job: 3 } as const

/** The word of each number. */
export function wordsOf<Word extends string>(codes: Readonly<Record<Word, number>>): ReadonlyMap<number, Word> {
  return new Map((Object.keys(codes) as Word[]).map((word) => [codes[word], word]))
}
