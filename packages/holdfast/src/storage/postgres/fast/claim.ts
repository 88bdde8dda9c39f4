// claim and settle, the short way: outcomes that end attempts of jobs that are alone, and due jobs that need no rule. One
// statement, committed by itself. Unless all of it is plain nothing is written, and the rules decide: where a lease was
// lost, or a due job has no attempt left, a group or blockers, that is seen first; that a fence does not match, or its job is
// one of a chain or has dependents, is seen when the others are written, and undoes them.
// Longer than others: one statement, and what goes in and comes out of it column by column.

import type {
  Bytes,
  Claim,
  ClaimedJob,
  ClaimRequest,
  ClaimType,
  LeaseRef,
  Outcome,
  SettleVerdict,
  Signal,
  When,
} from '../../storage.ts'
import type { Connection, Row, Statement, Value } from '../connection/database.ts'
import { sqlStateOf } from '../connection/errors.ts'
import { encodeHints } from '../verbs/hints.ts'
import { evenRetention } from '../../retention.ts'
import { decodeMore } from '../../rows/more.ts'
import { columns, few, param, type Sql, unseen, walked, walkedFrom } from '../rules/statements.ts'
import { arrayOf, bytesOf, bytesText, decodeText, encodeText, numberOf, optionalText } from '../rules/text.ts'
import type { Types } from '../rules/types.ts'
import type { Linked } from './lease-cache.ts'
import type { Place, Starts } from './scan-cursor.ts'
import type { Told } from './after-commit.ts'

/** The job of an outcome is alone, and this is the lease in force. `+ 0`: not to be looked for among all leases. */
const isHeld = `j.tid = g.tid AND j.id = g.id AND j.state + 0 = 3 AND j.kind = 0 AND j.worker = g.worker AND j.attempt = g.attempt`

/** What a claim needs: a statement has only that, since each part costs something where it does nothing, too. */
interface Needs {
  /** Some outcomes are failures. */
  readonly fails: boolean
  /** Walks do not begin at the head (starts.ts). */
  readonly rests: boolean
  /** More than one type. */
  readonly many: boolean
}

/** By indexOf(). */
export type ClaimStatements = readonly Statement[]

const indexOf = ({ fails, rests, many }: Needs): number => (fails ? 4 : 0) + (rests ? 2 : 0) + (many ? 1 : 0)

export function fastClaimStatements(sql: Sql): ClaimStatements {
  return [false, true].flatMap((fails) =>
    [false, true].flatMap((rests) => [false, true].map((many) => claimStatement(sql, { fails, rests, many }))),
  )
}

