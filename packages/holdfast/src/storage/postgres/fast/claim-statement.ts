// The statement of claim's and settle's fast path. There are 64 variants: each part costs something even where it does nothing,
// so a statement contains only the parts that a call needs.
//
// Of its time, two updates of the row take nearly all: with six index entries a quarter, and the commit a tenth. Rejected: tables of their own for
// the waiting line and the leases. Per job, in batches of 50 on a bare client of Postgres 15, claim and settle take the server 17.3 µs with
// this table; 16.2 without the index over created_at; 17.2 with both tables, of which one row is inserted and one deleted each time, and
// 24.4 with an index over the ends of leases; 15.6 if expiries have a table, too, so that updates of jobs are HOT (fillfactor 60). Each of
// these tables made adds slower (6.6 to 6.8 µs instead of 6.2). A table with nothing but id, payload, state and lease takes 13.0.
//
// Also rejected, drains of the Queue, the server's time: free space on the pages of jobs (fillfactor 45, 50, 70: no difference beyond the noise, and adds
// slower); fewer columns in the answer (none); no indexes of rare states (none).

import { aheadMark } from '../../rules/job/ahead.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import type { Statement } from '../connection/database.ts'
import { hasTurn } from '../sql/flow-statements.ts'
import { kindCodes, readyCodes } from '../sql/job-columns.ts'
import { priorities, prioritiesFrom } from '../sql/scan.ts'
import { bytesAt, columns, fewRows, listParam, opaqueParam, param, type Sql, unnestParam } from '../sql/statement.ts'
import { isWatchedOrRuled } from '../sql/watch-statements.ts'
import { failedAttempts, failureParams } from './failed-attempts.ts'
import { offeredSlots } from './hand-over.ts'

const { processing, completed } = stateCodes

/** What a call needs of the statement. */
interface Variant {
  /** Some outcomes are failures. */
  readonly hasFailures: boolean
  /** Scans begin at the cursor (scan-cursor.ts), not at the head. */
  readonly fromCursor: boolean
  readonly hasManyTypes: boolean
  /** Some types have or had groups: it looks whether one has its turn. Otherwise, such a type is not plain. */
  readonly hasGroups: boolean
  /** Some completed jobs are not kept. */
  readonly erases: boolean
  /** Its worker offers slots (hand-over.ts), or did so. */
  readonly offers: boolean
}

/** By number of the variant. */
export type ClaimStatements = readonly Statement[]

const numberOf = ({ offers, erases, hasFailures, fromCursor, hasManyTypes, hasGroups }: Variant): number =>
  (offers ? 32 : 0) +
  (erases ? 16 : 0) +
  (hasGroups ? 8 : 0) +
  (hasFailures ? 4 : 0) +
  (fromCursor ? 2 : 0) +
  (hasManyTypes ? 1 : 0)

export const claimStatementOf = (statements: ClaimStatements, variant: Variant): Statement =>
  statements[numberOf(variant)]!

export function claimStatements(sql: Sql): ClaimStatements {
  return Array.from({ length: 64 }, (_, number) => {
    const has = (bit: number): boolean => (number & bit) !== 0
    const [erases, hasGroups, hasFailures, fromCursor, hasManyTypes] = [has(16), has(8), has(4), has(2), has(1)]
    return claimStatement(sql, { offers: has(32), erases, hasGroups, hasFailures, fromCursor, hasManyTypes })
  })
}

/** Selected from the claimed jobs, behind three leading columns. Of a claim of one type, `place` is NULL. */
const claimedColumns = [
  'place',
  'turn',
  'id',
  'attempt',
  'token',
  'failures',
  'max_attempts',
  'priority',
  'keep_ms',
  'more',
  'created_at',
  'run_at',
  'payload',
  'ord',
  'kind',
  'error',
] as const

const leadingCells = 3
const width = leadingCells + claimedColumns.length

/** Position of each column in the row of a claimed job. */
export const claimedCell = Object.fromEntries(
  claimedColumns.map((name, index) => [name, leadingCells + index]),
) as Readonly<Record<(typeof claimedColumns)[number], number>>

/** Fills a row up to the common width. */
const padded = (...expressions: readonly string[]): string =>
  columns(...expressions, ...Array<string>(width - expressions.length).fill('NULL'))

const claimedCells = (hasManyTypes: boolean): string[] =>
  claimedColumns.map((name) => {
    if (name === 'payload' || name === 'error') return `encode(t.${name}, 'hex')`
    if (hasManyTypes || (name !== 'place' && name !== 'turn')) return `t.${name}`
    return name === 'turn' ? '1' : 'NULL'
  })

/**
 * The outcome's lease is in force, for an outcome `g`. `+ 0` keeps the planner from the index over all leases: the job is looked
 * up by its id.
 */
