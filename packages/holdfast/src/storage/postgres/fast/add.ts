// add, the short way: jobs that nothing but their id decides about, all of them new. One statement, committed by itself.
// It writes nothing if one of the ids is there, or comes to be there meanwhile: then the rules decide.

import { isHoldfastError } from '../../../errors.ts'
import type { AddVerdict, NewJob } from '../../storage.ts'
import type { Connection, Statement, Value } from '../database.ts'
import { sqlStateOf } from '../errors.ts'
import { encodeHints } from '../hints.ts'
import { columns, param, type Sql } from '../statements.ts'
import { arrayOf, bytesText, encodeText } from '../text.ts'
import type { Types } from '../types.ts'
import type { Told } from './told.ts'

export function fastAddStatement({ at, now, statement }: Sql): Statement {
  return statement(
    'fast_add',
    `WITH clock AS MATERIALIZED (SELECT ${now} AS now),
     given AS MATERIALIZED (
       SELECT * FROM unnest(${param(1, 'integer[]')}, ${param(2, 'text[]')}, ${param(3, 'text[]')},
         ${param(4, 'smallint[]')}, ${param(5, 'double precision[]')}, ${param(6, 'double precision[]')},
         ${param(7, 'double precision[]')}, ${param(8, 'double precision[]')}, ${param(9, 'text[]')},
         ${param(10, 'bytea[]')}) AS g (tid, id, token, priority, max_attempts, keep_ms, at, delay_ms, more, payload)),
     added AS (
       INSERT INTO ${at}jobs (seq, ord, tid, id, token, priority, max_attempts, keep_ms, created_at, run_at, state, kind,
         attempt, failures, line, more, payload)
       SELECT number, number, tid, id, token, priority, max_attempts, keep_ms, now, run_at,
         CASE WHEN run_at <= now THEN 2 ELSE 0 END, 0, 0, 0, 1, more, payload
       FROM (
         SELECT g.*, clock.now, nextval('${at.replaceAll("'", "''")}numbers') AS number,
           CASE WHEN delay_ms IS NOT NULL THEN now + delay_ms ELSE greatest(at, now) END AS run_at
         FROM clock, given AS g OFFSET 0) AS n
       WHERE NOT EXISTS (
         SELECT 1 FROM given AS g CROSS JOIN LATERAL (
           SELECT 1 FROM ${at}jobs AS j WHERE j.tid = g.tid AND j.id = g.id LIMIT 1) AS j)
       RETURNING 1)
     SELECT ${columns(
       'clock.now',
       'n.count',
       `CASE WHEN n.count > 0 THEN pg_notify(${param(11, 'text')}, ${param(12, 'text')}) END`,
     )} FROM clock, (SELECT count(*) AS count FROM added) AS n`,
  )
}

/** Nothing but their ids decides about them, and no two have the same. */
export function isFastAdd(jobs: readonly NewJob[]): boolean {
  const seen = new Set<string>()
  for (const { blockers, deduplication, group, type, id } of jobs) {
    if (blockers !== undefined || deduplication !== undefined || group !== undefined) return false
    seen.add(jobs.length === 1 ? id : `${type.length}/${type}/${id}`)
  }
  return jobs.length > 0 && seen.size === jobs.length
}

/** Undefined: nothing was done, and the rules must decide. */
export async function fastAdd(
  connection: Pick<Connection, 'query'>,
  statement: Statement,
  types: Types,
  jobs: readonly NewJob[],
  told: Told,
): Promise<AddVerdict[] | undefined> {
  const wakes = [...new Set(jobs.map(({ type }) => type))].map((type) => ({ kind: 'wake' as const, type }))
  let now: number
  try {
    const [row] = await connection.query(statement, [
      ...cellsOf(types, jobs),
      told.channel,
      encodeHints(wakes, told.from)!,
    ])
    if (row![1] === '0') return undefined
    now = Number(row![0])
  } catch (error) {
    // Somebody else was quicker: a repeat of this very call, maybe.
    if (isHoldfastError(error) && sqlStateOf(error) === '23505') return undefined
    throw error
  }
  const verdicts = jobs.map(({ type, id, token, runAt = 0, delayMs }): AddVerdict => {
    const isDue = delayMs === undefined ? runAt <= now : delayMs <= 0
    const state = isDue ? 'queued' : 'scheduled'
    told.event(type, { event: state, id, attempt: 0, at: now })
    return { verdict: 'added', job: { type, id, token, state, createdAt: now } }
  })
  for (const signal of wakes) told.signal(signal)
  return verdicts
}

function cellsOf(types: Types, jobs: readonly NewJob[]): string[] {
  const lists: Value[][] = [[], [], [], [], [], [], [], [], [], []]
  for (const job of jobs) {
    const { type, id, token, priority = 0, maxAttempts = null, retention, trace, payload } = job
    const { completedMs, failedMs, cancelledMs } = retention
    const same = completedMs === failedMs && completedMs === cancelledMs
    const more = same && trace === undefined ? null : JSON.stringify({ trace, retention: same ? undefined : retention })
    const cells = [types.tidOf(type)!, encodeText(id), encodeText(token), priority, maxAttempts, completedMs]
    cells.push(job.runAt ?? null, job.delayMs ?? null, more, bytesText(payload))
    for (let index = 0; index < cells.length; index++) lists[index]!.push(cells[index]!)
  }
  return lists.map(arrayOf)
}
