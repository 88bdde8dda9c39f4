// count: one scan over the jobs of the types. There are no stored counters: every move would have to update them. The jobs are first
// counted in groups by type and state, so that a job costs few aggregates and a short key. What lies in an index, as lost leases do, is
// counted along it.
//
// The scan counts expired records, too: they are few, and are counted again, along their index, and subtracted. So a row of the scan
// costs no more than its group, and nothing keeps the server from scanning in parallel. Not prepared: a plan that was made while the
// table was small might go along an index, and read the table in a random order.

import { emptyGroup, type Flow } from '../../rules/flow.ts'
import { stateCodes, stateNames } from '../../rules/job/codes.ts'
import { groupUse, slowedUntil, typeUse } from '../../rules/limits.ts'
import type { CountQuery, Counts, JobState, TypeCounts } from '../../storage.ts'
import type { Connection, Row, Statement } from '../connection/database.ts'
import { decodeFlow } from '../rules/flow.ts'
import { type GroupRow, groupStateOf, pausedOf } from '../rules/group.ts'
import { groupTexts } from '../sql/group-statements.ts'
import { waitingStates } from '../sql/job-columns.ts'
import { columns, listParam, param, type Sql } from '../sql/statement.ts'
import { arrayOf, decodeText, encodeText, numberOf } from '../sql/text.ts'
import { nextStart } from './next-start.ts'
import type { OpenStorage } from './open-storage.ts'
import { countTransaction } from './scan-transaction.ts'

/** $1: the type, $2: keys of groups of which the use is asked for, or NULL. `some` also has $3: names of types. */
export const countStatements = (sql: Sql) => ({
  all: countStatement(sql, 'true', () => 'true'),
  some: countStatement(
    sql,
    `t.name = ANY (${listParam(3, 'text[]')})`,
    (row) => `${row}.tid = ANY (ARRAY (SELECT tid FROM wanted))`,
  ),
})

function countStatement({ at, now }: Sql, isWantedType: string, isWanted: (row: string) => string): Statement {
  const counts = stateNames.map((_, code) => `sum(n) FILTER (WHERE state = ${code}) AS s${code}`)
  const { scheduled, queued, processing } = stateCodes
  const isWaiting = `state IN (${waitingStates})`
  // Not a join with the clock, which would rule out a parallel scan.
  const time = '(SELECT now FROM clock)'
  const text = `
  WITH clock AS MATERIALIZED (SELECT ${now} AS now),
  wanted AS MATERIALIZED (SELECT * FROM ${at}types AS t WHERE ${isWantedType}),
  stored AS MATERIALIZED (
    SELECT j.tid, j.state, count(*) AS n, count(*) FILTER (WHERE j.run_at <= ${time}) AS due, min(j.run_at) AS first
    FROM ${at}jobs AS j WHERE ${isWanted('j')} GROUP BY j.tid, j.state
  ),
  expired AS MATERIALIZED (SELECT * FROM ${at}jobs AS j WHERE j.sweep_at <= ${time}),
  gone AS (
    SELECT tid, state FROM expired
    UNION ALL
    -- Inside a chain, a finished job may expire before its chain: such a job is counted above.
    SELECT j.tid, j.state FROM expired AS f CROSS JOIN LATERAL (
      SELECT * FROM ${at}jobs AS j WHERE j.chain = f.seq AND (j.sweep_at <= ${time}) IS NOT TRUE OFFSET 0) AS j
    WHERE f.tail IS NOT NULL
  ),
  grouped AS (
    SELECT tid, state, CASE WHEN state = ${scheduled} THEN n - due ELSE n END AS n, CASE WHEN ${isWaiting} THEN due END AS due,
      CASE WHEN ${isWaiting} THEN n - due END AS delayed, CASE WHEN ${isWaiting} AND due > 0 THEN first END AS first
    FROM stored
    UNION ALL
    -- A scheduled job whose time has come is queued.
    SELECT tid, ${queued}, due, NULL, NULL, NULL FROM stored WHERE state = ${scheduled}
    UNION ALL
    SELECT j.tid, ${processing}, 0, count(*), NULL, NULL
    FROM ${at}jobs AS j WHERE j.state = ${processing} AND j.lease_until <= ${time} AND ${isWanted('j')} GROUP BY j.tid
    UNION ALL
    SELECT tid, state, -count(*), NULL, NULL, NULL FROM gone GROUP BY tid, state
  ),
  counts AS (
    SELECT tid,
      ${counts.join(', ')},
      sum(due) AS due, sum(delayed) AS delayed, min(first) AS oldest
    FROM grouped GROUP BY tid
  ),
  -- Of all types at once: a look per type reads the same rows, at ten times the cost.
  paused AS MATERIALIZED (
    SELECT g.tid, json_agg(json_build_array(g.key, g.paused_since, g.paused_by) ORDER BY g.key) AS groups
    FROM ${at}groups AS g WHERE g.paused_since IS NOT NULL AND ${isWanted('g')} GROUP BY g.tid
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
    'p.groups',
    'w.flow',
    `CASE WHEN w.name = ${param(1, 'text')} THEN (
      SELECT json_agg(json_build_array(g.key, ${groupTexts('g')})) FROM ${at}groups AS g
      WHERE g.tid = w.tid AND g.key = ANY (${param(2, 'text[]')})) END`,
  )}
  FROM clock LEFT JOIN wanted AS w ON true LEFT JOIN counts AS c ON c.tid = w.tid LEFT JOIN paused AS p ON p.tid = w.tid ORDER BY w.name`
  return { name: '', text }
}

export async function count(open: OpenStorage, query: CountQuery): Promise<Counts> {
  const { types, next: asked } = query
  // Of no type: nothing is counted, so nothing is scanned.
  if (types?.length === 0) {
    return { types: [], ...(await (asked ? nextStart(open, open.database, asked) : timeOnly(open))) }
  }
  return countTransaction(open.database, async (connection) => {
    const { now, found } = await countTypes(open, connection, query)
    const counts = types
      ? types.map((name) => found.get(name) ?? countsOf(emptyRow(name), query, now))
      : [...found.values()].filter(isKnown)
    return { now, types: counts, ...(asked && { next: (await nextStart(open, connection, asked)).next }) }
  })
}

async function timeOnly({ database, statements }: OpenStorage): Promise<{ readonly now: number }> {
  const [row] = await database.query(statements.running, [arrayOf([])])
  return { now: Number(row![0]) }
}

async function countTypes(
  { statements }: OpenStorage,
  connection: Connection,
  query: CountQuery,
): Promise<{ readonly now: number; readonly found: ReadonlyMap<string, TypeCounts> }> {
  const { limits, types } = query
  const use = [limits ? encodeText(limits.type) : null, limits ? arrayOf((limits.groups ?? []).map(encodeText)) : null]
  const rows = types
    ? await connection.query(statements.count.some, [...use, arrayOf(types.map(encodeText))])
    : await connection.query(statements.count.all, use)
  const now = Number(rows[0]![0])
  const found = new Map<string, TypeCounts>()
  for (const row of rows) if (row[1] !== null) found.set(decodeText(row[1]!), countsOf(row, query, now))
  return { now, found }
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
