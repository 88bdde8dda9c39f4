// The state of groups and types that turns and limits need. A plain type, without groups and limits, has none.
//
// The ring of a type: its groups that have a job to start, in the order (turnAt, turn). A claim takes the first group whose
// turnAt has come, leases its best job, and puts the group at the back. A group that may not start a job is not in the ring:
// paused, held, at its limit, or without a waiting job. So it costs the claims of other groups nothing. No write is needed
// when time passes: a group whose jobs are due later, or that is slowed, has a later turnAt.
//
// The jobs without a group, the line of the type, take turns with the groups, by the turn of the type's Flow.

import type { GroupLimits, Limits, Paused } from '../storage.ts'
import { isWindowOver, type RateUse } from './job/rate.ts'
import type { JobType } from './move.ts'

/** What is stored of a group. Absent as long as nothing of it is needed (isGroupNeeded). */
export interface GroupState {
  /** The kind of its unfinished members. Of no meaning without one. */
  readonly ordered: boolean
  /** Number of unfinished members, in processing, waiting or blocked. */
  readonly size: number
  /** Number of members in processing. */
  readonly running: number
  /** When it may start its next job; a past instant is kept as its place. Undefined: it is not in the ring. */
  readonly turnAt: number | undefined
  /** Breaks ties of turnAt. From takeNumber(), so it may be provisional as the order of a job is. */
  readonly turn: number
  /** A claim found it at its limit. It is not in the ring until one of its jobs leaves processing. */
  readonly isFull: boolean
  readonly paused: Paused | undefined
  /** Ids of the failed jobs that hold it, the oldest first. Undefined: none. */
  readonly heldBy: readonly string[] | undefined
  /** It starts nothing before this instant (`slowDown`). 0: never slowed. */
  readonly slowedUntil: number
  /** When its rate is free for its next job, as the last claim computed it. 0: without a rate. */
  readonly rateFreeAt: number
  readonly rate: RateUse | undefined
}

/** Jobs of a type that share a limit. Only changeGroup changes it. */
export interface Group extends GroupState {
  readonly key: string
  readonly type: JobType
}

export const emptyGroup: GroupState = {
  ordered: false,
  size: 0,
  running: 0,
  turnAt: undefined,
  turn: 0,
  isFull: false,
  paused: undefined,
  heldBy: undefined,
  slowedUntil: 0,
  rateFreeAt: 0,
  rate: undefined,
}

/** What is stored of a type that uses turns or limits. */
export interface Flow {
  /** The turn of its jobs without a group, compared with those of its groups. Only written while one of these has a turn. */
  readonly turnAt: number
  readonly turn: number
  /** A claim found it at its concurrency. The next job that leaves processing sends a wake. */
  readonly isFull: boolean
  /** It starts nothing before this instant (`slowDown`). 0: never slowed. */
  readonly slowedUntil: number
  /** The weight of the job for which the last claim found the rate too full. Nothing overtakes it. 1: none. */
  readonly nextWeight: number
  readonly rate: RateUse | undefined
}

export const emptyFlow: Flow = {
  turnAt: 0,
  turn: 0,
  isFull: false,
  slowedUntil: 0,
  nextWeight: 1,
  rate: undefined,
}

/** False of a group that may be deleted: without members, pause, holder, slow-down and counted starts. */
export function isGroupNeeded(group: GroupState, now: number): boolean {
  if (group.size > 0 || group.paused || group.heldBy) return true
  return group.slowedUntil > now || !isWindowOver(group.rate, now)
}

/**
 * False of a flow that may be deleted, if the type has no groups. Its turn is not needed then: the turn of a group that comes
 * later is after it, and after no turn at all.
 */
export function isFlowNeeded(flow: Flow | undefined, now: number): boolean {
  return flow !== undefined && (flow.isFull || flow.slowedUntil > now || !isWindowOver(flow.rate, now))
}

/** The order of the ring. */
export function isTurnBefore(a: Pick<Group, 'turnAt' | 'turn'>, b: Pick<Group, 'turnAt' | 'turn'>): boolean {
  return a.turnAt === b.turnAt ? a.turn < b.turn : a.turnAt! < b.turnAt!
}

/** The limits of the group of a key. */
export function groupLimitsOf(limits: Limits | undefined, key: string): GroupLimits {
  if (!limits) return noLimits
  const own = limits.groups && Object.hasOwn(limits.groups, key) ? limits.groups[key] : undefined
  return own ?? limits.group ?? noLimits
}

const noLimits: GroupLimits = {}
