// What the cases say again and again: a ref, a fence, a look at a record, an end.

import assert from 'node:assert/strict'
import type {
  AddVerdict,
  Bytes,
  Fence,
  JobRecord,
  JobRef,
  JobState,
  LeaseRef,
  NewJob,
  Outcome,
  RecordPart,
  SettleVerdict,
  Storage,
} from 'holdfast/storage'
import { bytes } from './case.ts'

type Settled = Extract<SettleVerdict, { verdict: 'settled' }>

export const ref = ({ type, id }: JobRef): JobRef => ({ type, id })
export const fence = ({ type, id, worker, attempt }: LeaseRef): LeaseRef => ({ type, id, worker, attempt })
export const ids = (jobs: readonly JobRef[]): string[] => jobs.map((job) => job.id)
export const octets = (value: Bytes | undefined): number[] | undefined => (value === undefined ? undefined : [...value])

const everything: readonly RecordPart[] = ['payload', 'result', 'error', 'attempts', 'blockers', 'tail']

/** The record, which must be there. */
export async function look(storage: Storage, job: JobRef, ...parts: RecordPart[]): Promise<JobRecord> {
  const [record] = await storage.get([ref(job)], { parts })
  assert.ok(record, `there was to be a record of ${job.type} ${job.id}`)
  return record
}

/** All there is of these jobs: to compare before and after. */
export const whole = (storage: Storage, ...jobs: JobRef[]): Promise<(JobRecord | undefined)[]> =>
  storage.get(jobs.map(ref), { parts: everything })

/** Their states; undefined for a job that is not there. */
export const states = async (storage: Storage, ...jobs: JobRef[]): Promise<(JobState | undefined)[]> =>
  (await storage.get(jobs.map(ref))).map((record) => record?.state)

export async function addOne(storage: Storage, job: NewJob): Promise<AddVerdict> {
  const verdicts = await storage.add([job])
  assert.equal(verdicts.length, 1)
  return verdicts[0]!
}

/** Settles one outcome, which must be accepted. */
export async function settled(storage: Storage, outcome: Outcome): Promise<Settled> {
  const [verdict] = await storage.settle([outcome])
  assert.equal(verdict?.verdict, 'settled')
  return verdict as Settled
}

export const complete = (storage: Storage, job: LeaseRef, result?: string): Promise<Settled> =>
  settled(storage, {
    ...fence(job),
    kind: 'completed',
    ...(result === undefined ? undefined : { result: bytes(result) }),
  })

export const fail = (storage: Storage, job: LeaseRef, error = 'broken'): Promise<Settled> =>
  settled(storage, { ...fence(job), kind: 'failed', error: bytes(error) })

export const retry = (storage: Storage, job: LeaseRef, delayMs = 0): Promise<Settled> =>
  settled(storage, { ...fence(job), kind: 'retry', error: bytes('again'), delayMs })

export const goOn = (storage: Storage, job: LeaseRef, next: NewJob): Promise<Settled> =>
  settled(storage, { ...fence(job), kind: 'continued', next })

/** An outcome of a kind that may bring jobs, with some. */
export const bringing = (
  kind: 'completed' | 'failed' | 'continued',
  of: Fence,
  next: NewJob,
  add: readonly NewJob[],
): Outcome => ({ ...outcomeOf(kind, of, next), add }) as Outcome

export const kinds = ['completed', 'retry', 'failed', 'released', 'continued'] as const

/** An outcome of each kind, with all the bytes that it can carry. */
export function outcomeOf(kind: Outcome['kind'], of: Fence, next: NewJob): Outcome {
  switch (kind) {
    case 'completed':
      return { ...of, kind, result: bytes('result') }
    case 'retry':
      return { ...of, kind, error: bytes('error') }
    case 'failed':
      return { ...of, kind, error: bytes('error') }
    case 'released':
      return { ...of, kind, payload: bytes('replaced') }
    case 'continued':
      return { ...of, kind, next }
  }
}
