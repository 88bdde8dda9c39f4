// claim and settle, the short way: outcomes that complete jobs that are alone, and due jobs that need no rule. One
// statement, committed by itself. Unless all of it is plain nothing is written, and the rules decide: where a lease was
// lost, or a job has no attempt left or belongs to a group, chain or blockers, that is seen first; that a fence does not
// match is seen when the others are written, and undoes them.

import type { Claim, ClaimedJob, ClaimRequest, ClaimType, LeaseRef, Outcome, SettleVerdict } from '../../storage.ts'
import type { Connection, Row, Statement, Value } from '../database.ts'
import { sqlStateOf } from '../errors.ts'
import { encodeHints } from '../hints.ts'
import { decodeMore } from '../more.ts'
import { columns, param, type Sql, walkedFrom } from '../statements.ts'
import { arrayOf, bytesOf, bytesText, decodeText, encodeText, numberOf, optionalText } from '../text.ts'
import type { Types } from '../types.ts'
import type { Place, Starts } from './starts.ts'
import type { Told } from './told.ts'

/** The job of an outcome is alone, and this is the lease in force. `+ 0`: not to be looked for among all leases. */
const isHeld = `j.tid = g.tid AND j.id = g.id AND j.state + 0 = 3 AND j.kind = 0 AND j.worker = g.worker AND j.attempt = g.attempt`

export function fastClaimStatement({ at, now, statement }: Sql): Statement {
  return statement(
    'fast_claim',
    `WITH clock AS MATERIALIZED (SELECT ${now} AS now),
     given AS MATERIALIZED (
       SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'text[]')},
         ${param(4, 'integer[]')}, ${param(5, 'double precision[]')}, ${param(6, 'bytea[]')})
         AS g (tid, id, worker, attempt, keep_ms, result)),
     wanted AS MATERIALIZED (
       SELECT w.*, t.priorities
       FROM unnest(${param(7, 'integer[]')}, ${param(8, 'double precision[]')}, ${param(9, 'integer[]')},
         ${param(10, 'double precision[]')}, ${param(20, 'double precision[]')})
         WITH ORDINALITY AS w (tid, lease_ms, most, max_attempts, lost_from, turn)
       CROSS JOIN LATERAL (SELECT priorities FROM ${at}types AS t WHERE t.tid = w.tid AND t.paused_since IS NULL LIMIT 1) AS t),
     due AS MATERIALIZED (
       SELECT w.turn, w.lease_ms, w.max_attempts AS most_attempts, row_number() OVER (PARTITION BY w.turn) AS place, j.*
       FROM wanted AS w CROSS JOIN LATERAL (
         SELECT j.* FROM ${walkedFrom(16, 'w.tid', 'w.priorities')} AS p CROSS JOIN LATERAL (
           SELECT j.ctid AS row, j.kind, j.failures, j.max_attempts FROM ${at}jobs AS j
           WHERE j.tid = w.tid AND j.line = 1 AND j.priority = p.priority AND j.run_at <= (SELECT now FROM clock)
             AND (j.run_at, j.ord) > (p.run_at, p.ord)
           ORDER BY j.run_at, j.ord LIMIT w.most FOR UPDATE SKIP LOCKED) AS j
         LIMIT w.most) AS j),
     chosen AS MATERIALIZED (SELECT * FROM due ORDER BY place, turn LIMIT ${param(11, 'integer')}),
     plain AS MATERIALIZED (
       SELECT NOT EXISTS (
           SELECT 1 FROM due WHERE kind = 2 OR failures >= coalesce(max_attempts, most_attempts, 'Infinity'))
         AND NOT EXISTS (
           SELECT 1 FROM wanted AS w CROSS JOIN LATERAL (
             SELECT 1 FROM ${at}jobs AS j
             WHERE j.tid = w.tid AND j.state = 3 AND j.lease_until > w.lost_from
               AND j.lease_until <= (SELECT now FROM clock) LIMIT 1) AS l) AS is),
     erased AS (
       DELETE FROM ${at}jobs AS j USING given AS g
       WHERE g.keep_ms <= 0 AND ${isHeld} AND (SELECT plain.is FROM plain) RETURNING 1),
     ended AS (
       UPDATE ${at}jobs AS j SET state = 5, by_holder = true, result = g.result, error = NULL, lease_until = NULL,
         finished_at = (SELECT now FROM clock),
         expires_at = nullif((SELECT now FROM clock) + g.keep_ms, 'Infinity'),
         sweep_at = nullif((SELECT now FROM clock) + g.keep_ms, 'Infinity')
       FROM given AS g WHERE g.keep_ms > 0 AND ${isHeld} AND (SELECT plain.is FROM plain) RETURNING 1),
     unheld AS MATERIALIZED (
       SELECT (SELECT count(*) FROM given) - (SELECT count(*) FROM erased) - (SELECT count(*) FROM ended) AS count),
     taken AS (
       UPDATE ${at}jobs AS j SET state = 3, line = NULL, attempt = j.attempt + 1, worker = ${param(12, 'text')},
         label = ${param(13, 'text')}, started_at = (SELECT now FROM clock),
         lease_until = (SELECT now FROM clock) + c.lease_ms
       FROM chosen AS c WHERE j.ctid = c.row AND (SELECT plain.is FROM plain)
       RETURNING c.place, c.turn, j.id, j.attempt, j.token, j.failures, j.max_attempts, j.priority, j.keep_ms, j.more,
         j.created_at, j.run_at, j.lease_until, j.payload, j.ord)
     SELECT ${columns(
       'clock.now',
       'plain.is',
       // What was written for the others is undone by an error: no text but a number reads as one.
       `CASE WHEN NOT plain.is THEN NULL
          WHEN unheld.count > 0 THEN ('unheld: ' || unheld.count)::integer::text
          WHEN ${param(15, 'text')} IS NOT NULL THEN pg_notify(${param(14, 'text')}, ${param(15, 'text')})::text END`,
       't.place',
       't.turn',
       't.id',
       't.attempt',
       't.token',
       't.failures',
       't.max_attempts',
       't.priority',
       't.keep_ms',
       't.more',
       't.created_at',
       't.run_at',
       't.lease_until',
       "encode(t.payload, 'hex')",
       't.ord',
       'extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000',
     )} FROM clock CROSS JOIN plain CROSS JOIN unheld LEFT JOIN taken AS t ON true`,
  )
}

