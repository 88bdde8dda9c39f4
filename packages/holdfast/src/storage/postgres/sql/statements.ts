// All statements that the rules need (rules/). Statements that serve one verb stand in its file in verbs/ or fast/.
//
// Where rows are looked up for a list, each is looked up by itself (LATERAL): so the server uses the indexes, whatever the planner
// estimates the tables to hold.

import { dependentStatements } from './dependent-statements.ts'
import { flowStatements } from './flow-statements.ts'
import { groupStatements } from './group-statements.ts'
import { indexStatements } from './index-statements.ts'
import { jobStatements } from './job-statements.ts'
import { keyStatements } from './key-statements.ts'
import { linkedJobStatements } from './linked-jobs.ts'
import { reportStatements } from './report-statements.ts'
import { columns, param, type Sql } from './statement.ts'
import { markStatements } from './transaction-mark.ts'
import { typeStatements } from './type-statements.ts'
import { watchStatements } from './watch-statements.ts'

export type Statements = ReturnType<typeof makeStatements>

export const makeStatements = (sql: Sql) => ({
  ...typeStatements(sql),
  ...linkedJobStatements(sql),
  ...jobStatements(sql),
  ...keyStatements(sql),
  ...groupStatements(sql),
  ...flowStatements(sql),
  ...dependentStatements(sql),
  ...indexStatements(sql),
  ...reportStatements(sql),
  ...watchStatements(sql),
  ...markStatements(sql),
  notify: sql.statement('notify', `SELECT ${columns(`pg_notify(${param(1, 'text')}, ${param(2, 'text')})`)}`),
})
