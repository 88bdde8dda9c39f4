// Statements on groups, their ring and their members.

import { stateCodes } from '../../rules/job/codes.ts'
import { jobCells } from './job-columns.ts'
import { isAside, isInRing, priorities } from './scan.ts'
import { columns, fewRows, param, type Sql } from './statement.ts'

/** The columns of a group with their types, behind its name. `needed_until` is only written. */
const groupColumns = {
  ordered: 'boolean',
  size: 'integer',
  running: 'bigint',
  turn_at: 'double precision',
  turn: 'bigint',
  is_full: 'boolean',
  paused_since: 'double precision',
  paused_by: 'text',
  held_by: 'text',
  slowed_until: 'double precision',
  rate_free_at: 'double precision',
  rate: 'text',
  needed_until: 'double precision',
} as const

const names = Object.keys(groupColumns) as readonly (keyof typeof groupColumns)[]

/** The name and the columns of a group `g`. */
const groupCells = columns('g.tid', 'g.key', ...names.map((name) => `g.${name}`))

/** The columns of a group as texts, without its name. */
export const groupTexts = (alias: string): string => names.map((name) => `${alias}.${name}::text`).join(', ')

const lockGroups = (at: string, lock: string): string =>
  `SELECT ${groupCells}
   FROM (SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}) ORDER BY 1, 2) AS w (tid, key)
   CROSS JOIN LATERAL (SELECT * FROM ${at}groups AS g WHERE g.tid = w.tid AND g.key = w.key ${lock}) AS g`

const arrays = `unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${names
  .map((name, index) => param(3 + index, `${groupColumns[name]}[]`))
  .join(', ')})`

/** Groups by name, each with a limit: $1, $2, $3. */
const limited = `(SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'integer[]')}) ${fewRows}) AS w (tid, key, most)`

/** Live members of a group `w`, along the index. */
const isMember = `m.tid = w.tid AND m.grp = w.key AND m.grp IS NOT NULL AND m.state < ${stateCodes.completed}`

/** Types, the limit of each, and where the scan of its ring begins. */
const rings = `unnest(${param(1, 'integer[]')}, ${param(2, 'integer[]')}, ${param(4, 'double precision[]')})`

const hasTurn = `g.turn_at >= w.turn_from AND g.turn_at <= ${param(3, 'double precision')}`

