// Every statement on jobs, types, groups and keys that is not a short way of its own (fast/). Where rows are looked up for
// a list, each is looked up by itself (LATERAL): so the indexes are used whatever the planner takes the tables to hold.
// Longer than others: all the SQL of the rules in one place, beside the tables it is about.

import { createHash } from 'node:crypto'
import type { RecordPart } from '../../storage.ts'
import type { Statement } from '../connection/database.ts'
import { firstChanging, jobColumns } from './job.ts'
import { identifier } from './text.ts'

/** The server's own, in whole milliseconds. */
export const serverTime = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::double precision'

/** A parameter; a list is unseen. Clients may format a value by what it is cast to first: so that is text. */
export const param = (number: number, type: string): string =>
  type.endsWith('[]') ? unseen(number, type) : `($${number}::text)::${type}`

/**
 * A parameter that the planner does not look into. Where it does, a plan for these very values seems cheaper than one for any,
 * and is made anew with every call, which takes longer than the call; and one for a long list is compiled, which takes a second.
 */
export const unseen = (number: number, type: string): string => `(SELECT $${number}::text)::${type}`

/** A list that, when it is read, limits how long the transaction waits for locks. */
const limiting = (number: number, list: string): string =>
  `(CASE WHEN set_config('lock_timeout', coalesce($${number}::text, current_setting('lock_timeout')), true) IS NOT NULL
    THEN ${list} END)`

/** Selected columns, as text, under the names c0, c1, … */
export const columns = (...expressions: readonly string[]): string =>
  expressions.map((expression, index) => `(${expression})::text AS c${index}`).join(', ')

/**
 * Behind a list that rows are joined with. A plan may be made while a table is empty, and kept: then a walk over all rows
 * seems cheap. A limit that the planner cannot know makes it expect next to nothing of the list, so that it looks each up.
 */
export const few = 'LIMIT (SELECT 1000000)'

const names = Object.keys(jobColumns)

/** A job's columns, in the order of its row. */
export const jobCells = (alias: string): string[] =>
  names.map((name) =>
    jobColumns[name as keyof typeof jobColumns] === 'bytea' ? `encode(${alias}.${name}, 'hex')` : `${alias}.${name}`,
  )

/** The same, without the bytes that nobody asked for, which may be megabytes. By the numbers of two parameters. */
export const cellsAsked = (alias: string, payload: number, end: number): string[] =>
  jobCells(alias).map((cell, index) => {
    const flag = { payload, result: end, error: end }[names[index]!]
    return flag === undefined ? cell : `CASE WHEN ${param(flag, 'boolean')} THEN ${cell} END`
  })

/** The values of these parameters. */
export const asked = (parts: readonly RecordPart[] = []): [payload: string, end: string] => [
  String(parts.includes('payload')),
  String(parts.includes('result') || parts.includes('error')),
]

export interface Sql {
  /** The quoted schema, with its dot: `"holdfast".` */
  readonly at: string
  /** An expression of the storage's now. */
  readonly now: string
  /** Names a statement, unlike any other of this storage. */
  statement(name: string, text: string): Statement
}

export function makeSql(schema: string, now: string = serverTime): Sql {
  const at = `${identifier(schema)}.`
  const mark = createHash('sha256').update(`${schema}\n${now}`).digest('hex').slice(0, 12)
  return { at, now: now.replaceAll('$.', at), statement: (name, text) => ({ name: `holdfast_${mark}_${name}`, text }) }
}

export type Statements = ReturnType<typeof makeStatements>

