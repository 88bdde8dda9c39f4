// list by creation: keyset pagination along the index over created_at; with `where`, along the index over search values, a scan per type
// and value. If the types or states of the query have few jobs, these are sorted instead: along the index, all others would be passed
// over. All statements see one snapshot.

import { stateCodes } from '../../rules/job/codes.ts'
import { decodeCursor, type Edge, isEdge, type ListKey, pageUpTo } from '../../rules/list.ts'
import type { JobState, ListQuery, Page } from '../../storage.ts'
import type { Connection, Statement, Value } from '../connection/database.ts'
import { LoadedRows } from '../rules/loaded-rows.ts'
import { PostgresMove } from '../rules/move.ts'
import { decodeReport } from '../rules/report.ts'
import { WorkingSet } from '../rules/working-set.ts'
import { cell, effectiveState, kindCodes, requestedCells, requestedParts } from '../sql/job-columns.ts'
import { reportCell } from '../sql/report-statements.ts'
import { hasOtherFields, otherFieldParams } from '../sql/search-fields.ts'
import { conditionsOf } from '../sql/search-value.ts'
import { columns, listParam, param, type Sql } from '../sql/statement.ts'
import { arrayOf, encodeBytes, encodeOptionalText, encodeText } from '../sql/text.ts'
import { listByPlace, PlaceScan } from './list-place.ts'
import type { OpenStorage } from './open-storage.ts'
import { listTransaction } from './scan-transaction.ts'

/** What a statement scans: all jobs; some of them; or those with a search field that has one of some values, or is in a range. */
type Source = 'jobs' | 'few' | 'values' | 'range'
type Order = 'asc' | 'desc'

export type ListStatements = Readonly<Record<Source, Readonly<Record<Order, Statement>>>> & {
  readonly ofTypes: Statement
  readonly edge: Readonly<Record<Order, Statement>>
}

export function listStatements(sql: Sql): ListStatements {
  const both = (source: Source) => ({
    asc: listStatement(sql, source, 'asc'),
    desc: listStatement(sql, source, 'desc'),
  })
  return {
    jobs: both('jobs'),
    few: both('few'),
    values: both('values'),
    range: both('range'),
    ofTypes: ofTypes(sql),
    edge: { asc: edgeStatement(sql, 'asc'), desc: edgeStatement(sql, 'desc') },
  }
}

/** Jobs that are sorted at most. */
const maxSorted = 2_000

/** $1: names of types; $2: limit. */
const ofTypes = ({ at }: Sql): Statement => ({
  name: '',
  text: `SELECT ${columns('j.tid', 'j.id')} FROM ${at}types AS y CROSS JOIN LATERAL (
           SELECT j.tid, j.id FROM ${at}jobs AS j WHERE j.tid = y.tid ORDER BY j.tid, j.id LIMIT ${param(2, 'integer')}) AS j
         WHERE y.name = ANY (${listParam(1, 'text[]')}) LIMIT ${param(2, 'integer')}`,
})

const isInRange = (row: string): string =>
  `${row}.created_at >= ${param(1, 'double precision')} AND ${row}.created_at < ${param(2, 'double precision')}
   AND ${row}.created_at <= ${param(3, 'double precision')}`

/**
 * Of the next jobs by creation, the last instant, and that of the first job behind it. No row: there is none. $1, $2: created from and
 * before; $3: created then or earlier; $4: the number of jobs.
 */
function edgeStatement({ at }: Sql, order: Order): Statement {
  const [beyond, first] = order === 'asc' ? ['>', 'min'] : ['<', 'max']
  return {
    name: '',
    text: `SELECT ${columns('last', 'next')} FROM (
             SELECT j.created_at AS last FROM ${at}jobs AS j WHERE ${isInRange('j')}
             ORDER BY j.created_at ${order} LIMIT 1 OFFSET ${param(4, 'integer')} - 1) AS l
           CROSS JOIN LATERAL (
             SELECT ${first}(n.created_at) AS next FROM ${at}jobs AS n WHERE n.created_at ${beyond} last AND ${isInRange('n')}) AS n
           WHERE next IS NOT NULL`,
  }
}