const isLeased = `j.tid = g.tid AND j.id = g.id AND j.state + 0 = ${processing} AND j.worker = g.worker AND j.attempt = g.attempt`

/** And its job is tied to no other row that must change with it. */
const isHeld = `${isLeased} AND j.kind IN (${kindCodes.alone}, ${kindCodes.indexed})`

/** And no row of another table must be deleted with it. */
const isErasable = `${isLeased} AND j.kind = ${kindCodes.alone}`

/** The deadline of a job that was never started is over. */
const isOverdue = `j.attempt = 0 AND j.more LIKE '%"deadlineAt":%'
               AND substring(j.more FROM '"deadlineAt":([0-9.e+]+)')::double precision <= (SELECT now FROM clock)`

/** The call claims ahead, and the job may need a free slot (rules/job/ahead.ts). */
const mayNeedSlot = `${param(14, 'text')} LIKE '%${aheadMark}'
               AND (j.attempts LIKE '%${aheadMark}"%"stalled"%' OR (j.attempt = 0 AND j.more LIKE '%"deadlineAt":%'))`

/** A job that only the rules can claim or end. Jobs that are alone need no look at `more`. */
const isHeldBack = `(j.kind <> ${kindCodes.alone} AND (
               (j.kind = ${kindCodes.linked} AND (j.grp IS NOT NULL OR j.more LIKE '%"blockers":%')) OR (${isOverdue})))
               OR (${mayNeedSlot})`

/** A list with one value for all outcomes has no more than that. */
const orFirst = (name: string, number: number, type: string): string =>
  `coalesce(g.${name}, (${listParam(number, type)})[1]) AS ${name}`

/**
 * `due` are locked jobs that could be claimed, `chosen` those that will be: of one type, all. `plain` decides whether anything is written: no due job
 * needs a rule, no lease is lost, no group has its turn, and no type whose jobs change is ruled or watched. `erased`, `ended` and `retried` settle outcomes; `unheld` counts those that did not
 * match. The first row has the time, `plain` and the duration; then come the rows of failures and of claimed jobs.
 */
