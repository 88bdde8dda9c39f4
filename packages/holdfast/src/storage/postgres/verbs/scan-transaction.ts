// Transactions for reads of many jobs: one snapshot, with settings for the planner.
//
// Lists go along their indexes. Without the settings, the planner may sort all jobs instead of reading the first of an index: while
// the statistics of the tables are missing or old, and in the generic plan of a prepared statement (4 to 7 s with 1,000,000 jobs,
// against 1 ms). For the same reason the statements are not prepared.
//
// Counts read all jobs, in parallel if the server can. The planner takes them for costly enough to be compiled (JIT), which took 4.1
// of 4.7 s with 1,000,000 jobs.

import type { Connection, Database, Statement } from '../connection/database.ts'

const snapshot = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL jit = off'

const listSettings: Statement = {
  name: '',
  text: `${snapshot}; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off;
    SET LOCAL max_parallel_workers_per_gather = 0`,
}
const countSettings: Statement = { name: '', text: snapshot }

type Run<T> = (connection: Connection) => Promise<T>

export const listTransaction = <T>(database: Database, run: Run<T>): Promise<T> =>
  transactionWith(listSettings, database, run)

export const countTransaction = <T>(database: Database, run: Run<T>): Promise<T> =>
  transactionWith(countSettings, database, run)

/** The settings are not awaited: on a connection that pipelines, they leave with the first statement. */
const transactionWith = <T>(settings: Statement, database: Database, run: Run<T>): Promise<T> =>
  database.transaction(async (connection) => {
    const [, result] = await Promise.all([connection.query(settings, []), run(connection)])
    return result
  })
