// list by creation: keyset pagination along the index over created_at; with `where`, along the index over search values, a scan per type
// and value. One statement, so that a page shows one instant.

import { stateCodes } from '../../rules/job/codes.ts'
import { decodeCursor, pageOf } from '../../rules/list.ts'
import type { JobState, ListQuery, Page } from '../../storage.ts'
import type { Statement, Value } from '../connection/database.ts'
import { LoadedRows } from '../rules/loaded-rows.ts'
import { PostgresMove } from '../rules/move.ts'
import { decodeReport } from '../rules/report.ts'
import { WorkingSet } from '../rules/working-set.ts'
import { cell, effectiveState, kindCodes, requestedCells, requestedParts } from '../sql/job-columns.ts'
import { reportCell } from '../sql/report-statements.ts'
import { hasOtherFields, otherFieldParams } from '../sql/search-fields.ts'
import { conditionsOf } from '../sql/search-value.ts'
import { columns, param, type Sql } from '../sql/statement.ts'
import { arrayOf, encodeBytes, encodeOptionalText, encodeText } from '../sql/text.ts'
import { listByPlace } from './list-place.ts'
import type { OpenStorage } from './open-storage.ts'
import { listTransaction } from './scan-transaction.ts'

/** What a statement scans: all jobs; or those with a search field that has one of some values, or is in a range. */
type Source = 'jobs' | 'values' | 'range'
type Order = 'asc' | 'desc'

export type ListStatements = Readonly<Record<Source, Readonly<Record<Order, Statement>>>>

export function listStatements(sql: Sql): ListStatements {
  const both = (source: Source) => ({
    asc: listStatement(sql, source, 'asc'),
    desc: listStatement(sql, source, 'desc'),
  })
  return { jobs: both('jobs'), values: both('values'), range: both('range') }
}

/** A column of the job; of a chain: of its last job. */
const ofTail = (name: string): string =>
  `CASE WHEN ${param(3, 'boolean')} THEN coalesce(t.${name}, j.${name}) ELSE j.${name} END`

/**
 * $1: names of types, or NULL; $2: codes of states, or NULL; $3: only first jobs, by the state of the last; $4, $5: the chain,
 * or NULL; $6: only roots; $7, $8: created from and before; $9, $10, $11: behind this one; $12: limit; $13: with
 * payloads; $14: with results and errors; $15: with reports; $16: with their log lines; $17: the group, or NULL. With search
 * fields: $18: the name of the first; $19, $20: its values, or the beginning and the end of its range; from $21 on: the others.
 */
