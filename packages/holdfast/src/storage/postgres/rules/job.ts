// A job's row in Postgres: how it is read, and what is written. The columns are in sql/job-columns.ts.

import { retentionCode } from '../../retention.ts'
import { RowJob, type Rows } from '../../rows/job.ts'
import { decodeMore, encodeMore } from '../../rows/more.ts'
import { stateCodes, stateNames } from '../../rules/job/codes.ts'
import type { Value } from '../connection/database.ts'
import { cell, kindCodes } from '../sql/job-columns.ts'
import {
  decodeBytes,
  decodeOptionalText,
  decodeText,
  encodeBytes,
  encodeOptionalText,
  encodeText,
  numberOf,
} from '../sql/text.ts'
import { decodeAttempts, encodeAttempts } from './attempts.ts'
import type { PostgresType } from './type-registry.ts'

export type JobRow = readonly (string | null)[]

export type PostgresJob = RowJob<PostgresType>

export function readJob(rows: Rows<PostgresType>, type: PostgresType, row: JobRow): PostgresJob {
  const columns = {
    accepted: Number(row[cell.seq]),
    id: decodeText(row[cell.id]!),
    token: decodeText(row[cell.token]!),
    priority: Number(row[cell.priority]),
    maxAttempts: numberOf(row[cell.max_attempts]!),
    groupKey: decodeOptionalText(row[cell.grp]!),
    keepMs: Number(row[cell.keep_ms]),
    createdAt: Number(row[cell.created_at]),
    chainSeq: numberOf(row[cell.chain]!),
    payload: decodeBytes(row[cell.payload]!),
    state: stateNames[Number(row[cell.state])]!,
    attempt: Number(row[cell.attempt]),
    failures: Number(row[cell.failures]),
    runAt: Number(row[cell.run_at]),
    order: Number(row[cell.ord]),
    ready: numberOf(row[cell.ready]!) as 0 | 1 | undefined,
    lease:
      row[cell.worker] === null
        ? undefined
        : {
            worker: decodeText(row[cell.worker]!),
            label: decodeOptionalText(row[cell.label]!),
            startedAt: Number(row[cell.started_at]),
            until: Number(row[cell.lease_until] ?? 0),
          },
    leased: row[cell.lease_until] !== null,
    finishedAt: numberOf(row[cell.finished_at]!),
    completedByHolder: row[cell.by_holder] === 'true',
    result: decodeBytes(row[cell.result]!),
    error: decodeBytes(row[cell.error]!),
    tailSeq: numberOf(row[cell.tail]!),
    dependentCount: Number(row[cell.dependents] ?? 0),
    expiresAt: numberOf(row[cell.expires_at]!),
    sweepable: row[cell.sweep_at] !== null,
    attempts: decodeAttempts(row[cell.attempts]!),
  }
  const job = new RowJob(rows, type, columns, decodeMore(row[cell.more]!))
  // The fast path of claim does not remove it.
  if (job.attempt > 0) job.deadlineAt = undefined
  return job
}

/** Replaces a provisional number by the one of the sequence. */
export type FinalNumber = (number: number) => number

/** The columns before `state`, in the order of a row. */
export function fixedCells(job: PostgresJob, final: FinalNumber): Value[] {
  const { root, chainRef: chain } = job
  const isUnder = root !== undefined && (root.id !== chain?.id || root.type !== chain?.type)
  return [
    final(job.accepted),
    job.type.tid,
    encodeText(job.id),
    encodeText(job.token),
    job.priority,
    job.maxAttempts ?? null,
    encodeOptionalText(job.groupKey),
    retentionCode(job.retention) ?? NaN,
    job.createdAt,
    optionalNumber(job.chainSeq, final),
    isUnder ? 'true' : null,
    // The payload: the insert has all of them in one string.
    null,
  ]
}

/** The columns from `state` on, in the order of a row. @param isIndexed it may have rows in other tables */
export function changingCells(job: PostgresJob, final: FinalNumber, isIndexed: boolean): Value[] {
  const { lease } = job
  return [
    stateCodes[job.state],
    kindOf(job, isIndexed),
    job.attempt,
    job.failures,
    job.runAt,
    final(job.order),
    job.ready ?? null,
    encodeOptionalText(lease?.worker),
    encodeOptionalText(lease?.label),
    lease?.startedAt ?? null,
    job.leased ? lease!.until : null,
    job.finishedAt ?? null,
    job.completedByHolder ? 'true' : null,
    encodeBytes(job.result),
    encodeBytes(job.error),
    optionalNumber(job.tailSeq, final),
    job.dependentCount || null,
    finite(job.expiresAt),
    job.sweepable ? finite(job.expiresAt) : null,
    encodeMore(job, { chain: job.chainRef }),
    encodeAttempts(job.attempts),
  ]
}

function kindOf(job: PostgresJob, isIndexed: boolean): number {
  const link = job.chainSeq ?? job.tailSeq ?? job.groupKey ?? job.blockers
  if (link !== undefined || job.dependentCount > 0) return kindCodes.linked
  if (job.keyPart || job.cancelling) return kindCodes.marked
  return isIndexed || job.search || job.deadlineAt !== undefined ? kindCodes.indexed : kindCodes.alone
}

const optionalNumber = (number: number | undefined, final: FinalNumber): Value =>
  number === undefined ? null : final(number)

const finite = (value: number | undefined): number | null => (value === undefined || value === Infinity ? null : value)
