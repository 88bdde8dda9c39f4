// The fast path of add: new jobs without blockers, deduplication keys, groups, deadlines and search fields, so that only their ids
// decide, and one table is written. One statement, committed by itself or with the transaction that it joins. It writes nothing if one of
// the ids exists, or is inserted meanwhile: then the rules decide. If all ids exist, as in a repeated call, the statement has read
// their records, and no other is needed.
//
// In a transaction that it joins, the statement may have written some of the jobs if another transaction inserted an id meanwhile.
// The rules know these jobs by their token, as those of a repeated call.

import { retentionCode } from '../../retention.ts'
import { add } from '../../rules/add.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import type { AddVerdict, NewJob } from '../../storage.ts'
import type { Row, Statement, Value } from '../connection/database.ts'
import { sqlStateOf } from '../connection/errors.ts'
import { LoadedRows, rowsMissing } from '../rules/loaded-rows.ts'
import { PostgresMove } from '../rules/move.ts'
import type { TypeRegistry } from '../rules/type-registry.ts'
import { WorkingSet } from '../rules/working-set.ts'
import { cell, jobCell, jobRowOf, kindCodes, readyCodes } from '../sql/job-columns.ts'
import { bytesAt, columns, listParam, opaqueParam, param, settingLockTimeout, type Sql } from '../sql/statement.ts'
import { arrayOf, encodeText, joinedBytes } from '../sql/text.ts'
import { hasMark } from '../sql/transaction-mark.ts'
import { isOneWatched } from '../sql/watch-statements.ts'
import type { AfterCommit } from './after-commit.ts'

/**
 * $1 … $11: lists. $12: the bytes of all payloads, as hex. $13 … $15: the type, attempts and
 * retention of all jobs, instead of lists. $16, $17: channel and hint.
 *
 * `joined`: for a transaction that goes on. An id that is inserted meanwhile must not end it: that job is left out. $18: lock timeout
 * of the transaction in ms, or NULL: as it is. `checked`: the same, but outside of a marked transaction nothing is written, and the time is
 * NULL.
 */
export function fastAddStatement(
  { at, now, statement, nextValue }: Sql,
  kind: 'alone' | 'joined' | 'checked',
): Statement {
  const types = param(1, 'integer[]')
  const isJoined = kind !== 'alone'
  const isChecked = kind === 'checked'
  return statement(
    kind === 'alone' ? 'fast_add' : `${kind}_add`,
    `WITH clock AS MATERIALIZED (SELECT ${now} AS now),
     given AS MATERIALIZED (
       SELECT coalesce(g.tid, ${param(13, 'integer')}) AS tid, id, token, priority,
         coalesce(max_attempts, ${param(14, 'double precision')}) AS max_attempts,
         coalesce(keep_ms, ${param(15, 'double precision')}) AS keep_ms, at, delay_ms, more, start, size
       FROM unnest(${isJoined ? settingLockTimeout(18, types) : types}, ${param(2, 'text[]')}, ${param(3, 'text[]')},
         ${param(4, 'smallint[]')}, ${param(5, 'double precision[]')}, ${param(6, 'double precision[]')},
         ${param(7, 'double precision[]')}, ${param(8, 'double precision[]')}, ${param(9, 'text[]')},
         ${param(10, 'integer[]')}, ${param(11, 'integer[]')})
         AS g (tid, id, token, priority, max_attempts, keep_ms, at, delay_ms, more, start, size)),
     existing AS MATERIALIZED (
       SELECT j.* FROM given AS g CROSS JOIN LATERAL (
         SELECT * FROM ${at}jobs AS j WHERE j.tid = g.tid AND j.id = g.id LIMIT 1) AS j),
     added AS (
       INSERT INTO ${at}jobs (seq, ord, tid, id, token, priority, max_attempts, keep_ms, created_at, run_at, state, kind,
         attempt, failures, ready, more, payload)
       SELECT number, number, tid, id, token, coalesce(priority, 0), max_attempts, keep_ms, now, run_at,
         CASE WHEN run_at <= now THEN ${stateCodes.queued} ELSE ${stateCodes.scheduled} END, ${kindCodes.alone}, 0, 0, ${readyCodes.ready}, more,
         ${bytesAt('n', 12)}
       FROM (
         SELECT g.*, clock.now, ${nextValue('numbers')} AS number,
           CASE WHEN delay_ms IS NOT NULL THEN now + delay_ms ELSE greatest(at, now) END AS run_at
         FROM clock, given AS g OFFSET 0) AS n
       WHERE NOT EXISTS (SELECT 1 FROM existing) AND NOT ${isOneWatched(at, `${listParam(1, 'integer[]')} || ${param(13, 'integer')}`)}${isChecked ? ` AND ${hasMark}` : ''}
       ${isJoined ? 'ON CONFLICT DO NOTHING' : ''} RETURNING 1)
     SELECT ${columns(
       isChecked ? `CASE WHEN ${hasMark} THEN clock.now END` : 'clock.now',
       'n.count',
       `CASE WHEN n.count > 0 THEN pg_notify(${param(16, 'text')}, ${param(17, 'text')}) END`,
       jobCell('e'),
       isJoined
         ? 'NULL'
         : `EXISTS (SELECT 1 FROM ${at}offers AS o WHERE o.tid = ${opaqueParam(13, 'integer')} AND o.slots > 0 AND o.until > clock.now)`,
     )} FROM clock CROSS JOIN (SELECT count(*) AS count FROM added) AS n LEFT JOIN existing AS e ON true`,
  )
}

