// Statements on the rows that few jobs have in other tables: deadlines and search fields.

import { stateCodes } from '../../rules/job/codes.ts'
import { jobCells } from './job-columns.ts'
import { columns, fewRows, param, type Sql } from './statement.ts'

const bySeq = (at: string, table: string): string =>
  `DELETE FROM ${at}${table} AS r USING (SELECT * FROM unnest(${param(1, 'bigint[]')}) ${fewRows}) AS w (seq) WHERE r.seq = w.seq`

/** A deadline `d` that its job has reached without having started. One that was cancelled and revived since has none. */
const isLate = (at: string, lock: string): string =>
  `SELECT * FROM ${at}jobs AS j
   WHERE j.tid = d.tid AND j.id = d.id AND j.seq = d.seq AND j.attempt = 0 AND j.state < ${stateCodes.completed}
     AND j.more LIKE '%"deadlineAt":%' LIMIT 1 ${lock}`

export const indexStatements = ({ at, statement }: Sql) => ({
  addDeadlines: statement(
    'add_deadlines',
    `INSERT INTO ${at}deadlines (seq, tid, id, at) SELECT * FROM unnest(${param(1, 'bigint[]')}, ${param(2, 'integer[]')},
       ${param(3, 'text[]')}, ${param(4, 'double precision[]')})`,
  ),
  addSearch: statement(
    'add_search',
    `INSERT INTO ${at}search (seq, name, value, tid, created_at, id) SELECT * FROM unnest(${param(1, 'bigint[]')},
       ${param(2, 'text[]')}, ${param(3, 'bytea[]')}, ${param(4, 'integer[]')}, ${param(5, 'double precision[]')},
       ${param(6, 'text[]')})`,
  ),
  /** Everything that deleted jobs had in other tables. $1: their seqs. */
  eraseIndexed: statement(
    'erase_indexed',
    `WITH d AS (${bySeq(at, 'deadlines')}), r AS (${bySeq(at, 'reports')}), l AS (${bySeq(at, 'log')})
     ${bySeq(at, 'search')}`,
  ),
  /** Jobs past their deadline that no other transaction has locked. $1: now; $2: limit. */
  late: statement(
    'late',
    `SELECT ${columns(...jobCells('j'))} FROM (
       SELECT * FROM ${at}deadlines AS d WHERE d.at <= ${param(1, 'double precision')}
       ORDER BY d.at, d.seq LIMIT ${param(2, 'bigint')}) AS d
     CROSS JOIN LATERAL (${isLate(at, 'FOR UPDATE SKIP LOCKED')}) AS j`,
  ),
  /**
   * Deletes deadlines that are over and whose jobs have started, ended or gone. $1: now; $2: limit. Returns how many were deleted,
   * and whether some may be left that are over.
   */
  sweepDeadlines: statement(
    'sweep_deadlines',
    `WITH over AS MATERIALIZED (
       SELECT d.seq, EXISTS (${isLate(at, '')}) AS is_late FROM (
         SELECT * FROM ${at}deadlines AS d WHERE d.at <= ${param(1, 'double precision')}
         ORDER BY d.at, d.seq LIMIT ${param(2, 'bigint')} + 1) AS d
     ), gone AS (
       DELETE FROM ${at}deadlines AS d USING (SELECT seq FROM over WHERE NOT is_late ${fewRows}) AS o WHERE d.seq = o.seq
       RETURNING 1)
     SELECT ${columns(
       '(SELECT count(*) FROM gone)',
       `(SELECT count(*) FROM over) > least((SELECT count(*) FROM gone), ${param(2, 'bigint')})`,
     )}`,
  ),
})
