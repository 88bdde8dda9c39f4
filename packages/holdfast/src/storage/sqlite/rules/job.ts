// A job as a row in SQLite: its columns, how they are read and how they are written.

import { RowJob, type Rows } from '../../rows/job.ts'
import { decodeMore, encodeMore } from '../../rows/more.ts'
import { retentionCode } from '../../retention.ts'
import { stateCodes, stateNames } from '../../rules/job/codes.ts'
import type { NewJob, Retention } from '../../storage.ts'
import type { SqliteType } from './type.ts'

/** Payloads with more bytes are stored in holdfast_payloads. */
const inlineBytes = 1_024

export const jobColumns =
  'seq, tid, id, token, state, attempt, failures, max_attempts, priority, grp, keep_ms, created_at, run_at, ord, line, ' +
  'worker, label, started_at, lease_until, finished_at, by_holder, payload, result, error, chain, expires_at, sweep_at, more'

type Cell = number | string | Uint8Array | null
export type Row = Cell[]
export type SqliteJob = RowJob<SqliteType>

export function readJob(rows: Rows<SqliteType>, type: SqliteType, row: Row): SqliteJob {
  const more = decodeMore(row[27] as string | null)
  const columns = {
    accepted: row[0] as number,
    id: row[2] as string,
    token: row[3] as string,
    state: stateNames[row[4] as number]!,
    attempt: row[5] as number,
    failures: row[6] as number,
    maxAttempts: optional(row[7] as number | null),
    priority: row[8] as number,
    groupKey: optional(row[9] as string | null),
    keepMs: row[10] === -1 ? Infinity : (row[10] as number),
    createdAt: row[11] as number,
    runAt: row[12] as number,
    order: row[13] as number,
    ready: optional(row[14] as 0 | 1 | null),
    lease:
      row[15] === null
        ? undefined
        : {
            worker: row[15] as string,
            label: optional(row[16] as string | null),
            startedAt: row[17] as number,
            until: (row[18] as number | null) ?? 0,
          },
    leased: row[18] !== null,
    finishedAt: optional(row[19] as number | null),
    completedByHolder: row[20] === 1,
    payload: optional(row[21] as Uint8Array | number | null),
    result: optional(row[22] as Uint8Array | null),
    error: optional(row[23] as Uint8Array | null),
    chainSeq: optional(row[24] as number | null),
    expiresAt: optional(row[25] as number | null),
    sweepable: row[26] !== null,
    attempts: more.attempts,
    tailSeq: more.tail,
    dependentCount: more.dependents ?? 0,
  }
  return new RowJob(rows, type, columns, more)
}

/** Whether the runAt of a row has come: without reading the row into a job. */
export const isDue = (row: Row, now: number): boolean => (row[12] as number) <= now

/** The columns that never change, without those that a plain job does not have: group and chain. */
export function fixedCells(job: SqliteJob): Cell[] {
  const { accepted, type, id, token, maxAttempts = null, priority, createdAt } = job
  return [accepted, type.tid, id, token, maxAttempts, priority, keepCell(job.retention), createdAt]
}

function keepCell(retention: Retention): number | null {
  const code = retentionCode(retention) ?? null
  return code === Infinity ? -1 : code && instant(code)
}

/** True of a new plain job (rules/add.ts) that is a row in holdfast_jobs and nothing else: nearly every one. */
export const hasRowAlone = (job: NewJob): boolean =>
  job.trace === undefined &&
  job.timeoutMs === undefined &&
  job.expiresInMs === undefined &&
  job.search === undefined &&
  job.onBlockerFailure === undefined &&
  (job.weight === undefined || job.weight === 1) &&
  (job.payload === undefined || job.payload.byteLength <= inlineBytes) &&
  retentionCode(job.retention) !== undefined

/** The cells of such a job, in the order of addJobIfNew (connection/statements.ts). */
export function newCells(
  { tid }: SqliteType,
  job: NewJob,
  { accepted, now, runAt, state }: { accepted: number; now: number; runAt: number; state: 'queued' | 'scheduled' },
): Cell[] {
  const { id, token, maxAttempts, priority = 0, payload } = job
  return [
    accepted,
    tid,
    id,
    token,
    maxAttempts ?? null,
    priority,
    keepCell(job.retention),
    now,
    payload ?? null,
    stateCodes[state],
    instant(runAt),
    accepted,
  ]
}

/** The columns that change: last those that an end or a renewal of a lease changes. */
export function changingCells(job: SqliteJob): Cell[] {
  const { lease } = job
  return [
    job.attempt,
    job.failures,
    instant(job.runAt),
    job.order,
    job.ready ?? null,
    lease?.worker ?? null,
    lease?.label ?? null,
    lease?.startedAt ?? null,
    job.error ?? null,
    moreCell(job),
    stateCodes[job.state],
    job.leased ? instant(lease!.until) : null,
    job.finishedAt ?? null,
    job.completedByHolder ? 1 : null,
    job.result ?? null,
    finite(job.expiresAt),
    job.sweepable ? finite(job.expiresAt) : null,
  ]
}

/** The position of `state` in changingCells(). */
const firstOfEnd = 10

/** The cells of `endJob`, if no other cell differs from what was written before. */
export function endingCells(written: readonly unknown[], cells: readonly Cell[]): Cell[] | undefined {
  for (let index = 0; index < firstOfEnd; index++) if (written[index] !== cells[index]) return undefined
  return cells.slice(firstOfEnd)
}

const moreCell = (job: SqliteJob): string | null =>
  encodeMore(job, { attempts: job.attempts, tail: job.tailSeq, dependents: job.dependentCount || undefined })

/** True of a new job that is ready and has only what every job has. */
export function isPlainStart(job: SqliteJob): boolean {
  if (job.ready !== 1 || job.attempt > 0 || job.failures > 0 || job.groupKey !== undefined) return false
  const isTouched = job.lease ?? job.result ?? job.error ?? job.chainSeq ?? job.expiresAt ?? job.finishedAt
  return isTouched === undefined && !job.completedByHolder && moreCell(job) === null
}

/** True if the payload is in holdfast_payloads: the column has its number of bytes. */
export const isApart = ({ payloadBytes }: SqliteJob): boolean => payloadBytes > inlineBytes

export const payloadCell = (job: SqliteJob): Cell => (isApart(job) ? job.payloadBytes : (job.payload ?? null))

const optional = <T>(cell: T | null): T | undefined => (cell === null ? undefined : cell)

const finite = (value: number | undefined): number | null =>
  value === undefined || value === Infinity ? null : instant(value)

/** SQLite stores it as an integer, which can be read back up to this limit. */
export const instant = (value: number): number => Math.min(value, Number.MAX_SAFE_INTEGER)