function claimStatement({ at, now, statement }: Sql, needs: Needs): Statement {
  const { fails, rests, many } = needs
  const next = rests ? 21 : 16
  return statement(
    `fast_claim_${indexOf(needs)}`,
    `WITH clock AS MATERIALIZED (SELECT ${now} AS now),
     given AS MATERIALIZED (
       SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'text[]')},
         ${param(4, 'integer[]')}, ${param(5, 'double precision[]')}, ${param(6, 'bytea[]')})
         AS g (tid, id, worker, attempt, keep_ms, result) ${few}),
     wanted AS MATERIALIZED (
       SELECT w.*, t.priorities
       FROM unnest(${param(7, 'integer[]')}, ${param(8, 'double precision[]')}, ${param(9, 'integer[]')},
         ${param(10, 'double precision[]')}${rests ? `, ${param(20, 'double precision[]')}` : ''})
         WITH ORDINALITY AS w (tid, lease_ms, most, max_attempts, ${rests ? 'lost_from, ' : ''}turn)
       CROSS JOIN LATERAL (SELECT priorities FROM ${at}types AS t WHERE t.tid = w.tid AND t.paused_since IS NULL LIMIT 1) AS t),
     due AS MATERIALIZED (
       SELECT w.turn, w.lease_ms, w.max_attempts AS most_attempts, row_number() OVER (${many ? 'PARTITION BY w.turn' : ''}) AS place, j.*
       FROM wanted AS w CROSS JOIN LATERAL (
         SELECT j.* FROM ${rests ? walkedFrom(16, 'w.tid', 'w.priorities') : walked('w.priorities')} AS p CROSS JOIN LATERAL (
           SELECT j.ctid AS row, j.failures, j.max_attempts,
             j.kind = 2 AND (j.grp IS NOT NULL OR j.more LIKE '%"blockers":%') AS is_held_back FROM ${at}jobs AS j
           WHERE j.tid = w.tid AND j.line = 1 AND j.priority = p.priority AND j.run_at <= (SELECT now FROM clock)
             ${rests ? 'AND (j.run_at, j.ord) > (p.run_at, p.ord)' : ''}
           ORDER BY j.run_at, j.ord LIMIT w.most FOR UPDATE SKIP LOCKED) AS j
         LIMIT w.most) AS j),
     chosen AS MATERIALIZED (SELECT * FROM due ${many ? 'ORDER BY place, turn' : ''} LIMIT ${unseen(11, 'integer')}),
     plain AS MATERIALIZED (
       SELECT NOT EXISTS (
           SELECT 1 FROM due WHERE is_held_back OR failures >= coalesce(max_attempts, most_attempts, 'Infinity'))
         AND NOT EXISTS (
           SELECT 1 FROM wanted AS w CROSS JOIN LATERAL (
             SELECT 1 FROM ${at}jobs AS j
             WHERE j.tid = w.tid AND j.state = 3 ${rests ? 'AND j.lease_until > w.lost_from' : ''}
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
     ${fails ? failures(at, next) : ''}
     unheld AS MATERIALIZED (
       SELECT (SELECT count(*) FROM given) - (SELECT count(*) FROM erased) - (SELECT count(*) FROM ended)
         ${fails ? '+ (SELECT count(*) FROM failed) - (SELECT count(*) FROM retried)' : ''} AS count),
     taken AS (
       UPDATE ${at}jobs AS j SET state = 3, line = NULL, attempt = j.attempt + 1, worker = ${param(12, 'text')},
         label = ${param(13, 'text')}, started_at = (SELECT now FROM clock),
         lease_until = (SELECT now FROM clock) + c.lease_ms
       FROM chosen AS c WHERE j.ctid = c.row AND (SELECT plain.is FROM plain)
       RETURNING c.place, c.turn, j.id, j.attempt, j.token, j.failures, j.max_attempts, j.priority, j.keep_ms, j.more,
         j.created_at, j.run_at, j.lease_until, j.payload, j.ord, j.kind, j.error)
     SELECT ${columns(
       'clock.now',
       'plain.is',
       // What was written for the others is undone by an error: no text but a number reads as one.
       `CASE WHEN NOT plain.is THEN NULL
          WHEN unheld.count > 0 THEN ('unheld: ' || unheld.count)::integer::text
          WHEN ${param(15, 'text')} IS NOT NULL THEN pg_notify(${param(14, 'text')}, ${param(15, 'text')})::text END`,
       'extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000',
       ...Array<string>(16).fill('NULL'),
     )} FROM clock CROSS JOIN plain CROSS JOIN unheld
     ${fails ? `UNION ALL SELECT ${columns("'retried'", 'n', 'ends', 'at', ...Array<string>(16).fill('NULL'))} FROM retried` : ''}
     UNION ALL
     SELECT ${columns(
       "'taken'",
       'NULL',
       'NULL',
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
       't.kind',
       "encode(t.error, 'hex')",
     )} FROM taken AS t`,
  )
}