type Completion = LeaseRef & Extract<Outcome, { kind: 'completed' }> & { readonly keepMs: number }

/** They complete jobs that a worker holds, each named once, say how long those are kept, and add nothing. */
export function areCompletions(outcomes: readonly Outcome[], told: Told): outcomes is Completion[] {
  const seen = new Set<string>()
  for (const outcome of outcomes) {
    const { add, keepMs } = outcome as { add?: unknown; keepMs?: number }
    if (outcome.kind !== 'completed' || 'chain' in outcome || add !== undefined || keepMs === undefined) return false
    if (told.hasEvents(outcome.type)) return false
    seen.add(`${outcome.type.length}/${outcome.type}/${outcome.id}`)
  }
  return seen.size === outcomes.length
}

/** Undefined: nothing was done, and the rules must decide. */
export async function fastClaim(
  connection: Pick<Connection, 'query'>,
  statement: Statement,
  types: Types,
  request: Omit<ClaimRequest, 'outcomes'> & { readonly outcomes: readonly Completion[] },
  told: Told,
  starts: Starts,
): Promise<Claim | undefined> {
  const { worker, label, outcomes } = request
  const slots = Math.min(request.slots, mostAtOnce)
  const done = doneSignals(outcomes)
  const tids = request.types.map(({ type }) => types.tidOf(type)!)
  const fromHead = starts.restMs === 0
  let rows: Row[]
  try {
    rows = await connection.query(statement, [
      ...outcomeCells(types, outcomes),
      ...typeCells(types, request.types, slots),
      slots,
      encodeText(worker),
      optionalText(label),
      told.channel,
      encodeHints(done, told.from) ?? null,
      ...starts.cells(tids),
    ])
  } catch (error) {
    if (sqlStateOf(error) === unreadableNumber) return undefined
    throw error
  }
  const [first] = rows
  if (first![1] !== 'true') return undefined
  const now = Number(first![0])
  const taken = first![3] === null ? [] : rows.toSorted(byTurn)
  if (tids.length > 0) {
    const places = taken.map((row) => placeOf(tids[Number(row[4]) - 1]!, row))
    starts.took(tids, now, places, Number(first![18]), fromHead)
  }
  const jobs = taken.map((row) => claimedJob(row, request.types[Number(row[4]) - 1]!.type, worker, now))
  for (const { type, id, failures } of jobs) {
    told.event(type, { event: 'processing', id, attempt: failures + 1, at: now, ...(label !== undefined && { label }) })
  }
  for (const signal of done) told.signal(signal)
  return { jobs, recovered: [], ended: [], settled: outcomes.map(({ keepMs }) => settledVerdict(now, keepMs)) }
}

