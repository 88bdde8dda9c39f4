// list: keyset pagination along the index over created_at. One statement, so that a page shows one instant.

import { stateCodes } from '../../rules/job/codes.ts'
import { decodeCursor, pageOf } from '../../rules/list.ts'
import type { JobState, ListQuery, Page } from '../../storage.ts'
import type { Statement } from '../connection/database.ts'
import { LoadedRows } from '../rules/loaded-rows.ts'
import { PostgresMove } from '../rules/move.ts'
import { WorkingSet } from '../rules/working-set.ts'
import { cell, effectiveState, kindCodes, requestedCells, requestedParts } from '../sql/job-columns.ts'
import { columns, param, type Sql } from '../sql/statement.ts'
import { arrayOf, encodeOptionalText, encodeText } from '../sql/text.ts'
import type { OpenStorage } from './open-storage.ts'

/**
 * $1: names of types, or NULL; $2: codes of states, or NULL; $3: only first jobs, by the state of the last; $4, $5: the chain,
 * or NULL; $6: only roots; $7, $8: created from and before; $9, $10, $11: behind this one; $12: limit; $13: with
 * payloads; $14: with results and errors.
 */
export function listStatement({ at, now, statement }: Sql, order: 'asc' | 'desc'): Statement {
  const beyond = order === 'asc' ? '>' : '<'
  const bound = order === 'asc' ? '>=' : '<='
  const { linked } = kindCodes
  const text = `
    WITH clock AS MATERIALIZED (SELECT ${now} AS now),
    page AS MATERIALIZED (
      SELECT j.tid, j.id, f.tid AS first_tid, f.id AS first_id, t.tid AS tail_tid, t.id AS tail_id,
        row_number() OVER () AS position
      FROM clock, (
        SELECT j.*, y.name FROM ${at}jobs AS j JOIN ${at}types AS y ON y.tid = j.tid
        WHERE (${param(1, 'text[]')} IS NULL OR y.name = ANY (${param(1, 'text[]')}))
          AND (${param(9, 'double precision')} IS NULL OR (j.created_at ${bound} ${param(9, 'double precision')}
            AND (j.created_at, y.name, j.id) ${beyond}
              (${param(9, 'double precision')}, ${param(10, 'text')}, ${param(11, 'text')})))
          AND j.created_at >= ${param(7, 'double precision')} AND j.created_at < ${param(8, 'double precision')}
          AND (NOT ${param(6, 'boolean')} OR j.under IS NOT TRUE)
          AND (NOT ${param(3, 'boolean')} OR j.chain IS NULL)
        ORDER BY j.created_at ${order}, y.name ${order}, j.id ${order}
        OFFSET 0
      ) AS j
      LEFT JOIN LATERAL (
        SELECT f.tid, f.id, f.expires_at, f.dependents FROM ${at}jobs AS f
        WHERE f.seq = j.chain AND f.kind = ${linked} LIMIT 1) AS f ON true
      LEFT JOIN LATERAL (
        SELECT t.tid, t.id, t.state, t.run_at FROM ${at}jobs AS t WHERE t.seq = j.tail AND t.kind = ${linked} LIMIT 1
      ) AS t ON true
      WHERE NOT (CASE WHEN j.chain IS NULL THEN coalesce(j.expires_at, 'Infinity') <= now AND j.dependents IS NULL
                 ELSE coalesce(f.expires_at, 'Infinity') <= now AND f.dependents IS NULL END)
        AND (${param(5, 'text')} IS NULL OR (
          coalesce(f.id, j.id) = ${param(5, 'text')}
          AND coalesce(f.tid, j.tid) = (SELECT tid FROM ${at}types WHERE name = ${param(4, 'text')})))
        AND (${param(2, 'smallint[]')} IS NULL OR ${effectiveState(`CASE WHEN ${param(3, 'boolean')} THEN coalesce(t.state, j.state) ELSE j.state END`, `CASE WHEN ${param(3, 'boolean')} THEN coalesce(t.run_at, j.run_at) ELSE j.run_at END`)} = ANY (${param(2, 'smallint[]')}))
      LIMIT ${param(12, 'integer')}
    ), names AS (
      SELECT tid, id, position FROM page
      UNION ALL SELECT first_tid, first_id, NULL FROM page WHERE first_id IS NOT NULL
      UNION ALL SELECT tail_tid, tail_id, NULL FROM page WHERE tail_id IS NOT NULL
    )
    SELECT ${columns('clock.now', 'n.position', ...requestedCells('j', 13, 14))} FROM clock, names AS n CROSS JOIN LATERAL (
      SELECT * FROM ${at}jobs AS j WHERE j.tid = n.tid AND j.id = n.id LIMIT 1) AS j
    ORDER BY n.position`
  return statement(`list_${order}`, text)
}

export async function list({ database, statements, types }: OpenStorage, query: ListQuery): Promise<Page> {
  const [at, type, id] = query.cursor === undefined ? [null] : decodeCursor(query.cursor)
  const rows = await database.query(query.order === 'asc' ? statements.list.asc : statements.list.desc, [
    query.types ? arrayOf(query.types.map(encodeText)) : null,
    query.states ? arrayOf(query.states.map((state: JobState) => stateCodes[state])) : null,
    String(query.of === 'chains'),
    encodeOptionalText(query.chain?.type),
    encodeOptionalText(query.chain?.id),
    String(query.rootOnly === true),
    query.createdFrom ?? 0,
    query.createdTo ?? 'Infinity',
    at,
    encodeOptionalText(type),
    encodeOptionalText(id),
    query.limit + 1,
    ...requestedParts(query.parts),
  ])
  const loaded = new LoadedRows()
  const found: number[] = []
  const jobs = rows.map(([, position, ...row]) => {
    loaded.keepJob(row, false)
    if (position !== null) found.push(Number(row[cell.seq]))
    return row
  })
  await types.findByTid(
    database,
    jobs.map((row) => Number(row[cell.tid])),
  )
  const set = new WorkingSet(loaded, types, true)
  return pageOf(new PostgresMove(set, Number(rows[0]?.[0] ?? 0)), query, set.jobsOf(found))
}
