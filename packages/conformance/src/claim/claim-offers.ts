// Offers of free slots: an add may lease its job to the worker that made one. Whether it does is the storage's choice; what it hands
// over is leased as by a claim.

import assert from 'node:assert/strict'
import { aheadWorker, handedLeaseMs, offeringWorker } from 'holdfast/storage'
import type { Case } from '../case.ts'
import { complete, outcomeOf } from '../outcomes.ts'
import { idsOf, recordOf, statesOf } from '../records.ts'
import { offering } from './offering.ts'

export const claimOfferCases: readonly Case[] = [
  {
    name: 'an offer is taken by an add: the hint carries the job, leased to the worker of the claim',
    needs: ['handsOver'],
    proves: ['P6', 'S4'],
    run: async (context) => {
      const { storage, job, claim } = context
      await offering(context, 1, async ({ request, handed, add }) => {
        const given = job({ payload: new Uint8Array([1, 2, 3]), delayMs: 0 })
        assert.deepEqual(await add(given), [given.id])
        const [lease] = handed
        assert.equal(offeringWorker(lease!.worker), request.worker)
        assert.ok(lease!.worker.endsWith(aheadWorker('')))
        assert.deepEqual([lease!.attempt, lease!.failures, lease!.token], [1, 0, given.token])
        assert.deepEqual([...lease!.payload!], [1, 2, 3])
        assert.ok(lease!.leaseUntil - lease!.startedAt <= handedLeaseMs)
        assert.deepEqual(await statesOf(storage, given), ['processing'])
        assert.deepEqual(await claim(), [])
        await complete(storage, lease!)
        assert.deepEqual(await statesOf(storage, given), ['completed'])
      })
    },
  },
  {
    name: 'a job that was handed over and lost costs no attempt, and any worker may claim it within a second',
    needs: ['handsOver'],
    proves: ['P6', 'S1'],
    run: async (context) => {
      const { storage, job, claimRequest, advance } = context
      await offering(context, 1, async ({ add }) => {
        const given = job({ maxAttempts: 1 })
        assert.deepEqual(await add(given), [given.id])
        const { nextDue } = await storage.claim(claimRequest())
        assert.ok(nextDue === undefined || nextDue!.at - nextDue!.now <= handedLeaseMs)
        await advance(handedLeaseMs)
        const { jobs, recovered } = await storage.claim(claimRequest())
        assert.deepEqual([idsOf(jobs), idsOf(recovered)], [[given.id], [given.id]])
        assert.deepEqual([jobs[0]!.attempt, jobs[0]!.failures], [2, 0])
        // Every further loss counts.
        await advance(20 * context.unit)
        const { ended } = await storage.claim(claimRequest())
        assert.deepEqual(idsOf(ended), [given.id])
        assert.equal((await recordOf(storage, given)).state, 'failed')
      })
    },
  },
  {
    name: 'a job that was handed over and extended counts as started: its loss is a failure',
    needs: ['handsOver'],
    proves: ['P6'],
    run: async (context) => {
      const { storage, job, claimOne, advance } = context
      await offering(context, 1, async ({ handed, add }) => {
        await add(job())
        const { type, id, worker, attempt } = handed[0]!
        const [extended] = await storage.extend([{ type, id, worker, attempt, leaseMs: 10_000 }])
        assert.equal(extended!.verdict, 'extended')
        await advance(handedLeaseMs)
        assert.deepEqual(await context.claim(), [])
        await advance(10_000)
        assert.equal((await claimOne()).failures, 1)
      })
    },
  },
  {
    name: 'a job that was handed over and released waits in its place again, without an attempt',
    needs: ['handsOver'],
    proves: ['P6'],
    run: async (context) => {
      const { storage, job, claim } = context
      await offering(context, 1, async ({ handed, add }) => {
        const [first, second] = [job(), job()]
        await add(first)
        await add(second)
        const { type, id, worker, attempt } = handed[0]!
        await storage.settle([{ type, id, worker, attempt, kind: 'released' }])
        const jobs = await claim()
        assert.deepEqual(idsOf(jobs), [first.id, second.id])
        assert.deepEqual([jobs[0]!.attempt, jobs[0]!.failures], [2, 0])
      })
    },
  },
  {
    name: 'an id that is handed over twice under one offer has two fences: a late outcome of its earlier life is refused',
    needs: ['handsOver'],
    proves: ['P6', 'S5', 'S6'],
    run: async (context) => {
      const { storage, job } = context
      await offering(context, 2, async ({ handed, add }) => {
        const given = job()
        await add(given)
        await complete(storage, handed[0]!)
        await storage.remove([given])
        assert.deepEqual(await add(job({ id: given.id })), [given.id])
        assert.notEqual(handed[1]!.worker, handed[0]!.worker)
        const [late] = await storage.settle([outcomeOf(handed[0]!, { kind: 'completed' })])
        assert.notEqual(late!.verdict, 'settled')
        assert.deepEqual(await statesOf(storage, given), ['processing'])
        await complete(storage, handed[1]!)
      })
    },
  },
  {
    name: 'adds that run at once, of two handles, share one slot: one job of them is handed over, or none',
    needs: ['handsOver'],
    proves: ['P6'],
    run: async (context) => {
      const { job, claim, until } = context
      const handles = [context.storage, await context.another()]
      await offering(context, 1, async ({ handed }) => {
        const jobs = Array.from({ length: 20 }, () => job())
        await Promise.all(jobs.map((each, index) => handles[index % 2]!.add([each])))
        const rest = idsOf(await claim({ slots: 100 }))
        await until(() => handed.length + rest.length >= jobs.length)
        assert.ok(handed.length <= 1, `${handed.length} were handed over`)
        assert.deepEqual([...idsOf(handed), ...rest].toSorted(), idsOf(jobs).toSorted())
      })
    },
  },
  {
    name: 'two workers that offer slots are both handed jobs',
    needs: ['handsOver'],
    proves: ['P6'],
    run: async (context) => {
      const { storage, job, claimRequest } = context
      await offering(context, 1, async ({ request, handed, add }) => {
        const other = claimRequest({ offer: { by: 'other', slots: 1 } })
        await storage.claim(other)
        await add(job())
        await add(job())
        const workers = handed.map(({ worker }) => offeringWorker(worker)).toSorted()
        assert.deepEqual(workers, [request.worker, other.worker].toSorted())
      })
    },
  },
]