/** Some outcome did not match: the statement was undone. */
const unreadableNumber = '22P02'

/** Claimed at once, at most. */
const mostAtOnce = 1_000

const placeOf = (tid: number, row: Row): Place => ({
  tid,
  priority: Number(row[10]),
  runAt: Number(row[14]),
  order: Number(row[17]),
})

const byTurn = (a: Row, b: Row): number => Number(a[3]) - Number(b[3]) || Number(a[4]) - Number(b[4])

function doneSignals(outcomes: readonly Completion[]): { kind: 'done'; type: string; ids: string[] }[] {
  const done = new Map<string, string[]>()
  for (const { type, id } of outcomes) {
    const ids = done.get(type)
    if (ids) ids.push(id)
    else done.set(type, [id])
  }
  return [...done].map(([type, ids]) => ({ kind: 'done', type, ids }))
}

/** In an order that all share, so that two calls never wait for each other in a circle. */
function outcomeCells(types: Types, given: readonly Completion[]): string[] {
  const outcomes = given.length > 1 ? given.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)) : given
  return [
    // A type that is not known has no job that matches.
    arrayOf(outcomes.map(({ type }) => types.tidOf(type) ?? 0)),
    arrayOf(outcomes.map(({ id }) => encodeText(id))),
    arrayOf(outcomes.map(({ worker }) => encodeText(worker))),
    arrayOf(outcomes.map(({ attempt }) => attempt)),
    arrayOf(outcomes.map(({ keepMs }) => keepMs)),
    arrayOf(outcomes.map(({ result }) => bytesText(result))),
  ]
}

function typeCells(types: Types, wanted: readonly ClaimType[], slots: number): Value[] {
  return [
    arrayOf(wanted.map(({ type }) => types.tidOf(type)!)),
    arrayOf(wanted.map(({ leaseMs }) => leaseMs)),
    arrayOf(wanted.map(({ slots: own = slots }) => Math.min(own, slots))),
    arrayOf(wanted.map(({ maxAttempts }) => maxAttempts ?? null)),
  ]
}

function claimedJob(row: Row, type: string, worker: string, now: number): ClaimedJob {
  const { retention, trace, snoozes = 0 } = decodeMore(row[12]!)
  const keepMs = Number(row[11])
  const id = decodeText(row[5]!)
  const self = { type, id }
  return {
    type,
    id,
    worker,
    attempt: Number(row[6]),
    token: decodeText(row[7]!),
    payload: bytesOf(row[16]!),
    failures: Number(row[8]),
    snoozes,
    maxAttempts: numberOf(row[9]!),
    priority: Number(row[10]),
    group: undefined,
    retention: retention ?? { completedMs: keepMs, failedMs: keepMs, cancelledMs: keepMs },
    trace,
    createdAt: Number(row[13]),
    runAt: Number(row[14]),
    startedAt: now,
    leaseUntil: Number(row[15]),
    chain: self,
    chainIndex: 0,
    root: self,
    origin: undefined,
    blockers: [],
  }
}

function settledVerdict(now: number, keepMs: number): SettleVerdict {
  const expiresAt = keepMs === Infinity ? undefined : now + keepMs
  return { verdict: 'settled', state: 'completed', expiresAt, added: [], ended: [], unblocked: [] }
}