/** Attempts that failed: their jobs wait for the next one, or end. @param next the first parameter */
const failures = (at: string, next: number): string => `
     failed AS MATERIALIZED (
       SELECT * FROM unnest(${param(next + 0, 'integer[]')}, ${param(next + 1, 'text[]')}, ${param(next + 2, 'text[]')},
         ${param(next + 3, 'integer[]')}, ${param(next + 4, 'double precision[]')}, ${param(next + 5, 'double precision[]')},
         ${param(next + 6, 'double precision[]')}, ${param(next + 7, 'bytea[]')}, ${param(next + 8, 'boolean[]')})
         WITH ORDINALITY AS f (tid, id, worker, attempt, at, delay_ms, keep_ms, error, is_last, n) ${few}),
     judged AS MATERIALIZED (
       SELECT j.*, (SELECT now FROM clock) + coalesce(j.own_keep_ms, j.keep_ms) AS till,
         CASE WHEN j.delay_ms IS NOT NULL THEN (SELECT now FROM clock) + j.delay_ms
           ELSE greatest(j.at, (SELECT now FROM clock)) END AS due_at
       FROM (
         SELECT j.tid, j.id, g.n, g.at, g.delay_ms, g.error, g.is_last, g.keep_ms AS own_keep_ms, j.keep_ms,
           g.is_last OR j.failures + 1 >= coalesce(j.max_attempts, 'Infinity') AS ends,
           j.attempt, j.worker, j.label, j.started_at, j.attempts
         FROM failed AS g CROSS JOIN LATERAL (
           SELECT * FROM ${at}jobs AS j WHERE ${isHeld} AND (j.more IS NULL OR j.more NOT LIKE '%"retention"%') FOR UPDATE
         ) AS j WHERE (SELECT plain.is FROM plain)) AS j),
     retried AS (
       UPDATE ${at}jobs AS j SET failures = j.failures + 1,
         state = CASE WHEN g.ends THEN 6 ELSE 4 END,
         line = CASE WHEN g.ends THEN NULL ELSE 1 END,
         run_at = CASE WHEN g.ends THEN j.run_at ELSE g.due_at END,
         ord = CASE WHEN g.ends THEN j.ord ELSE nextval('${at.replaceAll("'", "''")}numbers') END,
         worker = CASE WHEN g.ends THEN j.worker END,
         label = CASE WHEN g.ends THEN j.label END,
         started_at = CASE WHEN g.ends THEN j.started_at END,
         lease_until = NULL,
         error = coalesce(g.error, j.error),
         finished_at = CASE WHEN g.ends THEN (SELECT now FROM clock) END,
         expires_at = CASE WHEN g.ends THEN nullif(g.till, 'Infinity') END,
         sweep_at = CASE WHEN g.ends THEN nullif(g.till, 'Infinity') END,
         attempts = concat_ws(E'\\n',
           array_to_string((string_to_array(g.attempts, E'\\n'))[
             greatest(1, array_length(string_to_array(g.attempts, E'\\n'), 1) - 8):], E'\\n'),
           json_build_array(g.attempt, g.worker, g.label, g.started_at, (SELECT now FROM clock),
             CASE WHEN g.is_last THEN 'failed' ELSE 'retry' END, CASE WHEN g.ends THEN 6 ELSE 4 END,
             translate(encode(g.error, 'base64'), E'\\n', ''))::text)
       FROM judged AS g WHERE j.tid = g.tid AND j.id = g.id
       RETURNING g.n, g.ends, CASE WHEN g.ends THEN j.expires_at ELSE j.run_at END AS at),`

type Completion = LeaseRef & { readonly kind: 'completed'; readonly keepMs: number; readonly result?: Bytes }
type Failure = LeaseRef & When & { readonly kind: 'retry' | 'failed'; readonly keepMs?: number; readonly error?: Bytes }
type PlainOutcome = Completion | Failure

/**
 * If they all end attempts of jobs that a worker holds and that are alone, each named once, and add nothing.
 * @param claims jobs are claimed with them: one that is to be retried at once can be among these, and a statement does not
 * see what it has written itself
 */
