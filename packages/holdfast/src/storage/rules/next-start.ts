// What a claim of a type would start next (count, `next`): the first job of its line, whose turn it is, and the limits on its way.
// The answers are those that a claim itself goes by (turns.ts), so what people read about a waiting job and what claims do agree.

import type { NextOfGroup, NextQuery, NextStart, Paused } from '../storage.ts'
import { emptyFlow, emptyGroup, type Flow, type GroupState, isTurnBefore } from './flow.ts'
import { groupUse, slowedUntil, typeUse } from './limits.ts'
import type { JobType, Move } from './move.ts'

/** A group whose turn has come. */
export type GroupInTurn = Pick<GroupState, 'turnAt' | 'turn'> & { readonly key: string }

/** What a driver reads of a type. */
export interface NextFacts {
  readonly paused: Paused | undefined
  readonly flow: Flow | undefined
  readonly running: number
  /** The first end of a lease of a job whose group is not paused. Infinity: none. */
  readonly leaseEnd: number
  /** Id of the first due job without a group. */
  readonly line: string | undefined
  /** Number of jobs that wait and are due. Undefined: the driver would have to count them. */
  readonly due: number | undefined
  /** The first groups of the ring whose turn has come: one, or two without turns. */
  readonly turns: readonly GroupInTurn[]
  /** The group of the query, and the id of its first job. */
  readonly group: { readonly state: GroupState; readonly job: string | undefined } | undefined
}

export function nextOf(query: NextQuery, facts: NextFacts, now: number): NextStart {
  const { limits, weight } = query
  const { paused, flow, running, leaseEnd, line, due } = facts
  const slowed = slowedUntil(flow, now)
  const turn = turnOf(query, facts)
  return {
    ...typeUse(limits, flow, running, now, weight),
    ...(paused && { paused }),
    ...(slowed !== undefined && { slowedUntil: slowed }),
    ...(leaseEnd !== Infinity && { leaseEnd }),
    ...(line !== undefined && { line }),
    ...(due !== undefined && { due }),
    ...(turn && { turn }),
    ...(facts.group && { group: nextOfGroup(query, facts.group, now) }),
  }
}

function turnOf({ limits }: NextQuery, { flow, line, turns }: NextFacts): NextStart['turn'] {
  const [first, second] = turns
  if (!first) return line === undefined ? undefined : {}
  if (limits.group?.fair === false) return line === undefined && !second ? { group: first.key } : undefined
  return line !== undefined && isTurnBefore(flow ?? emptyFlow, first) ? {} : { group: first.key }
}

function nextOfGroup(
  { limits, group: key, weight }: NextQuery,
  { state, job }: NonNullable<NextFacts['group']>,
  now: number,
): NextOfGroup {
  const { paused, ordered, turnAt, size } = state
  return {
    ...groupUse(limits, key!, state, now, weight),
    ...(paused && { paused }),
    ordered: ordered && size > 0,
    ...(job !== undefined && { job }),
    ...(turnAt !== undefined && { turnAt }),
  }
}

/** For drivers that have a Move. */
export function nextStart(
  move: Move,
  type: JobType,
  query: NextQuery,
  { leaseEnd, due }: Pick<NextFacts, 'leaseEnd' | 'due'>,
): NextStart {
  const { group: key, limits } = query
  const group = key === undefined ? undefined : move.groupOf(type, key)
  const first = group && (group.ordered ? move.headOf(group) : move.bestOf(group))
  const facts: NextFacts = {
    paused: type.paused,
    flow: move.flowOf(type),
    running: move.runningOf(type),
    leaseEnd,
    line: move.nextReady(type)?.id,
    due,
    // Without turns a claim looks at all of them, too.
    turns: limits.group?.fair === false ? move.turnsOf(type) : [move.nextTurn(type) ?? []].flat(),
    group: group && { state: group, job: first?.id },
  }
  return nextOf(query, facts, move.now)
}

/** The answer for a type that is not stored. */
export const nextOfNone = (query: NextQuery, now: number): NextStart =>
  nextOf(
    query,
    {
      paused: undefined,
      flow: undefined,
      running: 0,
      leaseEnd: Infinity,
      line: undefined,
      due: 0,
      turns: [],
      group: query.group === undefined ? undefined : { state: emptyGroup, job: undefined },
    },
    now,
  )
