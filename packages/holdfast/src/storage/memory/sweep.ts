// sweep: deletes what has expired. The heaps are ordered by expiry, so its work is bounded by what it deletes.

import type { Swept, SweepRequest } from '../storage.ts'
import { forget } from '../rules/job/finish.ts'
import { expiryAt, type Job } from '../rules/move.ts'
import type { KvData } from './kv-data.ts'
import type { MemoryMove } from './move.ts'

export function sweep(move: MemoryMove, kv: KvData, { limit }: SweepRequest): Swept {
  const { ended, marks: windows } = move.data
  let jobs = 0
  const isExpired = (chain: Job | undefined): chain is Job => chain !== undefined && expiryAt(chain) <= move.now
  for (let chain = ended.peek(); isExpired(chain) && jobs < limit; chain = ended.peek()) {
    jobs += move.jobsOf(chain).length
    forget(move, chain)
  }
  let marks = 0
  for (let mark = windows.peek(); mark && mark.until <= move.now && marks < limit; mark = windows.peek()) {
    move.dropKey(mark.type, mark)
    move.prune(mark.type)
    marks++
  }
  const entries = kv.sweep(limit, move.now)
  const more = isExpired(ended.peek()) || (windows.peek()?.until ?? Infinity) <= move.now
  return { jobs, marks, entries, more: more || kv.hasExpired(move.now) }
}