function claimStatement(sql: Sql, variant: Variant): Statement {
  const { at, now, statement } = sql
  const { offers, erases, hasFailures, fromCursor, hasManyTypes, hasGroups } = variant
  const firstOfFailures = fromCursor ? 23 : 18
  const firstOfOffer = firstOfFailures + (hasFailures ? failureParams : 0)
  /** Types of which the statement would change a job. */
  const writtenTypes = `SELECT w.tid FROM wanted AS w JOIN due AS d ON d.turn = w.turn UNION ALL SELECT tid FROM given
           ${hasFailures ? `UNION ALL SELECT * FROM unnest(${param(firstOfFailures, 'integer[]')})` : ''}`
  const slots = opaqueParam(13, 'integer')
  const erased = `erased AS (
       DELETE FROM ${at}jobs AS j USING given AS g
       WHERE g.keep_ms <= 0 AND ${isErasable} AND (SELECT plain.is FROM plain) RETURNING 1),`
  return statement(
    `fast_claim_${numberOf(variant)}`,
    `WITH clock AS MATERIALIZED (SELECT ${now} AS now),
     given AS MATERIALIZED (
       SELECT ${orFirst('tid', 1, 'integer[]')}, id, ${orFirst('worker', 3, 'text[]')}, ${orFirst('attempt', 4, 'integer[]')},
         ${orFirst('keep_ms', 5, 'double precision[]')}, start, size
       FROM unnest(${unnestParam(1, 'integer[]')}, ${unnestParam(2, 'text[]')}, ${unnestParam(3, 'text[]')},
         ${unnestParam(4, 'integer[]')}, ${unnestParam(5, 'double precision[]')}, ${unnestParam(6, 'integer[]')}, ${unnestParam(7, 'integer[]')})
         AS g (tid, id, worker, attempt, keep_ms, start, size) ${fewRows}),
     wanted AS MATERIALIZED (
       SELECT w.*, t.priorities, t.grouped
       FROM unnest(${unnestParam(9, 'integer[]')}, ${unnestParam(10, 'double precision[]')}, ${unnestParam(11, 'integer[]')},
         ${unnestParam(12, 'double precision[]')}${fromCursor ? `, ${unnestParam(22, 'double precision[]')}` : ''})
         WITH ORDINALITY AS w (tid, lease_ms, most, max_attempts, ${fromCursor ? 'lost_from, ' : ''}turn)
       CROSS JOIN LATERAL (SELECT priorities, grouped FROM ${at}types AS t WHERE t.tid = w.tid AND t.paused_since IS NULL LIMIT 1) AS t),
     due AS MATERIALIZED (
       SELECT w.turn, w.lease_ms, w.max_attempts AS most_attempts, ${hasManyTypes ? 'row_number() OVER (PARTITION BY w.turn) AS place, ' : ''}j.*
       FROM wanted AS w CROSS JOIN LATERAL (
         SELECT j.* FROM ${fromCursor ? prioritiesFrom(18, 'w.tid', 'w.priorities') : priorities('w.priorities')} AS p CROSS JOIN LATERAL (
           SELECT j.ctid AS row, j.failures, j.max_attempts,
             ${isHeldBack} AS is_held_back FROM ${at}jobs AS j
           WHERE j.tid = w.tid AND j.ready = ${readyCodes.ready} AND j.priority = p.priority AND j.run_at <= (SELECT now FROM clock)
             ${fromCursor ? 'AND (j.run_at, j.ord) > (p.run_at, p.ord)' : ''}
           ORDER BY j.run_at, j.ord LIMIT w.most FOR UPDATE SKIP LOCKED) AS j
         LIMIT w.most) AS j
       ${hasManyTypes ? '' : `LIMIT ${slots}`}),
     ${hasManyTypes ? `chosen AS MATERIALIZED (SELECT * FROM due ORDER BY place, turn LIMIT ${slots}),` : ''}
     plain AS MATERIALIZED (
       SELECT NOT EXISTS (
           SELECT 1 FROM due WHERE is_held_back OR failures >= coalesce(max_attempts, most_attempts, 'Infinity'))
         AND NOT EXISTS (
           SELECT 1 FROM wanted AS w CROSS JOIN LATERAL (
             SELECT 1 FROM ${at}jobs AS j
             WHERE j.tid = w.tid AND j.state = ${processing} ${fromCursor ? 'AND j.lease_until > w.lost_from' : ''}
               AND j.lease_until <= (SELECT now FROM clock) LIMIT 1) AS l)
         AND NOT EXISTS (SELECT 1 FROM wanted AS w WHERE ${hasGroups ? hasTurn(at, 'w.tid', '(SELECT now FROM clock)') : 'w.grouped'})
         AND NOT ${isWatchedOrRuled(at, writtenTypes)} AS is),
     ${erases ? erased : ''}
     ended AS (
       UPDATE ${at}jobs AS j SET state = ${completed}, by_holder = true, result = ${bytesAt('g', 8)}, error = NULL, lease_until = NULL,
         finished_at = (SELECT now FROM clock),
         expires_at = nullif((SELECT now FROM clock) + g.keep_ms, 'Infinity'),
         sweep_at = nullif((SELECT now FROM clock) + g.keep_ms, 'Infinity')
       FROM given AS g WHERE ${erases ? 'g.keep_ms > 0 AND' : ''} ${isHeld} AND (SELECT plain.is FROM plain) RETURNING 1),
     ${hasFailures ? failedAttempts(sql, firstOfFailures, isHeld) : ''}
     ${offers ? offeredSlots(sql, firstOfOffer) : ''}
     unheld AS MATERIALIZED (
       SELECT (SELECT count(*) FROM given) - (SELECT count(*) FROM ended) ${erases ? '- (SELECT count(*) FROM erased)' : ''}
         ${hasFailures ? '+ (SELECT count(*) FROM failed) - (SELECT count(*) FROM retried)' : ''} AS count),
     taken AS (
       UPDATE ${at}jobs AS j SET state = ${processing}, ready = NULL, attempt = j.attempt + 1, worker = ${param(14, 'text')},
         label = ${param(15, 'text')}, started_at = (SELECT now FROM clock),
         lease_until = (SELECT now FROM clock) + c.lease_ms
       FROM ${hasManyTypes ? 'chosen' : 'due'} AS c WHERE j.ctid = c.row AND (SELECT plain.is FROM plain)
       RETURNING ${hasManyTypes ? 'c.place, c.turn, ' : ''}j.id, j.attempt, j.token, j.failures, j.max_attempts, j.priority, j.keep_ms, j.more,
         j.created_at, j.run_at, j.payload, j.ord, j.kind, j.error)
     SELECT ${padded(
       'clock.now',
       'plain.is',
       // An outcome that did not match undoes the whole statement, by an error: its text cannot be read as a number.
       `CASE WHEN NOT plain.is THEN NULL
          WHEN unheld.count > 0 THEN ('unheld: ' || unheld.count)::integer::text
          WHEN ${param(17, 'text')} IS NOT NULL THEN pg_notify(${param(16, 'text')}, ${param(17, 'text')})::text END`,
       'extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000',
     )} FROM clock CROSS JOIN plain CROSS JOIN unheld
     ${hasFailures ? `UNION ALL SELECT ${padded("'retried'", 'n', 'ends', 'at')} FROM retried` : ''}
     UNION ALL
     SELECT ${columns("'taken'", 'NULL', 'NULL', ...claimedCells(hasManyTypes))} FROM taken AS t`,
  )
}

/** SQLSTATE of that error: invalid text representation. */
export const outcomeUnheld = '22P02'
