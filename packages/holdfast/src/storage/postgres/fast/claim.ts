// The fast path of claim and settle: outcomes of jobs that are tied to nothing else, and due jobs that need no rule. One statement,
// committed by itself.
//
// Invariant: unless all of it is plain, nothing is written, and the rules decide. A lost lease, a group that has its turn, a type
// that is slowed or may be full, or a due job that has no attempt left or blockers, is seen before anything is written. An outcome whose fence does not match, or whose job is linked, is
// seen when the others are written, and undoes them.

import { retentionOfCode } from '../../retention.ts'
import { decodeMore } from '../../rows/more.ts'
import { claimWorker } from '../../rules/job/handed.ts'
import type { Claim, ClaimedJob, ClaimRequest, ClaimType, Signal } from '../../storage.ts'
import type { Connection, Row, Statement, Value } from '../connection/database.ts'
import { sqlStateOf } from '../connection/errors.ts'
import type { TypeRegistry } from '../rules/type-registry.ts'
import { kindCodes } from '../sql/job-columns.ts'
import { arrayOf, decodeBytes, decodeText, encodeOptionalText, encodeText, numberOf } from '../sql/text.ts'
import type { AfterCommit } from './after-commit.ts'
import { claimedCell as cell, claimStatementOf, type ClaimStatements, outcomeUnheld } from './claim-statement.ts'
import type { LeaseCache } from './lease-cache.ts'
import {
  completedVerdict,
  completionCells,
  doneSignals,
  failedVerdict,
  type Failure,
  failureCells,
  type PlainOutcome,
} from './outcomes.ts'
import type { ScanCursor, ScanPosition } from './scan-cursor.ts'

/** Jobs claimed at once, at most. */
export const maxClaimed = 1_000

interface FastClaimOptions {
  readonly database: Pick<Connection, 'query'>
  readonly statements: { readonly fastClaim: ClaimStatements; readonly notify: Statement }
  readonly types: TypeRegistry
  readonly cursor: ScanCursor
  readonly leases: LeaseCache
}

/** Undefined: nothing was written, and the rules must decide. */
export async function fastClaim(
  { database, statements, types, cursor, leases }: FastClaimOptions,
  request: Omit<ClaimRequest, 'outcomes'> & { readonly outcomes: readonly PlainOutcome[] },
  afterCommit: AfterCommit,
): Promise<Claim | undefined> {
  const { worker, label, outcomes, offer } = request
  const slots = Math.min(request.slots, maxClaimed)
  // All calls lock in the order of ids, so that two of them cannot deadlock.
  const inOrder = outcomes.length > 1 ? outcomes.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)) : outcomes
  const completions = inOrder.filter((outcome) => outcome.kind === 'completed')
  const failures = inOrder.filter((outcome) => outcome.kind !== 'completed')
  const signals: Signal[] = doneSignals([...completions, ...failures.filter(({ kind }) => kind === 'failed')])
  for (const type of new Set(failures.map((outcome) => outcome.type))) signals.push({ kind: 'wake', type })
  const tids = request.types.map(({ type }) => types.tidOf(type)!)
  const fromCursor = cursor.activeMs > 0
  const hasFailures = failures.length > 0
  const hasGroups = request.types.some(({ type }) => types.isGrouped(type))
  const erases = completions.some(({ keepMs }) => keepMs <= 0)
  const offers = offer !== undefined
  const variant = { offers, erases, hasFailures, fromCursor, hasManyTypes: tids.length > 1, hasGroups }
  const statement = claimStatementOf(statements.fastClaim, variant)
  let rows: Row[]
  try {
    rows = await database.query(statement, [
      ...completionCells(types, completions),
      ...typeCells(types, request.types, slots),
      slots,
      encodeText(worker),
      encodeOptionalText(label),
      afterCommit.channel,
      afterCommit.hint(signals),
      ...(fromCursor ? cursor.params(tids) : []),
      ...(hasFailures ? failureCells(types, failures) : []),
      ...(offer ? [tids[0]!, encodeText(offer.by), offer.slots, encodeText(claimWorker(worker))] : []),
    ])
  } catch (error) {
    if (sqlStateOf(error) === outcomeUnheld) return undefined
    throw error
  }
  const [first] = rows
  if (first![1] !== 'true') return undefined
  const now = Number(first![0])
  const claimed = rows.filter(([kind]) => kind === 'taken').toSorted(tids.length > 1 ? byTurn : byPosition)
  if (tids.length > 0) {
    const positions = claimed.map((row) => positionOf(tids[Number(row[cell.turn]) - 1]!, row))
    cursor.onClaimed(tids, now, positions, Number(first![3]), !fromCursor)
  }
  const jobs = claimed.map((row) => {
    const job = claimedJob(row, request.types[Number(row[cell.turn]) - 1]!, worker, now)
    if (Number(row[cell.kind]) === kindCodes.linked) leases.add(job)
    return job
  })
  for (const { type, id, failures: count } of jobs) {
    const event = { event: 'processing', id, attempt: count + 1, at: now } as const
    afterCommit.event(type, label === undefined ? event : { ...event, label })
  }
  const answers = new Map<Failure, Row>()
  for (const row of rows) if (row[0] === 'retried') answers.set(failures[Number(row[1]) - 1]!, row)
  for (const signal of signals) afterCommit.signal(signal)
  // Whether a retry was the last one is known only from the answer.
  const ended = doneSignals(failures.filter((one) => one.kind === 'retry' && answers.get(one)![2] === 'true'))
  for (const signal of ended) afterCommit.signal(signal)
  // The outcome is committed. A hint may be lost, so its error is ignored.
  if (ended.length > 0) {
    await database.query(statements.notify, [afterCommit.channel, afterCommit.hint(ended)]).catch(() => {})
  }
  const settled = outcomes.map((one) =>
    one.kind === 'completed' ? completedVerdict(now, one.keepMs) : failedVerdict(answers.get(one)!),
  )
  return { jobs, recovered: [], ended: [], settled }
}