/** A column of the job; of a chain: of its last job. */
const ofTail = (name: string): string =>
  `CASE WHEN ${param(3, 'boolean')} THEN coalesce(t.${name}, j.${name}) ELSE j.${name} END`

/**
 * $1: names of types, or NULL; $2: codes of states, or NULL; $3: only first jobs, by the state of the last; $4, $5: the chain,
 * or NULL; $6: only roots; $7, $8: created from and before; $9, $10, $11: behind this one; $12: limit; $13: with
 * payloads; $14: with results and errors; $15: with reports; $16: with their log lines; $17: the group, or NULL. With few jobs:
 * $18, $19: their types and ids. With search fields: $18: the name of the first; $19, $20: its values, or the beginning and the end of its range; from $21 on: the others.
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
  const isWantedType = `(${listParam(1, 'text[]')} IS NULL OR y.name = ANY (${listParam(1, 'text[]')}))`
  /** What the row of a job alone decides. In the scan, so that rows that do not match are not sorted: of many, jobs of one instant. */
  const mayMatch = `(NOT ${param(6, 'boolean')} OR j.under IS NOT TRUE)
      AND (NOT ${param(3, 'boolean')} OR j.chain IS NULL)
      AND (${param(17, 'text')} IS NULL OR j.grp = ${param(17, 'text')})
      AND (${listParam(2, 'smallint[]')} IS NULL OR ${effectiveState('j.state', 'j.run_at')} = ANY (${listParam(2, 'smallint[]')})
        OR (${param(3, 'boolean')} AND j.tail IS NOT NULL))`
  const read = 'j.tid, j.id, j.created_at, j.state, j.run_at, j.chain, j.tail, j.expires_at, j.dependents, y.name'
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
      AND (${param(5, 'text')} IS NULL OR (
        coalesce(f.id, j.id) = ${param(5, 'text')}
        AND coalesce(f.tid, j.tid) = (SELECT tid FROM ${at}types WHERE name = ${param(4, 'text')})))
      AND (${listParam(2, 'smallint[]')} IS NULL OR ${effectiveState(ofTail('state'), ofTail('run_at'))} = ANY (${listParam(2, 'smallint[]')}))
    LIMIT ${param(12, 'integer')}`
  const named = `unnest(${listParam(18, 'integer[]')}, ${listParam(19, 'text[]')}) AS n (tid, id) CROSS JOIN LATERAL (
      SELECT * FROM ${at}jobs AS j WHERE j.tid = n.tid AND j.id = n.id LIMIT 1)`
  const jobs = `
    SELECT ${read} FROM ${source === 'few' ? named : `${at}jobs`} AS j JOIN ${at}types AS y ON y.tid = j.tid
    WHERE ${isWantedType} AND ${isOnPage('j')} AND ${mayMatch}
    ORDER BY j.created_at ${order}, y.name ${order}, j.id ${order}`
  const found = `
    SELECT ${read} FROM ${at}search AS s CROSS JOIN LATERAL (
      SELECT * FROM ${at}jobs AS j WHERE j.tid = s.tid AND j.id = s.id AND j.seq = s.seq LIMIT 1) AS j
    WHERE s.tid = y.tid AND s.name = ${param(18, 'text')}
      AND ${source === 'values' ? 's.value = w.start' : 's.value >= w.start AND s.value < w.stop'}
      AND ${isOnPage('s')} AND ${mayMatch} AND ${hasOtherFields(at, 's.seq', 21)}
    ORDER BY s.created_at ${order}, s.id ${order}`
  const rows =
    source === 'jobs' || source === 'few'
      ? `SELECT j.* FROM clock CROSS JOIN LATERAL (${matching(jobs)}) AS j`
      : `SELECT j.* FROM clock CROSS JOIN ${at}types AS y
         CROSS JOIN unnest(${listParam(19, 'bytea[]')}, ${listParam(20, 'bytea[]')}) AS w (start, stop)
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
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor)
  const [at = null, type, id] = after ?? []
  const valuesUpTo = (edge: Edge | undefined): Value[] => [
    query.types ? arrayOf(query.types.map(encodeText)) : null,
    query.states ? arrayOf(query.states.map((state: JobState) => stateCodes[state])) : null,
    String(query.of === 'chains'),
    encodeOptionalText(query.chain?.type),
    encodeOptionalText(query.chain?.id),
    String(query.rootOnly === true),
    edge && query.order !== 'asc' ? edge.last : (query.createdFrom ?? 0),
    edge && query.order === 'asc' ? edge.next : (query.createdTo ?? 'Infinity'),
    at,
    encodeOptionalText(type),
    encodeOptionalText(id),
    query.limit + 1,
    ...requestedParts(query.parts),
    encodeOptionalText(query.group),
  ]
  const { rows, edge } = await listTransaction(database, async (connection) => {
    const [source, params] = await sourceOf(open, connection, query, after)
    const end = source === 'jobs' ? await edgeOf(open, connection, query, after) : undefined
    const statement = open.statements.list[source][query.order ?? 'desc']
    return { rows: await connection.query(statement, [...valuesUpTo(end), ...params]), edge: end }
  })
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
  return pageUpTo(new PostgresMove(set, Number(rows[0]?.[0] ?? 0)), query, set.jobsOf(found), edge)
}

