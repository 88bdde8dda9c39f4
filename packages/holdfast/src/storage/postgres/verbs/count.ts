// count: by one walk over the jobs of the types. There are no counters to keep: every move would have to change them.

import type { CountQuery, Counts, JobState, TypeCounts } from '../../storage.ts'
import type { Connection, Row } from '../connection/database.ts'
import { pausedOf } from '../rules/group.ts'
import { stateNames } from '../../rules/job/codes.ts'
import type { ReadStatements } from './reads.ts'
import { arrayOf, decodeText, encodeText, numberOf } from '../rules/text.ts'

export async function count(
  connection: Pick<Connection, 'query'>,
  statements: ReadStatements,
  query: CountQuery,
): Promise<Counts> {
  const rows = await connection.query(statements.count, [query.types ? arrayOf(query.types.map(encodeText)) : null])
  const found = new Map<string, TypeCounts>()
  for (const row of rows) if (row[1] !== null) found.set(decodeText(row[1]!), countsOf(row))
  const now = Number(rows[0]![0])
  if (!query.types) return { now, types: [...found.values()].filter(isKnown) }
  return { now, types: query.types.map((name) => found.get(name) ?? countsOf(nothingOf(name))) }
}

const isKnown = ({ states, paused, pausedGroups }: TypeCounts): boolean =>
  paused !== undefined || pausedGroups.length > 0 || Object.values(states).some((number) => number > 0)

/** @param row now, name, paused since and by, the states, due, delayed, oldest, paused groups */
function countsOf(row: Row): TypeCounts {
  const states = Object.fromEntries(stateNames.map((name, index) => [name, Number(row[4 + index])]))
  const groups = row[15] ? (JSON.parse(row[15]) as [key: string, since: number, by: string | null][]) : []
  return {
    type: decodeText(row[1]!),
    states: states as Record<JobState, number>,
    due: Number(row[12]),
    delayed: Number(row[13]),
    oldestDueAt: numberOf(row[14]!),
    paused: pausedOf(row[2]!, row[3]!),
    pausedGroups: groups.map(([key, since, by]) => ({ group: decodeText(key), ...pausedOf(String(since), by)! })),
  }
}

const nothingOf = (name: string): Row => [
  null,
  encodeText(name),
  null,
  null,
  ...Array<string>(10).fill('0'),
  null,
  null,
]
