// Statements on dependents: the unfinished jobs that wait for a chain.

import { columns, fewRows, param, type Sql } from './statement.ts'

export const dependentStatements = ({ at, statement }: Sql) => ({
  dependents: statement(
    'dependents',
    `SELECT ${columns('w.tid', 'w.id', 'd.seq')}
       FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}) AS w (tid, id)
       CROSS JOIN LATERAL (
         SELECT seq FROM ${at}dependents AS d WHERE d.tid = w.tid AND d.id = w.id ORDER BY seq OFFSET 0) AS d`,
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
         SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'bigint[]')}) ${fewRows}
       ) AS w (tid, id, seq)
       WHERE d.tid = w.tid AND d.id = w.id AND d.seq = w.seq`,
  ),
})
