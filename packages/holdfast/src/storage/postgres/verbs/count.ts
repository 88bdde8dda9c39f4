// count: one scan over the jobs of the types. There are no stored counters: every move would have to update them. The jobs are first
// counted in groups by state and whether they are due, so that a job costs one aggregate, not one per state.

import { emptyGroup, type Flow } from '../../rules/flow.ts'
import { stateCodes, stateNames } from '../../rules/job/codes.ts'
import { groupUse, slowedUntil, typeUse } from '../../rules/limits.ts'
import type { CountQuery, Counts, JobState, TypeCounts } from '../../storage.ts'
import type { Row, Statement } from '../connection/database.ts'
import { decodeFlow } from '../rules/flow.ts'
import { type GroupRow, groupStateOf, pausedOf } from '../rules/group.ts'
import { groupTexts } from '../sql/group-statements.ts'
import { effectiveState, kindCodes, waitingStates } from '../sql/job-columns.ts'
import { columns, param, type Sql } from '../sql/statement.ts'
import { arrayOf, decodeText, encodeText, numberOf } from '../sql/text.ts'
import type { OpenStorage } from './open-storage.ts'

/** $1: names of types, or NULL; $2: the type, $3: keys of groups of which the use is asked for, or NULL. */
export function countStatement({ at, now, statement }: Sql): Statement {
  const counts = stateNames.map((_, code) => `sum(n) FILTER (WHERE state = ${code}) AS s${code}`)
  const isWaiting = `state IN (${waitingStates})`
  const text = `
  WITH clock AS MATERIALIZED (SELECT ${now} AS now),
  wanted AS MATERIALIZED (
    SELECT * FROM ${at}types AS t WHERE ${param(1, 'text[]')} IS NULL OR t.name = ANY (${param(1, 'text[]')})),
  grouped AS (
    SELECT tid, ${effectiveState('state', 'run_at')} AS state,
      CASE WHEN ${isWaiting} THEN run_at <= now WHEN state = ${stateCodes.processing} THEN lease_until <= now END AS is_due,
      count(*) AS n, min(run_at) AS first
    FROM clock, ${at}jobs AS j
    WHERE tid = ANY (ARRAY (SELECT tid FROM wanted)) AND NOT CASE
      WHEN chain IS NULL THEN coalesce(expires_at, 'Infinity') <= now AND dependents IS NULL
      -- Inside a chain, a finished job may expire before its chain.
      ELSE coalesce(expires_at, 'Infinity') <= now OR EXISTS (
        SELECT 1 FROM ${at}jobs AS f
        WHERE f.seq = j.chain AND f.kind = ${kindCodes.linked} AND f.expires_at <= now AND f.dependents IS NULL) END
    GROUP BY 1, 2, 3
  ),
  counts AS (
    SELECT tid,
      ${counts.join(',\n      ')},
      sum(n) FILTER (WHERE is_due) AS due,
      sum(n) FILTER (WHERE ${isWaiting} AND NOT is_due) AS delayed,
      min(first) FILTER (WHERE ${isWaiting} AND is_due) AS oldest
    FROM grouped GROUP BY tid
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
    'w.flow',
    `CASE WHEN w.name = ${param(2, 'text')} THEN (
      SELECT json_agg(json_build_array(g.key, ${groupTexts('g')})) FROM ${at}groups AS g
      WHERE g.tid = w.tid AND g.key = ANY (${param(3, 'text[]')})) END`,
  )}
  FROM clock LEFT JOIN wanted AS w ON true LEFT JOIN counts AS c ON c.tid = w.tid ORDER BY w.name`
  return statement('count', text)
}

export async function count({ database, statements }: OpenStorage, query: CountQuery): Promise<Counts> {
  const { limits } = query
  const rows = await database.query(statements.count, [
    query.types ? arrayOf(query.types.map(encodeText)) : null,
    limits ? encodeText(limits.type) : null,
    limits ? arrayOf((limits.groups ?? []).map(encodeText)) : null,
  ])
  const found = new Map<string, TypeCounts>()
  const now = Number(rows[0]![0])
  for (const row of rows) if (row[1] !== null) found.set(decodeText(row[1]!), countsOf(row, query, now))
  if (!query.types) return { now, types: [...found.values()].filter(isKnown) }
  return { now, types: query.types.map((name) => found.get(name) ?? countsOf(emptyRow(name), query, now)) }
}

const isKnown = ({ states, paused, pausedGroups }: TypeCounts): boolean =>
  paused !== undefined || pausedGroups.length > 0 || Object.values(states).some((number) => number > 0)

function countsOf([, name, since, by, ...rest]: Row, { limits }: CountQuery, now: number): TypeCounts {
  const states = Object.fromEntries(stateNames.map((state, code) => [state, Number(rest[code])]))
  const [due, delayed, oldest, pausedGroups, flowText, usedGroups] = rest.slice(stateNames.length)
  const { flow } = decodeFlow(flowText!)
  const type = decodeText(name!)
  const groups = pausedGroups ? (JSON.parse(pausedGroups) as [key: string, since: number, by: string | null][]) : []
  return {
    type,
    states: states as Record<JobState, number>,
    due: Number(due),
    delayed: Number(delayed),
    oldestDueAt: numberOf(oldest!),
    paused: pausedOf(since!, by!),
    pausedGroups: groups.map(([key, at, pausedBy]) => ({ group: decodeText(key), ...pausedOf(String(at), pausedBy)! })),
    slowedUntil: slowedUntil(flow, now),
    ...(limits?.type === type ? usesOf(limits, flow, states.processing!, usedGroups!, now) : {}),
  }
}

function usesOf(
  { limits, groups = [] }: NonNullable<CountQuery['limits']>,
  flow: Flow | undefined,
  running: number,
  texts: string | null,
  now: number,
): Pick<TypeCounts, 'limits' | 'groups'> {
  const rows = texts === null ? [] : (JSON.parse(texts) as [key: string, ...GroupRow][])
  const stored = new Map(rows.map(([key, ...row]) => [decodeText(key), groupStateOf(row)]))
  return {
    limits: typeUse(limits, flow, running, now),
    groups: groups.map((key) => groupUse(limits, key, stored.get(key) ?? emptyGroup, now)),
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
  null,
  null,
]
