// Statements on types.

import { columns, param, type Sql } from './statement.ts'

export const typeStatements = ({ at, statement }: Sql) => ({
  types: statement(
    'types',
    `SELECT ${columns('tid', 'name', 'priorities', 'grouped')} FROM ${at}types
       WHERE name = ANY (${param(1, 'text[]')}) OR tid = ANY (${param(2, 'integer[]')})`,
  ),
  /** $1: names, or NULL: all. Priorities as JSON. */
  listedTypes: statement(
    'listed_types',
    `SELECT ${columns('tid', 'to_json(priorities)')} FROM ${at}types
       WHERE ${param(1, 'text[]')} IS NULL OR name = ANY (${param(1, 'text[]')})`,
  ),
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
