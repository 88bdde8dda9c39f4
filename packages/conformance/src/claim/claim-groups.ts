// Ordered groups: one job at a time, in acceptance order, through every end of an attempt.

import assert from 'node:assert/strict'
import type { ClaimedJob, NewJob } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, fail, retry, settleOutcome } from '../outcomes.ts'
import { fenceOf, idsOf, refOf, statesOf } from '../records.ts'

const group = { key: 'g', ordered: true } as const
const shortLease = ({ unit }: CaseContext) => ({ types: [{ type: 'mail', leaseMs: unit }] })

async function two({ storage, job }: CaseContext, fields?: Partial<NewJob>): Promise<void> {
  await storage.add([job({ id: 'head', group, ...fields }), job({ id: 'second', group })])
}

/** What keeps the head in its place: the second job must wait. */
const keeps: readonly (readonly [string, (context: CaseContext) => Promise<unknown>])[] = [
  ['waits for its retry', async ({ storage, claimOne, unit }) => retry(storage, await claimOne(), 10 * unit)],
  [
    'is snoozed',
    async ({ storage, claimOne, unit }) =>
      settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'released', delayMs: 10 * unit }),
  ],
  [
    'was released',
    async ({ storage, claimOne }) => settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'released' }),
  ],
  [
    'was given up as stalled',
    async ({ storage, claimOne }) =>
      settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'retry', stalled: true }),
  ],
  [
    'was recovered',
    async (context) => {
      await context.claimOne(shortLease(context))
      await context.advance(2 * context.unit)
      await context.storage.recover({ types: ['mail'], limit: 10 })
    },
  ],
  [
    'lost its lease',
    async (context) => {
      await context.claimOne(shortLease(context))
      await context.advance(2 * context.unit)
    },
  ],
]

const keepCases: readonly Case[] = keeps.map(([what, arrange]) => ({
  name: `the head of an ordered group that ${what} keeps its place`,
  proves: ['F21', 'S15', 'W8'],
  run: async (context) => {
    const { storage, claim, claimOne, advance, unit } = context
    await two(context, { maxAttempts: 9 })
    await arrange(context)
    let held: ClaimedJob[] = await claim()
    if (held.length === 0) {
      await advance(10 * unit)
      held = await claim()
    }
    assert.deepEqual(
      held.map(({ id, attempt }) => [id, attempt]),
      [['head', 2]],
    )
    assert.deepEqual(await claim(), [])
    await complete(storage, held[0]!)
    assert.equal((await claimOne()).id, 'second')
  },
}))

/** What ends the head: the second job is next. */
const ends: readonly (readonly [string, (context: CaseContext) => Promise<unknown>])[] = [
  ['completed', async ({ storage, claimOne }) => complete(storage, await claimOne())],
  ['failed', async ({ storage, claimOne }) => fail(storage, await claimOne())],
  ['used up its attempts', async ({ storage, claimOne }) => retry(storage, await claimOne())],
  ['was cancelled while it waited', ({ storage }) => storage.cancel([{ type: 'mail', id: 'head' }])],
  [
    'was cancelled by force',
    async ({ storage, claimOne }) => {
      await claimOne()
      await storage.cancel([{ type: 'mail', id: 'head' }], { force: true })
    },
  ],
  [
    'stopped when asked to',
    async ({ storage, claimOne }) => {
      const lease = await claimOne()
      await storage.cancel([{ type: 'mail', id: 'head' }], { abort: true })
      await retry(storage, lease, 500_000)
    },
  ],
  [
    'lost its last lease and was recovered',
    async (context) => {
      await context.claimOne(shortLease(context))
      await context.advance(2 * context.unit)
      await context.storage.recover({ types: ['mail'], limit: 10 })
    },
  ],
  ['was removed', ({ storage }) => storage.remove([{ type: 'mail', id: 'head' }], { trees: true })],
  [
    'was removed while it ran',
    async ({ storage, claimOne }) => {
      await claimOne()
      await storage.remove([{ type: 'mail', id: 'head' }], { trees: true })
    },
  ],
  [
    'was completed without a worker',
    ({ storage }) => {
      const head = { type: 'mail', id: 'head' }
      return storage.settle([{ ...head, chain: head, token: 'by hand', kind: 'completed' }])
    },
  ],
]

