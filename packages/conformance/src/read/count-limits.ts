// count with limits: how much of them is used, when they are free, and what stops a group.

import assert from 'node:assert/strict'
import type { CountQuery, Limits, TypeCounts } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, fail, settleOne } from '../outcomes.ts'
import { recordOf, refOf } from '../records.ts'
import { claimWithin } from '../scenarios.ts'

async function countsOf(
  { storage }: CaseContext,
  limits?: Limits,
  groups?: readonly string[],
): Promise<TypeCounts & { readonly now: number }> {
  const query: CountQuery = {
    types: ['mail'],
    ...(limits && { limits: { type: 'mail', limits, ...(groups && { groups }) } }),
  }
  const { now, types } = await storage.count(query)
  const { limits: use, groups: uses, ...counts } = types[0]!
  return { ...counts, ...(use && { limits: present(use) }), ...(uses && { groups: uses.map(present) }), now }
}

/** Without fields that are undefined: a driver may leave them out or not. */
const present = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T

const g = { group: { key: 'g' } }

export const countLimitCases: readonly Case[] = [
  {
    name: 'the use of limits is shown for the type of the query only, and only if it asks',
    proves: ['F20'],
    run: async (context) => {
      const { storage, added } = context
      await added()
      await added({ type: 'sms' })
      const plain = await countsOf(context)
      assert.deepEqual([plain.limits, plain.groups, plain.slowedUntil], [undefined, undefined, undefined])
      const { types } = await storage.count({ limits: { type: 'sms', limits: { concurrency: 1 } } })
      const limitsOf = (type: string) => types.find((counts) => counts.type === type)?.limits
      assert.equal(limitsOf('mail'), undefined)
      assert.equal(limitsOf('sms')?.running, 0)
    },
  },
  {
    name: 'a type at its concurrency is free once a running job ends',
    proves: ['F20'],
    run: async (context) => {
      const { storage, job } = context
      await storage.add([job(), job(), job()])
      const limits = { concurrency: 2 }
      const [lease] = await claimWithin(context, limits)
      assert.deepEqual((await countsOf(context, limits)).limits, { running: 2, freesAt: Infinity })
      await complete(storage, lease!)
      assert.deepEqual((await countsOf(context, limits)).limits, { running: 1 })
    },
  },
  {
    name: 'the use of a rate is the weight in its window, and the instant at which it is free',
    proves: ['F22'],
    run: async (context) => {
      const { storage, job, advance, unit } = context
      await storage.add([job({ weight: 2 }), job({ weight: 3 }), job()])
      const limits = { rate: { limit: 6, perMs: 20 * unit } }
      const first = await claimWithin(context, limits, 2)
      const { limits: use } = await countsOf(context, limits)
      assert.deepEqual(use, { running: 2, used: 5 })
      await claimWithin(context, limits)
      const { startedAt = 0 } = await recordOf(storage, first[0]!)
      const full = await countsOf(context, limits)
      assert.equal(full.limits?.used, 6)
      const freesAt = full.limits?.freesAt ?? 0
      // A rate may be counted in parts of a 20th of its window.
      assert.ok(freesAt >= startedAt + 20 * unit && freesAt <= full.now + 21 * unit, `${freesAt - startedAt}`)
      await advance(22 * unit)
      assert.deepEqual((await countsOf(context, limits)).limits, { running: 3, used: 0 })
    },
  },
  {
    name: 'the groups of the query are shown with their use, whether they have jobs or not',
    proves: ['F21', 'F22'],
    run: async (context) => {
      const { storage, job, unit } = context
      await storage.add([job(g), job(g), job({ ...g, delayMs: 50 * unit }), job({ group: { key: 'own' } })])
      const limits = {
        group: { limit: 1 },
        groups: { own: { rate: { limit: 5, perMs: 1_000 * unit } } },
      }
      await claimWithin(context, limits)
      const { groups, limits: use } = await countsOf(context, limits, ['g', 'own', 'none', '__proto__'])
      assert.deepEqual(use, { running: 2 })
      assert.deepEqual(groups, [
        { group: 'g', running: 1, waiting: 2, freesAt: Infinity },
        { group: 'own', running: 1, waiting: 0, used: 1 },
        { group: 'none', running: 0, waiting: 0 },
        { group: '__proto__', running: 0, waiting: 0 },
      ])
    },
  },
  {
    name: 'an ordered group with a running job is free once that ends, and a held one names the failed job',
    proves: ['F21'],
    run: async (context) => {
      const { storage, job, claimOne } = context
      const group = { key: 'g', ordered: true, onFailure: 'hold' } as const
      const [head, second] = [job({ group }), job({ group })]
      await storage.add([head, second])
      const lease = await claimOne()
      const [busy] = (await countsOf(context, {}, ['g'])).groups!
      assert.deepEqual(busy, { group: 'g', running: 1, waiting: 1, freesAt: Infinity })
      await fail(storage, lease)
      const [held] = (await countsOf(context, {}, ['g'])).groups!
      assert.deepEqual(held, { group: 'g', running: 0, waiting: 1, heldBy: head.id })
      await storage.remove([refOf(head)])
      const [free] = (await countsOf(context, {}, ['g'])).groups!
      assert.deepEqual(free, { group: 'g', running: 0, waiting: 1 })
    },
  },
  {
    name: 'a slow-down of a type is always shown, that of a group with the group, until it is over',
    proves: ['F23'],
    run: async (context) => {
      const { storage, added, claimOne, advance, unit } = context
      await added({ id: 'a', ...g })
      await settleOne(storage, await claimOne(), { kind: 'released', delayMs: 10 * unit, slowDown: 'group' })
      await added({ id: 'b' })
      await settleOne(storage, await claimOne(), { kind: 'released', delayMs: 20 * unit, slowDown: 'type' })
      const runAtOf = async (id: string): Promise<number> => (await recordOf(storage, { type: 'mail', id })).runAt
      const slowed = await countsOf(context, {}, ['g'])
      assert.equal(slowed.groups?.[0]?.slowedUntil, await runAtOf('a'))
      assert.equal(slowed.slowedUntil, await runAtOf('b'))
      assert.equal((await storage.count({})).types[0]?.slowedUntil, await runAtOf('b'))
      await advance(21 * unit)
      const over = await countsOf(context, {}, ['g'])
      assert.deepEqual([over.slowedUntil, over.groups?.[0]?.slowedUntil], [undefined, undefined])
    },
  },
  {
    name: 'blocked, scheduled, queued and failing jobs of a group count as waiting, each once, after every move',
    proves: ['F21', 'F24'],
    run: async (context) => {
      const { storage, job, added, claim, unit } = context
      const waiting = async (): Promise<number[]> => {
        const [use] = (await countsOf(context, {}, ['g'])).groups!
        return [use!.waiting, use!.running]
      }
      const blocker = await added({ type: 'other' })
      await storage.add([
        job({ id: 'blocked', ...g, blockers: [refOf(blocker)] }),
        job({ id: 'scheduled', ...g, delayMs: 50 * unit }),
        job({ id: 'retried', ...g }),
        job({ id: 'done', ...g }),
      ])
      assert.deepEqual(await waiting(), [4, 0])
      const [retried, done] = await claim()
      assert.deepEqual(await waiting(), [2, 2])
      await settleOne(storage, retried!, { kind: 'retry', delayMs: 50 * unit })
      await complete(storage, done!)
      assert.deepEqual(await waiting(), [3, 0])
      await storage.cancel([refOf(retried!)])
      await storage.remove([{ type: 'mail', id: 'scheduled' }], { trees: true })
      assert.deepEqual(await waiting(), [1, 0])
      await storage.revive([refOf(retried!)])
      assert.deepEqual(await waiting(), [2, 0])
    },
  },
]
