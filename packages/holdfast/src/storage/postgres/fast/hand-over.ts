// Jobs that are handed over (storage/rules/job/handed.ts). The offers of idle workers are rows of their own. A claim writes that of its
// worker; the add of one plain job takes a slot of one, and inserts the job with its lease.
//
// The statement of such an add takes the server a fifth longer. So it is used only while offers are known: a claim of this process made one,
// or the last add of a job of this type has seen one.
//
// No call waits for the row of an offer: the transaction that has it locked may wait for another one, which inserts the same id. An add then
// takes another offer, or none. A claim leaves its offer as it is.

import { aheadMark } from '../../rules/job/ahead.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import { handedLeaseMs, offerMs } from '../../rules/job/handed.ts'
import type { AddVerdict, NewJob } from '../../storage.ts'
import type { Row, Statement, Value } from '../connection/database.ts'
import { handedJob } from '../connection/handed-job.ts'
import type { TypeRegistry } from '../rules/type-registry.ts'
import { hasTurn } from '../sql/flow-statements.ts'
import { jobCell, kindCodes, readyCodes } from '../sql/job-columns.ts'
import { priorities } from '../sql/scan.ts'
import { columns, opaqueParam, param, type Sql } from '../sql/statement.ts'
import { decodeOptionalText } from '../sql/text.ts'
import { isOneWatched } from '../sql/watch-statements.ts'
import { existingVerdicts } from './add.ts'
import { cellsOfOne, isPlainJob } from './add-one.ts'
import type { AfterCommit } from './after-commit.ts'

/** Bytes of a payload, at most: every process that listens is sent the hint. */
const mostBytes = 1_024

/**
 * The part of the claim statement that writes the offer: what is left of its slots. If that is nothing, the last offer is deleted.
 * @param first number of the first of four parameters: type, name of the worker, slots, worker of the claim
 */
export function offeredSlots({ at }: Sql, first: number): string {
  const isOwn = `o.tid = ${opaqueParam(first, 'integer')} AND o.by = ${opaqueParam(first + 1, 'text')}`
  const [isPlain, left] = ['(SELECT plain.is FROM plain)', '(SELECT slots FROM left_over)']
  const until = `(SELECT now FROM clock) + ${offerMs}`
  return `left_over AS MATERIALIZED (
       SELECT CASE WHEN EXISTS (SELECT 1 FROM wanted)
         THEN greatest(0, ${param(first + 2, 'integer')} - (SELECT count(*) FROM due))::integer ELSE 0 END AS slots),
     standing AS MATERIALIZED (SELECT o.tid, o.by FROM ${at}offers AS o WHERE ${isOwn} FOR UPDATE SKIP LOCKED),
     renewed AS (
       UPDATE ${at}offers AS o SET worker = ${param(first + 3, 'text')}, label = ${param(15, 'text')}, slots = ${left}, until = ${until}
       FROM standing AS s WHERE o.tid = s.tid AND o.by = s.by AND ${left} > 0 AND ${isPlain}),
     withdrawn AS (
       DELETE FROM ${at}offers AS o USING standing AS s WHERE o.tid = s.tid AND o.by = s.by AND ${left} = 0 AND ${isPlain}),
     offered AS (
       INSERT INTO ${at}offers (tid, by, worker, label, slots, until)
       SELECT ${param(first, 'integer')}, ${param(first + 1, 'text')}, ${param(first + 3, 'text')}, ${param(15, 'text')}, ${left}, ${until}
       WHERE ${left} > 0 AND ${isPlain} AND NOT EXISTS (SELECT 1 FROM ${at}offers AS o WHERE ${isOwn})
       ON CONFLICT DO NOTHING),`
}

/** Ends an offer. $1: type; $2: name of the worker. */
export const endOfferStatement = ({ at, statement }: Sql): Statement =>
  statement(
    'end_offer',
    `WITH standing AS (
       SELECT o.tid, o.by FROM ${at}offers AS o WHERE o.tid = ${param(1, 'integer')} AND o.by = ${param(2, 'text')}
       FOR UPDATE SKIP LOCKED)
     DELETE FROM ${at}offers AS o USING standing AS s WHERE o.tid = s.tid AND o.by = s.by`,
  )

/** Deletes offers that are over. $1: now; $2: limit. Not prepared: it runs seldom. */
export const sweepOffersStatement = ({ at }: Sql): Statement => ({
  name: '',
  text: `WITH over AS (
       SELECT o.tid, o.by FROM ${at}offers AS o WHERE o.until <= ${param(1, 'double precision')}
       LIMIT ${param(2, 'bigint')} FOR UPDATE SKIP LOCKED)
     DELETE FROM ${at}offers AS o USING over WHERE o.tid = over.tid AND o.by = over.by`,
})

/** @param value of a job that is handed over */
const ifHanded = (value: string | number, other: string | number): string =>
  `CASE WHEN t.worker IS NULL THEN ${other} ELSE ${value} END`

/**
 * Adds one job, and leases it to a worker that offered a slot, unless a claim would find another job first. $1 … $7: the job. $8: channel.
 * $9: hint. $10: first part of the hint that carries the job.
 */