export function plainOutcomes(
  outcomes: readonly Outcome[],
  told: Told,
  { linked }: Memory,
  claims: boolean,
): readonly PlainOutcome[] | undefined {
  const seen = new Set<string>()
  for (const outcome of outcomes) {
    if ('chain' in outcome || told.hasEvents(outcome.type)) return undefined
    const { kind, add, keepMs, stalled, delayMs } = outcome as {
      kind: string
      add?: unknown
      keepMs?: number
      stalled?: boolean
      delayMs?: number
    }
    if (add !== undefined || stalled) return undefined
    if (claims && kind === 'retry' && !(delayMs! > 0)) return undefined
    if (kind !== 'retry' && kind !== 'failed' && (kind !== 'completed' || keepMs === undefined)) return undefined
    seen.add(`${outcome.type.length}/${outcome.type}/${outcome.id}`)
  }
  if (seen.size < outcomes.length || linked.take(outcomes as readonly PlainOutcome[])) return undefined
  return outcomes as readonly PlainOutcome[]
}

/** What a storage remembers from one claim to the next. */
export interface Memory {
  readonly starts: Starts
  readonly linked: Linked
}

/** Undefined: nothing was done, and the rules must decide. */
export async function fastClaim(
  connection: Pick<Connection, 'query'>,
  { claims, notify }: { readonly claims: ClaimStatements; readonly notify: Statement },
  types: Types,
  request: Omit<ClaimRequest, 'outcomes'> & { readonly outcomes: readonly PlainOutcome[] },
  told: Told,
  { starts, linked }: Memory,
): Promise<Claim | undefined> {
  const { worker, label, outcomes } = request
  const slots = Math.min(request.slots, mostAtOnce)
  // In an order that all share, so that two calls never wait for each other in a circle.
  const inOrder = outcomes.length > 1 ? outcomes.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)) : outcomes
  const completions = inOrder.filter((outcome) => outcome.kind === 'completed')
  const failed = inOrder.filter((outcome) => outcome.kind !== 'completed')
  const signals: Signal[] = doneSignals([...completions, ...failed.filter(({ kind }) => kind === 'failed')])
  for (const type of new Set(failed.map((outcome) => outcome.type))) signals.push({ kind: 'wake', type })
  const tids = request.types.map(({ type }) => types.tidOf(type)!)
  const fromHead = starts.restMs === 0
  let rows: Row[]
  try {
    const statement = claims[indexOf({ fails: failed.length > 0, rests: !fromHead, many: tids.length > 1 })]!
    rows = await connection.query(statement, [
      ...completionCells(types, completions),
      ...typeCells(types, request.types, slots),
      slots,
      encodeText(worker),
      optionalText(label),
      told.channel,
      encodeHints(signals, told.from) ?? null,
      ...(fromHead ? [] : starts.cells(tids)),
      ...(failed.length > 0 ? failureCells(types, failed) : []),
    ])
  } catch (error) {
    if (sqlStateOf(error) === unreadableNumber) return undefined
    throw error
  }
  const [first] = rows
  if (first![1] !== 'true') return undefined
  const now = Number(first![0])
  const taken = rows.filter(([kind]) => kind === 'taken').toSorted(byTurn)
  if (tids.length > 0) {
    const places = taken.map((row) => placeOf(tids[Number(row[4]) - 1]!, row))
    starts.took(tids, now, places, Number(first![3]), fromHead)
  }
  const jobs = taken.map((row) => claimedJob(row, request.types[Number(row[4]) - 1]!.type, worker, now))
  for (let index = 0; index < jobs.length; index++) if (taken[index]![18] === '2') linked.add(jobs[index]!)
  for (const { type, id, failures: count } of jobs) {
    told.event(type, { event: 'processing', id, attempt: count + 1, at: now, ...(label !== undefined && { label }) })
  }
  const answers = new Map<Failure, Row>()
  for (const row of rows) if (row[0] === 'retried') answers.set(failed[Number(row[1]) - 1]!, row)
  for (const signal of signals) told.signal(signal)
  // That a retry was the last one is known only now.
  const ended = doneSignals(failed.filter((one) => one.kind === 'retry' && answers.get(one)![2] === 'true'))
  for (const signal of ended) told.signal(signal)
  // What is done is done: a hint may be lost.
  if (ended.length > 0) await connection.query(notify, [told.channel, encodeHints(ended, told.from)!]).catch(() => {})
  const settled = outcomes.map((one) =>
    one.kind === 'completed' ? completedVerdict(now, one.keepMs) : failedVerdict(answers.get(one)!),
  )
  return { jobs, recovered: [], ended: [], settled }
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

