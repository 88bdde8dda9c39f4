// Offers of free slots that an add leaves alone: no job is handed over that a claim would not give next, and no more than were offered.

import assert from 'node:assert/strict'
import { type NewJob, offerMs } from 'holdfast/storage'
import type { Case } from '../case.ts'
import { idsOf, statesOf } from '../records.ts'
import { offering } from './offering.ts'

export const claimOfferLeftCases: readonly Case[] = [
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
    name: 'an offer of a claim with limits is not taken: an add does not know them',
    needs: ['handsOver'],
    proves: ['P6', 'F20', 'F21', 'F22'],
    run: async (context) => {
      const { storage, job, claimRequest } = context
      await offering(context, 0, async ({ request, add }) => {
        const [type] = request.types
        for (const limits of [{ group: { limit: 1 } }, { concurrency: 50 }, { rate: { limit: 50, perMs: 1_000 } }]) {
          const types = [{ ...type!, limits }]
          await storage.claim(claimRequest({ slots: 10, types, offer: { by: 'worker', slots: 10 } }))
          assert.deepEqual(await add(job()), [], JSON.stringify(limits))
        }
      })
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
