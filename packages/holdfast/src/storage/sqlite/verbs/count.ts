// count: the states are counted by every move; what is due follows from few rows of the indexes.

import { type CountQuery, type Counts, type JobState, type TypeCounts } from '../../storage.ts'
import { stateNames } from '../../rules/job/codes.ts'
import type { SqliteMove } from '../rules/move.ts'
import { firstInLine } from './next-due-at.ts'
import type { SqliteType } from '../rules/type.ts'

type States = Record<JobState, number>

export function count(move: SqliteMove, query: CountQuery): Counts {
  const { statements } = move.session
  const names = query.types ?? (statements.typeNames.all() as unknown as [string][]).map(([name]) => name)
  const gone = expiredByType(move)
  const types = names.map((name) => {
    const type = move.typeOf(name)
    return type ? countType(move, type, gone.get(type.tid)) : nothingOf(name)
  })
  return { now: move.now, types: query.types ? types : types.filter(isKnown) }
}

const isKnown = ({ states, paused, pausedGroups }: TypeCounts): boolean =>
  paused !== undefined || pausedGroups.length > 0 || Object.values(states).some((number) => number > 0)

function countType(move: SqliteMove, type: SqliteType, gone: Partial<States> = {}): TypeCounts {
  const { statements } = move.session
  const states = statesOf(statements.countsOfType.get(type.tid) as unknown as number[])
  for (const [state, number] of Object.entries(gone) as [JobState, number][]) states[state] -= number
  const [scheduled, failing] = statements.dueLater.get(type.tid, move.now) as unknown as [number, number]
  states.scheduled -= scheduled
  states.queued += scheduled
  const [lost] = statements.countLost.get(type.tid, move.now) as unknown as [number]
  const waitingAndDue = states.queued + failing
  const oldest = Math.min(firstInLine(move, type, 1), firstInLine(move, type, 0))
  return {
    type: type.name,
    states,
    due: waitingAndDue + lost,
    delayed: states.scheduled + states.failing - failing,
    oldestDueAt: oldest <= move.now ? oldest : undefined,
    paused: type.paused,
    pausedGroups: (
      statements.pausedGroups.all(type.tid) as unknown as [group: string, since: number, by: string | null][]
    ).map(([group, since, by]) => ({ group, since, by: by ?? undefined })),
  }
}

/** Records whose time is over, and that are not swept yet. */
function expiredByType(move: SqliteMove): Map<number, Partial<States>> {
  const gone = new Map<number, Partial<States>>()
  const rows = move.session.statements.countExpired.all(move.now, move.now) as unknown as number[][]
  for (const [tid, code, number] of rows as [number, number, number][]) {
    const states = gone.get(tid) ?? {}
    const state = stateNames[code]!
    states[state] = (states[state] ?? 0) + number
    gone.set(tid, states)
  }
  return gone
}

function statesOf(row: readonly number[]): States {
  const [scheduled, blocked, queued, processing, failing, completed, failed, cancelled] = row
  return { scheduled, blocked, queued, processing, failing, completed, failed, cancelled } as States
}

const nothingOf = (type: string): TypeCounts => ({
  type,
  states: statesOf([0, 0, 0, 0, 0, 0, 0, 0]),
  due: 0,
  delayed: 0,
  oldestDueAt: undefined,
  paused: undefined,
  pausedGroups: [],
})
