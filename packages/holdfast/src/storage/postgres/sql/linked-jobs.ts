// Statements that read jobs together with the jobs they are linked to: `lock`, `read` and `snapshot`.

import { stateCodes } from '../../rules/job/codes.ts'
import { ruledTypes } from './flow-statements.ts'
import { jobCells, kindCodes, requestedCells } from './job-columns.ts'
import { reportCell } from './report-statements.ts'
import { columns, param, settingLockTimeout, type Sql } from './statement.ts'
import { watchedTypes } from './watch-statements.ts'

const { linked } = kindCodes

/**
 * The common table expression `names`: every job to read.
 *
 * $1, $2: types and ids; $3: seqs. Each with the first and the last job of its chain.
 *
 * With neighbours, also: $4, $5: types and keys; $6, $7: types and groups; the dependents of each chain, and the next
 * members of each ordered group. $8, $9: types and ids of jobs of which only the chain is wanted: their dependents may be many,
 * and locked by other transactions. $10: the lock timeout of this transaction in ms, or NULL: as it is. It is set with
 * the first list, which is read before anything is locked.
 */
const names = (at: string, withNeighbours: boolean): string => `
    base AS MATERIALIZED (
      SELECT j.* FROM unnest(${withNeighbours ? settingLockTimeout(10, param(1, 'integer[]')) : param(1, 'integer[]')}, ${param(2, 'text[]')}) AS r (tid, id) CROSS JOIN LATERAL (
        SELECT tid, id, seq, chain, tail, grp, dependents, kind FROM ${at}jobs AS j
        WHERE j.tid = r.tid AND j.id = r.id LIMIT 1) AS j
      UNION ALL
      SELECT j.* FROM unnest(${param(3, 'bigint[]')}) AS r (seq) CROSS JOIN LATERAL (
        SELECT tid, id, seq, chain, tail, grp, dependents, kind FROM ${at}jobs AS j
        WHERE j.seq = r.seq AND j.kind = ${linked} LIMIT 1) AS j
      ${
        withNeighbours
          ? `UNION ALL
      SELECT j.* FROM unnest(${param(4, 'integer[]')}, ${param(5, 'text[]')}) AS r (tid, key) CROSS JOIN LATERAL (
        SELECT j.tid, j.id, seq, chain, tail, grp, dependents, kind FROM ${at}keys AS k, ${at}jobs AS j
        WHERE k.tid = r.tid AND k.key = r.key AND j.tid = k.tid AND j.id = k.id LIMIT 1) AS j`
          : ''
      }
    ), firsts AS MATERIALIZED (
      SELECT tid, id, tail, dependents FROM base WHERE chain IS NULL AND kind = ${linked}
      UNION ALL
      SELECT f.* FROM base AS b CROSS JOIN LATERAL (
        SELECT tid, id, tail, dependents FROM ${at}jobs AS f WHERE f.seq = b.chain AND f.kind = ${linked} LIMIT 1) AS f
    )${
      withNeighbours
        ? `, alone AS MATERIALIZED (
      SELECT j.* FROM unnest(${param(8, 'integer[]')}, ${param(9, 'text[]')}) AS r (tid, id) CROSS JOIN LATERAL (
        SELECT tid, id, chain, tail, kind FROM ${at}jobs AS j WHERE j.tid = r.tid AND j.id = r.id LIMIT 1) AS j
    ), their_firsts AS MATERIALIZED (
      SELECT tid, id, tail FROM alone WHERE chain IS NULL AND kind = ${linked}
      UNION ALL
      SELECT f.* FROM alone AS a CROSS JOIN LATERAL (
        SELECT tid, id, tail FROM ${at}jobs AS f WHERE f.seq = a.chain AND f.kind = ${linked} LIMIT 1) AS f
    )`
        : ''
    }, names AS (
      SELECT tid, id, true AS wide FROM base
      UNION ALL
      SELECT tid, id, true FROM firsts
      UNION ALL
      SELECT t.*, true FROM firsts AS f CROSS JOIN LATERAL (
        SELECT tid, id FROM ${at}jobs AS t WHERE t.seq = f.tail AND t.kind = ${linked} LIMIT 1) AS t
      ${
        withNeighbours
          ? `UNION ALL
      SELECT tid, id, false FROM alone
      UNION ALL
      SELECT tid, id, false FROM their_firsts
      UNION ALL
      SELECT t.*, false FROM their_firsts AS f CROSS JOIN LATERAL (
        SELECT tid, id FROM ${at}jobs AS t WHERE t.seq = f.tail AND t.kind = ${linked} LIMIT 1) AS t
      UNION ALL
      SELECT d.*, true FROM firsts AS f CROSS JOIN LATERAL (
        SELECT seq FROM ${at}dependents AS d WHERE d.tid = f.tid AND d.id = f.id OFFSET 0) AS s CROSS JOIN LATERAL (
        SELECT tid, id FROM ${at}jobs AS d WHERE d.seq = s.seq AND d.kind = ${linked} LIMIT 1) AS d
      WHERE f.dependents > 0
      UNION ALL
      SELECT m.*, true FROM (
        SELECT tid, grp FROM base WHERE grp IS NOT NULL
        UNION SELECT * FROM unnest(${param(6, 'integer[]')}, ${param(7, 'text[]')})
      ) AS g (tid, grp) CROSS JOIN LATERAL (
        SELECT 1 FROM ${at}groups AS o WHERE o.tid = g.tid AND o.key = g.grp AND o.ordered LIMIT 1) AS o CROSS JOIN LATERAL (
        SELECT tid, id FROM ${at}jobs AS m WHERE m.tid = g.tid AND m.grp = g.grp AND m.grp IS NOT NULL AND state < ${stateCodes.completed}
        ORDER BY seq LIMIT 2) AS m`
          : ''
      }
    )`

/** The rows of `names`, with the time. `wide`: the job's neighbours belong to the call as well. */
const rowsOf = ({ at, now }: Sql, lock: string, cells = jobCells('j'), ...last: readonly string[]): string => `
    SELECT ${columns('clock.now', ...cells, ...(last.length > 0 ? last : ['j.wide']))}
    FROM (SELECT ${now} AS now${last.includes('clock.watched') ? `, ${watchedTypes(at)} AS watched, ${ruledTypes(at)} AS ruled` : ''}) AS clock LEFT JOIN (
      SELECT j.*, n.wide FROM (
        SELECT tid, id, bool_or(wide) AS wide FROM names GROUP BY tid, id ORDER BY tid, id
      ) AS n CROSS JOIN LATERAL (
        SELECT * FROM ${at}jobs AS j WHERE j.tid = n.tid AND j.id = n.id LIMIT 1 ${lock}) AS j
    ) AS j ON true`

export function linkedJobStatements(sql: Sql) {
  const { at, statement } = sql
  return {
    /** With the watched and the ruled types as the last columns. Locks in the order of names, so that two calls wait for each other without a deadlock. */
    lock: statement(
      'lock',
      `WITH ${names(at, true)} ${rowsOf(sql, 'FOR UPDATE', jobCells('j'), 'j.wide', 'clock.watched', 'clock.ruled')}`,
    ),
    read: statement('read', `WITH ${names(at, false)} ${rowsOf(sql, '')}`),
    /** For reads. $4: with payloads; $5: with results and errors; $6: with reports; $7: with their log lines. */
    snapshot: statement(
      'snapshot',
      `WITH ${names(at, false)} ${rowsOf(sql, '', requestedCells('j', 4, 5), reportCell(sql, 'j.seq', 6, 7))}`,
    ),
  }
}
