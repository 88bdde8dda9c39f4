// count: one scan over the jobs of the types. There are no stored counters: every move would have to update them.

import { stateCodes, stateNames } from '../../rules/job/codes.ts'
import type { CountQuery, Counts, JobState, TypeCounts } from '../../storage.ts'
import type { Row, Statement } from '../connection/database.ts'
import { pausedOf } from '../rules/group.ts'
import { effectiveState, kindCodes, waitingStates } from '../sql/job-columns.ts'
import { columns, param, type Sql } from '../sql/statement.ts'
import { arrayOf, decodeText, encodeText, numberOf } from '../sql/text.ts'
import type { OpenStorage } from './open-storage.ts'

/** $1: names of types, or NULL. */
export function countStatement({ at, now, statement }: Sql): Statement {
  const counts = stateNames.map(
    (_, code) => `count(*) FILTER (WHERE ${effectiveState('state', 'run_at')} = ${code}) AS s${code}`,
  )
  const text = `
  WITH clock AS MATERIALIZED (SELECT ${now} AS now),
  wanted AS MATERIALIZED (
    SELECT * FROM ${at}types AS t WHERE ${param(1, 'text[]')} IS NULL OR t.name = ANY (${param(1, 'text[]')})),
  counts AS (
    SELECT tid,
      ${counts.join(',\n      ')},
      count(*) FILTER (WHERE state IN (${waitingStates}) AND run_at <= now OR state = ${stateCodes.processing} AND lease_until <= now) AS due,
      count(*) FILTER (WHERE state IN (${waitingStates}) AND run_at > now) AS delayed,
      min(run_at) FILTER (WHERE state IN (${waitingStates}) AND run_at <= now) AS oldest
    FROM clock, ${at}jobs AS j
    WHERE tid = ANY (ARRAY (SELECT tid FROM wanted)) AND NOT CASE
      WHEN chain IS NULL THEN coalesce(expires_at, 'Infinity') <= now AND dependents IS NULL
      ELSE EXISTS (
        SELECT 1 FROM ${at}jobs AS f
        WHERE f.seq = j.chain AND f.kind = ${kindCodes.linked} AND f.expires_at <= now AND f.dependents IS NULL) END
    GROUP BY tid
  )
  SELECT ${columns(
    'clock.now',
    'w.name',
    'w.paused_since',
    'w.paused_by',
    ...stateNames.map((_, code) => `coalesce(c.s${code}, 0)`),
    'coalesce(c.due, 0)',
    'coalesce(c.delayed, 0)',
    'c.oldest',
    `(SELECT json_agg(json_build_array(g.key, g.paused_since, g.paused_by) ORDER BY g.key) FROM ${at}groups AS g
      WHERE g.tid = w.tid AND g.paused_since IS NOT NULL)`,
  )}
  FROM clock LEFT JOIN wanted AS w ON true LEFT JOIN counts AS c ON c.tid = w.tid ORDER BY w.name`
  return statement('count', text)
}

export async function count({ database, statements }: OpenStorage, query: CountQuery): Promise<Counts> {
  const rows = await database.query(statements.count, [query.types ? arrayOf(query.types.map(encodeText)) : null])
  const found = new Map<string, TypeCounts>()
  for (const row of rows) if (row[1] !== null) found.set(decodeText(row[1]!), countsOf(row))
  const now = Number(rows[0]![0])
  if (!query.types) return { now, types: [...found.values()].filter(isKnown) }
  return { now, types: query.types.map((name) => found.get(name) ?? countsOf(emptyRow(name))) }
}

const isKnown = ({ states, paused, pausedGroups }: TypeCounts): boolean =>
  paused !== undefined || pausedGroups.length > 0 || Object.values(states).some((number) => number > 0)

function countsOf([, name, since, by, ...rest]: Row): TypeCounts {
  const states = Object.fromEntries(stateNames.map((state, code) => [state, Number(rest[code])]))
  const [due, delayed, oldest, pausedGroups] = rest.slice(stateNames.length)
  const groups = pausedGroups ? (JSON.parse(pausedGroups) as [key: string, since: number, by: string | null][]) : []
  return {
    type: decodeText(name!),
    states: states as Record<JobState, number>,
    due: Number(due),
    delayed: Number(delayed),
    oldestDueAt: numberOf(oldest!),
    paused: pausedOf(since!, by!),
    pausedGroups: groups.map(([key, at, pausedBy]) => ({ group: decodeText(key), ...pausedOf(String(at), pausedBy)! })),
  }
}

/** The row of a type that is not stored. */
const emptyRow = (name: string): Row => [
  null,
  encodeText(name),
  null,
  null,
  ...stateNames.map(() => '0'),
  '0',
  '0',
  null,
  null,
]