/** Undefined: the page may look at all jobs. */
async function edgeOf(
  { statements }: OpenStorage,
  connection: Connection,
  { order = 'desc', createdFrom = 0, createdTo = Infinity, maxScanned }: ListQuery,
  after: ListKey | undefined,
): Promise<Edge | undefined> {
  if (maxScanned === undefined) return undefined
  const [at] = after ?? []
  const isUp = order === 'asc'
  const from = isUp ? Math.max(at ?? 0, createdFrom) : createdFrom
  // Jobs of the instant of an edge were looked at by the page before: they must not count again.
  const before = !isUp && after && isEdge(after) ? Math.min(after[0], createdTo) : createdTo
  const values = [from, before, isUp || at === undefined ? Infinity : at, maxScanned]
  const [row] = await connection.query(statements.list.edge[order], values.map(String))
  return row && { last: Number(row[0]), next: Number(row[1]) }
}

/** What to scan for a query, and the parameters for that. */
async function sourceOf(
  open: OpenStorage,
  connection: Connection,
  query: ListQuery,
  after: ListKey | undefined,
): Promise<[Source, Value[]]> {
  const [first, ...others] = conditionsOf(query.where ?? {})
  if (first) {
    return [
      first.isPoints ? 'values' : 'range',
      [
        encodeText(first.name),
        arrayOf(first.intervals.map(({ from }) => encodeBytes(from))),
        arrayOf(first.intervals.map(({ to }) => encodeBytes(to))),
        ...otherFieldParams(others),
      ],
    ]
  }
  // The page before has found that they are many.
  if (after && isEdge(after)) return ['jobs', []]
  const refs = (await refsOfTypes(open, connection, query)) ?? (await refsOfStates(open, connection, query))
  if (!refs) return ['jobs', []]
  return ['few', [arrayOf(refs.map(([tid]) => tid)), arrayOf(refs.map(([, id]) => id))]]
}

type StoredRef = readonly [tid: number, id: string]

/** All jobs of the types. Undefined if they are many, or the query names no types. */
async function refsOfTypes(
  { statements }: OpenStorage,
  connection: Connection,
  { types }: ListQuery,
): Promise<StoredRef[] | undefined> {
  if (!types) return undefined
  const rows = await connection.query(statements.list.ofTypes, [arrayOf(types.map(encodeText)), maxSorted])
  return rows.length < maxSorted ? rows.map(([tid, id]) => [Number(tid), id!]) : undefined
}

/** All jobs in the places of the states. Undefined if they are many, or the query names no states. */
async function refsOfStates(
  open: OpenStorage,
  connection: Connection,
  query: ListQuery,
): Promise<StoredRef[] | undefined> {
  if (!query.states) return undefined
  // Whether a job is queued or scheduled follows from the clock, which the next statement reads again.
  const isWaiting = query.states.includes('queued') || query.states.includes('scheduled')
  const states: JobState[] = isWaiting ? [...query.states, 'queued', 'scheduled'] : [...query.states]
  const options = { isSearch: false, maxScanned: maxSorted, minScanned: maxSorted, onlyIfFewer: true }
  const refs = await new PlaceScan(open, connection, { ...query, states }, options).all()
  return refs?.map(({ type, id }) => [open.types.tidOf(type)!, encodeText(id)])
}