function doneSignals(outcomes: readonly LeaseRef[]): { kind: 'done'; type: string; ids: string[] }[] {
  const done = new Map<string, string[]>()
  for (const { type, id } of outcomes) {
    const ids = done.get(type)
    if (ids) ids.push(id)
    else done.set(type, [id])
  }
  return [...done].map(([type, ids]) => ({ kind: 'done', type, ids }))
}

// A type that is not known has no job that matches.
const fenceCells = (types: Types, outcomes: readonly LeaseRef[]): string[] => [
  arrayOf(outcomes.map(({ type }) => types.tidOf(type) ?? 0)),
  arrayOf(outcomes.map(({ id }) => encodeText(id))),
  arrayOf(outcomes.map(({ worker }) => encodeText(worker))),
  arrayOf(outcomes.map(({ attempt }) => attempt)),
]

const completionCells = (types: Types, outcomes: readonly Completion[]): string[] => [
  ...fenceCells(types, outcomes),
  arrayOf(outcomes.map(({ keepMs }) => keepMs)),
  arrayOf(outcomes.map(({ result }) => bytesText(result))),
]

const failureCells = (types: Types, outcomes: readonly Failure[]): string[] => [
  ...fenceCells(types, outcomes),
  arrayOf(outcomes.map(({ runAt }) => runAt ?? null)),
  arrayOf(outcomes.map(({ delayMs }) => delayMs ?? null)),
  arrayOf(outcomes.map(({ keepMs }) => keepMs ?? null)),
  arrayOf(outcomes.map(({ error }) => bytesText(error))),
  arrayOf(outcomes.map(({ kind }) => String(kind === 'failed'))),
]

function typeCells(types: Types, wanted: readonly ClaimType[], slots: number): Value[] {
  return [
    arrayOf(wanted.map(({ type }) => types.tidOf(type)!)),
    arrayOf(wanted.map(({ leaseMs }) => leaseMs)),
    arrayOf(wanted.map(({ slots: own = slots }) => Math.min(own, slots))),
    arrayOf(wanted.map(({ maxAttempts }) => maxAttempts ?? null)),
  ]
}

function claimedJob(row: Row, type: string, worker: string, now: number): ClaimedJob {
  const id = decodeText(row[5]!)
  const {
    retention,
    trace,
    snoozes = 0,
    chainIndex = 0,
    chain = { type, id },
    root = chain,
    origin,
  } = decodeMore(row[12]!)
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
    retention: retention ?? evenRetention(Number(row[11])),
    trace,
    createdAt: Number(row[13]),
    runAt: Number(row[14]),
    startedAt: now,
    leaseUntil: Number(row[15]),
    error: bytesOf(row[19]!),
    chain,
    chainIndex,
    root,
    origin,
    blockers: [],
  }
}

const nothing = { added: [], ended: [], unblocked: [] } as const

function completedVerdict(now: number, keepMs: number): SettleVerdict {
  const expiresAt = keepMs === Infinity ? undefined : now + keepMs
  return { verdict: 'settled', state: 'completed', expiresAt, ...nothing }
}

/** @param row its number, whether it ended, and when it goes, or is due */
function failedVerdict([, , ends, at]: Row): SettleVerdict {
  if (ends === 'true') return { verdict: 'settled', state: 'failed', expiresAt: numberOf(at!), ...nothing }
  return { verdict: 'settled', state: 'failing', runAt: Number(at), ...nothing }
}
