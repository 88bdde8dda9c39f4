// Statements on deduplication keys.

import { columns, fewRows, param, type Sql } from './statement.ts'

const arrays =
  `unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'text[]')}, ${param(4, 'text[]')}, ` +
  `${param(5, 'text[]')}, ${param(6, 'boolean[]')}, ${param(7, 'double precision[]')}, ${param(8, 'text[]')}, ` +
  `${param(9, 'bigint[]')})`

export const keyStatements = ({ at, statement }: Sql) => ({
  lockKeys: statement(
    'lock_keys',
    `SELECT ${columns('k.tid', 'k.key', 'k.id', 'k.token', 'k.mode', 'k.shared', 'k.until', 'k.replaced_by', 'k.version')}
       FROM (SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}) ORDER BY 1, 2) AS w (tid, key)
       CROSS JOIN LATERAL (SELECT * FROM ${at}keys AS k WHERE k.tid = w.tid AND k.key = w.key FOR UPDATE) AS k`,
  ),
  addKeys: statement(
    'add_keys',
    `INSERT INTO ${at}keys (tid, key, id, token, mode, shared, until, replaced_by, version) SELECT * FROM ${arrays}
       ON CONFLICT DO NOTHING RETURNING 1::text AS c0`,
  ),
  changeKeys: statement(
    'change_keys',
    `UPDATE ${at}keys AS k SET id = w.id, token = w.token, mode = w.mode, shared = w.shared, until = w.until,
         replaced_by = w.replaced_by, version = w.version
       FROM (SELECT * FROM ${arrays} ${fewRows}) AS w (tid, key, id, token, mode, shared, until, replaced_by, version)
       WHERE k.tid = w.tid AND k.key = w.key`,
  ),
  eraseKeys: statement(
    'erase_keys',
    `DELETE FROM ${at}keys AS k
       USING (SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}) ${fewRows}) AS w (tid, key)
       WHERE k.tid = w.tid AND k.key = w.key`,
  ),
  /** Deletes throttle windows that are over. $1: now; $2: limit. Returns how many were deleted, and whether more are left. */
  sweepKeys: statement(
    'sweep_keys',
    `WITH over AS MATERIALIZED (
         SELECT tid, key, row_number() OVER () AS position FROM (
           SELECT tid, key FROM ${at}keys
           WHERE mode <> 'simple' AND until < 'Infinity' AND until <= ${param(1, 'double precision')}
           ORDER BY until LIMIT ${param(2, 'bigint')} + 1 FOR UPDATE SKIP LOCKED) AS o
       ), gone AS (
         DELETE FROM ${at}keys WHERE (tid, key) IN (
           SELECT tid, key FROM over WHERE position <= ${param(2, 'bigint')}) RETURNING 1)
       SELECT ${columns('(SELECT count(*) FROM gone)', `(SELECT count(*) FROM over) > ${param(2, 'bigint')}`)}`,
  ),
})
