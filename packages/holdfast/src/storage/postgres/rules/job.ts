// A job's row in Postgres: its columns, how they are read and what is written.

import { RowJob, type Rows } from '../../rows/job.ts'
import { decodeMore, encodeMore } from '../../rows/more.ts'
import { decodeAttempts, encodeAttempts } from './attempts.ts'
import type { Value } from '../connection/database.ts'
import { stateCodes, stateNames } from '../../rules/job/codes.ts'
import { bytesOf, bytesText, decodeText, encodeText, numberOf, optionalText } from './text.ts'
import type { PostgresType } from './types.ts'

/** The columns of a job with their types, in the order of a row. */
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
  line: 'smallint',
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

/** Where its kind is in a row. */
export const kindIndex = Object.keys(jobColumns).indexOf('kind')

/** From here on they change. */
export const firstChanging = 12

export type JobRow = readonly (string | null)[]

/** Numbers from here on are not yet those of the sequence: write.ts gives each its own. */
export const firstProvisional = 2 ** 52

export type PostgresJob = RowJob<PostgresType>

export function readJob(rows: Rows<PostgresType>, type: PostgresType, row: JobRow): PostgresJob {
  const columns = {
    accepted: Number(row[0]),
    id: decodeText(row[2]!),
    token: decodeText(row[3]!),
    priority: Number(row[4]),
    maxAttempts: numberOf(row[5]!),
    groupKey: optional(row[6]!),
    keepMs: Number(row[7]),
    createdAt: Number(row[8]),
    chainSeq: numberOf(row[9]!),
    payload: bytesOf(row[11]!),
    state: stateNames[Number(row[12])]!,
    attempt: Number(row[14]),
    failures: Number(row[15]),
    runAt: Number(row[16]),
    order: Number(row[17]),
    ready: numberOf(row[18]!) as 0 | 1 | undefined,
    lease:
      row[19] === null
        ? undefined
        : {
            worker: decodeText(row[19]!),
            label: optional(row[20]!),
            startedAt: Number(row[21]),
            until: Number(row[22] ?? 0),
          },
    leased: row[22] !== null,
    finishedAt: numberOf(row[23]!),
    completedByHolder: row[24] === 'true',
    result: bytesOf(row[25]!),
    error: bytesOf(row[26]!),
    tailSeq: numberOf(row[27]!),
    dependentCount: Number(row[28] ?? 0),
    expiresAt: numberOf(row[29]!),
    sweepable: row[30] !== null,
    attempts: decodeAttempts(row[32]!),
  }
  return new RowJob(rows, type, columns, decodeMore(row[31]!))
}

/** Of one that was given out in this call, its number in the sequence. */
type Real = (number: number) => number

export function fixedCells(job: PostgresJob, real: Real): Value[] {
  const { root, chainRef: chain } = job
  const isUnder = root !== undefined && (root.id !== chain?.id || root.type !== chain?.type)
  return [
    real(job.accepted),
    job.type.tid,
    encodeText(job.id),
    encodeText(job.token),
    job.priority,
    job.maxAttempts ?? null,
    optionalText(job.groupKey),
    job.retention.completedMs,
    job.createdAt,
    given(job.chainSeq, real),
    isUnder ? 'true' : null,
    bytesText(job.payload),
  ]
}

export function changingCells(job: PostgresJob, real: Real): Value[] {
  const { lease } = job
  return [
    stateCodes[job.state],
    kindOf(job),
    job.attempt,
    job.failures,
    job.runAt,
    real(job.order),
    job.ready ?? null,
    optionalText(lease?.worker),
    optionalText(lease?.label),
    lease?.startedAt ?? null,
    job.leased ? lease!.until : null,
    job.finishedAt ?? null,
    job.completedByHolder ? 'true' : null,
    bytesText(job.result),
    bytesText(job.error),
    given(job.tailSeq, real),
    job.dependentCount || null,
    finite(job.expiresAt),
    job.sweepable ? finite(job.expiresAt) : null,
    encodeMore(job, { chain: job.chainRef }),
    encodeAttempts(job.attempts),
  ]
}

/** Which of the short ways may take it (migrations.ts). */
function kindOf(job: PostgresJob): number {
  const isLinked = job.chainSeq ?? job.tailSeq ?? job.groupKey ?? job.blockers
  if (isLinked !== undefined || job.dependentCount > 0) return 2
  return job.keyPart || job.cancelling ? 1 : 0
}

const given = (number: number | undefined, real: Real): Value => (number === undefined ? null : real(number))

const optional = (cell: string | null): string | undefined => (cell === null ? undefined : decodeText(cell))

const finite = (value: number | undefined): number | null => (value === undefined || value === Infinity ? null : value)
