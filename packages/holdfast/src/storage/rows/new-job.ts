// A new job as a row.

import type { NewJob } from '../storage.ts'
import { type JobType, membershipOf, refOf, rootOf } from '../rules/move.ts'
import { type Columns, RowJob, type Rows } from './job.ts'

/** A new job, in place `nowhere`. @param after the job that it continues @param origin the job that it was started to block */
export function newRowJob<Type extends JobType>(
  rows: Rows<Type>,
  type: Type,
  fields: NewJob,
  at: { readonly accepted: number; readonly now: number; readonly runAt: number },
  after: RowJob<Type> | undefined,
  origin: RowJob<Type> | undefined,
): RowJob<Type> {
  const above = after ?? origin
  const columns: Columns = {
    accepted: at.accepted,
    id: fields.id,
    token: fields.token,
    priority: fields.priority ?? 0,
    maxAttempts: fields.maxAttempts,
    groupKey: fields.group?.key,
    keepMs: 0,
    createdAt: at.now,
    chainSeq: after?.chain.accepted,
    tailSeq: undefined,
    payload: fields.payload,
    state: 'blocked',
    attempt: 0,
    failures: 0,
    runAt: at.runAt,
    order: at.accepted,
    ready: undefined,
    lease: undefined,
    leased: false,
    finishedAt: undefined,
    completedByHolder: false,
    result: undefined,
    error: undefined,
    attempts: undefined,
    dependentCount: 0,
    expiresAt: undefined,
    sweepable: false,
  }
  const job = new RowJob(rows, type, columns, {
    retention: fields.retention,
    trace: fields.trace,
    timeoutMs: fields.timeoutMs,
    deadlineAt: fields.expiresInMs === undefined ? undefined : at.now + fields.expiresInMs,
    search: fields.search && Object.entries(fields.search),
    chainIndex: after && after.chainIndex + 1,
    chain: after && refOf(after.chain),
    origin: above && refOf(above),
    root: above && rootOf(above),
    onBlockerFailure: fields.onBlockerFailure,
    membership: fields.group && membershipOf(fields.group),
    weight: fields.weight,
  })
  job.isNew = true
  return job
}
