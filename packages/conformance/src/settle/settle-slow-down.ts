// Slow-down: a released job stops everything of its type, or of its group, until the instant at which it is due itself.

import assert from 'node:assert/strict'
import type { ClaimedJob } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, type Ending, settleOne } from '../outcomes.ts'
import { idsOf, recordOf } from '../records.ts'

type Release = Ending<'released'>

/** Claims the job of this id, which is the only one of its type, and releases it. */
async function release(
  { storage, added, claimOne, unit }: CaseContext,
  ending: Omit<Release, 'kind'>,
  key?: string,
): Promise<ClaimedJob> {
  await added({ id: 'released', ...(key !== undefined && { group: { key } }) })
  const lease = await claimOne({ types: [{ type: 'mail', leaseMs: 100 * unit }] })
  await settleOne(storage, lease, { kind: 'released', ...ending } as Release)
  return lease
}

export const settleSlowDownCases: readonly Case[] = [
  {
    name: 'a type that is slowed down starts nothing before then, and everything from then on',
    proves: ['F23'],
    run: async (context) => {
      const { storage, added, claim, advance, unit } = context
      await release(context, { delayMs: 10 * unit, slowDown: 'type' })
      await added({ id: 'no group' })
      await added({ id: 'urgent', priority: 100 })
      await added({ id: 'in a group', group: { key: 'g' } })
      assert.deepEqual(await claim(), [])
      const { attempt, failures, snoozes, state } = await recordOf(storage, { type: 'mail', id: 'released' })
      assert.deepEqual([attempt, failures, snoozes, state], [1, 0, 0, 'scheduled'])
      await advance(10 * unit)
      assert.deepEqual(idsOf(await claim()).toSorted(), ['in a group', 'no group', 'released', 'urgent'])
    },
  },
  {
    name: 'a slow-down of one type does not slow another',
    proves: ['F23'],
    run: async (context) => {
      const { added, claim, unit } = context
      await release(context, { delayMs: 10 * unit, slowDown: 'type' })
      await added({ type: 'sms', id: 'other type' })
      const types = ['mail', 'sms'].map((type) => ({ type, leaseMs: 10 * unit }))
      assert.deepEqual(idsOf(await claim({ types })), ['other type'])
    },
  },
  {
    name: 'a group that is slowed down starts nothing before then; other groups and jobs without one go on',
    proves: ['F23'],
    run: async (context) => {
      const { storage, added, claim, advance, unit } = context
      await added({ id: 'waits', group: { key: 'g' }, delayMs: unit })
      await release(context, { delayMs: 10 * unit, slowDown: 'group' }, 'g')
      await advance(2 * unit)
      await added({ id: 'urgent', group: { key: 'g' }, priority: 100 })
      await added({ id: 'other group', group: { key: 'h' } })
      await added({ id: 'no group' })
      const others = await claim()
      assert.deepEqual(idsOf(others).toSorted(), ['no group', 'other group'])
      for (const lease of others) await complete(storage, lease)
      await advance(8 * unit)
      assert.deepEqual(idsOf(await claim()).toSorted(), ['released', 'urgent', 'waits'])
    },
  },
  {
    name: 'an ordered group is slowed down too, and goes on with its head',
    proves: ['F23', 'F21'],
    run: async (context) => {
      const { storage, job, claim, claimOne, advance, unit } = context
      const group = { key: 'g', ordered: true } as const
      await storage.add([job({ id: 'head', group }), job({ id: 'second', group })])
      await settleOne(storage, await claimOne(), { kind: 'released', delayMs: 10 * unit, slowDown: 'group' })
      await storage.cancel([{ type: 'mail', id: 'head' }])
      assert.deepEqual(await claim(), [])
      await advance(10 * unit)
      assert.deepEqual(idsOf(await claim()), ['second'])
    },
  },
  {
    name: 'a slow-down of the group of a job without one concerns that job only',
    proves: ['F23'],
    run: async (context) => {
      const { added, claim, unit } = context
      await release(context, { delayMs: 10 * unit, slowDown: 'group' })
      await added({ id: 'other' })
      assert.deepEqual(idsOf(await claim()), ['other'])
    },
  },
  {
    name: 'a job that slows only itself down leaves its group and its type as they are',
    proves: ['F23'],
    run: async (context) => {
      const { storage, added, claim, claimOne, advance, unit } = context
      await release(context, { delayMs: 10 * unit, slowDown: 'job' }, 'g')
      await added({ id: 'other', group: { key: 'g' } })
      const others = await claim()
      assert.deepEqual(idsOf(others), ['other'])
      await complete(storage, others[0]!)
      const limits = { type: 'mail', limits: {}, groups: ['g'] }
      const { slowedUntil, groups } = (await storage.count({ types: ['mail'], limits })).types[0]!
      assert.deepEqual([slowedUntil, groups![0]!.slowedUntil], [undefined, undefined])
      await advance(10 * unit)
      assert.equal((await claimOne()).id, 'released')
    },
  },
  ...(['type', 'group', 'job'] as const).map((slowDown): Case => ({
    name: `a release that slows the ${slowDown} down is no snooze, and costs no attempt; one with a time alone is a snooze`,
    proves: ['F23', 'F18'],
    run: async (context) => {
      const { storage, claimOne, advance, unit } = context
      await release(context, { delayMs: unit, slowDown }, 'g')
      const counts = []
      for (const when of [{ runAt: 0, slowDown }, { delayMs: unit, slowDown }, { delayMs: unit }]) {
        await advance(unit)
        const lease = await claimOne()
        counts.push([lease.failures, lease.snoozes])
        await settleOne(storage, lease, { kind: 'released', ...when })
      }
      const { failures, snoozes } = await recordOf(storage, { type: 'mail', id: 'released' })
      assert.deepEqual(
        [...counts, [failures, snoozes]],
        [
          [0, 0],
          [0, 0],
          [0, 0],
          [0, 1],
        ],
      )
    },
  })),
  {
    name: 'of several slow-downs the latest counts, whichever came first',
    proves: ['F23'],
    run: async (context) => {
      const { storage, job, claim, advance, unit } = context
      for (const [type, delays] of [
        ['up', [4, 12]],
        ['down', [12, 4]],
      ] as const) {
        await storage.add([
          job({ type }),
          job({ type }),
          job({ type, group: { key: 'g' } }),
          job({ type, group: { key: 'g' } }),
        ])
        const types = [{ type, leaseMs: 100 * unit }]
        const leases = await claim({ types })
        for (const key of [undefined, 'g']) {
          const own = leases.filter(({ group }) => group === key)
          for (const [index, lease] of own.entries()) {
            const slowDown = key === undefined ? 'type' : 'group'
            await settleOne(storage, lease, { kind: 'released', delayMs: delays[index]! * unit, slowDown })
          }
        }
      }
      const types = ['up', 'down'].map((type) => ({ type, leaseMs: 10 * unit }))
      await advance(5 * unit)
      assert.deepEqual(await claim({ types }), [])
      await advance(8 * unit)
      assert.equal((await claim({ types })).length, 8)
    },
  },
  {
    name: 'a release without a time, or to a past instant, slows nothing',
    proves: ['F23'],
    run: async (context) => {
      const { storage, added, claim, claimOne } = context
      await added({ id: 'again', group: { key: 'g' } })
      for (const when of [{}, { runAt: 1 }, { delayMs: 0 }]) {
        for (const slowDown of ['type', 'group'] as const) {
          await settleOne(storage, await claimOne(), { kind: 'released', ...when, slowDown })
        }
      }
      assert.deepEqual(idsOf(await claim()), ['again'])
    },
  },
  {
    name: 'a slow-down outlives its job: jobs that are added later wait for it',
    proves: ['F23'],
    run: async (context) => {
      const { storage, added, claim, advance, unit } = context
      await release(context, { delayMs: 10 * unit, slowDown: 'group' }, 'g')
      await storage.remove([{ type: 'mail', id: 'released' }], { trees: true })
      await storage.sweep({ limit: 100 })
      await added({ id: 'later', group: { key: 'g' } })
      assert.deepEqual(await claim(), [])
      await advance(10 * unit)
      const [later] = await claim()
      assert.equal(later?.id, 'later')
      await settleOne(storage, later!, { kind: 'released', delayMs: 10 * unit, slowDown: 'type' })
      await storage.remove([{ type: 'mail', id: 'later' }], { trees: true })
      await storage.sweep({ limit: 100 })
      await added({ id: 'last' })
      assert.deepEqual(await claim(), [])
      await advance(10 * unit)
      assert.deepEqual(idsOf(await claim()), ['last'])
    },
  },
  {
    name: 'the repeat of a release slows nothing again',
    proves: ['F23'],
    run: async (context) => {
      const { storage, claim, advance, unit } = context
      const { type, id, worker, attempt } = await release(context, { delayMs: 5 * unit, slowDown: 'type' })
      await advance(5 * unit)
      const again = { type, id, worker, attempt, kind: 'released', delayMs: 50 * unit, slowDown: 'type' } as const
      assert.equal((await storage.settle([again]))[0]?.verdict, 'settled')
      assert.deepEqual(idsOf(await claim()), ['released'])
    },
  },
  {
    name: 'running jobs of a slowed type go on, and settle',
    proves: ['F23'],
    run: async (context) => {
      const { storage, added, claimOne, unit } = context
      await added({ id: 'running' })
      const running = await claimOne()
      await release(context, { delayMs: 10 * unit, slowDown: 'type' })
      await complete(storage, running)
    },
  },
]
