// sweep: delete what has expired. The indexes are ordered by expiry, so its work is bounded by what it deletes.

import type { Swept, SweepRequest } from '../../storage.ts'
import { forget } from '../../rules/job/finish.ts'
import type { KvTable } from './kv.ts'
import type { SqliteMove } from '../rules/move.ts'

export function sweep(move: SqliteMove, kv: KvTable, request: SweepRequest): Swept {
  const { session, now } = move
  // Everything, if that is asked for: but a limit must be an integer.
  const limit = Math.min(request.limit, 2 ** 31)
  session.flush()
  let jobs = 0
  const expired = session.jobsOfRows(session.statements.expired.all(now, limit + 1))
  let swept = 0
  for (const chain of expired) {
    if (jobs >= limit) break
    jobs += move.jobsOf(chain).length
    forget(move, chain)
    swept++
  }
  const marks = session.sweepKeys(now, limit)
  const entries = kv.sweep(now, limit)
  const more = swept < expired.length || session.hasOverdueKey(now) || kv.hasExpired(now)
  return { jobs, marks, entries, more }
}
