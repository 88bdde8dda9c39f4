// nextDueAt with turns and limits: never later than the instant at which a claim could yield, and never now while a claim
// yields nothing, so that a worker neither sleeps too long nor polls.

import assert from 'node:assert/strict'
import type { Limits } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, settleOne } from '../outcomes.ts'
import { idsOf, recordOf } from '../records.ts'
import { claimWithin } from '../scenarios.ts'

const nextOf = ({ storage, unit }: CaseContext, limits?: Limits) =>
  storage.nextDueAt([{ type: 'mail', leaseMs: 500 * unit, ...(limits && { limits }) }])

/** Asserts that there is a next instant, in the future. */
async function later(context: CaseContext, limits?: Limits): Promise<number> {
  const next = await nextOf(context, limits)
  assert.ok(next && next.at > next.now, `${next?.at} was expected to be after ${next?.now}`)
  return next.at
}

async function isNow(context: CaseContext, limits?: Limits): Promise<void> {
  const next = await nextOf(context, limits)
  assert.ok(next && next.at <= next.now, `${next?.at} was expected to be at most ${next?.now}`)
}

/** Sleeps as a worker does, until a claim yields something. Each sleep must be into the future. */
async function sleepAndClaim(context: CaseContext, limits: Limits, slots?: number): Promise<string[]> {
  for (let sleeps = 0; sleeps < 10; sleeps++) {
    const next = await nextOf(context, limits)
    assert.ok(next, 'expected a next due instant, got none')
    await context.advance(Math.max(0, next.at - next.now))
    const ids = idsOf(await claimWithin(context, limits, slots))
    if (ids.length > 0) return ids
    await later(context, limits)
  }
  return assert.fail('ten sleeps yielded nothing')
}

const g = { group: { key: 'g' } }