export function handingAddStatement({ at, now, statement, nextValue }: Sql): Statement {
  const [tid, id] = [opaqueParam(1, 'integer'), opaqueParam(2, 'text')]
  const [time, isNew] = ['(SELECT now FROM clock)', 'NOT EXISTS (SELECT 1 FROM existing)']
  const isWatched = isOneWatched(at, `ARRAY[${param(1, 'integer')}]`)
  return statement(
    'handing_add',
    `WITH clock AS MATERIALIZED (SELECT ${now} AS now),
     existing AS MATERIALIZED (SELECT * FROM ${at}jobs AS j WHERE j.tid = ${tid} AND j.id = ${id} LIMIT 1),
     open AS MATERIALIZED (
       SELECT o.tid, o.by FROM ${at}offers AS o
       WHERE o.tid = ${tid} AND o.slots > 0 AND o.until > ${time} AND ${isNew} AND NOT ${isWatched}
         AND EXISTS (
           SELECT 1 FROM ${at}types AS t WHERE t.tid = ${tid} AND t.paused_since IS NULL AND t.ruled IS NOT TRUE
             AND NOT (t.grouped AND ${hasTurn(at, tid, time)}))
         AND NOT EXISTS (
           SELECT 1 FROM ${at}types AS t CROSS JOIN LATERAL ${priorities('t.priorities')} AS p CROSS JOIN LATERAL (
             SELECT 1 FROM ${at}jobs AS j WHERE j.tid = t.tid AND j.ready = ${readyCodes.ready} AND j.priority = p.priority
               AND j.run_at <= ${time} ORDER BY j.run_at, j.ord LIMIT 1) AS d
           WHERE t.tid = ${tid})
         AND NOT EXISTS (
           SELECT 1 FROM ${at}jobs AS j WHERE j.tid = ${tid} AND j.state = ${stateCodes.processing} AND j.lease_until <= ${time} LIMIT 1)
       LIMIT 1 FOR UPDATE SKIP LOCKED),
     taken AS (
       UPDATE ${at}offers AS o SET slots = o.slots - 1 FROM open WHERE o.tid = open.tid AND o.by = open.by AND o.slots > 0
       RETURNING o.worker, o.label),
     added AS (
       INSERT INTO ${at}jobs (seq, ord, tid, id, token, priority, max_attempts, keep_ms, created_at, run_at, state, kind, attempt,
         failures, ready, more, payload, worker, label, started_at, lease_until)
       SELECT number, number, ${param(1, 'integer')}, ${param(2, 'text')}, ${param(3, 'text')}, 0, ${param(4, 'double precision')},
         ${param(5, 'double precision')}, now, now, ${ifHanded(stateCodes.processing, stateCodes.queued)}, ${kindCodes.alone},
         ${ifHanded(1, 0)}, 0, ${ifHanded('NULL', readyCodes.ready)}, ${param(6, 'text')}, decode(${param(7, 'text')}, 'hex'),
         t.worker || '/' || number || '${aheadMark}', t.label, ${ifHanded('now', 'NULL')}, ${ifHanded(`now + ${handedLeaseMs}`, 'NULL')}
       FROM (SELECT clock.now, ${nextValue('numbers')} AS number FROM clock OFFSET 0) AS n LEFT JOIN taken AS t ON true
       WHERE ${isNew} AND NOT ${isWatched} RETURNING 1 AS is_there, worker, label)
     SELECT ${columns(
       'clock.now',
       'a.is_there',
       `CASE WHEN a.is_there = 1 THEN pg_notify(${param(8, 'text')}, CASE WHEN a.worker IS NULL THEN ${param(9, 'text')}
          ELSE ${param(10, 'text')} || json_build_array(a.worker, a.label, clock.now)::text || '}' END) END`,
       jobCell('e'),
       'a.worker',
       'a.label',
       'EXISTS (SELECT 1 FROM open)',
     )} FROM clock LEFT JOIN added AS a ON true LEFT JOIN existing AS e ON true`,
  )
}

/** Whether the job may be handed over: one that is due at once, and that any slot may run. */
export const mayBeHanded = (jobs: readonly NewJob[]): boolean =>
  isPlainJob(jobs) && (jobs[0]!.weight ?? 1) === 1 && (jobs[0]!.payload?.byteLength ?? 0) <= mostBytes

interface HandingAddOptions {
  readonly types: TypeRegistry
  /** @param values as the statement has them. Undefined: another transaction inserts the id */
  readonly query: (values: Value[]) => Promise<Row[] | undefined>
  /** Called if no slot is offered, or none that may be taken now. */
  readonly onNotOffered: (type: string) => void
}

/** Undefined: nothing was written, and the rules must decide. */
export async function handingAdd(
  { types, query, onNotOffered }: HandingAddOptions,
  job: NewJob,
  afterCommit: AfterCommit,
): Promise<AddVerdict[] | undefined> {
  const { type, id, token } = job
  const cells = cellsOfOne(job)
  const wake = { kind: 'wake', type } as const
  const [hint, handedHint] = [afterCommit.hint([wake]), afterCommit.handedHint(type, cells)]
  const rows = await query([types.tidOf(type)!, ...cells, afterCommit.channel, hint, handedHint])
  if (!rows) return undefined
  const [time, isAdded, , , worker, label, isOffered] = rows[0]!
  const now = Number(time)
  if (isOffered !== 'true') onNotOffered(type)
  if (isAdded === null) return existingVerdicts(types, [job], rows, now)
  afterCommit.event(type, { event: 'queued', id, attempt: 0, at: now })
  if (worker === null) afterCommit.add(wake)
  else {
    afterCommit.add({ ...wake, handed: handedJob(type, cells, [worker!, label!, now]) })
    const event = { event: 'processing', id, attempt: 1, at: now } as const
    afterCommit.event(type, label === null ? event : { ...event, label: decodeOptionalText(label!)! })
  }
  return [{ verdict: 'added', job: { type, id, token, state: 'queued', createdAt: now } }]
}
