// Claims ahead, for slots that will soon be free: the loss of such a lease costs no attempt until the job was started for certain,
// and a job that ends its process whenever it runs still ends.

import assert from 'node:assert/strict'
import { aheadWorker, type ClaimedJob, type ClaimRequest } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete } from '../outcomes.ts'
import { fenceOf, idsOf, recordOf, refOf, statesOf } from '../records.ts'

/** A claim ahead, with leases of one unit. */
const aheadRequest = ({ claimRequest, unit }: CaseContext, fields?: Partial<ClaimRequest>): ClaimRequest => {
  const request = claimRequest({ types: [{ type: 'mail', leaseMs: unit }], ...fields })
  return { ...request, worker: aheadWorker(request.worker) }
}

async function claimAhead(context: CaseContext, fields?: Partial<ClaimRequest>): Promise<ClaimedJob[]> {
  return [...(await context.storage.claim(aheadRequest(context, fields))).jobs]
}

/** Claims ahead what is due, and lets the leases end. */
async function loseAhead(context: CaseContext): Promise<ClaimedJob[]> {
  const jobs = await claimAhead(context)
  await context.advance(2 * context.unit)
  return jobs
}

/** A claim of as many jobs, for free slots, with leases of one unit. */
const claimForSlots = ({ claim, unit }: CaseContext, slots = 100): Promise<ClaimedJob[]> =>
  claim({ slots, types: [{ type: 'mail', leaseMs: unit }] })

export const claimAheadCases: readonly Case[] = [
  {
    name: 'a job that was claimed ahead is held and completed as any other',
    proves: ['P1', 'S4'],
    run: async (context) => {
      const { storage, added, claim } = context
      const job = await added()
      const [lease] = await claimAhead(context, { types: [{ type: 'mail', leaseMs: 10 * context.unit }] })
      assert.deepEqual([lease?.id, lease?.attempt, lease?.failures], [job.id, 1, 0])
      assert.deepEqual(await claim(), [])
      await complete(storage, lease!)
      assert.deepEqual(await statesOf(storage, job), ['completed'])
    },
  },
  {
    name: 'a lease ahead that is lost costs no attempt, is reported, and the job keeps its place',
    proves: ['P1', 'S1'],
    run: async (context) => {
      const { storage, added, claimRequest } = context
      const first = await added()
      const [lease] = await loseAhead(context)
      const second = await added()
      const { jobs, recovered, ended } = await storage.claim(claimRequest())
      assert.deepEqual(recovered.map(fenceOf), [fenceOf(lease!)])
      assert.deepEqual(
        recovered.map(({ state }) => state),
        ['queued'],
      )
      assert.deepEqual([...ended], [])
      assert.deepEqual(idsOf(jobs), [first.id, second.id])
      assert.deepEqual([jobs[0]!.attempt, jobs[0]!.failures], [2, 0])
    },
  },
  {
    name: 'recover takes a lost lease ahead back without an attempt too',
    proves: ['P1', 'S1'],
    run: async (context) => {
      const { storage, added } = context
      const job = await added({ maxAttempts: 1 })
      await loseAhead(context)
      const recovered = await storage.recover({ types: ['mail'], limit: 10 })
      assert.deepEqual(idsOf(recovered), [job.id])
      const { state, failures, attempts } = await recordOf(storage, job, 'attempts')
      assert.deepEqual([state, failures], ['queued', 0])
      assert.deepEqual(
        attempts!.map(({ outcome }) => outcome),
        ['stalled'],
      )
    },
  },
  {
    name: 'after a lost lease ahead a job is claimed for a free slot only, and what is behind it waits with it',
    proves: ['P2'],
    run: async (context) => {
      const { storage, added } = context
      const job = await added()
      await loseAhead(context)
      await added()
      assert.deepEqual(await claimAhead(context), [])
      const other = { type: 'other', leaseMs: context.unit }
      const third = await added({ type: 'other' })
      assert.deepEqual(idsOf(await claimAhead(context, { types: [{ type: 'mail', leaseMs: context.unit }, other] })), [
        third.id,
      ])
      const [again] = await claimForSlots(context, 1)
      assert.deepEqual([again?.id, again?.failures], [job.id, 0])
      await complete(storage, again!)
      assert.equal((await claimAhead(context)).length, 1)
    },
  },
  {
    name: 'a job that is lost whenever it runs fails after its attempts, whichever way it is claimed',
    proves: ['P2', 'L2'],
    run: async (context) => {
      const { storage, added, advance, unit, claimRequest } = context
      const job = await added({ maxAttempts: 2 })
      await loseAhead(context)
      const failures: number[] = []
      for (let losses = 0; losses < 2; losses++) {
        assert.deepEqual(await claimAhead(context), [])
        const [lease] = await claimForSlots(context, 1)
        failures.push(lease!.failures)
        await advance(2 * unit)
      }
      assert.deepEqual(failures, [0, 1])
      const { jobs, ended } = await storage.claim(claimRequest())
      assert.deepEqual([...jobs], [])
      assert.deepEqual(idsOf(ended), [job.id])
      const { state, reason } = await recordOf(storage, job)
      assert.deepEqual([state, reason], ['failed', 'stalled'])
    },
  },
  {
    name: 'a lease ahead that was extended is that of a job in progress: its loss costs an attempt',
    proves: ['P2', 'L2'],
    run: async (context) => {
      const { storage, added, advance, claimOne, unit } = context
      await added()
      const [lease] = await claimAhead(context)
      // Longer than the longest lease ahead.
      const leaseMs = 2_001 + unit
      await storage.extend([{ ...fenceOf(lease!), leaseMs }])
      await advance(leaseMs + unit)
      const again = await claimOne()
      assert.deepEqual([again.attempt, again.failures], [2, 1])
    },
  },
  {
    name: 'a lost lease ahead of a job that was asked to stop ends it as cancelled',
    proves: ['P1', 'F17'],
    run: async (context) => {
      const { storage, added, claim } = context
      const job = await added()
      const [lease] = await claimAhead(context)
      await storage.cancel([refOf(lease!)], { abort: true })
      await context.advance(2 * context.unit)
      assert.deepEqual(await claim(), [])
      assert.deepEqual(await statesOf(storage, job), ['cancelled'])
    },
  },
  {
    name: 'a job with a deadline is claimed for a free slot only, so that its start is one',
    proves: ['P3', 'F5'],
    run: async (context) => {
      const { added, claimOne, unit } = context
      const job = await added({ expiresInMs: 50 * unit })
      assert.deepEqual(await claimAhead(context), [])
      assert.equal((await claimOne()).id, job.id)
    },
  },
  {
    name: 'jobs of groups, and of types with limits, are claimed for free slots only',
    proves: ['P3', 'F20', 'F21', 'F24'],
    run: async (context) => {
      const { added, claim, unit } = context
      await added({ group: { key: 'g', ordered: true } })
      assert.deepEqual(await claimAhead(context), [])
      assert.equal((await claim()).length, 1)
      await added({ type: 'limited' })
      for (const limits of [{ group: { limit: 1 } }, { rate: { limit: 5, perMs: 1_000 } }, { concurrency: 5 }]) {
        const types = [{ type: 'limited', leaseMs: unit, limits }]
        assert.deepEqual(await claimAhead(context, { types }), [])
        if (limits.concurrency) assert.equal((await claim({ types })).length, 1)
      }
    },
  },
]
