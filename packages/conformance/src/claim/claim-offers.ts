// Offers of free slots: an add may lease its job to the worker that made one. Whether it does is the storage's choice; what it hands
// over is leased as by a claim, and no job is handed over that a claim would not give next.

import assert from 'node:assert/strict'
import {
  aheadWorker,
  type ClaimedJob,
  type ClaimRequest,
  handedLeaseMs,
  type NewJob,
  offeringWorker,
  offerMs,
} from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, outcomeOf } from '../outcomes.ts'
import { idsOf, recordOf, statesOf } from '../records.ts'

interface Offering {
  readonly request: ClaimRequest
  /** What was handed over, in the order of the hints. */
  readonly handed: ClaimedJob[]
  /** Adds jobs by one call, and waits for the hint. @returns those of them that were handed over */
  add(...jobs: readonly NewJob[]): Promise<string[]>
}

/** Listens, and runs the test with a worker that claims nothing and offers its slots. */
async function offering(
  context: CaseContext,
  slots: number,
  run: (offering: Offering) => Promise<void>,
  before?: () => Promise<unknown>,
): Promise<void> {
  const { storage, claimRequest, until } = context
  const handed: ClaimedJob[] = []
  let hints = 0
  const unlisten = await storage.listen([{ kind: 'wake', type: 'mail' }], (signal) => {
    hints++
    if (signal.handed) handed.push(signal.handed)
  })
  await before?.()
  const request = claimRequest({ slots: 10, offer: { by: 'worker', slots } })
  assert.deepEqual(idsOf((await storage.claim(request)).jobs), [])
  const add = async (...jobs: readonly NewJob[]): Promise<string[]> => {
    const [hintsBefore, handedBefore] = [hints, handed.length]
    await storage.add(jobs)
    await until(() => hints > hintsBefore)
    return idsOf(handed.slice(handedBefore))
  }
  await run({ request, handed, add })
  await unlisten()
}

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
    name: 'no more jobs are handed over than slots were offered, less those that the claim found',
    needs: ['handsOver'],
    proves: ['P6'],
    run: async (context) => {
      const { job, storage, claimRequest } = context
      await offering(context, 2, async ({ add }) => {
        const jobs = [job(), job(), job()]
        for (const [index, each] of jobs.entries()) {
          assert.deepEqual(await add(each), index < 2 ? [each.id] : [])
        }
        const found = await storage.claim(claimRequest({ slots: 2, offer: { by: 'worker', slots: 2 } }))
        assert.deepEqual(idsOf(found.jobs), [jobs[2]!.id])
        const [fourth, fifth] = [job(), job()]
        assert.deepEqual(await add(fourth), [fourth.id])
        assert.deepEqual(await add(fifth), [])
      })
    },
  },
  {
    name: 'an offer is over after its time, and when its worker claims again',
    needs: ['handsOver'],
    proves: ['P6'],
    run: async (context) => {
      const { storage, job, claimRequest, advance } = context
      await offering(context, 1, async ({ add }) => {
        await storage.claim(claimRequest({ slots: 0, offer: { by: 'worker', slots: 0 } }))
        assert.deepEqual(await add(job()), [])
      })
      await context.claim()
      await offering(context, 1, async ({ add }) => {
        await advance(offerMs)
        assert.deepEqual(await add(job()), [])
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
  {
    name: 'nothing is handed over past a job that is due before it, nor what a claim would not give now',
    needs: ['handsOver'],
    proves: ['P6'],
    run: async (context) => {
      const { storage, job, claim, advance, unit } = context
      const refused: Readonly<Record<string, () => NewJob>> = {
        delayed: () => job({ delayMs: 10 * unit }),
        'with a priority': () => job({ priority: 5 }),
        'of an ordered group': () => job({ group: { key: 'g', ordered: true } }),
        'of a group': () => job({ group: { key: 'h' } }),
        'with a deadline': () => job({ expiresInMs: 10 * unit }),
      }
      for (const [what, make] of Object.entries(refused)) {
        await storage.clear()
        await offering(context, 5, async ({ add }) => {
          assert.deepEqual(await add(make()), [], what)
        })
      }
      // What waits is claimed first.
      await storage.clear()
      await offering(context, 5, async ({ add }) => {
        const [first, second, third] = [job(), job(), job()]
        await storage.add([first, second])
        assert.deepEqual(await add(third), [])
        assert.deepEqual(idsOf(await claim()), [first.id, second.id, third.id])
      })
      // A job whose time came after the offer.
      await storage.clear()
      await offering(
        context,
        5,
        async ({ add }) => {
          await advance(unit / 5)
          assert.deepEqual(await add(job()), [])
        },
        () => storage.add([job({ delayMs: unit / 5 })]),
      )
    },
  },
  {
    name: 'nothing of a paused type is handed over',
    needs: ['handsOver'],
    proves: ['P6'],
    run: async (context) => {
      const { storage, job } = context
      await offering(context, 1, async ({ add }) => {
        await storage.pause({ type: 'mail', paused: true })
        assert.deepEqual(await add(job()), [])
      })
    },
  },
  {
    name: 'an id that is taken is a duplicate, also with an offer; a repeated add is answered as the first',
    needs: ['handsOver'],
    proves: ['P6'],
    run: async (context) => {
      const { storage, job } = context
      await offering(context, 5, async ({ handed, add }) => {
        const given = job()
        await add(given)
        const [again] = await storage.add([given])
        assert.equal(again!.verdict, 'added')
        const [other] = await storage.add([{ ...given, token: 'another' }])
        assert.equal(other!.verdict, 'duplicate')
        assert.equal(handed.length, 1)
        assert.deepEqual(await statesOf(storage, given), ['processing'])
      })
    },
  },
]
