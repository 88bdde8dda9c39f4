// sweep: delete what has expired. The heaps are ordered by expiry, so its work is bounded by what it deletes.

import type { Swept, SweepRequest } from '../storage.ts'
import { forget } from './finish.ts'
import type { MemoryKv } from './kv.ts'
import type { Move } from './move.ts'

export function sweep(move: Move, kv: MemoryKv, { limit }: SweepRequest): Swept {
  const { ended, marks: held } = move.data
  let jobs = 0
  for (let chain = ended.peek(); chain && chain.expiry <= move.now && jobs < limit; chain = ended.peek()) {
    jobs += chain.jobs?.length ?? 1
    forget(move, chain)
    move.data.prune(chain.type)
  }
  let marks = 0
  for (let mark = held.peek(); mark && mark.until <= move.now && marks < limit; mark = held.peek()) {
    held.pop()
    mark.type.keys.delete(mark.key)
    move.data.prune(mark.type)
    marks++
  }
  const entries = kv.sweep(limit)
  const more = (ended.peek()?.expiry ?? Infinity) <= move.now || (held.peek()?.until ?? Infinity) <= move.now
  return { jobs, marks, entries, more: more || kv.hasExpired }
}
