// add, the short way: jobs that nothing but their id decides about, all of them new. One statement, committed by itself.
// It writes nothing if one of the ids is there, or comes to be there meanwhile: then the rules decide. Where all are there,
// as they are for a repeat, the statement has read them, and there is nothing more to ask.

import { add } from '../../rules/add.ts'
import type { AddVerdict, NewJob } from '../../storage.ts'
import type { Connection, Row, Statement, Value } from '../connection/database.ts'
import { sqlStateOf } from '../connection/errors.ts'
import { encodeHints } from '../verbs/hints.ts'
import { isEven } from '../../retention.ts'
import { kindIndex } from '../rules/job.ts'
import { Loaded, missing } from '../rules/loaded.ts'
import { PostgresMove } from '../rules/move.ts'
import { columns, jobCells, param, type Sql } from '../rules/statements.ts'
import { arrayOf, bytesText, encodeText } from '../rules/text.ts'
import type { Types } from '../rules/types.ts'
import { WorkingSet } from '../rules/working-set.ts'
import type { Told } from './after-commit.ts'

export function fastAddStatement({ at, now, statement }: Sql): Statement {
  return statement(
    'fast_add',
    `WITH clock AS MATERIALIZED (SELECT ${now} AS now),
     given AS MATERIALIZED (
       SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'text[]')},
         ${param(4, 'smallint[]')}, ${param(5, 'double precision[]')}, ${param(6, 'double precision[]')},
         ${param(7, 'double precision[]')}, ${param(8, 'double precision[]')}, ${param(9, 'text[]')},
         ${param(10, 'bytea[]')}) AS g (tid, id, token, priority, max_attempts, keep_ms, at, delay_ms, more, payload)),
     existing AS MATERIALIZED (
       SELECT j.* FROM given AS g CROSS JOIN LATERAL (
         SELECT * FROM ${at}jobs AS j WHERE j.tid = g.tid AND j.id = g.id LIMIT 1) AS j),
     added AS (
       INSERT INTO ${at}jobs (seq, ord, tid, id, token, priority, max_attempts, keep_ms, created_at, run_at, state, kind,
         attempt, failures, line, more, payload)
       SELECT number, number, tid, id, token, priority, max_attempts, keep_ms, now, run_at,
         CASE WHEN run_at <= now THEN 2 ELSE 0 END, 0, 0, 0, 1, more, payload
       FROM (
         SELECT g.*, clock.now, nextval('${at.replaceAll("'", "''")}numbers') AS number,
           CASE WHEN delay_ms IS NOT NULL THEN now + delay_ms ELSE greatest(at, now) END AS run_at
         FROM clock, given AS g OFFSET 0) AS n
       WHERE NOT EXISTS (SELECT 1 FROM existing)
       RETURNING 1)
     SELECT ${columns(
       'clock.now',
       'n.count',
       `CASE WHEN n.count > 0 THEN pg_notify(${param(11, 'text')}, ${param(12, 'text')}) END`,
       ...jobCells('e'),
     )} FROM clock CROSS JOIN (SELECT count(*) AS count FROM added) AS n LEFT JOIN existing AS e ON true`,
  )
}

/** Nothing but their ids decides about them. */
export const isFastAdd = (jobs: readonly NewJob[]): boolean =>
  jobs.length > 0 &&
  jobs.every((job) => job.blockers === undefined && job.deduplication === undefined && job.group === undefined)

/** An id is taken by the first that names it. */
function firstOfEach(jobs: readonly NewJob[]): readonly NewJob[] {
  if (jobs.length === 1) return jobs
  const firsts = new Map<string, NewJob>()
  for (const job of jobs) {
    const name = nameOf(job)
    if (!firsts.has(name)) firsts.set(name, job)
  }
  return firsts.size === jobs.length ? jobs : [...firsts.values()]
}

const nameOf = ({ type, id }: NewJob): string => `${type.length}/${type}/${id}`

/** Undefined: nothing was done, and the rules must decide. */
export async function fastAdd(
  connection: Pick<Connection, 'query'>,
  statement: Statement,
  types: Types,
  jobs: readonly NewJob[],
  told: Told,
): Promise<AddVerdict[] | undefined> {
  const wakes = [...new Set(jobs.map(({ type }) => type))].map((type) => ({ kind: 'wake' as const, type }))
  const firsts = firstOfEach(jobs)
  const values = [...cellsOf(types, firsts), told.channel, encodeHints(wakes, told.from)!]
  const rows = await onceMore(() => connection.query(statement, values))
  if (!rows) return undefined
  const now = Number(rows[0]![0])
  if (rows[0]![1] === '0') return rows.length < firsts.length ? undefined : standing(types, jobs, rows, now)
  const verdicts = firsts.map((job): AddVerdict => {
    const { type, id, token } = job
    const state = isDue(job, now) ? 'queued' : 'scheduled'
    told.event(type, { event: state, id, attempt: 0, at: now })
    return { verdict: 'added', job: { type, id, token, state, createdAt: now } }
  })
  for (const signal of wakes) told.signal(signal)
  return firsts === jobs ? verdicts : withDuplicates(jobs, firsts, verdicts)
}

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

/** Somebody who was quicker is there the second time: a repeat of this very call, maybe. */
async function onceMore(run: () => Promise<Row[]>): Promise<Row[] | undefined> {
  for (let tries = 0; tries < 2; tries++) {
    try {
      return await run()
    } catch (error) {
      if (sqlStateOf(error) !== '23505') throw error
    }
  }
  return undefined
}

/** What the rules say of jobs that are all there already, and alone. Undefined if there is something to write, too. */
function standing(types: Types, jobs: readonly NewJob[], rows: readonly Row[], now: number): AddVerdict[] | undefined {
  const loaded = new Loaded()
  for (const row of rows) loaded.keepJob(row.slice(3), false)
  if (rows.some((row) => row[3 + kindIndex] === '2')) return undefined
  const set = new WorkingSet(loaded, types, true)
  try {
    const verdicts = add(new PostgresMove(set, now), jobs)
    return set.numbersTaken > 0 ? undefined : verdicts
  } catch (error) {
    if (error !== missing) throw error
    return undefined
  }
}

function cellsOf(types: Types, jobs: readonly NewJob[]): string[] {
  const lists: Value[][] = [[], [], [], [], [], [], [], [], [], []]
  for (const job of jobs) {
    const { type, id, token, priority = 0, maxAttempts = null, retention, trace, payload } = job
    const same = isEven(retention)
    const more = same && trace === undefined ? null : JSON.stringify({ trace, retention: same ? undefined : retention })
    const cells = [types.tidOf(type)!, encodeText(id), encodeText(token), priority, maxAttempts, retention.completedMs]
    cells.push(job.runAt ?? null, job.delayMs ?? null, more, bytesText(payload))
    for (let index = 0; index < cells.length; index++) lists[index]!.push(cells[index]!)
  }
  return lists.map(arrayOf)
}