/** The column with the existing job; and, of an add by itself, whether some worker offers slots of the type of all jobs (hand-over.ts). */
const existingCell = 3
const offeredCell = 4

/** Whether only the ids decide about these jobs. */
export const isFastAdd = (jobs: readonly NewJob[]): boolean =>
  jobs.length > 0 &&
  jobs.every(
    (job) =>
      job.blockers === undefined &&
      job.deduplication === undefined &&
      job.group === undefined &&
      job.maxWaiting === undefined &&
      job.expiresInMs === undefined &&
      job.search === undefined &&
      job.onDuplicate !== 'replace',
  )

interface FastAddOptions {
  readonly types: TypeRegistry
  /** @param values as the statement has them. Undefined: another transaction inserts one of the ids */
  readonly query: (values: Value[]) => Promise<Row[] | undefined>
  /** Called with a type of which some worker offers slots. */
  readonly onOffered?: (type: string) => void
}

/** Undefined: the rules must decide. */
export async function fastAdd(
  { types, query, onOffered }: FastAddOptions,
  jobs: readonly NewJob[],
  afterCommit: AfterCommit,
): Promise<AddVerdict[] | undefined> {
  const wakes = [...new Set(jobs.map(({ type }) => type))].map((type) => ({ kind: 'wake' as const, type }))
  const firsts = firstOfEachId(jobs)
  const rows = await query([...cellsOf(types, firsts), afterCommit.channel, afterCommit.hint(wakes)])
  if (!rows) return undefined
  const now = Number(rows[0]![0])
  const written = Number(rows[0]![1])
  if (rows[0]![offeredCell] === 'true') onOffered?.(jobs[0]!.type)
  if (written === 0) return rows.length < firsts.length ? undefined : existingVerdicts(types, jobs, rows, now)
  for (const signal of wakes) afterCommit.add(signal)
  if (written < firsts.length) return undefined
  const verdicts = firsts.map((job): AddVerdict => {
    const { type, id, token } = job
    const state = isDue(job, now) ? 'queued' : 'scheduled'
    afterCommit.event(type, { event: state, id, attempt: 0, at: now })
    return { verdict: 'added', job: { type, id, token, state, createdAt: now } }
  })
  return firsts === jobs ? verdicts : withDuplicates(jobs, firsts, verdicts)
}

/** The first job of the batch that names an id takes it. */
function firstOfEachId(jobs: readonly NewJob[]): readonly NewJob[] {
  if (jobs.length === 1 || areDistinct(jobs)) return jobs
  const firsts = new Map<string, NewJob>()
  for (const job of jobs) {
    const name = nameOf(job)
    if (!firsts.has(name)) firsts.set(name, job)
  }
  return firsts.size === jobs.length ? jobs : [...firsts.values()]
}

/** Of one type, which is nearly always so: without a name for each job. */
function areDistinct(jobs: readonly NewJob[]): boolean {
  const { type } = jobs[0]!
  const ids = new Set<string>()
  for (const job of jobs) {
    if (job.type !== type) return false
    ids.add(job.id)
  }
  return ids.size === jobs.length
}

