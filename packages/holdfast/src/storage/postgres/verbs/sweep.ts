// sweep: ends jobs past their deadline, and deletes records, throttle windows and kv entries that have expired. The indexes are ordered
// by time, so the work is bounded by what is ended and deleted. Only counts to keep cost more (sweep-counts.ts).

import { type Flow, isFlowNeeded } from '../../rules/flow.ts'
import { endOverdue, isOverdue } from '../../rules/job/deadline.ts'
import { forgetExpired } from '../../rules/job/finish.ts'
import { isTerminal } from '../../rules/job/states.ts'
import type { Ended, Swept, SweepRequest } from '../../storage.ts'
import type { Connection, Row } from '../connection/database.ts'
import { decodeFlow } from '../rules/flow.ts'
import { loadChains } from '../rules/load-lists.ts'
import type { Loader } from '../rules/loader.ts'
import type { PostgresMove } from '../rules/move.ts'
import { cell } from '../sql/job-columns.ts'
import { maxLimit } from '../sql/statement.ts'
import type { Statements } from '../sql/statements.ts'
import { arrayOf } from '../sql/text.ts'
import type { PostgresKv } from './kv.ts'
import type { OpenStorage } from './open-storage.ts'
import { findTypes } from './register-types.ts'
import { loadBeyond, type Sweepable } from './sweep-counts.ts'

const nothing: Sweepable = { seqs: [], more: false }

export async function sweep(open: OpenStorage, kv: PostgresKv, request: SweepRequest): Promise<Swept> {
  const { runner, statements } = open
  const { keep = [] } = request
  const limit = Math.min(request.limit, maxLimit)
  await findTypes(open, keep)
  let late: readonly number[] = []
  let [expired, beyond] = [nothing, nothing]
  let marks: Row | undefined
  let deadlines: Row | undefined
  const { ended, swept, more } = await runner.run({
    prepare: async (loader) => {
      late = await loadLate(loader, limit)
      expired = await loadExpired(loader, limit)
      beyond = keep.length > 0 ? await loadBeyond(open, loader, keep, limit, new Set(expired.seqs)) : nothing
    },
    rules: (move) => {
      // Before the deletions: a job that ends here may expire at once.
      const done = endLate(move, late, limit)
      return { ended: done, ...deleteChains(move, expired, beyond, limit) }
    },
    after: async (connection, { now }) => {
      ;[marks] = await connection.query(statements.sweepKeys, [now, limit])
      ;[deadlines] = await connection.query(statements.sweepDeadlines, [now, limit])
      await connection.query(statements.sweepGroups, [now, limit])
      await connection.query(open.statements.sweepOffers, [now, limit])
      await dropFlows(connection, statements, now)
    },
  })
  const entries = await kv.sweep(limit)
  // A late job that another transaction has locked is left: without progress, the next call comes no further either.
  const moreLate = deadlines![1] === 'true' && Number(deadlines![0]) > 0
  const isMore = more || moreLate || entries.more || marks![1] === 'true'
  return { jobs: swept, ended, marks: Number(marks![0]), entries: entries.swept, more: isMore }
}

/** Deletes the limits in use of types that have neither groups nor running jobs, once they are over. */
async function dropFlows(connection: Connection, statements: Statements, now: number): Promise<void> {
  const rows = await connection.query(statements.idleFlows, [])
  // Without a running job the type is not full.
  const isOver = (flow: Flow | undefined): boolean => !isFlowNeeded(flow && { ...flow, isFull: false }, now)
  const over = rows.filter(([, flow]) => isOver(decodeFlow(flow!).flow)).map(([tid]) => Number(tid))
  if (over.length === 0) return
  const nulls = arrayOf(over.map(() => null))
  await connection.query(statements.changeFlows, [arrayOf(over), nulls, nulls])
}

/** Loads jobs past their deadline that no other transaction has locked, with what their end changes. Returns their seqs. */
async function loadLate(loader: Loader, limit: number): Promise<number[]> {
  const rows = await loader.connection.query(loader.statements.late, [loader.now, limit])
  if (rows.length === 0) return []
  await loader.keepLocked(rows)
  for (const row of rows) {
    loader.wantNeighbours(row)
    loader.wantBlockers(row, loader.loaded.wanted.alone)
    if (row[cell.chain] !== null) loader.loaded.wanted.seqs.add(Number(row[cell.chain]))
  }
  await loader.load()
  return rows.map((row) => Number(row[cell.seq]))
}

/** Loads what has expired and no other transaction has locked, with all jobs of its chains. */
async function loadExpired(loader: Loader, limit: number): Promise<Sweepable> {
  const rows = await loader.connection.query(loader.statements.expired, [loader.now, limit + 1])
  await loadChains(loader, rows)
  return { seqs: rows.map((row) => Number(row[cell.seq])), more: false }
}

function endLate(move: PostgresMove, late: readonly number[], limit: number): Ended[] {
  const ended: Ended[] = []
  for (const job of move.set.jobsOf(late)) {
    if (ended.length >= limit) break
    if (isOverdue(move, job)) endOverdue(move, job, ended)
  }
  return ended
}

function deleteChains(
  move: PostgresMove,
  expired: Sweepable,
  beyond: Sweepable,
  limit: number,
): { swept: number; more: boolean } {
  let swept = 0
  let chains = 0
  for (const job of move.set.jobsOf([...expired.seqs, ...beyond.seqs])) {
    if (swept >= limit) break
    // A part of a chain may be gone with it. The last job of a chain may have been revived before the chain was locked.
    if (job.isErased || (job.chainSeq === undefined && !isTerminal(job.tail.state))) continue
    swept += forgetExpired(move, job)
    chains++
  }
  // Without a deletion, what is left cannot be deleted by the next call either.
  return { swept, more: chains > 0 && (chains < expired.seqs.length + beyond.seqs.length || beyond.more) }
}
