// nextDueAt: the earliest run time, turn or lease end of the types, each from the head of an index, and not before their limits allow.

import { stateCodes } from '../../rules/job/codes.ts'
import { dueByLimits } from '../../rules/limits.ts'
import type { ClaimType, Limits, NextDue } from '../../storage.ts'
import type { Statement } from '../connection/database.ts'
import { decodeFlow } from '../rules/flow.ts'
import { runningUpTo } from '../sql/flow-statements.ts'
import { readyCodes } from '../sql/job-columns.ts'
import { alongIndex, isInRing, prioritiesFrom } from '../sql/scan.ts'
import { columns, maxLimit, param, type Sql } from '../sql/statement.ts'
import { arrayOf } from '../sql/text.ts'
import type { OpenStorage } from './open-storage.ts'

/**
 * A row per type that is not paused; at least one. $1: numbers of types; then the parameters of the cursor (fast/scan-cursor.ts); $7:
 * as far as which number the jobs in processing are counted, or NULL.
 */
export const nextDueAtStatement = ({ at, now, statement }: Sql): Statement =>
  statement(
    'next_due_at',
    `
  SELECT ${columns('clock.now', 'n.position', 'n.line', 'n.turn', 'n.lease', 'n.flow', 'n.running')}
  FROM (SELECT ${now} AS now) AS clock LEFT JOIN (
    SELECT w.position, t.flow,
      (SELECT min(j.run_at) FROM ${prioritiesFrom(2, 'w.tid', 't.priorities')} AS p CROSS JOIN LATERAL (
        SELECT j.run_at FROM ${at}jobs AS j
        WHERE j.tid = w.tid AND ${alongIndex(`j.ready = ${readyCodes.ready}`, 'j')} AND j.priority = p.priority AND (j.run_at, j.ord) > (p.run_at, p.ord)
        ORDER BY run_at, ord LIMIT 1) AS j) AS line,
      (SELECT g.turn_at FROM ${at}groups AS g WHERE g.tid = w.tid AND ${isInRing} ORDER BY g.turn_at, g.turn LIMIT 1) AS turn,
      (SELECT lease_until FROM ${at}jobs AS j
       WHERE j.tid = w.tid AND ${alongIndex(`j.state = ${stateCodes.processing}`, 'j')} AND j.lease_until > w.lost_from AND (j.grp IS NULL OR (
         SELECT g.paused_since FROM ${at}groups AS g WHERE g.tid = j.tid AND g.key = j.grp LIMIT 1) IS NULL)
       ORDER BY lease_until LIMIT 1) AS lease,
      CASE WHEN w.concurrency IS NOT NULL THEN ${runningUpTo(at, 'w.concurrency')} END AS running
    FROM unnest(${param(1, 'integer[]')}, ${param(6, 'double precision[]')}, ${param(7, 'integer[]')})
      WITH ORDINALITY AS w (tid, lost_from, concurrency, position)
    CROSS JOIN LATERAL (SELECT priorities, flow FROM ${at}types AS t WHERE t.tid = w.tid AND t.paused_since IS NULL LIMIT 1) AS t
  ) AS n ON true`,
  )

export async function nextDueAt(
  { types, database, statements, cursor }: OpenStorage,
  wanted: readonly ClaimType[],
): Promise<NextDue | undefined> {
  await types.find(
    database,
    wanted.map(({ type }) => type),
  )
  const known = wanted.filter(({ type }) => types.tidOf(type) !== undefined)
  if (known.length === 0) return undefined
  const tids = known.map(({ type }) => types.tidOf(type)!)
  const { activeMs, mayHaveMissed } = cursor
  const rows = await database.query(statements.nextDueAt, [
    arrayOf(tids),
    ...cursor.params(tids),
    arrayOf(known.map(({ limits }) => concurrencyOf(limits))),
  ])
  const now = Number(rows[0]![0])
  // A scan from the cursor may miss jobs before it: the caller looks again when scans begin at the head.
  let at = mayHaveMissed && activeMs > 0 ? now + activeMs : Infinity
  for (const [, position, line, turn, lease, flow, running] of rows) {
    if (position === null) continue
    const first = {
      waiting: Math.min(instantOf(line!), instantOf(turn!)),
      leaseEnd: instantOf(lease!),
    }
    const type = known[Number(position) - 1]!
    at = Math.min(
      at,
      dueByLimits(type, decodeFlow(flow!).flow, first, () => Number(running), now),
    )
  }
  return at === Infinity ? undefined : { at: Math.max(at, now), now }
}

/** Null: without one that could be reached. */
const concurrencyOf = ({ concurrency = Infinity }: Limits = {}): number | null =>
  concurrency <= maxLimit ? concurrency : null

const instantOf = (cell: string | null): number => (cell === null ? Infinity : Number(cell))
