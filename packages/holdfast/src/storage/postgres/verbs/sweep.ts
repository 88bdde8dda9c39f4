// sweep: delete what has expired. The indexes are ordered by expiry, so its work is bounded by what it deletes.

import { forget } from '../../rules/job/finish.ts'
import type { Connection } from '../connection/database.ts'
import type { Loader } from '../rules/load.ts'
import type { PostgresMove } from '../rules/move.ts'
import type { Statements } from '../rules/statements.ts'

/** What has expired, with all jobs of its chains, as far as nobody else has it. Answers with the numbers of first jobs. */
export async function loadExpired(
  connection: Connection,
  { expired }: Statements,
  loader: Loader,
  limit: number,
): Promise<number[]> {
  const rows = await connection.query(expired, [loader.now, limit + 1])
  await loader.keepLocked(rows)
  const { want, chains } = loader.loaded
  for (const row of rows) if (row[27] !== null) want.chains.add(Number(row[0]))
  if (want.chains.size > 0) {
    await loader.load()
    for (const seqs of chains.values()) for (const seq of seqs) want.seqs.add(seq)
    await loader.load()
  }
  return rows.map(([seq]) => Number(seq))
}

export function sweep(move: PostgresMove, expired: readonly number[], limit: number): { jobs: number; more: boolean } {
  let jobs = 0
  let swept = 0
  for (const chain of move.set.jobsOf(expired)) {
    if (jobs >= limit) break
    jobs += move.jobsOf(chain).length
    forget(move, chain)
    swept++
  }
  return { jobs, more: swept < expired.length }
}
