// Reads of one or several records, as the cases compare them: refs, fences, states, snapshots.

import assert from 'node:assert/strict'
import type { Bytes, JobRecord, JobRef, JobState, LeaseRef, RecordPart, Storage } from 'holdfast/storage'

export const jobStates = [
  'scheduled',
  'blocked',
  'queued',
  'processing',
  'failing',
  'completed',
  'failed',
  'cancelled',
] as const satisfies readonly JobState[]

export const refOf = ({ type, id }: JobRef): JobRef => ({ type, id })
export const fenceOf = ({ type, id, worker, attempt }: LeaseRef): LeaseRef => ({ type, id, worker, attempt })
export const idsOf = (jobs: readonly JobRef[]): string[] => jobs.map(({ id }) => id)
export const byteValues = (value: Bytes | undefined): number[] | undefined =>
  value === undefined ? undefined : [...value]

const allParts: readonly RecordPart[] = ['payload', 'result', 'error', 'attempts', 'blockers', 'tail']

/** The record with these parts; undefined if the storage has none. */
export async function findRecord(
  storage: Storage,
  job: JobRef,
  ...parts: RecordPart[]
): Promise<JobRecord | undefined> {
  return (await storage.get([refOf(job)], { parts }))[0]
}

/** The record with these parts. Fails if the storage has none. */
export async function recordOf(storage: Storage, job: JobRef, ...parts: RecordPart[]): Promise<JobRecord> {
  const record = await findRecord(storage, job, ...parts)
  assert.ok(record, `${job.type} ${job.id}: expected a record, got none`)
  return record
}

/** Every part of these records, to compare before and after a call. */
export const snapshotOf = (storage: Storage, ...jobs: JobRef[]): Promise<(JobRecord | undefined)[]> =>
  storage.get(jobs.map(refOf), { parts: allParts })

/** The states of these jobs; undefined for a job without a record. */
export const statesOf = async (storage: Storage, ...jobs: JobRef[]): Promise<(JobState | undefined)[]> =>
  (await storage.get(jobs.map(refOf))).map((record) => record?.state)

export const stateOf = async (storage: Storage, job: JobRef): Promise<JobState | undefined> =>
  (await statesOf(storage, job))[0]
