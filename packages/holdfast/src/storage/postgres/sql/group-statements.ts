// Statements on ordered groups and their live members.

import { stateCodes } from '../../rules/job/codes.ts'
import { columns, fewRows, param, type Sql } from './statement.ts'

const lockGroups = (at: string, lock: string): string =>
  `SELECT ${columns('g.tid', 'g.key', 'g.running', 'g.placed', 'g.paused_since', 'g.paused_by')}
   FROM (SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}) ORDER BY 1, 2) AS w (tid, key)
   CROSS JOIN LATERAL (SELECT * FROM ${at}groups AS g WHERE g.tid = w.tid AND g.key = w.key ${lock}) AS g`

const arrays =
  `unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'bigint[]')}, ${param(4, 'bigint[]')}, ` +
  `${param(5, 'double precision[]')}, ${param(6, 'text[]')})`

export const groupStatements = ({ at, statement }: Sql) => ({
  lockGroups: statement('lock_groups', lockGroups(at, 'FOR UPDATE')),
  /** Leaves out groups that another transaction has locked. */
  lockFreeGroups: statement('lock_free_groups', lockGroups(at, 'FOR UPDATE SKIP LOCKED')),
  members: statement(
    'members',
    `SELECT ${columns('w.tid', 'w.key', 'm.seq')}
       FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'integer[]')}) AS w (tid, key, most)
       CROSS JOIN LATERAL (
         SELECT seq FROM ${at}jobs AS m WHERE m.tid = w.tid AND m.grp = w.key AND m.grp IS NOT NULL AND state < ${stateCodes.completed}
         ORDER BY seq LIMIT w.most) AS m`,
  ),
  addGroups: statement(
    'add_groups',
    `INSERT INTO ${at}groups (tid, key, running, placed, paused_since, paused_by) SELECT * FROM ${arrays}
       ON CONFLICT DO NOTHING RETURNING 1::text AS c0`,
  ),
  changeGroups: statement(
    'change_groups',
    `UPDATE ${at}groups AS g
       SET running = w.running, placed = w.placed, paused_since = w.paused_since, paused_by = w.paused_by
       FROM (SELECT * FROM ${arrays} ${fewRows}) AS w (tid, key, running, placed, paused_since, paused_by)
       WHERE g.tid = w.tid AND g.key = w.key`,
  ),
  eraseGroups: statement(
    'erase_groups',
    `DELETE FROM ${at}groups AS g
       USING (SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}) ${fewRows}) AS w (tid, key)
       WHERE g.tid = w.tid AND g.key = w.key`,
  ),
})