const endCases: readonly Case[] = ends.map(([what, arrange]) => ({
  name: `the second job of an ordered group is next after its head ${what}`,
  proves: ['F21', 'W9', 'W10', 'S20'],
  run: async (context) => {
    await two(context, { maxAttempts: 1 })
    await arrange(context)
    assert.equal((await context.claimOne()).id, 'second')
  },
}))

const otherCases: readonly Case[] = [
  {
    name: 'a claim takes only the head of an ordered group, however many slots it has',
    proves: ['F21', 'S15'],
    run: async (context) => {
      await two(context)
      assert.deepEqual(idsOf(await context.claim()), ['head'])
      assert.deepEqual(await context.claim(), [])
    },
  },
  {
    name: 'a busy group takes no slot from the jobs behind it',
    proves: ['F21', 'L6'],
    run: async (context) => {
      await two(context)
      await context.added({ id: 'other group', group: { key: 'h', ordered: true } })
      await context.added({ id: 'no group' })
      // They take turns, in any order.
      const claimed: string[] = []
      for (let count = 0; count < 3; count++) claimed.push(...idsOf(await context.claim({ slots: 1 })))
      assert.deepEqual(claimed.toSorted(), ['head', 'no group', 'other group'])
    },
  },
  {
    name: 'a head that is not due holds its group; jobs outside the group run',
    proves: ['F21', 'S14'],
    run: async (context) => {
      const { added, claim, advance, unit } = context
      await two(context, { delayMs: 20 * unit })
      await added({ id: 'outside' })
      const types = [{ type: 'mail', leaseMs: 500 * unit }]
      assert.deepEqual(idsOf(await claim({ types })), ['outside'])
      await advance(20 * unit)
      assert.deepEqual(idsOf(await claim()), ['head'])
    },
  },
  {
    name: 'a blocked head holds its group until it ends',
    proves: ['F21'],
    run: async (context) => {
      const { storage, added, claim, claimOne, unit } = context
      const blocker = await added({ type: 'other' })
      await two(context, { blockers: [refOf(blocker)] })
      assert.deepEqual(await claim(), [])
      await complete(storage, await claimOne({ types: [{ type: 'other', leaseMs: 10 * unit }] }))
      assert.deepEqual(idsOf(await claim()), ['head'])
    },
  },
  {
    name: 'a head that fails with its blocker frees its group',
    proves: ['F21', 'S13'],
    run: async (context) => {
      const { storage, added, claimOne, unit } = context
      const blocker = await added({ type: 'other' })
      await two(context, { blockers: [refOf(blocker)] })
      await fail(storage, await claimOne({ types: [{ type: 'other', leaseMs: 10 * unit }] }))
      assert.equal((await claimOne()).id, 'second')
    },
  },
  {
    name: 'neither priority nor runAt changes the acceptance order of an ordered group',
    proves: ['F21', 'S15'],
    run: async (context) => {
      const { storage, job, claimOne, advance, unit } = context
      const order = ['1', '2', '3', '4']
      const fields: Partial<NewJob>[] = [
        { delayMs: 2 * unit },
        { priority: 5 },
        { delayMs: unit },
        { priority: 9, runAt: 1 },
      ]
      await storage.add(fields.map((each, index) => job({ id: order[index]!, group, ...each })))
      await advance(3 * unit)
      for (const id of order) {
        const held = await claimOne()
        assert.equal(held.id, id)
        await complete(storage, held)
      }
    },
  },
  {
    name: 'a group belongs to its type',
    proves: ['F21', 'S24'],
    run: async (context) => {
      const { added, claim, unit } = context
      await two(context)
      await added({ id: 'post', type: 'post', group })
      const types = ['mail', 'post'].map((type) => ({ type, leaseMs: 10 * unit }))
      assert.deepEqual(idsOf(await claim({ types })).toSorted(), ['head', 'post'])
    },
  },
  {
    name: 'the end of a waiting job in the middle of a group keeps the order of the others',
    proves: ['F21', 'S15'],
    run: async ({ storage, job, claimOne, claim }) => {
      await storage.add(['1', '2', '3'].map((id) => job({ id, group })))
      const held = await claimOne()
      await storage.cancel([{ type: 'mail', id: '2' }])
      assert.deepEqual(await claim(), [])
      await complete(storage, held)
      assert.equal((await claimOne()).id, '3')
    },
  },
  {
    name: 'a revived job returns to its group: still one at a time, and every job runs',
    proves: ['F21', 'W10', 'S15'],
    run: async (context) => {
      const { storage, claim, claimOne } = context
      await two(context)
      await fail(storage, await claimOne())
      const second = await claimOne()
      await storage.revive([{ type: 'mail', id: 'head' }])
      assert.deepEqual(await claim(), [])
      await complete(storage, second)
      assert.equal((await claimOne()).id, 'head')
      assert.deepEqual(await statesOf(storage, { type: 'mail', id: 'second' }), ['completed'])
    },
  },
  {
    name: 'concurrent claims never hold two jobs of an ordered group',
    proves: ['F21', 'S15', 'S16'],
    run: async ({ storage, another, job, claimRequest }) => {
      const handles = [storage, await another()]
      await storage.add(
        Array.from({ length: 20 }, (_, index) => job({ group: { key: `${index % 4}`, ordered: true } })),
      )
      const claims = await Promise.all(
        Array.from({ length: 8 }, (_, index) => handles[index % 2]!.claim(claimRequest())),
      )
      const groups = claims.flatMap(({ jobs }) => jobs.map((claimed) => claimed.group))
      assert.deepEqual(groups.toSorted(), ['0', '1', '2', '3'])
    },
  },
  {
    name: 'each of five ordered groups completes its jobs in acceptance order, across retries',
    proves: ['W8', 'S15'],
    run: async ({ storage, job, claim }) => {
      const jobs = Array.from({ length: 40 }, (_, index) => job({ group: { key: `${index % 5}`, ordered: true } }))
      await storage.add(jobs)
      const done = new Map<string, string[]>()
      for (let run = 0, held = await claim({ slots: 3 }); held.length > 0; held = await claim({ slots: 3 })) {
        assert.equal(new Set(held.map((claimed) => claimed.group)).size, held.length)
        for (const claimed of held) {
          if (run++ % 3 === 2 && claimed.failures === 0) await retry(storage, claimed)
          else {
            done.set(claimed.group!, [...(done.get(claimed.group!) ?? []), claimed.id])
            await complete(storage, claimed)
          }
        }
      }
      for (const [key, order] of done) assert.deepEqual(order, idsOf(jobs.filter((each) => each.group!.key === key)))
      assert.equal([...done.values()].flat().length, 40)
    },
  },
  {
    name: 'a paused group is not claimed while others are; after the resume it continues at its head',
    proves: ['F26', 'S22'],
    run: async (context) => {
      const { storage, added, claim } = context
      await two(context)
      await added({ id: 'other group', group: { key: 'h', ordered: true } })
      await storage.pause({ type: 'mail', group: 'g', paused: true })
      assert.deepEqual(idsOf(await claim()), ['other group'])
      await storage.pause({ type: 'mail', group: 'g', paused: false })
      assert.deepEqual(idsOf(await claim()), ['head'])
    },
  },
]

export const claimGroupCases: readonly Case[] = [...keepCases, ...endCases, ...otherCases]
