// sweep: deletes what has expired. The indexes are ordered by expiry, so its work is bounded by what it deletes.

import type { Swept, SweepRequest } from '../../storage.ts'
import { forget } from '../../rules/job/finish.ts'
import type { SqliteMove } from '../rules/move.ts'
import type { KvTable } from './kv.ts'

export function sweep(move: SqliteMove, kv: KvTable, request: SweepRequest): Swept {
  const { set, now } = move
  // SQLite takes no Infinity as a limit.
  const limit = Math.min(request.limit, 2 ** 31)
  set.jobs.flush()
  let jobs = 0
  const expired = set.jobs.ofRows(set.statements.expired.all(now, limit + 1))
  let swept = 0
  for (const chain of expired) {
    if (jobs >= limit) break
    jobs += move.jobsOf(chain).length
    forget(move, chain)
    swept++
  }
  const marks = set.keys.sweep(now, limit)
  const entries = kv.sweep(now, limit)
  const more = swept < expired.length || set.keys.hasOverdue(now) || kv.hasExpired(now)
  return { jobs, marks, entries, more }
}