const positionOf = (tid: number, row: Row): ScanPosition => ({
  tid,
  priority: Number(row[cell.priority]),
  runAt: Number(row[cell.run_at]),
  order: Number(row[cell.ord]),
})

const byTurn = (a: Row, b: Row): number =>
  Number(a[cell.place]) - Number(b[cell.place]) || Number(a[cell.turn]) - Number(b[cell.turn])

/** The order in which the jobs of one type are claimed. */
const byPosition = (a: Row, b: Row): number =>
  Number(b[cell.priority]) - Number(a[cell.priority]) ||
  Number(a[cell.run_at]) - Number(b[cell.run_at]) ||
  Number(a[cell.ord]) - Number(b[cell.ord])

function typeCells(types: TypeRegistry, wanted: readonly ClaimType[], slots: number): Value[] {
  return [
    arrayOf(wanted.map(({ type }) => types.tidOf(type)!)),
    arrayOf(wanted.map(({ leaseMs }) => leaseMs)),
    arrayOf(wanted.map(({ slots: own = slots }) => Math.min(own, slots))),
    arrayOf(wanted.map(({ maxAttempts }) => maxAttempts ?? null)),
  ]
}

function claimedJob(row: Row, { type, leaseMs }: ClaimType, worker: string, now: number): ClaimedJob {
  const id = decodeText(row[cell.id]!)
  const {
    retention,
    trace,
    timeoutMs,
    snoozes = 0,
    chainIndex = 0,
    chain = { type, id },
    root = chain,
    origin,
    weight,
  } = decodeMore(row[cell.more]!)
  return {
    type,
    id,
    worker,
    attempt: Number(row[cell.attempt]),
    token: decodeText(row[cell.token]!),
    payload: decodeBytes(row[cell.payload]!),
    failures: Number(row[cell.failures]),
    snoozes,
    maxAttempts: numberOf(row[cell.max_attempts]!),
    timeoutMs,
    priority: Number(row[cell.priority]),
    group: undefined,
    weight,
    retention: retention ?? retentionOfCode(Number(row[cell.keep_ms])),
    trace,
    createdAt: Number(row[cell.created_at]),
    runAt: Number(row[cell.run_at]),
    startedAt: now,
    // As the statement has written it.
    leaseUntil: now + leaseMs,
    error: decodeBytes(row[cell.error]!),
    chain,
    chainIndex,
    root,
    origin,
    blockers: [],
  }
}
