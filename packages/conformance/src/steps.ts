// Steps that cases of several verbs take on their way to what they are about. Each asserts that it succeeded.

import assert from 'node:assert/strict'
import type {
  ClaimedJob,
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
import type { CaseContext } from './case.ts'

export type Settled = Extract<SettleVerdict, { verdict: 'settled' }>

/** How an attempt ends, without its fence. */
export type Ending<Kind extends Outcome['kind'] = Outcome['kind']> = Kind extends Kind
  ? Omit<Extract<Outcome, { kind: Kind }>, keyof LeaseRef | 'chain' | 'token'>
  : never

export const states = [
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
export const idsOf = (jobs: readonly JobRef[]): string[] => jobs.map(({ id }) => id)

export const outcomeOf = (lease: LeaseRef, ending: Ending): Outcome =>
  ({ type: lease.type, id: lease.id, worker: lease.worker, attempt: lease.attempt, ...ending }) as Outcome

export async function find(storage: Storage, job: JobRef, parts: readonly RecordPart[] = []) {
  return (await storage.get([refOf(job)], { parts }))[0]
}

/** The record of a job that must be there. */
export async function recordOf(storage: Storage, job: JobRef, parts: readonly RecordPart[] = []): Promise<JobRecord> {
  const record = await find(storage, job, parts)
  assert.ok(record, `${job.type} ${job.id} is to be there`)
  return record
}

export async function stateOf(storage: Storage, job: JobRef): Promise<JobState | undefined> {
  return (await find(storage, job))?.state
}

export async function settleOne(storage: Storage, lease: LeaseRef, ending: Ending): Promise<Settled> {
  const [verdict] = await storage.settle([outcomeOf(lease, ending)])
  assert.equal(verdict!.verdict, 'settled')
  return verdict as Settled
}

/** The verdict alone, whatever it is. */
export async function settleVerdict(storage: Storage, lease: LeaseRef, ending: Ending): Promise<string> {
  return (await storage.settle([outcomeOf(lease, ending)]))[0]!.verdict
}

export const complete = (storage: Storage, lease: LeaseRef, result?: string): Promise<Settled> =>
  settleOne(storage, lease, { kind: 'completed', ...(result === undefined ? {} : { result: bytes(result) }) })

export const fail = (storage: Storage, lease: LeaseRef): Promise<Settled> =>
  settleOne(storage, lease, { kind: 'failed', error: bytes('broken') })

/** Claims the one job of a type. */
export function claimType(context: CaseContext, type: string, label?: string): Promise<ClaimedJob> {
  const types = [{ type, leaseMs: 10 * context.unit }]
  return context.claimOne(label === undefined ? { types } : { types, label })
}

/** Claims the one due job of the type, and completes it. */
export async function run(context: CaseContext, type = 'mail', result?: string): Promise<ClaimedJob> {
  const job = await claimType(context, type)
  await complete(context.storage, job, result)
  return job
}

/** Adds a job that is the only due one of its type, and brings it to the state. What is later is 50 units away. */
export async function inState(context: CaseContext, state: JobState, fields: Partial<NewJob> = {}): Promise<NewJob> {
  const { added, storage, unit } = context
  if (state === 'scheduled') return added({ delayMs: 50 * unit, ...fields })
  if (state === 'blocked') return added({ blockers: [refOf(await added({ type: 'open blocker' }))], ...fields })
  const job = await added(fields)
  if (state === 'queued') return job
  if (state === 'cancelled') {
    assert.deepEqual(await storage.cancel([refOf(job)]), [{ verdict: 'cancelled' }])
    return job
  }
  const lease = await claimType(context, job.type)
  assert.equal(lease.id, job.id)
  if (state === 'completed') await complete(storage, lease, 'done')
  if (state === 'failed') await fail(storage, lease)
  if (state === 'failing') {
    await settleOne(storage, lease, { kind: 'retry', error: bytes('once more'), delayMs: 50 * unit })
  }
  return job
}

/** A chain of two: the first job completed, its continuation waiting. */
export async function chainOfTwo(
  context: CaseContext,
  { first = {}, next = {} }: { first?: Partial<NewJob>; next?: Partial<NewJob> } = {},
): Promise<{ first: NewJob; next: NewJob }> {
  const job = await context.added(first)
  const lease = await claimType(context, job.type)
  const following = context.job({ type: 'next', ...next })
  await settleOne(context.storage, lease, { kind: 'continued', next: following })
  return { first: job, next: following }
}

/** A job, and the one it waits for, started under it. */
export async function treeOfTwo(
  context: CaseContext,
  { root = {}, child = {} }: { root?: Partial<NewJob>; child?: Partial<NewJob> } = {},
): Promise<{ root: NewJob; child: NewJob }> {
  const top = context.job({ blockers: [1], ...root })
  const below = context.job({ type: 'child', ...child, token: top.token })
  const verdicts = await context.storage.add([top, below])
  assert.deepEqual(
    verdicts.map(({ verdict }) => verdict),
    ['added', 'added'],
  )
  return { root: top, child: below }
}

/** Rejects with FEATURE_UNSUPPORTED. */
export async function unsupported(call: () => Promise<unknown>): Promise<void> {
  await assert.rejects(call, (error: Error & { code?: string }) => error.code === 'FEATURE_UNSUPPORTED')
}
