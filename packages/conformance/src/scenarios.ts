// Situations that cases of several verbs start from: a job in a given state, a chain of two, a tree of two.
// Each function asserts that every call it makes succeeded.

import assert from 'node:assert/strict'
import type { AddVerdict, ClaimedJob, JobState, Limits, NewJob, Storage } from 'holdfast/storage'
import { bytes, type CaseContext } from './case.ts'
import { complete, fail, settleOne } from './outcomes.ts'
import { refOf } from './records.ts'

export async function addOne(storage: Storage, job: NewJob): Promise<AddVerdict> {
  const verdicts = await storage.add([job])
  assert.equal(verdicts.length, 1)
  return verdicts[0]!
}

/** Claims the only due job of a type. */
export function claimType(context: CaseContext, type: string, label?: string): Promise<ClaimedJob> {
  const types = [{ type, leaseMs: 10 * context.unit }]
  return context.claimOne(label === undefined ? { types } : { types, label })
}

/** Claims jobs of type 'mail' within limits, with leases of 500 units: longer than any window of a case. */
export function claimWithin(context: CaseContext, limits: Limits, slots = 100): Promise<ClaimedJob[]> {
  return context.claim({ slots, types: [{ type: 'mail', leaseMs: 500 * context.unit, limits }] })
}

/** Claims and completes the only due job of a type. */
export async function runOne(context: CaseContext, type = 'mail', result?: string): Promise<ClaimedJob> {
  const job = await claimType(context, type)
  await complete(context.storage, job, result)
  return job
}

/** Adds the only due job of its type and brings it to the state. Scheduled and failing jobs are due in 50 units. */
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

/** Adds jobs of type 'mail' and claims them with leases of one unit, which have ended when it resolves. */
export async function lostLeases(
  { storage, job, claim, advance, unit }: CaseContext,
  jobs: readonly Partial<NewJob>[],
  worker?: string,
): Promise<ClaimedJob[]> {
  await storage.add(jobs.map((fields) => job(fields)))
  const types = [{ type: 'mail', leaseMs: unit }]
  const leases = await claim({ label: 'host', types, ...(worker !== undefined && { worker }) })
  assert.equal(leases.length, jobs.length)
  await advance(2 * unit)
  return leases
}

/** The same for one job. */
export async function lostLease(
  context: CaseContext,
  fields: Partial<NewJob> = {},
  worker?: string,
): Promise<ClaimedJob> {
  return (await lostLeases(context, [fields], worker))[0]!
}

/** A chain of two jobs: the first has completed, its continuation waits. */
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

/** A job and its blocker, which the same call started below it. */
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
