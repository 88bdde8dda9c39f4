// sweep: ends what was not started in time, and deletes what has expired or is beyond the counts to keep. The indexes are
// ordered by time, so its work is bounded by what it deletes.

import type { Ended, KeepCount, Swept, SweepRequest } from '../../storage.ts'
import { endOverdue } from '../../rules/job/deadline.ts'
import { isFlowNeeded } from '../../rules/flow.ts'
import { forgetExpired, isSweepable } from '../../rules/job/finish.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import type { Row, SqliteJob } from '../rules/job.ts'
import type { SqliteMove } from '../rules/move.ts'
import type { SqliteType } from '../rules/type.ts'
import type { KvTable } from './kv.ts'
import { countsOf } from './list-place.ts'

export function sweep(move: SqliteMove, kv: KvTable, request: SweepRequest): Swept {
  const { set, now } = move
  // SQLite takes no Infinity as a limit.
  const limit = Math.min(request.limit, 2 ** 31)
  const late = endLate(move, limit)
  const expired = deleteExpired(move, limit)
  let { jobs, more } = expired
  for (const keep of request.keep ?? []) {
    const beyond = deleteBeyond(move, keep, limit - jobs)
    jobs += beyond.jobs
    more ||= beyond.more
  }
  dropFlows(move, limit)
  const marks = set.keys.sweep(now, limit)
  const entries = kv.sweep(now, limit)
  const isMore = more || late.more || set.groups.hasOverdue(now) || set.keys.hasOverdue(now) || kv.hasExpired(now)
  return { jobs, ended: late.ended, marks, entries, more: isMore }
}

/** Records without an expiry of their own that a sweep by count looks at. */
const tailsRead = 1_000

interface Deleted {
  readonly jobs: number
  /** There are others to delete. */
  readonly more: boolean
}

function endLate(move: SqliteMove, limit: number): { readonly ended: readonly Ended[]; readonly more: boolean } {
  const { jobs, statements } = move.set
  jobs.flush()
  const ended: Ended[] = []
  const overdue = statements.overdue.all(move.now, limit + 1) as unknown as [at: number, seq: number][]
  for (const [at, seq] of overdue) {
    if (ended.length >= limit) return { ended, more: true }
    const job = jobs.bySeq(seq)
    if (job?.deadlineAt !== undefined) endOverdue(move, job, ended)
    // It failed with one of those before it; or a process of an earlier version, which knows no deadlines, has changed it.
    else statements.eraseDeadline.run(at, seq)
  }
  return { ended, more: false }
}

function deleteExpired(move: SqliteMove, limit: number): Deleted {
  writeAll(move)
  const { statements, jobs } = move.set
  let deleted = 0
  for (const [tid] of statements.typesWithEnded.all() as unknown as [number][]) {
    // A chain of another type may have had jobs of this one.
    jobs.flush()
    const expired = jobs.ofRows(statements.expired.all(tid, move.now, limit - deleted + 1))
    for (const job of expired) {
      if (deleted >= limit) return { jobs: deleted, more: true }
      // It may be gone with its chain.
      if (!job.isErased) deleted += forgetExpired(move, job)
    }
  }
  return { jobs: deleted, more: false }
}

/** Deletes the ended chains of a type and state that expire first, until no more jobs than the count are left. */
function deleteBeyond(move: SqliteMove, { type: name, state, count }: KeepCount, limit: number): Deleted {
  writeAll(move)
  const type = move.typeOf(name)
  let excess = type ? countsOf(move, type)[stateCodes[state]]! - count : 0
  if (!type || excess <= 0) return { jobs: 0, more: false }
  let deleted = 0
  for (const chain of sweepable(move, type, state, Math.min(excess, limit) + 1)) {
    if (excess <= 0) break
    if (deleted >= limit) return { jobs: deleted, more: true }
    for (const job of move.jobsOf(chain)) if (job.type === type && job.state === state) excess--
    deleted += forgetExpired(move, chain)
  }
  return { jobs: deleted, more: false }
}

/** Deletes groups and flows that were only needed until a time. */
function dropFlows({ set, now }: SqliteMove, limit: number): void {
  set.groups.sweep(now, limit)
  const { typesWithFlow, anyGroup } = set.statements
  for (const [tid] of typesWithFlow.all() as unknown as [number][]) {
    if (anyGroup.get(tid)) continue
    const type = set.types.byId(tid)
    set.types.setHasGroups(type, false)
    if (type.flow && !isFlowNeeded(type.flow, now)) set.types.setFlow(type, undefined)
  }
}

/**
 * Chains that ended in this state and may be deleted. First those that expire first; then, by their end, those of records without
 * an expiry of their own: kept for ever, or the last job of a longer chain.
 */
function sweepable(move: SqliteMove, type: SqliteType, state: KeepCount['state'], number: number): Set<SqliteJob> {
  const { set } = move
  const { endedUp, placesUp } = set.statements
  const from = { tid: type.tid, state: stateCodes[state], first: 0, second: -1, bound: Number.MAX_SAFE_INTEGER }
  const found = new Set<SqliteJob>()
  const add = (job: SqliteJob | undefined): void => {
    const chain = job?.chain
    if (chain && isSweepable(chain) && chain.type === type && chain.tail.state === state) found.add(chain)
  }
  for (const row of endedUp.iterate({ ...from, limit: 2 ** 31 }) as Iterable<unknown>) {
    add(set.jobs.ofRow(row as Row))
    if (found.size >= number) return found
  }
  for (const [, seq] of placesUp.all({ ...from, limit: tailsRead }) as unknown as [at: number, seq: number][]) {
    add(set.jobOf(seq))
    if (found.size >= number) break
  }
  return found
}

/** The statements must see all jobs and counts. */
function writeAll({ set }: SqliteMove): void {
  set.jobs.flush()
  set.types.write()
}

/** Whether a sweep is late by this time. */
export function hasExpiredFor({ set: { statements }, now }: SqliteMove, ms: number): boolean {
  const types = statements.typesWithEnded.all() as unknown as [number][]
  return types.some(([tid]) => statements.expired.all(tid, now - ms, 1).length > 0)
}
