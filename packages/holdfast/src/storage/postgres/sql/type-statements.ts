// Statements on types.

import { columns, param, type Sql } from './statement.ts'

const known = columns('t.tid', 't.name', 't.priorities', 't.grouped')

export const typeStatements = ({ at, statement }: Sql) => ({
  /** $1: names; $2: numbers. Joins: a condition with a list compares each type with the whole list, which took 0.1 s for 1,000 types. */
  types: statement(
    'known_types',
    `SELECT ${known} FROM unnest(${param(1, 'text[]')}) AS n (name) JOIN ${at}types AS t ON t.name = n.name
     UNION ALL
     SELECT ${known} FROM unnest(${param(2, 'integer[]')}) AS n (tid) JOIN ${at}types AS t ON t.tid = n.tid`,
  ),
  allTypes: statement('all_types', `SELECT ${known} FROM ${at}types AS t`),
  // WHERE NOT EXISTS: a name that is there already takes no number from the sequence.
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
  /** The first job with a group. It stays so: others cache it. */
  groupTypes: statement(
    'group_types',
    `UPDATE ${at}types SET grouped = true WHERE name = ANY (${param(1, 'text[]')}) AND NOT grouped`,
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
})