function listStatement(sql: Sql, source: Source, order: Order): Statement {
  const { at, now } = sql
  const [beyond, bound] = order === 'asc' ? ['>', '>='] : ['<', '<=']
  const { linked } = kindCodes
  /** A condition on a row, and on its type `y`. The bound lets the server use the index. */
  const isOnPage = (row: string): string => `
    (${param(9, 'double precision')} IS NULL OR (${row}.created_at ${bound} ${param(9, 'double precision')}
      AND (${row}.created_at, y.name, ${row}.id) ${beyond} (${param(9, 'double precision')}, ${param(10, 'text')}, ${param(11, 'text')})))
    AND ${row}.created_at >= ${param(7, 'double precision')} AND ${row}.created_at < ${param(8, 'double precision')}`
  const isWantedType = `(${param(1, 'text[]')} IS NULL OR y.name = ANY (${param(1, 'text[]')}))`
  /** The rows of `scan` that match, as far as the limit. */
  const matching = (scan: string): string => `
    SELECT j.tid, j.id, j.created_at, j.name, f.tid AS first_tid, f.id AS first_id, t.tid AS tail_tid, t.id AS tail_id
    FROM (${scan} OFFSET 0) AS j
    LEFT JOIN LATERAL (
      SELECT f.tid, f.id, f.expires_at, f.dependents FROM ${at}jobs AS f
      WHERE f.seq = j.chain AND f.kind = ${linked} LIMIT 1) AS f ON true
    LEFT JOIN LATERAL (
      SELECT t.tid, t.id, t.state, t.run_at FROM ${at}jobs AS t WHERE t.seq = j.tail AND t.kind = ${linked} LIMIT 1
    ) AS t ON true
    WHERE NOT (CASE WHEN j.chain IS NULL THEN coalesce(j.expires_at, 'Infinity') <= now AND j.dependents IS NULL
               ELSE coalesce(j.expires_at, 'Infinity') <= now
                 OR coalesce(f.expires_at, 'Infinity') <= now AND f.dependents IS NULL END)
      AND (NOT ${param(6, 'boolean')} OR j.under IS NOT TRUE)
      AND (NOT ${param(3, 'boolean')} OR j.chain IS NULL)
      AND (${param(17, 'text')} IS NULL OR j.grp = ${param(17, 'text')})
      AND (${param(5, 'text')} IS NULL OR (
        coalesce(f.id, j.id) = ${param(5, 'text')}
        AND coalesce(f.tid, j.tid) = (SELECT tid FROM ${at}types WHERE name = ${param(4, 'text')})))
      AND (${param(2, 'smallint[]')} IS NULL OR ${effectiveState(ofTail('state'), ofTail('run_at'))} = ANY (${param(2, 'smallint[]')}))
    LIMIT ${param(12, 'integer')}`
  const allJobs = `
    SELECT j.*, y.name FROM ${at}jobs AS j JOIN ${at}types AS y ON y.tid = j.tid
    WHERE ${isWantedType} AND ${isOnPage('j')}
    ORDER BY j.created_at ${order}, y.name ${order}, j.id ${order}`
  const found = `
    SELECT j.*, y.name FROM ${at}search AS s CROSS JOIN LATERAL (
      SELECT * FROM ${at}jobs AS j WHERE j.tid = s.tid AND j.id = s.id AND j.seq = s.seq LIMIT 1) AS j
    WHERE s.tid = y.tid AND s.name = ${param(18, 'text')}
      AND ${source === 'values' ? 's.value = w.start' : 's.value >= w.start AND s.value < w.stop'}
      AND ${isOnPage('s')} AND ${hasOtherFields(at, 's.seq', 21)}
    ORDER BY s.created_at ${order}, s.id ${order}`
  const rows =
    source === 'jobs'
      ? `SELECT j.* FROM clock CROSS JOIN LATERAL (${matching(allJobs)}) AS j`
      : `SELECT j.* FROM clock CROSS JOIN ${at}types AS y
         CROSS JOIN unnest(${param(19, 'bytea[]')}, ${param(20, 'bytea[]')}) AS w (start, stop)
         CROSS JOIN LATERAL (${matching(found)}) AS j WHERE ${isWantedType}
         ORDER BY j.created_at ${order}, j.name ${order}, j.id ${order} LIMIT ${param(12, 'integer')}`
  const text = `
    WITH clock AS MATERIALIZED (SELECT ${now} AS now),
    page AS MATERIALIZED (SELECT j.*, row_number() OVER () AS position FROM (${rows}) AS j),
    names AS (
      SELECT tid, id, position FROM page
      UNION ALL SELECT first_tid, first_id, NULL FROM page WHERE first_id IS NOT NULL
      UNION ALL SELECT tail_tid, tail_id, NULL FROM page WHERE tail_id IS NOT NULL
    )
    SELECT ${columns('clock.now', 'n.position', reportCell(sql, 'j.seq', 15, 16), ...requestedCells('j', 13, 14))}
    FROM clock, names AS n CROSS JOIN LATERAL (
      SELECT * FROM ${at}jobs AS j WHERE j.tid = n.tid AND j.id = n.id LIMIT 1) AS j
    ORDER BY n.position`
  return { name: '', text }
}

export async function list(open: OpenStorage, query: ListQuery): Promise<Page> {
  if (query.by === 'place') return listByPlace(open, query)
  const { database, types } = open
  const [at, type, id] = query.cursor === undefined ? [null] : decodeCursor(query.cursor)
  const [statement, fields] = searchOf(open.statements.list, query)
  const values = [
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
    encodeOptionalText(query.group),
    ...fields,
  ]
  const rows = await listTransaction(database, (connection) => connection.query(statement, values))
  const loaded = new LoadedRows()
  const found: number[] = []
  const jobs = rows.map(([, position, report, ...row]) => {
    loaded.keepJob(row, false)
    const seq = Number(row[cell.seq])
    loaded.reports.set(seq, decodeReport(report!))
    if (position !== null) found.push(seq)
    return row
  })
  await types.findByTid(
    database,
    jobs.map((row) => Number(row[cell.tid])),
  )
  const set = new WorkingSet(loaded, types, true)
  return pageOf(new PostgresMove(set, Number(rows[0]?.[0] ?? 0)), query, set.jobsOf(found))
}

/** The statement of a query, and the parameters for its search fields. */
function searchOf(statements: ListStatements, { where = {}, order = 'desc' }: ListQuery): [Statement, Value[]] {
  const [first, ...others] = conditionsOf(where)
  if (!first) return [statements.jobs[order], []]
  return [
    statements[first.isPoints ? 'values' : 'range'][order],
    [
      encodeText(first.name),
      arrayOf(first.intervals.map(({ from }) => encodeBytes(from))),
      arrayOf(first.intervals.map(({ to }) => encodeBytes(to))),
      ...otherFieldParams(others),
    ],
  ]
}