export const groupStatements = ({ at, statement }: Sql) => ({
  lockGroups: statement('lock_groups', lockGroups(at, 'FOR UPDATE')),
  /** Leaves out groups that another transaction has locked. */
  lockFreeGroups: statement('lock_free_groups', lockGroups(at, 'FOR UPDATE SKIP LOCKED')),
  /**
   * The first groups of the ring whose turn has come, and that no other transaction has locked. $1: types; $2: limit of each; $3: now;
   * $4: where the scan of each begins.
   */
  ring: statement(
    'ring',
    `SELECT ${groupCells}
       FROM ${rings} AS w (tid, most, turn_from)
       CROSS JOIN LATERAL (
         SELECT * FROM ${at}groups AS g WHERE g.tid = w.tid AND ${isInRing} AND ${hasTurn}
         ORDER BY g.turn_at, g.turn LIMIT w.most FOR UPDATE SKIP LOCKED) AS g`,
  ),
  /** The same for claims without turns: the groups with the best jobs. It looks at each group whose turn has come. */
  ringByBest: statement(
    'ring_by_best',
    `SELECT ${groupCells}
       FROM ${rings} AS w (tid, most, turn_from)
       CROSS JOIN LATERAL (SELECT priorities FROM ${at}types AS t WHERE t.tid = w.tid) AS t
       CROSS JOIN LATERAL (
         SELECT g.key FROM (
           SELECT * FROM ${at}groups AS g WHERE g.tid = w.tid AND ${isInRing} AND ${hasTurn} OFFSET 0
         ) AS g CROSS JOIN LATERAL (
           (SELECT m.priority, m.run_at, m.ord FROM ${at}jobs AS m
            WHERE g.ordered AND m.tid = w.tid AND m.grp = g.key AND m.grp IS NOT NULL AND m.state < ${stateCodes.completed}
            ORDER BY m.seq LIMIT 1)
           UNION ALL
           (SELECT j.* FROM ${priorities('t.priorities')} AS p CROSS JOIN LATERAL (
              SELECT j.priority, j.run_at, j.ord FROM ${at}jobs AS j
              WHERE NOT g.ordered AND j.tid = w.tid AND j.grp = g.key AND ${isAside('j')} AND j.priority = p.priority
                AND j.run_at <= ${param(3, 'double precision')}
              ORDER BY j.run_at, j.ord LIMIT 1) AS j
            LIMIT 1)) AS b
         ORDER BY b.priority DESC, b.run_at, b.ord LIMIT w.most) AS b
       CROSS JOIN LATERAL (
         SELECT * FROM ${at}groups AS g WHERE g.tid = w.tid AND g.key = b.key FOR UPDATE SKIP LOCKED) AS g`,
  ),
  /** The `turn_at` of the first group of each ring, locked or not. */
  firstTurns: statement(
    'first_turns',
    `SELECT ${columns('w.tid', 'g.turn_at')}
       FROM (SELECT * FROM unnest(${param(1, 'integer[]')}) ${fewRows}) AS w (tid)
       CROSS JOIN LATERAL (
         SELECT g.turn_at FROM ${at}groups AS g WHERE g.tid = w.tid AND ${isInRing} ORDER BY g.turn_at, g.turn LIMIT 1) AS g`,
  ),
  /** The heads of ordered groups. One that another transaction has locked is left out; the next member is no head. */
  heads: statement(
    'heads',
    `SELECT ${columns(...jobCells('j'))}
       FROM (SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}) ${fewRows}) AS w (tid, key)
       CROSS JOIN LATERAL (SELECT m.id FROM ${at}jobs AS m WHERE ${isMember} ORDER BY m.seq LIMIT 1) AS h
       CROSS JOIN LATERAL (
         SELECT * FROM ${at}jobs AS j WHERE j.tid = w.tid AND j.id = h.id LIMIT 1 FOR UPDATE SKIP LOCKED) AS j`,
  ),
  /** The best due jobs of unordered groups that no other transaction has locked. $4: now. */
  best: statement(
    'best',
    `SELECT ${columns(...jobCells('j'))}
       FROM ${limited}
       CROSS JOIN LATERAL (SELECT priorities FROM ${at}types AS t WHERE t.tid = w.tid) AS t
       CROSS JOIN LATERAL (
         SELECT j.* FROM ${priorities('t.priorities')} AS p CROSS JOIN LATERAL (
           SELECT * FROM ${at}jobs AS j
           WHERE j.tid = w.tid AND j.grp = w.key AND ${isAside('j')} AND j.priority = p.priority
             AND j.run_at <= ${param(4, 'double precision')}
           ORDER BY j.run_at, j.ord LIMIT w.most FOR UPDATE SKIP LOCKED) AS j
         LIMIT w.most) AS j`,
  ),
  /** The waiting members of groups that are due first, locked or not. */
  waiting: statement(
    'waiting',
    `SELECT ${columns('w.tid', 'w.key', 'm.seq', 'm.run_at')}
       FROM ${limited}
       CROSS JOIN LATERAL (SELECT priorities FROM ${at}types AS t WHERE t.tid = w.tid) AS t
       CROSS JOIN LATERAL (
         SELECT m.* FROM unnest(t.priorities) AS p (priority) CROSS JOIN LATERAL (
           SELECT m.seq, m.run_at FROM ${at}jobs AS m
           WHERE m.tid = w.tid AND m.grp = w.key AND ${isAside('m')} AND m.priority = p.priority
           ORDER BY m.run_at, m.ord LIMIT w.most) AS m
         ORDER BY m.run_at LIMIT w.most) AS m`,
  ),
  members: statement(
    'members',
    `SELECT ${columns('w.tid', 'w.key', 'm.seq')} FROM ${limited}
       CROSS JOIN LATERAL (SELECT seq FROM ${at}jobs AS m WHERE ${isMember} ORDER BY seq LIMIT w.most) AS m`,
  ),
  addGroups: statement(
    'add_groups',
    `INSERT INTO ${at}groups (tid, key, ${names.join(', ')}) SELECT * FROM ${arrays}
       ON CONFLICT DO NOTHING RETURNING 1::text AS c0`,
  ),
  changeGroups: statement(
    'change_groups',
    `UPDATE ${at}groups AS g SET ${names.map((name) => `${name} = w.${name}`).join(', ')}
       FROM (SELECT * FROM ${arrays} ${fewRows}) AS w (tid, key, ${names.join(', ')})
       WHERE g.tid = w.tid AND g.key = w.key`,
  ),
  eraseGroups: statement(
    'erase_groups',
    `DELETE FROM ${at}groups AS g
       USING (SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}) ${fewRows}) AS w (tid, key)
       WHERE g.tid = w.tid AND g.key = w.key`,
  ),
  /**
   * Deletes groups that only a rate or a slow-down needed, once that is over. $1: now; $2: limit. Not prepared: it is rare, and its
   * plan depends on the size of the table.
   */
  sweepGroups: {
    name: '',
    text: `DELETE FROM ${at}groups WHERE ctid = ANY (ARRAY (
         SELECT o.ctid FROM ${at}groups AS o WHERE o.needed_until <= ${param(1, 'double precision')}
         ORDER BY o.needed_until LIMIT ${param(2, 'bigint')} FOR UPDATE SKIP LOCKED))`,
  },
})
