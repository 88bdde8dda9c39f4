// Held groups: a failed job of an ordered group that was added with `onFailure: 'hold'` stops the group.

import assert from 'node:assert/strict'
import type { NewJob } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, fail, retry } from '../outcomes.ts'
import { idsOf, refOf } from '../records.ts'
import { claimType } from '../scenarios.ts'

const group = { key: 'g', ordered: true, onFailure: 'hold' } as const
const head = { type: 'mail', id: 'head' }

async function two({ storage, job }: CaseContext, fields?: Partial<NewJob>): Promise<void> {
  await storage.add([job({ id: 'head', group, ...fields }), job({ id: 'second', group })])
}

/** Every way in which the head fails. */
const failures: readonly (readonly [string, Partial<NewJob>, (context: CaseContext) => Promise<unknown>])[] = [
  ['its handler failed it', {}, async ({ storage, claimOne }) => fail(storage, await claimOne())],
  ['it used up its attempts', { maxAttempts: 1 }, async ({ storage, claimOne }) => retry(storage, await claimOne())],
  [
    'it lost its last lease',
    { maxAttempts: 1 },
    async ({ storage, claimOne, advance, unit }) => {
      await claimOne({ types: [{ type: 'mail', leaseMs: unit }] })
      await advance(2 * unit)
      await storage.recover({ types: ['mail'], limit: 10 })
    },
  ],
  [
    'it was failed without a worker',
    {},
    ({ storage }) => storage.settle([{ ...head, chain: head, token: 'by hand', kind: 'failed' }]),
  ],
  [
    'its blocker failed',
    { blockers: [{ type: 'other', id: 'blocker' }] },
    async (context) => fail(context.storage, await claimType(context, 'other')),
  ],
]

/** Every way in which the failed head lets the group go on, and what is claimed then. */
const releases: readonly (readonly [string, string, (context: CaseContext) => Promise<unknown>])[] = [
  ['revived', 'head', ({ storage }) => storage.revive([head])],
  ['replaced', 'second', ({ storage, job }) => storage.add([job({ id: 'head', type: 'mail', delayMs: 100_000 })])],
  ['removed', 'second', ({ storage }) => storage.remove([head])],
  ['removed with its tree', 'second', ({ storage }) => storage.remove([head], { trees: true })],
  [
    'swept',
    'second',
    async ({ storage, advance, unit }) => {
      await advance(101 * unit)
      await storage.sweep({ limit: 100 })
    },
  ],
  [
    'swept beyond a count',
    'second',
    ({ storage }) => storage.sweep({ limit: 100, keep: [{ type: 'mail', state: 'failed', count: 0 }] }),
  ],
]

export const claimHoldCases: readonly Case[] = [
  ...failures.map(([what, fields, arrange]): Case => ({
    name: `a group is held when its head failed because ${what}`,
    proves: ['F21'],
    run: async (context) => {
      const { added, claim } = context
      await added({ type: 'other', id: 'blocker' })
      await two(context, fields)
      await arrange(context)
      assert.deepEqual(await claim(), [])
    },
  })),
  ...releases.map(([what, next, arrange]): Case => ({
    name: `a held group goes on once the failed job is ${what}`,
    proves: ['F21'],
    run: async (context) => {
      const { storage, claim, claimOne } = context
      await two(context)
      await fail(storage, await claimOne())
      assert.deepEqual(await claim(), [])
      await arrange(context)
      assert.deepEqual(idsOf(await claim()), [next])
    },
  })),
  {
    name: 'a head that is cancelled, completes, or was added without `hold`, holds nothing',
    proves: ['F21'],
    run: async (context) => {
      const { storage, added, claimOne } = context
      await two(context)
      await storage.cancel([head])
      await complete(storage, await claimOne())
      for (const onFailure of ['continue', undefined] as const) {
        const going = { key: 'g', ordered: true, ...(onFailure && { onFailure }) } as const
        await added({ group: going })
        await fail(storage, await claimOne())
      }
      await added({ id: 'last', group })
      assert.equal((await claimOne()).id, 'last')
    },
  },
  {
    name: 'a held group accepts jobs; other groups and jobs without one go on',
    proves: ['F21'],
    run: async (context) => {
      const { storage, added, claim, claimOne } = context
      await two(context)
      await fail(storage, await claimOne())
      await added({ id: 'third', group })
      await added({ id: 'other group', group: { key: 'h', ordered: true } })
      await added({ id: 'no group' })
      assert.deepEqual(idsOf(await claim()).toSorted(), ['no group', 'other group'])
      await storage.remove([head])
      await complete(storage, await claimOne())
      assert.equal((await claimOne()).id, 'third')
    },
  },
  {
    name: 'a held group is held without other jobs too: jobs that are added later wait',
    proves: ['F21'],
    run: async (context) => {
      const { storage, added, claim, claimOne } = context
      await added({ id: 'head', group })
      await fail(storage, await claimOne())
      await added({ id: 'second', group })
      assert.deepEqual(await claim(), [])
      await storage.remove([head])
      assert.equal((await claimOne()).id, 'second')
    },
  },
  {
    name: 'a group that two failed jobs hold goes on after both',
    proves: ['F21'],
    run: async (context) => {
      const { storage, job, added, claim, claimOne } = context
      const blocker = await added({ type: 'other' })
      await storage.add([
        job({ id: 'head', group }),
        job({ id: 'blocked', group, blockers: [refOf(blocker)] }),
        job({ id: 'last', group }),
      ])
      await fail(storage, await claimOne())
      await fail(storage, await claimType(context, 'other'))
      await storage.remove([head])
      assert.deepEqual(await claim(), [])
      await storage.remove([{ type: 'mail', id: 'blocked' }])
      assert.deepEqual(idsOf(await claim()), ['last'])
    },
  },
  {
    name: 'a revived job takes its group again, in its old place, and a second failure holds it again',
    proves: ['F21'],
    run: async (context) => {
      const { storage, claim, claimOne } = context
      await two(context)
      for (let round = 0; round < 2; round++) {
        const lease = await claimOne()
        assert.equal(lease.id, 'head')
        await fail(storage, lease)
        assert.deepEqual(await claim(), [])
        await storage.revive([head])
      }
      await complete(storage, await claimOne())
      assert.equal((await claimOne()).id, 'second')
    },
  },
  {
    name: 'a failed job whose record is kept for 0 ms holds nothing',
    proves: ['F21'],
    run: async (context) => {
      const { storage, claimOne } = context
      await two(context, { retention: { completedMs: 0, failedMs: 0, cancelledMs: 0 } })
      await fail(storage, await claimOne())
      assert.equal((await claimOne()).id, 'second')
    },
  },
]
