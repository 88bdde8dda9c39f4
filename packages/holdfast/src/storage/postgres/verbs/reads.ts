// The statements of reads: each shows one instant, so each is one statement.

import { cellsAsked, columns, param, type Sql, walkedFrom } from '../rules/statements.ts'
import type { Statement } from '../connection/database.ts'

export type ReadStatements = ReturnType<typeof makeReads>

export function makeReads(sql: Sql) {
  const { at, now, statement } = sql
  return {
    listUp: list(sql, 'asc'),
    listDown: list(sql, 'desc'),
    count: statement('count', countText(at, now)),
    nextDueAt: statement('next_due_at', nextDueAtText(at, now)),
  }
}

/**
 * $1: names of types, or NULL; $2: codes of states, or NULL; $3: only first jobs, by the state of the last; $4, $5: the chain,
 * or NULL; $6: only roots; $7, $8: created from and before; $9, $10, $11: behind this one; $12: how many; $13: with
 * payloads; $14: with results and errors.
 */
function list({ at, now, statement }: Sql, order: 'asc' | 'desc'): Statement {
  const beyond = order === 'asc' ? '>' : '<'
  const bound = order === 'asc' ? '>=' : '<='
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
        WHERE f.seq = j.chain AND f.kind = 2 LIMIT 1) AS f ON true
      LEFT JOIN LATERAL (
        SELECT t.tid, t.id, t.state, t.run_at FROM ${at}jobs AS t WHERE t.seq = j.tail AND t.kind = 2 LIMIT 1
      ) AS t ON true
      WHERE NOT (CASE WHEN j.chain IS NULL THEN coalesce(j.expires_at, 'Infinity') <= now AND j.dependents IS NULL
                 ELSE coalesce(f.expires_at, 'Infinity') <= now AND f.dependents IS NULL END)
        AND (${param(5, 'text')} IS NULL OR (
          coalesce(f.id, j.id) = ${param(5, 'text')}
          AND coalesce(f.tid, j.tid) = (SELECT tid FROM ${at}types WHERE name = ${param(4, 'text')})))
        AND (${param(2, 'smallint[]')} IS NULL OR ${stateOf(`CASE WHEN ${param(3, 'boolean')} THEN coalesce(t.state, j.state) ELSE j.state END`, `CASE WHEN ${param(3, 'boolean')} THEN coalesce(t.run_at, j.run_at) ELSE j.run_at END`)} = ANY (${param(2, 'smallint[]')}))
      LIMIT ${param(12, 'integer')}
    ), names AS (
      SELECT tid, id, position FROM page
      UNION ALL SELECT first_tid, first_id, NULL FROM page WHERE first_id IS NOT NULL
      UNION ALL SELECT tail_tid, tail_id, NULL FROM page WHERE tail_id IS NOT NULL
    )
    SELECT ${columns('clock.now', 'n.position', ...cellsAsked('j', 13, 14))} FROM clock, names AS n CROSS JOIN LATERAL (
      SELECT * FROM ${at}jobs AS j WHERE j.tid = n.tid AND j.id = n.id LIMIT 1) AS j
    ORDER BY n.position`
  return statement(`list_${order}`, text)
}

/** One that waited for its time is queued once that has come. */
const stateOf = (state: string, runAt: string): string =>
  `(CASE WHEN ${state} = 0 AND ${runAt} <= now THEN 2 ELSE ${state} END)`

/** $1: names of types, or NULL. */
const countText = (at: string, now: string): string => `
  WITH clock AS MATERIALIZED (SELECT ${now} AS now),
  wanted AS MATERIALIZED (
    SELECT * FROM ${at}types AS t WHERE ${param(1, 'text[]')} IS NULL OR t.name = ANY (${param(1, 'text[]')})),
  counts AS (
    SELECT tid,
      ${[0, 1, 2, 3, 4, 5, 6, 7].map((code) => `count(*) FILTER (WHERE ${stateOf('state', 'run_at')} = ${code}) AS s${code}`).join(',\n      ')},
      count(*) FILTER (WHERE state IN (0, 2, 4) AND run_at <= now OR state = 3 AND lease_until <= now) AS due,
      count(*) FILTER (WHERE state IN (0, 2, 4) AND run_at > now) AS delayed,
      min(run_at) FILTER (WHERE state IN (0, 2, 4) AND run_at <= now) AS oldest
    FROM clock, ${at}jobs AS j
    WHERE tid = ANY (ARRAY (SELECT tid FROM wanted)) AND NOT CASE
      WHEN chain IS NULL THEN coalesce(expires_at, 'Infinity') <= now AND dependents IS NULL
      ELSE EXISTS (
        SELECT 1 FROM ${at}jobs AS f
        WHERE f.seq = j.chain AND f.kind = 2 AND f.expires_at <= now AND f.dependents IS NULL) END
    GROUP BY tid
  )
  SELECT ${columns(
    'clock.now',
    'w.name',
    'w.paused_since',
    'w.paused_by',
    ...[0, 1, 2, 3, 4, 5, 6, 7].map((code) => `coalesce(c.s${code}, 0)`),
    'coalesce(c.due, 0)',
    'coalesce(c.delayed, 0)',
    'c.oldest',
    `(SELECT json_agg(json_build_array(g.key, g.paused_since, g.paused_by) ORDER BY g.key) FROM ${at}groups AS g
      WHERE g.tid = w.tid AND g.paused_since IS NOT NULL)`,
  )}
  FROM clock LEFT JOIN wanted AS w ON true LEFT JOIN counts AS c ON c.tid = w.tid ORDER BY w.name`

/** $1: numbers of types; then where to begin (fast/starts.ts). */
const nextDueAtText = (at: string, now: string): string => `
  SELECT ${columns(now, 'min(n.at)')}
  FROM unnest(${param(1, 'integer[]')}, ${param(6, 'double precision[]')}) AS w (tid, lost_from)
  CROSS JOIN LATERAL (SELECT priorities FROM ${at}types AS t WHERE t.tid = w.tid AND t.paused_since IS NULL LIMIT 1) AS t
  CROSS JOIN LATERAL (
    SELECT j.run_at AS at FROM ${walkedFrom(2, 'w.tid', 't.priorities')} AS p CROSS JOIN LATERAL (
      SELECT j.run_at FROM ${at}jobs AS j
      WHERE j.tid = w.tid AND j.line = 1 AND j.priority = p.priority AND (j.run_at, j.ord) > (p.run_at, p.ord)
      ORDER BY run_at, ord LIMIT 1) AS j
    UNION ALL
    (SELECT lease_until FROM ${at}jobs AS j
     WHERE j.tid = w.tid AND j.state = 3 AND j.lease_until > w.lost_from AND NOT (j.grp IS NOT NULL AND EXISTS (
       SELECT 1 FROM ${at}groups AS g WHERE g.tid = j.tid AND g.key = j.grp AND g.paused_since IS NOT NULL))
     ORDER BY lease_until LIMIT 1)
  ) AS n`
