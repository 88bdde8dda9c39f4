// The fast path of a claim: due jobs that no other rule applies to. Two statements for all of one type: one reads, one writes. Queued jobs of
// one priority become an open claim, whose rows stay as they are (rules/open-claims.ts), if few are open; others get the lease in their rows.
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
import type { OpenClaim } from '../rules/open-claims.ts'
import type { SqliteType } from '../rules/type.ts'
import type { HeldJob } from './held-jobs.ts'
import { runOn } from './seqs.ts'

/** Jobs that one statement reads, at most. */
const mostClaimed = 1_000

/** Jobs that open claims of a type hold, at most: a claim passes over their entries. */
const mostOpen = 500

/** Columns that a claim reads. The last but one is 1 if the job has no group, no error and no chain before it, and is not failing. */
export const claimedColumns =
  'seq, id, token, attempt, failures, max_attempts, priority, keep_ms, created_at, run_at, state, payload, more, ' +
  `grp IS NULL AND chain IS NULL AND error IS NULL AND state <> ${stateCodes.failing}, ord`

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
  order: number,
]

/** A type that may have due jobs: those read, and the number of those taken. */
interface Line {
  readonly type: SqliteType
  readonly slots: number
  /** Undefined: not read yet. A claim of few jobs does not read every type. */
  rows: readonly Row[] | undefined
  /** Failures at which a job without a limit of its own ends. */
  readonly most: number
  readonly lease: Lease
  taken: number
  /** Undefined: the rows have the lease. */
  claim: OpenClaim | undefined
}

/** The request without its outcomes. Undefined: nothing was written, and the rules must decide. */
export function fastClaim(move: SqliteMove, request: ClaimRequest): ClaimedJob[] | undefined {
  if (request.slots > mostClaimed) return undefined
  const lines = linesOf(move, request)
  const order = lines && takeInTurn(move, lines, request)
  if (!order) return undefined
  for (const line of lines) if (line.taken > 0) line.claim = write(move, line)
  const held: HeldJob[] = []
  const jobs = order.map(([line, row]) => leased(move, line, row, held))
  if (held.length > 0) move.set.held.add(request.worker, held)
  return jobs
}

function linesOf(move: SqliteMove, { types, worker, label }: ClaimRequest): Line[] | undefined {
  const lines: Line[] = []
  const named = new Set<SqliteType>()
  for (const wanted of types) {
    const type = move.typeOf(wanted.type)
    if (!type || type.paused) continue
    if (named.has(type) || wanted.limits || type.flow || type.hasGroups || move.nextLost(type)) return undefined
    named.add(type)
    const lease = { worker, label, startedAt: move.now, until: move.now + wanted.leaseMs }
    const { slots = Infinity, maxAttempts = Infinity } = wanted
    lines.push({ type, slots, rows: undefined, most: maxAttempts, lease, taken: 0, claim: undefined })
  }
  return lines
}

/** One of each type in turn, as the rules do. Undefined if one of them is not plain. */
function takeInTurn(
  move: SqliteMove,
  lines: readonly Line[],
  { slots, worker }: ClaimRequest,
): [Line, Row][] | undefined {
  const ahead = isAhead(worker)
  const order: [Line, Row][] = []
  const open = [...lines]
  for (let index = 0; open.length > 0 && order.length < slots;) {
    if (index >= open.length) index = 0
    const line = open[index]!
    line.rows ??= dueRows(move, line.type, Math.min(slots - order.length, line.slots))
    const row = line.rows[line.taken]
    if (!row) {
      open.splice(index, 1)
      continue
    }
    if (!isPlain(move, row, line.most, ahead)) return undefined
    order.push([line, row])
    line.taken++
    index++
  }
  return order
}

function dueRows(move: SqliteMove, type: SqliteType, slots: number): readonly Row[] {
  const { highestBelow, dueJobs, firstDueJob } = move.set.statements
  move.set.jobs.flush()
  if (slots < 1) return []
  const open = move.set.claims.countOf(type)
  if (open > mostOpen) move.set.writeOut()
  if (slots === 1 && open === 0) {
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
    const limit = slots - rows.length
    const more = (dueBehindOpen(move, type, below, limit) ??
      dueJobs.all(type.tid, below, move.now, limit)) as unknown as Row[]
    rows = rows.length === 0 ? more : [...rows, ...more]
  }
  return rows
}

/** Behind the jobs of open claims. Undefined: no claim is open that has jobs of this priority. */
function dueBehindOpen(
  { set, now }: SqliteMove,
  type: SqliteType,
  priority: number,
  limit: number,
): unknown[] | undefined {
  let count = 0
  let last: OpenClaim['last'] | undefined
  for (const claim of set.claims.ofType(type)) {
    if (claim.priority !== priority) continue
    count += claim.seqs.size
    if (!last || claim.last[0] > last[0] || (claim.last[0] === last[0] && claim.last[1] > last[1])) last = claim.last
  }
  if (!last) return undefined
  const { countReadyUpTo, dueJobsAfter } = set.statements
  const [ready] = countReadyUpTo.get(type.tid, priority, ...last) as unknown as [number]
  if (ready === count) return dueJobsAfter.all(type.tid, priority, ...last, now, limit)
  // Another job has come among them, or before them.
  set.writeOut()
  return undefined
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

function write({ set }: SqliteMove, { type, rows, taken, lease }: Line): OpenClaim | undefined {
  const { leaseRange: range, leaseList: list } = set.statements
  const until = instant(lease.until)
  const written = rows!.slice(0, taken)
  const seqs = written.map(([seq]) => seq)
  if (until < type.noLeaseEndBefore) type.noLeaseEndBefore = until
  for (const row of written) set.types.count(type, stateNames[row[10]]!, -1)
  set.types.count(type, 'processing', taken)
  const last = written.at(-1)!
  const priority = last[6]
  if (!set.claims.isFull && written.every((row) => row[6] === priority && row[10] === stateCodes.queued)) {
    return set.claims.open({ tid: type.tid, priority, last: [last[9], last[14]], lease, seqs: new Set(seqs) })
  }
  runOn({ range, list }, [lease.worker, lease.label ?? null, lease.startedAt, until], seqs)
  return undefined
}

function leased(move: SqliteMove, { type, lease, claim }: Line, row: Row, held: HeldJob[]): ClaimedJob {
  const [seq, id, token, before, failures, maxAttempts, priority, keepMs, createdAt, runAt] = row
  const payload = row[11]
  const more = decodeMore(row[12])
  const attempt = before + 1
  const retention = more.retention ?? retentionOfCode(keepMs === -1 ? Infinity : keepMs)
  const hasMore = row[12] !== null
  held.push({ type, id, seq, lease, claim, attempt, failures, keepMs: retention.completedMs, runAt, hasMore })
  if (move.hasListeners(type)) move.event({ type, id, lease }, 'processing', failures + 1)
  const chain = { type: type.name, id }
  return {
    type: type.name,
    id,
    worker: lease.worker,
    attempt,
    token,
    payload: typeof payload === 'number' ? move.set.readPayload(seq) : (payload ?? undefined),
    failures,
    snoozes: more.snoozes ?? 0,
    maxAttempts: maxAttempts ?? undefined,
    timeoutMs: more.timeoutMs,
    priority,
    group: undefined,
    weight: undefined,
    retention,
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