const nameOf = ({ type, id }: NewJob): string => `${type.length}/${type}/${id}`

const isDue = ({ runAt = 0, delayMs }: NewJob, now: number): boolean =>
  delayMs === undefined ? runAt <= now : delayMs <= 0

function withDuplicates(
  jobs: readonly NewJob[],
  firsts: readonly NewJob[],
  verdicts: readonly AddVerdict[],
): AddVerdict[] {
  const byName = new Map(firsts.map((job, index) => [nameOf(job), { job, verdict: verdicts[index]! }]))
  return jobs.map((job) => {
    const first = byName.get(nameOf(job))!
    if (first.job === job) return first.verdict
    return { verdict: 'duplicate', by: 'id', job: (first.verdict as AddVerdict & { verdict: 'added' }).job }
  })
}

const uniqueViolation = '23505'

/** An id that another transaction inserts meanwhile exists in the second attempt; a repeat of this very call, for example. */
export async function retryAfterDuplicate(run: () => Promise<Row[]>): Promise<Row[] | undefined> {
  for (let attempts = 0; attempts < 2; attempts++) {
    try {
      return await run()
    } catch (error) {
      if (sqlStateOf(error) !== uniqueViolation) throw error
    }
  }
  return undefined
}

/** The verdicts of the rules if all jobs exist, and none is linked. Undefined if the rules would write something. */
export function existingVerdicts(
  types: TypeRegistry,
  jobs: readonly NewJob[],
  rows: readonly Row[],
  now: number,
): AddVerdict[] | undefined {
  // Nothing exists: a type is watched, and its events must be published.
  if (rows[0]![existingCell] === null) return undefined
  const existing = rows.map((row) => jobRowOf(row[existingCell]!))
  if (existing.some((row) => Number(row[cell.kind]) === kindCodes.linked)) return undefined
  const loaded = new LoadedRows()
  for (const row of existing) loaded.keepJob(row, false)
  const set = new WorkingSet(loaded, types, true)
  try {
    const verdicts = add(new PostgresMove(set, now), jobs)
    return set.numbersTaken > 0 ? undefined : verdicts
  } catch (error) {
    if (error !== rowsMissing) throw error
    return undefined
  }
}

/** The parameters of the statement up to the hint. What nearly no job has is null in all of them: such a list is sent empty. */
function cellsOf(types: TypeRegistry, jobs: readonly NewJob[]): Value[] {
  const lists: Value[][] = [[], [], [], [], [], [], [], [], []]
  const [tids, ids, tokens, priorities, maxAttempts, keeps, runAts, delays, mores] = lists
  for (const job of jobs) {
    const code = retentionCode(job.retention)
    tids!.push(types.tidOf(job.type)!)
    ids!.push(encodeText(job.id))
    tokens!.push(encodeText(job.token))
    priorities!.push(job.priority || null)
    maxAttempts!.push(job.maxAttempts ?? null)
    keeps!.push(code ?? NaN)
    runAts!.push(job.runAt ?? null)
    delays!.push(job.delayMs ?? null)
    mores!.push(moreOf(job, code === undefined))
  }
  const common = [tids!, maxAttempts!, keeps!].map(takeCommon)
  return [...lists.map(listOf), ...joinedBytes(jobs.map(({ payload }) => payload)), ...common]
}

/** The value of all jobs, which makes their list empty; null if they differ. */
function takeCommon(values: Value[]): Value {
  const [first] = values
  if (!values.every((value) => Object.is(value, first))) return null
  values.length = 0
  return first!
}

/** The rare fields of a job, as JSON. @param hasRetention its retention has no number */
export function moreOf(job: NewJob, hasRetention: boolean): string | null {
  const { trace, timeoutMs, retention } = job
  const weight = job.weight === 1 ? undefined : job.weight
  if (trace === undefined && timeoutMs === undefined && weight === undefined && !hasRetention) return null
  return JSON.stringify({ trace, timeoutMs, retention: hasRetention ? retention : undefined, weight })
}

/** unnest() fills the shorter lists up with NULL. */
const listOf = (values: readonly Value[]): string => (values.every((value) => value === null) ? '{}' : arrayOf(values))
