// sweep: deletes records, throttle windows and kv entries that have expired. The indexes are ordered by expiry, so the work is bounded
// by what is deleted.

import { forget } from '../../rules/job/finish.ts'
import type { Swept, SweepRequest } from '../../storage.ts'
import type { Row } from '../connection/database.ts'
import type { Loader } from '../rules/loader.ts'
import type { PostgresMove } from '../rules/move.ts'
import { cell } from '../sql/job-columns.ts'
import { maxLimit } from '../sql/statement.ts'
import type { Statements } from '../sql/statements.ts'
import type { PostgresKv } from './kv.ts'
import type { OpenStorage } from './open-storage.ts'

export async function sweep(
  { runner, statements }: OpenStorage,
  kv: PostgresKv,
  request: SweepRequest,
): Promise<Swept> {
  const limit = Math.min(request.limit, maxLimit)
  let expired: number[] = []
  let marks: Row | undefined
  const jobs = await runner.run({
    prepare: async (loader) => {
      expired = await loadExpired(loader, statements, limit)
    },
    rules: (move) => sweepJobs(move, expired, limit),
    after: async (connection, { now }) => {
      ;[marks] = await connection.query(statements.sweepKeys, [now, limit])
    },
  })
  const entries = await kv.sweep(limit)
  const more = jobs.more || entries.more || marks![1] === 'true'
  return { jobs: jobs.swept, marks: Number(marks![0]), entries: entries.swept, more }
}

/** Loads what has expired and no other transaction has locked, with all jobs of its chains. Returns the seqs of the first jobs. */
async function loadExpired(loader: Loader, { expired }: Statements, limit: number): Promise<number[]> {
  const rows = await loader.connection.query(expired, [loader.now, limit + 1])
  await loader.keepLocked(rows)
  const { wanted, chains } = loader.loaded
  for (const row of rows) if (row[cell.tail] !== null) wanted.chains.add(Number(row[cell.seq]))
  if (wanted.chains.size > 0) {
    await loader.load()
    for (const seqs of chains.values()) for (const seq of seqs) wanted.seqs.add(seq)
    await loader.load()
  }
  return rows.map((row) => Number(row[cell.seq]))
}

function sweepJobs(move: PostgresMove, expired: readonly number[], limit: number): { swept: number; more: boolean } {
  let swept = 0
  let chains = 0
  for (const chain of move.set.jobsOf(expired)) {
    if (swept >= limit) break
    swept += move.jobsOf(chain).length
    forget(move, chain)
    chains++
  }
  return { swept, more: chains < expired.length }
}
