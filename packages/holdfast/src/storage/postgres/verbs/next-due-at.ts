// nextDueAt: the earliest run time or lease end of the types, each from the head of an index.

import { stateCodes } from '../../rules/job/codes.ts'
import type { ClaimType } from '../../storage.ts'
import type { Statement } from '../connection/database.ts'
import { readyCodes } from '../sql/job-columns.ts'
import { alongIndex, prioritiesFrom } from '../sql/scan.ts'
import { columns, param, type Sql } from '../sql/statement.ts'
import { arrayOf } from '../sql/text.ts'
import type { OpenStorage } from './open-storage.ts'

/** $1: numbers of types; then the parameters of the cursor (fast/scan-cursor.ts). */
export const nextDueAtStatement = ({ at, now, statement }: Sql): Statement =>
  statement(
    'next_due_at',
    `
  SELECT ${columns(now, 'min(n.at)')}
  FROM unnest(${param(1, 'integer[]')}, ${param(6, 'double precision[]')}) AS w (tid, lost_from)
  CROSS JOIN LATERAL (SELECT priorities FROM ${at}types AS t WHERE t.tid = w.tid AND t.paused_since IS NULL LIMIT 1) AS t
  CROSS JOIN LATERAL (
    SELECT j.run_at AS at FROM ${prioritiesFrom(2, 'w.tid', 't.priorities')} AS p CROSS JOIN LATERAL (
      SELECT j.run_at FROM ${at}jobs AS j
      WHERE j.tid = w.tid AND ${alongIndex(`j.ready = ${readyCodes.ready}`, 'j')} AND j.priority = p.priority AND (j.run_at, j.ord) > (p.run_at, p.ord)
      ORDER BY run_at, ord LIMIT 1) AS j
    UNION ALL
    (SELECT lease_until FROM ${at}jobs AS j
     WHERE j.tid = w.tid AND ${alongIndex(`j.state = ${stateCodes.processing}`, 'j')} AND j.lease_until > w.lost_from AND NOT (j.grp IS NOT NULL AND EXISTS (
       SELECT 1 FROM ${at}groups AS g WHERE g.tid = j.tid AND g.key = j.grp AND g.paused_since IS NOT NULL))
     ORDER BY lease_until LIMIT 1)
  ) AS n`,
  )

export async function nextDueAt(
  { types, database, statements, cursor }: OpenStorage,
  wanted: readonly ClaimType[],
): Promise<{ at: number; now: number } | undefined> {
  await types.find(
    database,
    wanted.map(({ type }) => type),
  )
  const tids = wanted.flatMap(({ type }) => types.tidOf(type) ?? [])
  if (tids.length === 0) return undefined
  const { activeMs, mayHaveMissed } = cursor
  const [row] = await database.query(statements.nextDueAt, [arrayOf(tids), ...cursor.params(tids)])
  const now = Number(row![0])
  // A scan from the cursor may miss jobs before it: the caller looks again when scans begin at the head.
  const nextFullScan = mayHaveMissed && activeMs > 0 ? now + activeMs : Infinity
  const at = Math.min(Number(row![1] ?? Infinity), nextFullScan)
  return at === Infinity ? undefined : { at: Math.max(at, now), now }
}
