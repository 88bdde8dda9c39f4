// The fast path of a claim: due jobs of one type that no other rule applies to. Two statements for all of them: one reads, one writes.
//
// Invariant: nothing is written unless all of the jobs are plain. A lost lease, a limit, a group, or a due job with a deadline, blockers,
// a chain or without an attempt left is seen before, and the rules decide.

import { retentionOfCode } from '../../retention.ts'
import { decodeMore, type More } from '../../rows/more.ts'
import { isAhead, needsSlot } from '../../rules/job/ahead.ts'
import { stateCodes, stateNames } from '../../rules/job/codes.ts'
import type { Lease } from '../../rules/move.ts'
import type { Bytes, ClaimedJob, ClaimRequest } from '../../storage.ts'
import { instant } from '../rules/job.ts'
import type { SqliteMove } from '../rules/move.ts'
import type { SqliteType } from '../rules/type.ts'
import { runOn } from './seqs.ts'

/** Jobs that one statement reads, at most. */
const mostClaimed = 1_000

/** Columns that a claim reads. The last one is 1 if the job has no group, no error and no chain before it, and is not failing. */
export const claimedColumns =
  'seq, id, token, attempt, failures, max_attempts, priority, keep_ms, created_at, run_at, state, payload, more, ' +
  `grp IS NULL AND chain IS NULL AND error IS NULL AND state <> ${stateCodes.failing}`

type Row = readonly [
  seq: number,
  id: string,
  token: string,
  attempt: number,
  failures: number,
  maxAttempts: number | null,
  priority: number,
  keepMs: number,
  createdAt: number,
  runAt: number,
  state: number,
  payload: Bytes | number | null,
  more: string | null,
  isPlain: 0 | 1,
]

/** The request without its outcomes. Undefined: nothing was written, and the rules must decide. */
export function fastClaim(move: SqliteMove, request: ClaimRequest): ClaimedJob[] | undefined {
  const [wanted] = request.types
  if (!wanted || request.types.length > 1 || wanted.limits) return undefined
  const type = move.typeOf(wanted.type)
  const slots = Math.min(request.slots, wanted.slots ?? Infinity)
  if (!type || type.paused || type.flow || type.hasGroups || slots > mostClaimed) return undefined
  if (move.nextLost(type)) return undefined
  const rows = slots < 1 ? [] : dueRows(move, type, slots)
  const most = wanted.maxAttempts ?? Infinity
  const { worker, label } = request
  const ahead = isAhead(worker)
  for (const row of rows) if (!isPlain(move, row, most, ahead)) return undefined
  const lease: Lease = { worker, label, startedAt: move.now, until: move.now + wanted.leaseMs }
  if (rows.length === 0) return []
  write(move, type, rows, lease)
  const jobs = rows.map((row) => leased(move, type, row, lease))
  const held = jobs.map(({ id, attempt, failures, retention, runAt }, index) => {
    const [seq] = rows[index]!
    const hasMore = rows[index]![12] !== null
    return { type, id, seq, lease, attempt, failures, keepMs: retention.completedMs, runAt, hasMore }
  })
  move.set.held.add(worker, held)
  return jobs
}

function dueRows(move: SqliteMove, type: SqliteType, slots: number): readonly Row[] {
  const { highestBelow, dueJobs, firstDueJob } = move.set.statements
  move.set.jobs.flush()
  if (slots === 1) {
    const row = firstDueJob.get(type.tid) as unknown as Row | undefined
    if (!row) return []
    if (row[9] <= move.now) return [row]
    // The first of the highest priority is due later: those of a lower one may be due.
  }
  let rows: readonly Row[] = []
  let below = 1_000
  while (rows.length < slots) {
    const highest = highestBelow.get(type.tid, below) as unknown as [number] | undefined
    if (!highest) break
    below = highest[0]
    const more = dueJobs.all(type.tid, below, move.now, slots - rows.length) as unknown as Row[]
    rows = rows.length === 0 ? more : [...rows, ...more]
  }
  return rows
}

function isPlain(move: SqliteMove, row: Row, most: number, ahead: boolean): boolean {
  const [seq, , , , failures, maxAttempts] = row
  if (row[13] === 0 || failures >= (maxAttempts ?? most) || move.set.jobs.known(seq)) return false
  if (row[12] === null) return true
  const more = decodeMore(row[12])
  return hasDataOnly(more) && !(ahead && needsSlot({ deadlineAt: undefined, attempts: more.attempts }))
}

/** The fields that a claim only hands out, and those that it leaves alone. */
const data: ReadonlySet<string> = new Set<keyof More>([
  'timeoutMs',
  'trace',
  'search',
  'retention',
  'snoozes',
  'attempts',
])

const hasDataOnly = (more: More): boolean => Object.keys(more).every((name) => data.has(name))

function write(move: SqliteMove, type: SqliteType, rows: readonly Row[], lease: Lease): void {
  const { leaseRange: range, leaseList: list } = move.set.statements
  const until = instant(lease.until)
  const cells = [lease.worker, lease.label ?? null, lease.startedAt, until]
  runOn(
    { range, list },
    cells,
    rows.map(([seq]) => seq),
  )
  if (until < type.noLeaseEndBefore) type.noLeaseEndBefore = until
  for (const row of rows) move.set.types.count(type, stateNames[row[10]]!, -1)
  move.set.types.count(type, 'processing', rows.length)
}

function leased(move: SqliteMove, type: SqliteType, row: Row, lease: Lease): ClaimedJob {
  const [seq, id, token, before, failures, maxAttempts, priority, keepMs, createdAt, runAt] = row
  const payload = row[11]
  const more = decodeMore(row[12])
  if (move.hasListeners(type)) move.event({ type, id, lease }, 'processing', failures + 1)
  const chain = { type: type.name, id }
  return {
    type: type.name,
    id,
    worker: lease.worker,
    attempt: before + 1,
    token,
    payload: typeof payload === 'number' ? move.set.readPayload(seq) : (payload ?? undefined),
    failures,
    snoozes: more.snoozes ?? 0,
    maxAttempts: maxAttempts ?? undefined,
    timeoutMs: more.timeoutMs,
    priority,
    group: undefined,
    weight: undefined,
    retention: more.retention ?? retentionOfCode(keepMs === -1 ? Infinity : keepMs),
    trace: more.trace,
    createdAt,
    runAt,
    startedAt: lease.startedAt,
    leaseUntil: lease.until,
    error: undefined,
    chain,
    chainIndex: 0,
    root: chain,
    origin: undefined,
    blockers: none,
  }
}

const none: ClaimedJob['blockers'] = []
