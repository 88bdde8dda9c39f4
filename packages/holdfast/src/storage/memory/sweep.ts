// sweep: deletes what has expired, and ends what was not started in time. The lists are ordered by time, so its work is bounded
// by what it deletes; only with counts to keep does it look for the chains that expire first.

import type { Ended, KeepCount, Swept, SweepRequest } from '../storage.ts'
import { endOverdue } from '../rules/job/deadline.ts'
import { forget, forgetExpired } from '../rules/job/finish.ts'
import { isFlowNeeded, isGroupNeeded } from '../rules/flow.ts'
import { expiryAt, type Job } from '../rules/move.ts'
import type { MemoryJob } from './data.ts'
import type { KvData } from './kv-data.ts'
import type { MemoryMove } from './move.ts'

export function sweep(move: MemoryMove, kv: KvData, { limit, keep = [] }: SweepRequest): Swept {
  const { ended: chains, marks: windows } = move.data
  const ended = endLate(move, limit)
  let jobs = 0
  const isExpired = (job: Job | undefined): job is Job => job !== undefined && job.expiresAt! <= move.now
  for (let job = chains.peek(); isExpired(job) && jobs < limit; job = chains.peek()) jobs += forgetExpired(move, job)
  for (const count of keep) jobs += deleteBeyond(move, count, limit - jobs)
  let marks = 0
  for (let mark = windows.peek(); mark && mark.until <= move.now && marks < limit; mark = windows.peek()) {
    move.dropKey(mark.type, mark)
    move.prune(mark.type)
    marks++
  }
  dropFlows(move)
  const entries = kv.sweep(limit, move.now)
  const more =
    isExpired(chains.peek()) ||
    (windows.peek()?.until ?? Infinity) <= move.now ||
    (move.data.deadlines.peek()?.at ?? Infinity) <= move.now ||
    keep.some((count) => jobs > 0 && excessOf(move, count) > 0)
  return { jobs, ended, marks, entries, more: more || kv.hasExpired(move.now) }
}

function endLate(move: MemoryMove, limit: number): readonly Ended[] {
  const { deadlines } = move.data
  const ended: Ended[] = []
  for (let next = deadlines.peek(); next && next.at <= move.now && ended.length < limit; next = deadlines.peek()) {
    deadlines.pop()
    const job = move.stored({ type: next.job.type.name, id: next.job.id })
    if (job === next.job && job.deadlineAt === next.at) endOverdue(move, job, ended)
  }
  return ended
}

/** Deletes groups and flows that were only needed until a time. */
function dropFlows(move: MemoryMove): void {
  const { types, lingering } = move.data
  for (const group of lingering) {
    const isNeeded = isGroupNeeded(group, move.now)
    // It is deleted by a change, which is recorded.
    if (!isNeeded && group.type.groups.get(group.key) === group) move.changeGroup(group, {})
    if (!isNeeded || group.size > 0) lingering.delete(group)
    if (!isNeeded) move.prune(group.type)
  }
  for (const type of types.values()) {
    if (type.flow === undefined || type.groups.size > 0 || isFlowNeeded(type.flow, move.now)) continue
    move.dropFlow(type)
  }
}

const excessOf = (move: MemoryMove, { type, state, count }: KeepCount): number =>
  (move.typeOf(type)?.counts[state] ?? 0) - count

/**
 * Deletes chains of a type and state until no more records than the count are left: those that expire first, then those that are
 * kept for ever, by their end.
 */
function deleteBeyond(move: MemoryMove, keep: KeepCount, limit: number): number {
  if (limit <= 0 || excessOf(move, keep) <= 0) return 0
  const type = move.typeOf(keep.type)!
  const isWanted = (chain: MemoryJob): boolean =>
    chain.chainIndex === 0 && chain.type === type && chain.tail.state === keep.state
  const expiring = [...move.data.ended].filter(isWanted).toSorted((a, b) => expiryAt(a) - expiryAt(b))
  const kept = [...type.kept].filter(isWanted).toSorted((a, b) => a.tail.finishedAt! - b.tail.finishedAt!)
  let deleted = 0
  for (const chain of [...expiring, ...kept]) {
    if (deleted >= limit || excessOf(move, keep) <= 0) break
    deleted += move.jobsOf(chain).length
    forget(move, chain)
  }
  return deleted
}

/** Whether a sweep is late by this time. */
export function hasExpiredFor({ data, now }: MemoryMove, ms: number): boolean {
  const first = data.ended.peek()
  return first !== undefined && first.expiresAt! <= now - ms
}
