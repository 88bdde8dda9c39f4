// count: every call keeps the counts of states up to date; what is due follows from few rows of the indexes.

import type { CountQuery, Counts, JobState, TypeCounts } from '../../storage.ts'
import { emptyCounts, isKnown, type StateCounts } from '../../rules/count.ts'
import { emptyGroup } from '../../rules/flow.ts'
import { stateNames } from '../../rules/job/codes.ts'
import { groupUse, slowedUntil, typeUse } from '../../rules/limits.ts'
import { nextOfNone, nextStart } from '../../rules/next-start.ts'
import { instant } from '../rules/job.ts'
import type { SqliteMove } from '../rules/move.ts'
import type { SqliteType } from '../rules/type.ts'
import { firstLeaseEnd, firstRunAt } from './next-due-at.ts'

export function count(move: SqliteMove, query: CountQuery): Counts {
  const { statements } = move.set
  const names = query.types ?? (statements.typeNames.all() as unknown as [string][]).map(([name]) => name)
  // A query that names no type asks for what `next` answers, or for the time: it must not count.
  const gone: ReturnType<typeof expiredByType> = names.length > 0 ? expiredByType(move) : new Map()
  const types = names.map((name) => {
    const type = move.typeOf(name)
    const counts = type ? countType(move, type, gone.get(type.tid)) : nothingOf(name)
    return query.limits?.type === name ? { ...counts, ...usesOf(move, type, query.limits) } : counts
  })
  return { now: move.now, types: query.types ? types : types.filter(isKnown), ...nextAsked(move, query) }
}

function nextAsked(move: SqliteMove, { next: query }: CountQuery): Pick<Counts, 'next'> {
  if (!query) return {}
  const type = move.typeOf(query.type)
  if (!type) return { next: nextOfNone(query, move.now) }
  return { next: nextStart(move, type, query, { leaseEnd: firstLeaseEnd(move, type), due: undefined }) }
}

function countType(move: SqliteMove, type: SqliteType, gone: Partial<StateCounts> = {}): TypeCounts {
  const { statements } = move.set
  const states = statesOf(statements.countsOfType.get(type.tid) as unknown as number[])
  for (const [state, number] of Object.entries(gone) as [JobState, number][]) states[state] -= number
  const [scheduled, failing] = statements.dueLater.get(type.tid, move.now) as unknown as [number, number]
  states.scheduled -= scheduled
  states.queued += scheduled
  const [lost] = statements.countLost.get(type.tid, move.now) as unknown as [number]
  const waitingAndDue = states.queued + failing
  const oldest = Math.min(firstRunAt(move, type, 1), firstRunAt(move, type, 0))
  return {
    type: type.name,
    states,
    due: waitingAndDue + lost + lostOfOpen(move, type),
    delayed: states.scheduled + states.failing - failing,
    oldestDueAt: oldest <= move.now ? oldest : undefined,
    paused: type.paused,
    pausedGroups: pausedGroups(move, type),
    slowedUntil: slowedUntil(type.flow, move.now),
  }
}

function lostOfOpen({ set, now }: SqliteMove, type: SqliteType): number {
  let lost = 0
  for (const { lease, seqs } of set.claims.ofType(type)) if (instant(lease.until) <= now) lost += seqs.size
  return lost
}

function pausedGroups({ set }: SqliteMove, { tid, hasGroups }: SqliteType): TypeCounts['pausedGroups'] {
  if (!hasGroups) return []
  const rows = set.statements.pausedGroups.all(tid) as unknown as [group: string, since: number, by: string | null][]
  return rows.map(([group, since, by]) => ({ group, since, by: by ?? undefined }))
}

/** @param type undefined if it is not stored */
function usesOf(
  move: SqliteMove,
  type: SqliteType | undefined,
  { limits, groups = [] }: NonNullable<CountQuery['limits']>,
): Pick<TypeCounts, 'limits' | 'groups'> {
  const { now } = move
  return {
    limits: typeUse(limits, type?.flow, type ? move.runningOf(type) : 0, now),
    groups: groups.map((key) => groupUse(limits, key, type ? move.groupOf(type, key) : emptyGroup, now)),
  }
}

/** Expired records that are not swept yet. */
function expiredByType(move: SqliteMove): Map<number, Partial<StateCounts>> {
  const gone = new Map<number, Partial<StateCounts>>()
  const rows = move.set.statements.countExpired.all(move.now, move.now, move.now) as unknown as number[][]
  for (const [tid, code, number] of rows as [number, number, number][]) {
    const states = gone.get(tid) ?? {}
    const state = stateNames[code]!
    states[state] = (states[state] ?? 0) + number
    gone.set(tid, states)
  }
  return gone
}

function statesOf(row: readonly number[]): StateCounts {
  const states = emptyCounts()
  for (const [code, state] of stateNames.entries()) states[state] = row[code]!
  return states
}

const nothingOf = (type: string): TypeCounts => ({
  type,
  states: emptyCounts(),
  due: 0,
  delayed: 0,
  oldestDueAt: undefined,
  paused: undefined,
  pausedGroups: [],
  slowedUntil: undefined,
})