export const nextDueLimitCases: readonly Case[] = [
  {
    name: 'a group can be claimed at the first runAt of its jobs, and at once if one is due',
    proves: ['L2', 'F21'],
    run: async (context) => {
      const { storage, added, unit } = context
      await added({ id: 'late', ...g, delayMs: 20 * unit })
      const soon = await added({ id: 'soon', ...g, delayMs: 10 * unit })
      assert.equal(await later(context), (await recordOf(storage, soon)).runAt)
      await added({ id: 'now', ...g })
      await isNow(context)
    },
  },
  {
    name: 'a group whose first job is gone, or is due later, can be claimed at the runAt of the next',
    proves: ['L2', 'F21'],
    run: async (context) => {
      const { storage, added, unit } = context
      const at = async (id: string): Promise<number> => (await recordOf(storage, { type: 'mail', id })).runAt
      for (const [id, units] of [
        ['1', 0],
        ['2', 10],
        ['3', 20],
      ] as const) {
        await added({ id, ...g, delayMs: units * unit })
      }
      await storage.cancel([{ type: 'mail', id: '1' }])
      assert.equal(await later(context), await at('2'))
      await storage.revive([{ type: 'mail', id: '2' }], { delayMs: 30 * unit })
      assert.equal(await later(context), await at('3'))
      await storage.remove([{ type: 'mail', id: '3' }], { trees: true })
      assert.equal(await later(context), await at('2'))
      await storage.cancel([{ type: 'mail', id: '2' }])
      assert.equal(await nextOf(context), undefined)
    },
  },
  {
    name: 'a group at its limit can be claimed at the end of its first lease, or when a job ends',
    proves: ['L2', 'F21'],
    run: async (context) => {
      const { storage, job } = context
      const limits = { group: { limit: 1 } }
      await storage.add([job(g), job(g)])
      // With one slot, the claim does not look for a second job.
      const [lease] = await claimWithin(context, limits, 1)
      assert.equal(await later(context, limits), (await recordOf(storage, lease!)).leaseUntil)
      await complete(storage, lease!)
      await isNow(context, limits)
    },
  },
  {
    name: 'a type at its concurrency can be claimed at the end of its first lease, or when a job ends',
    proves: ['L2', 'F20'],
    run: async (context) => {
      const { storage, job } = context
      const limits = { concurrency: 1 }
      await storage.add([job(), job(), job(g)])
      const [lease] = await claimWithin(context, limits, 1)
      assert.equal(await later(context, limits), (await recordOf(storage, lease!)).leaseUntil)
      await complete(storage, lease!)
      await isNow(context, limits)
    },
  },
  {
    name: 'a held group can never be claimed by time',
    proves: ['L2', 'F21'],
    run: async (context) => {
      const { storage, added, claimOne } = context
      const group = { key: 'g', ordered: true, onFailure: 'hold' } as const
      const head = await added({ group })
      await added({ group })
      await storage.settle([{ ...(await fence(claimOne())), kind: 'failed' }])
      assert.equal(await nextOf(context), undefined)
      await storage.remove([{ type: head.type, id: head.id }])
      await isNow(context)
    },
  },
  {
    name: 'a slowed type can be claimed when the slow-down is over, whatever else is due',
    proves: ['L2', 'F23'],
    run: async (context) => {
      const { storage, added, claimOne, advance, unit } = context
      await added({ id: 'released' })
      await settleOne(storage, await claimOne(), { kind: 'released', delayMs: 10 * unit, slowDown: 'type' })
      await added()
      await added(g)
      const { runAt } = await recordOf(storage, { type: 'mail', id: 'released' })
      assert.equal(await later(context), runAt)
      await advance(10 * unit)
      await isNow(context)
    },
  },
  {
    name: 'a slowed group can be claimed when the slow-down is over',
    proves: ['L2', 'F23'],
    run: async (context) => {
      const { storage, added, claimOne, unit } = context
      await added({ id: 'released', ...g })
      await settleOne(storage, await claimOne(), { kind: 'released', delayMs: 10 * unit, slowDown: 'group' })
      await added(g)
      const { runAt } = await recordOf(storage, { type: 'mail', id: 'released' })
      assert.equal(await later(context), runAt)
      await added()
      await isNow(context)
    },
  },
  ...(['type', 'group'] as const).map((scope): Case => ({
    name: `a worker of a ${scope} with a rate sleeps until the rate is free, and then claims`,
    proves: ['L2', 'F22'],
    run: async (context) => {
      const { storage, job, unit } = context
      const rate = { limit: 3, perMs: 20 * unit }
      const limits = scope === 'type' ? { rate } : { group: { rate } }
      const jobs = [1, 2, 1, 3, 9, 1].map((weight, index) => job({ id: `${index}`, weight, ...g }))
      await storage.add(jobs)
      assert.deepEqual(await sleepAndClaim(context, limits), ['0', '1'])
      await later(context, limits)
      assert.deepEqual(await sleepAndClaim(context, limits), ['2'])
      for (const id of ['3', '4', '5']) assert.deepEqual(await sleepAndClaim(context, limits), [id])
    },
  })),
  ...(['type', 'group'] as const).map((scope): Case => ({
    name: `a ${scope} whose rate the last claim used up can be claimed when it is free`,
    proves: ['L2', 'F22'],
    run: async (context) => {
      const { storage, job, unit } = context
      const rate = { limit: 2, perMs: 20 * unit }
      const limits = scope === 'type' ? { rate } : { group: { rate } }
      await storage.add([job(g), job(g), job(g)])
      for (let count = 0; count < 2; count++) await claimWithin(context, limits, 1)
      const { now } = await storage.count({})
      const at = await later(context, limits)
      assert.ok(at <= now + 21 * unit, `${at} was expected to be at most ${now + 21 * unit}`)
    },
  })),
  {
    name: 'a type whose rate is used up has no instant without jobs, and the free instant with one',
    proves: ['L2', 'F22'],
    run: async (context) => {
      const { storage, added, unit } = context
      const limits = { rate: { limit: 1, perMs: 20 * unit } }
      await added()
      for (const lease of await claimWithin(context, limits)) await complete(storage, lease)
      assert.equal(await nextOf(context, limits), undefined)
      await added()
      const at = await later(context, limits)
      const { now } = await storage.count({})
      assert.ok(at <= now + 20 * unit, `${at} was expected to be at most ${now + 20 * unit}`)
    },
  },
]

async function fence(claimed: Promise<{ type: string; id: string; worker: string; attempt: number }>) {
  const { type, id, worker, attempt } = await claimed
  return { type, id, worker, attempt }
}
