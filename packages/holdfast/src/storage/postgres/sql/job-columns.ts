// The columns of the jobs table, and the codes that some of them hold. States are in storage/rules/job/codes.ts.

import { standardEnds } from '../../retention.ts'
import { stateCodes } from '../../rules/job/codes.ts'
import type { RecordPart } from '../../storage.ts'
import { param } from './statement.ts'

/** The columns of a job with their types, in the order of a row. Those from `state` on change after the insert. */
export const jobColumns = {
  seq: 'bigint',
  tid: 'integer',
  id: 'text',
  token: 'text',
  priority: 'smallint',
  max_attempts: 'double precision',
  grp: 'text',
  keep_ms: 'double precision',
  created_at: 'double precision',
  chain: 'bigint',
  under: 'boolean',
  payload: 'bytea',
  state: 'smallint',
  kind: 'smallint',
  attempt: 'integer',
  failures: 'integer',
  run_at: 'double precision',
  ord: 'bigint',
  ready: 'smallint',
  worker: 'text',
  label: 'text',
  started_at: 'double precision',
  lease_until: 'double precision',
  finished_at: 'double precision',
  by_holder: 'boolean',
  result: 'bytea',
  error: 'bytea',
  tail: 'bigint',
  dependents: 'integer',
  expires_at: 'double precision',
  sweep_at: 'double precision',
  more: 'text',
  attempts: 'text',
} as const

export type JobColumn = keyof typeof jobColumns

export const jobColumnNames = Object.keys(jobColumns) as readonly JobColumn[]

/** Position of each column in a row. */
export const cell = Object.fromEntries(jobColumnNames.map((name, index) => [name, index])) as Readonly<
  Record<JobColumn, number>
>

/** Numbers from here on are provisional: the insert of new jobs replaces each by one of the sequence. */
export const firstProvisional = 2 ** 52

/** The columns that hold numbers of the sequence. */
export const numberColumns: ReadonlySet<JobColumn> = new Set(['seq', 'ord', 'chain', 'tail'])

/** The columns that change after the insert. */
export const changingColumns = jobColumnNames.slice(cell.state)

/**
 * What a job is tied to, which decides whether a fast path may handle it: nothing; a deduplication key or a cancellation
 * request; a group, a chain, blockers or dependents; rows of its own in other tables (a deadline, search fields, a report).
 * A fast path may claim and settle an indexed job, but not delete it. A job of another kind never becomes `alone` again.
 */
export const kindCodes = { alone: 0, marked: 1, linked: 2, indexed: 3 } as const

/** Where a waiting job stands: ready to be claimed once due, or aside, behind the head of its group. */
export const readyCodes = { ready: 1, aside: 0 } as const

const { scheduled, blocked, queued, failing, completed, failed, cancelled } = stateCodes

/**
 * The jobs of the index jobs_seldom: blocked, failed and cancelled ones; of the completed ones, those that never expire and the
 * first jobs of longer chains. Plain adds, claims and completions have no entry in it.
 */
export const isSeldom = (alias: string): string =>
  `(${alias}.state IN (${blocked}, ${failed}, ${cancelled}) OR (${alias}.state = ${completed} AND (${alias}.sweep_at IS NULL OR ${alias}.tail IS NOT NULL)))`

/** Completed jobs that are not in that index. They are in jobs_ended, by expiry, of all types. */
export const isCommon = (alias: string): string =>
  `(${alias}.sweep_at IS NOT NULL AND ${alias}.state = ${completed} AND ${alias}.tail IS NULL)`

/** The order inside a state in that index: by expiry; by the end, if it never expires; blocked jobs by creation. */
export const seldomAt = (alias: string): string =>
  `coalesce(${alias}.sweep_at, ${alias}.finished_at, ${alias}.created_at)`

/** States of a job that waits for its time. A list, for IN. */
export const waitingStates = [scheduled, queued, failing].join(', ')

/** The state that readers see: a scheduled job whose time has come is queued. Needs `now` in scope. */
export const effectiveState = (state: string, runAt: string): string =>
  `(CASE WHEN ${state} = ${scheduled} AND ${runAt} <= now THEN ${queued} ELSE ${state} END)`

/** A job's columns, in the order of its row; bytes as hex. */
export const jobCells = (alias: string): string[] =>
  jobColumnNames.map((name) => (jobColumns[name] === 'bytea' ? `encode(${alias}.${name}, 'hex')` : `${alias}.${name}`))

/**
 * The same as one cell, for statements that nearly never return a job: a cast per column costs each call something, even if there is no
 * row. NULL: no job. jobRowOf() reads it.
 */
export const jobCell = (alias: string): string =>
  `CASE WHEN ${alias}.seq IS NOT NULL THEN json_build_array(${jobCells(alias).join(', ')}) END`

/** The row of a job, from the JSON of jobCell(). */
export const jobRowOf = (json: string): (string | null)[] =>
  (JSON.parse(json) as (string | number | boolean | null)[]).map((value) => (value === null ? null : String(value)))

/** The same, but with bytes only where requested: they may be megabytes. @param payload, end numbers of boolean parameters */
export const requestedCells = (alias: string, payload: number, end: number): string[] =>
  jobCells(alias).map((expression, index) => {
    const flags: Partial<Record<JobColumn, number>> = { payload, result: end, error: end }
    const flag = flags[jobColumnNames[index]!]
    return flag === undefined ? expression : `CASE WHEN ${param(flag, 'boolean')} THEN ${expression} END`
  })

/** The values of these two parameters, and of the two for reports (report-statements.ts). */
export const requestedParts = (
  parts: readonly RecordPart[] = [],
): [payload: string, end: string, report: string, log: string] => [
  String(parts.includes('payload')),
  String(parts.includes('result') || parts.includes('error')),
  String(parts.includes('progress') || parts.includes('log')),
  String(parts.includes('log')),
]

/** False of a job whose retention is in `more`. */
export const hasRetentionCode = `j.keep_ms <> 'NaN'`

/** How long a job is kept after failing or being cancelled, from the number of its retention (storage/retention.ts). */
export const keptAfter = (end: 'failed' | 'cancelled', code: string): string =>
  `CASE WHEN ${code} < 0 THEN ${standardEnds[`${end}Ms`]} ELSE ${code} END`