export function makeStatements({ at, now, statement }: Sql) {
  // $1, $2: types and ids; $3: numbers; $4, $5: types and keys; $6, $7: types and groups. All that these lead to: the
  // first and last job of the chain, who waits for it, the next of the group. $8, $9: types and ids of those of which
  // nothing is wanted but their chain: many may wait for it, whom others have locked.
  // $10: how long a lock is waited for in this transaction, in ms, or null: as it is. It is set with the first list, which is
  // read before anything is locked.
  const linked = (withNeighbours: boolean): string => `
    base AS MATERIALIZED (
      SELECT j.* FROM unnest(${withNeighbours ? limiting(10, param(1, 'integer[]')) : param(1, 'integer[]')}, ${param(2, 'text[]')}) AS r (tid, id) CROSS JOIN LATERAL (
        SELECT tid, id, seq, chain, tail, grp, dependents, kind FROM ${at}jobs AS j
        WHERE j.tid = r.tid AND j.id = r.id LIMIT 1) AS j
      UNION ALL
      SELECT j.* FROM unnest(${param(3, 'bigint[]')}) AS r (seq) CROSS JOIN LATERAL (
        SELECT tid, id, seq, chain, tail, grp, dependents, kind FROM ${at}jobs AS j
        WHERE j.seq = r.seq AND j.kind = 2 LIMIT 1) AS j
      ${
        withNeighbours
          ? `UNION ALL
      SELECT j.* FROM unnest(${param(4, 'integer[]')}, ${param(5, 'text[]')}) AS r (tid, key) CROSS JOIN LATERAL (
        SELECT j.tid, j.id, seq, chain, tail, grp, dependents, kind FROM ${at}keys AS k, ${at}jobs AS j
        WHERE k.tid = r.tid AND k.key = r.key AND j.tid = k.tid AND j.id = k.id LIMIT 1) AS j`
          : ''
      }
    ), firsts AS MATERIALIZED (
      SELECT tid, id, tail, dependents FROM base WHERE chain IS NULL AND kind = 2
      UNION ALL
      SELECT f.* FROM base AS b CROSS JOIN LATERAL (
        SELECT tid, id, tail, dependents FROM ${at}jobs AS f WHERE f.seq = b.chain AND f.kind = 2 LIMIT 1) AS f
    )${
      withNeighbours
        ? `, alone AS MATERIALIZED (
      SELECT j.* FROM unnest(${param(8, 'integer[]')}, ${param(9, 'text[]')}) AS r (tid, id) CROSS JOIN LATERAL (
        SELECT tid, id, chain, tail, kind FROM ${at}jobs AS j WHERE j.tid = r.tid AND j.id = r.id LIMIT 1) AS j
    ), their_firsts AS MATERIALIZED (
      SELECT tid, id, tail FROM alone WHERE chain IS NULL AND kind = 2
      UNION ALL
      SELECT f.* FROM alone AS a CROSS JOIN LATERAL (
        SELECT tid, id, tail FROM ${at}jobs AS f WHERE f.seq = a.chain AND f.kind = 2 LIMIT 1) AS f
    )`
        : ''
    }, names AS (
      SELECT tid, id, true AS wide FROM base
      UNION ALL
      SELECT tid, id, true FROM firsts
      UNION ALL
      SELECT t.*, true FROM firsts AS f CROSS JOIN LATERAL (
        SELECT tid, id FROM ${at}jobs AS t WHERE t.seq = f.tail AND t.kind = 2 LIMIT 1) AS t
      ${
        withNeighbours
          ? `UNION ALL
      SELECT tid, id, false FROM alone
      UNION ALL
      SELECT tid, id, false FROM their_firsts
      UNION ALL
      SELECT t.*, false FROM their_firsts AS f CROSS JOIN LATERAL (
        SELECT tid, id FROM ${at}jobs AS t WHERE t.seq = f.tail AND t.kind = 2 LIMIT 1) AS t
      UNION ALL
      SELECT d.*, true FROM firsts AS f CROSS JOIN LATERAL (
        SELECT seq FROM ${at}dependents AS d WHERE d.tid = f.tid AND d.id = f.id OFFSET 0) AS s CROSS JOIN LATERAL (
        SELECT tid, id FROM ${at}jobs AS d WHERE d.seq = s.seq AND d.kind = 2 LIMIT 1) AS d
      WHERE f.dependents > 0
      UNION ALL
      SELECT m.*, true FROM (
        SELECT tid, grp FROM base WHERE grp IS NOT NULL
        UNION SELECT * FROM unnest(${param(6, 'integer[]')}, ${param(7, 'text[]')})
      ) AS g (tid, grp) CROSS JOIN LATERAL (
        SELECT tid, id FROM ${at}jobs AS m WHERE m.tid = g.tid AND m.grp = g.grp AND m.grp IS NOT NULL AND state < 5
        ORDER BY seq LIMIT 2) AS m`
          : ''
      }
    )`
  const byNames = (lock: string, cells = jobCells('j')): string => `
    SELECT ${columns('clock.now', ...cells, 'j.wide')}
    FROM (SELECT ${now} AS now) AS clock LEFT JOIN (
      SELECT j.*, n.wide FROM (
        SELECT tid, id, bool_or(wide) AS wide FROM names GROUP BY tid, id ORDER BY tid, id
      ) AS n CROSS JOIN LATERAL (
        SELECT * FROM ${at}jobs AS j WHERE j.tid = n.tid AND j.id = n.id LIMIT 1 ${lock}) AS j
    ) AS j ON true`
  const changing = names.slice(firstChanging)
  const hint = param(6 + changing.length, 'text')
  const typed = (from: number, list: readonly string[]): string =>
    list.map((name, index) => param(from + index, `${jobColumns[name as keyof typeof jobColumns]}[]`)).join(', ')
  return {
    types: statement(
      'types',
      `SELECT ${columns('tid', 'name', 'priorities', 'paused_since', 'paused_by')} FROM ${at}types
       WHERE name = ANY (${param(1, 'text[]')}) OR tid = ANY (${param(2, 'integer[]')})`,
    ),
    // Nothing is taken from the sequence for one that is there.
    addTypes: statement(
      'add_types',
      `INSERT INTO ${at}types (name)
       SELECT name FROM unnest(${param(1, 'text[]')}) AS given (name)
       WHERE NOT EXISTS (SELECT 1 FROM ${at}types AS t WHERE t.name = given.name) ON CONFLICT DO NOTHING`,
    ),
    addPriorities: statement(
      'add_priorities',
      `UPDATE ${at}types AS t
       SET priorities = ARRAY (SELECT DISTINCT p FROM unnest(t.priorities || given.list) AS p ORDER BY p DESC)
       FROM (
         SELECT name, array_agg(priority) AS list
         FROM unnest(${param(1, 'text[]')}, ${param(2, 'smallint[]')}) AS g (name, priority) GROUP BY name
       ) AS given
       WHERE t.name = given.name`,
    ),
    pauseType: statement(
      'pause_type',
      `UPDATE ${at}types SET paused_since = ${param(2, 'double precision')}, paused_by = ${param(3, 'text')}
       WHERE tid = ${param(1, 'integer')}`,
    ),
    lockType: statement(
      'lock_type',
      `SELECT ${columns('tid', 'paused_since', 'paused_by')} FROM ${at}types WHERE tid = ${param(1, 'integer')} FOR UPDATE`,
    ),
    /** In the order of their names, so that two calls wait for each other but never in a circle. */
    lock: statement('lock', `WITH ${linked(true)} ${byNames('FOR UPDATE')}`),
    read: statement('read', `WITH ${linked(false)} ${byNames('')}`),
    /** The same, of which nothing is changed. $4: with payloads; $5: with results and errors. */
    look: statement('look', `WITH ${linked(false)} ${byNames('', cellsAsked('j', 4, 5))}`),
    lockKeys: statement(
      'lock_keys',
      `SELECT ${columns('k.tid', 'k.key', 'k.id', 'k.token', 'k.mode', 'k.shared', 'k.until')}
       FROM (SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}) ORDER BY 1, 2) AS w (tid, key)
       CROSS JOIN LATERAL (SELECT * FROM ${at}keys AS k WHERE k.tid = w.tid AND k.key = w.key FOR UPDATE) AS k`,
    ),
    // With 'skip', those that others have locked are left out.
    lockGroups: statement('lock_groups', lockGroups(at, 'FOR UPDATE')),
    lockFreeGroups: statement('lock_free_groups', lockGroups(at, 'FOR UPDATE SKIP LOCKED')),
    members: statement(
      'members',
      `SELECT ${columns('w.tid', 'w.key', 'm.seq')}
       FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'integer[]')}) AS w (tid, key, most)
       CROSS JOIN LATERAL (
         SELECT seq FROM ${at}jobs AS m WHERE m.tid = w.tid AND m.grp = w.key AND m.grp IS NOT NULL AND state < 5
         ORDER BY seq LIMIT w.most) AS m`,
    ),
    chains: statement(
      'chains',
      `SELECT ${columns('w.chain', 'm.seq')} FROM unnest(${param(1, 'bigint[]')}) AS w (chain)
       CROSS JOIN LATERAL (SELECT seq FROM ${at}jobs AS m WHERE m.chain = w.chain ORDER BY seq OFFSET 0) AS m`,
    ),
    dependents: statement(
      'dependents',
      `SELECT ${columns('w.tid', 'w.id', 'd.seq')}
       FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}) AS w (tid, id)
       CROSS JOIN LATERAL (
         SELECT seq FROM ${at}dependents AS d WHERE d.tid = w.tid AND d.id = w.id ORDER BY seq OFFSET 0) AS d`,
    ),
    /** $1: types; $2: how many of each; $3: now. */
    line: statement(
      'line',
      `SELECT ${columns(...jobCells('j'))}
       FROM unnest(${param(1, 'integer[]')}, ${param(2, 'integer[]')}) AS w (tid, most)
       CROSS JOIN LATERAL (SELECT priorities FROM ${at}types AS t WHERE t.tid = w.tid) AS t
       CROSS JOIN LATERAL (
         SELECT j.* FROM (SELECT p FROM unnest(t.priorities) AS p ORDER BY p DESC) AS p CROSS JOIN LATERAL (
           SELECT * FROM ${at}jobs AS j
           WHERE j.tid = w.tid AND j.line = 1 AND j.priority = p.p AND j.run_at <= ${param(3, 'double precision')}
           ORDER BY j.run_at, j.ord LIMIT w.most FOR UPDATE SKIP LOCKED) AS j
         LIMIT w.most) AS j`,
    ),
    /** $4: those that began before it too, whatever their lease. */
    lost: statement(
      'lost',
      `SELECT ${columns(...jobCells('j'))}
       FROM unnest(${param(1, 'integer[]')}, ${param(2, 'integer[]')}) AS w (tid, most)
       CROSS JOIN LATERAL (
         SELECT * FROM ${at}jobs AS j
         WHERE j.tid = w.tid AND j.state = 3 AND (
           j.lease_until <= ${param(3, 'double precision')} OR j.started_at < ${param(4, 'double precision')})
         ORDER BY j.lease_until LIMIT w.most FOR UPDATE SKIP LOCKED) AS j`,
    ),
    expired: statement(
      'expired',
      `SELECT ${columns(...jobCells('j'))} FROM ${at}jobs AS j
       WHERE sweep_at <= ${param(1, 'double precision')}
       ORDER BY sweep_at LIMIT ${param(2, 'bigint')} FOR UPDATE SKIP LOCKED`,
    ),
    numbers: statement(
      'numbers',
      `SELECT ${columns(`nextval('${at.replaceAll("'", "''")}numbers')`)} FROM generate_series(1, ${unseen(1, 'integer')})`,
    ),
    eraseJobs: statement(
      'erase_jobs',
      `DELETE FROM ${at}jobs AS j
       USING (SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}) ${few}) AS w (tid, id)
       WHERE j.tid = w.tid AND j.id = w.id`,
    ),
    addJobs: statement(
      'add_jobs',
      `INSERT INTO ${at}jobs (${names.join(', ')}) SELECT * FROM unnest(${typed(1, names)})
       ON CONFLICT DO NOTHING RETURNING 1::text AS c0`,
    ),
    /** With the hint that goes with it, if there is one: a trip less. */
    changeJobs: statement(
      'change_jobs',
      `WITH changed AS (
         UPDATE ${at}jobs AS j
         SET payload = CASE WHEN w.has_payload THEN w.payload ELSE j.payload END,
           ${changing.map((name) => `${name} = w.${name}`).join(', ')}
         FROM (
           SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'boolean[]')},
             ${param(4, 'bytea[]')}, ${typed(5, changing)}) ${few}
         ) AS w (tid, id, has_payload, payload, ${changing.join(', ')})
         WHERE j.tid = w.tid AND j.id = w.id)
       SELECT ${columns(
         `CASE WHEN ${hint} IS NOT NULL THEN pg_notify(${param(5 + changing.length, 'text')}, ${hint}) END`,
       )}`,
    ),
    addKeys: statement(
      'add_keys',
      `INSERT INTO ${at}keys (tid, key, id, token, mode, shared, until) SELECT * FROM ${keyArrays}
       ON CONFLICT DO NOTHING RETURNING 1::text AS c0`,
    ),
    changeKeys: statement(
      'change_keys',
      `UPDATE ${at}keys AS k SET id = w.id, token = w.token, mode = w.mode, shared = w.shared, until = w.until
       FROM (SELECT * FROM ${keyArrays} ${few}) AS w (tid, key, id, token, mode, shared, until) WHERE k.tid = w.tid AND k.key = w.key`,
    ),
    eraseKeys: statement(
      'erase_keys',
      `DELETE FROM ${at}keys AS k
       USING (SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}) ${few}) AS w (tid, key)
       WHERE k.tid = w.tid AND k.key = w.key`,
    ),
    addGroups: statement(
      'add_groups',
      `INSERT INTO ${at}groups (tid, key, running, placed, paused_since, paused_by) SELECT * FROM ${groupArrays}
       ON CONFLICT DO NOTHING RETURNING 1::text AS c0`,
    ),
    changeGroups: statement(
      'change_groups',
      `UPDATE ${at}groups AS g
       SET running = w.running, placed = w.placed, paused_since = w.paused_since, paused_by = w.paused_by
       FROM (SELECT * FROM ${groupArrays} ${few}) AS w (tid, key, running, placed, paused_since, paused_by)
       WHERE g.tid = w.tid AND g.key = w.key`,
    ),
    eraseGroups: statement(
      'erase_groups',
      `DELETE FROM ${at}groups AS g
       USING (SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}) ${few}) AS w (tid, key)
       WHERE g.tid = w.tid AND g.key = w.key`,
    ),
    addDependents: statement(
      'add_dependents',
      `INSERT INTO ${at}dependents (tid, id, seq)
       SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'bigint[]')})
       ON CONFLICT DO NOTHING`,
    ),
    eraseDependents: statement(
      'erase_dependents',
      `DELETE FROM ${at}dependents AS d
       USING (
         SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'bigint[]')}) ${few}
       ) AS w (tid, id, seq)
       WHERE d.tid = w.tid AND d.id = w.id AND d.seq = w.seq`,
    ),
    /** Answers with how many went, and whether there are more. */
    sweepKeys: statement(
      'sweep_keys',
      `WITH over AS MATERIALIZED (
         SELECT tid, key, row_number() OVER () AS position FROM (
           SELECT tid, key FROM ${at}keys
           WHERE mode = 'throttle' AND until < 'Infinity' AND until <= ${param(1, 'double precision')}
           ORDER BY until LIMIT ${param(2, 'bigint')} + 1 FOR UPDATE SKIP LOCKED) AS o
       ), gone AS (
         DELETE FROM ${at}keys WHERE (tid, key) IN (
           SELECT tid, key FROM over WHERE position <= ${param(2, 'bigint')}) RETURNING 1)
       SELECT ${columns('(SELECT count(*) FROM gone)', `(SELECT count(*) FROM over) > ${param(2, 'bigint')}`)}`,
    ),
    notify: statement('notify', `SELECT ${columns(`pg_notify(${param(1, 'text')}, ${param(2, 'text')})`)}`),
  }
}

/**
 * The priorities of a type, the highest first, each with where its line is walked from (fast/starts.ts).
 * @param first the number of the first of four parameters
 */
export const walkedFrom = (first: number, tid: string, priorities: string): string => {
  const starts = `unnest(${param(first, 'integer[]')}, ${param(first + 1, 'smallint[]')},
    ${param(first + 2, 'double precision[]')}, ${param(first + 3, 'bigint[]')}) AS s (tid, priority, run_at, ord)
    WHERE s.tid = ${tid} AND s.priority = p`
  return `(SELECT p AS priority, coalesce((SELECT s.run_at FROM ${starts}), '-Infinity') AS run_at,
    coalesce((SELECT s.ord FROM ${starts}), 0) AS ord
    FROM unnest(${priorities}) AS p ORDER BY p DESC)`
}

/** The priorities of a type, the highest first. */
export const walked = (priorities: string): string =>
  `(SELECT p AS priority FROM unnest(${priorities}) AS p ORDER BY p DESC)`

const lockGroups = (at: string, lock: string): string =>
  `SELECT ${columns('g.tid', 'g.key', 'g.running', 'g.placed', 'g.paused_since', 'g.paused_by')}
   FROM (SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}) ORDER BY 1, 2) AS w (tid, key)
   CROSS JOIN LATERAL (SELECT * FROM ${at}groups AS g WHERE g.tid = w.tid AND g.key = w.key ${lock}) AS g`

const keyArrays =
  `unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'text[]')}, ${param(4, 'text[]')}, ` +
  `${param(5, 'text[]')}, ${param(6, 'boolean[]')}, ${param(7, 'double precision[]')})`

const groupArrays =
  `unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'bigint[]')}, ${param(4, 'bigint[]')}, ` +
  `${param(5, 'double precision[]')}, ${param(6, 'text[]')})`
