// A transaction for lists: one snapshot, and every scan goes along its index. Without the settings, the planner may sort all jobs
// instead of reading the first of an index: while the statistics of the tables are missing or old, and in the generic plan of
// a prepared statement (4 to 7 s with 1,000,000 jobs, against 1 ms). For the same reason the statements are not prepared.

import type { Connection, Database, Statement } from '../connection/database.ts'

const settings: Statement = {
  name: '',
  text: `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL enable_seqscan = off;
    SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off`,
}

export const scanTransaction = <T>(database: Database, run: (connection: Connection) => Promise<T>): Promise<T> =>
  database.transaction(async (connection) => {
    await connection.query(settings, [])
    return run(connection)
  })
