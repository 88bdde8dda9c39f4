// The order of claims within a type: priority, then runAt, then acceptance; and the place to which each attempt returns.

import assert from 'node:assert/strict'
import { bytes } from '../case.ts'
import type { Case, CaseContext } from '../case.ts'
import { complete, retry, settleOutcome } from '../outcomes.ts'
import { fenceOf, idsOf, refOf } from '../records.ts'

/** Adds three jobs and claims the first. */
async function firstOfThree({ storage, added, claimOne, claim, unit }: CaseContext) {
  await added({ id: 'first', maxAttempts: 9 })
  const lease = await claimOne({ types: [{ type: 'mail', leaseMs: unit }] })
  await added({ id: 'second' })
  await added({ id: 'third' })
  return { storage, lease: fenceOf(lease), order: async () => idsOf(await claim()) }
}

const oldPlace = ['first', 'second', 'third']
const behind = ['second', 'third', 'first']

export const claimOrderCases: readonly Case[] = [
  {
    name: 'the greater priority is claimed first, from 100 down to -100',
    proves: ['F2', 'S15'],
    run: async ({ added, claim }) => {
      for (const priority of [0, -100, 9, 100, -1, 10]) await added({ id: `${priority}`, priority })
      assert.deepEqual(idsOf(await claim()), ['100', '10', '9', '0', '-1', '-100'])
    },
  },
  {
    name: 'the default priority is 0',
    proves: ['F2'],
    run: async ({ added, claim }) => {
      await added({ id: 'below', priority: -1 })
      await added({ id: 'none' })
      await added({ id: 'above', priority: 1 })
      assert.deepEqual(idsOf(await claim()), ['above', 'none', 'below'])
    },
  },
  {
    name: 'within one priority the job that became due first is claimed first',
    proves: ['F2', 'S15'],
    run: async ({ added, claim, advance, unit }) => {
      await added({ id: 'last', delayMs: 3 * unit })
      await added({ id: 'second', delayMs: 2 * unit })
      await added({ id: 'first', delayMs: unit })
      await advance(4 * unit)
      await added({ id: 'late' })
      assert.deepEqual(idsOf(await claim()), ['first', 'second', 'last', 'late'])
    },
  },
  {
    name: 'a job of greater priority that is not due does not delay the others',
    proves: ['F2', 'S14'],
    run: async ({ added, claim, unit }) => {
      await added({ id: 'later', priority: 100, delayMs: 500 * unit })
      await added({ id: 'now', priority: -100 })
      assert.deepEqual(idsOf(await claim({ slots: 1 })), ['now'])
    },
  },
  {
    name: 'a greater priority is claimed before an older job',
    proves: ['F2'],
    run: async ({ added, claim, advance, unit }) => {
      await added({ id: 'old' })
      await advance(unit)
      await added({ id: 'young', priority: 1 })
      assert.deepEqual(idsOf(await claim()), ['young', 'old'])
    },
  },
  {
    name: 'jobs that became due at the same instant are claimed in acceptance order',
    proves: ['F2', 'S15'],
    run: async ({ storage, job, now, claim, advance, unit }) => {
      const runAt = (await now()) + 3 * unit
      const jobs = Array.from({ length: 12 }, () => job({ runAt }))
      await storage.add(jobs.slice(0, 6))
      await storage.add(jobs.slice(6))
      await advance(4 * unit)
      assert.deepEqual([...idsOf(await claim({ slots: 5 })), ...idsOf(await claim())], idsOf(jobs))
    },
  },
  {
    name: 'the order of claims does not depend on the ids',
    proves: ['F2'],
    run: async ({ added, claim }) => {
      const order = ['b', '10', 'a', '9', 'C', '1']
      for (const id of order) await added({ id })
      assert.deepEqual(idsOf(await claim()), order)
    },
  },
  {
    name: 'a past runAt does not move a job ahead of older ones',
    proves: ['F1', 'chains §3.1'],
    run: async ({ added, claim }) => {
      await added({ id: 'first' })
      await added({ id: 'second', runAt: 1 })
      await added({ id: 'third' })
      assert.deepEqual(idsOf(await claim()), ['first', 'second', 'third'])
    },
  },
  {
    name: 'a retry goes behind all waiting jobs, even in the same instant',
    proves: ['trap 21', 'Q4.30'],
    run: async (context) => {
      const { storage, lease, order } = await firstOfThree(context)
      await settleOutcome(storage, { ...lease, kind: 'retry', error: bytes('x') })
      assert.deepEqual(await order(), behind)
    },
  },
  {
    name: 'a retry whose delay has passed goes behind jobs that became due meanwhile',
    proves: ['trap 21', 'S18'],
    run: async (context) => {
      const { storage, lease, order } = await firstOfThree(context)
      await retry(storage, lease, context.unit)
      await context.advance(2 * context.unit)
      assert.deepEqual(await order(), behind)
    },
  },
  {
    name: 'a stalled attempt goes behind all waiting jobs',
    proves: ['Q4.40'],
    run: async (context) => {
      const { storage, lease, order } = await firstOfThree(context)
      await settleOutcome(storage, { ...lease, kind: 'retry', stalled: true })
      assert.deepEqual(await order(), behind)
    },
  },
  {
    name: 'a recovered job goes behind all waiting jobs',
    proves: ['Q4.40'],
    run: async (context) => {
      const { storage, order } = await firstOfThree(context)
      await context.advance(2 * context.unit)
      await storage.recover({ types: ['mail'], limit: 10 })
      assert.deepEqual(await order(), behind)
    },
  },
  {
    name: 'a job whose lost lease a claim takes back goes behind all waiting jobs',
    proves: ['Q4.40'],
    run: async (context) => {
      const { order } = await firstOfThree(context)
      await context.advance(2 * context.unit)
      assert.deepEqual(await order(), behind)
    },
  },
  {
    name: 'a released job returns to its old place',
    proves: ['Q4.41', 'trap 2'],
    run: async (context) => {
      const { storage, lease, order } = await firstOfThree(context)
      await settleOutcome(storage, { ...lease, kind: 'released' })
      assert.deepEqual(await order(), oldPlace)
    },
  },
  {
    name: 'a released job returns to its old place however long it was held',
    proves: ['Q4.41'],
    run: async (context) => {
      const { storage, lease, order } = await firstOfThree(context)
      await context.advance(5 * context.unit)
      await settleOutcome(storage, { ...lease, kind: 'released', payload: bytes('new') })
      assert.deepEqual(await order(), oldPlace)
    },
  },
  {
    name: 'jobs released in another order than they were claimed return to their old order',
    proves: ['Q4.41'],
    run: async ({ storage, added, claim }) => {
      for (const id of oldPlace) await added({ id })
      const leases = (await claim()).map(fenceOf)
      await storage.settle([2, 0, 1].map((index) => ({ ...leases[index]!, kind: 'released' }) as const))
      assert.deepEqual(idsOf(await claim()), oldPlace)
    },
  },
  {
    name: 'a snoozed job is ordered by the end of its snooze',
    proves: ['F18'],
    run: async (context) => {
      const { storage, lease, order } = await firstOfThree(context)
      await settleOutcome(storage, { ...lease, kind: 'released', delayMs: context.unit })
      await context.advance(2 * context.unit)
      assert.deepEqual(await order(), behind)
    },
  },
  {
    name: 'a retry and a recovered job keep their priority',
    proves: ['F2'],
    run: async ({ storage, added, claim, claimOne, advance, unit }) => {
      await added({ id: 'urgent', priority: 1, maxAttempts: 9 })
      await added({ id: 'plain' })
      await retry(storage, await claimOne({ slots: 1 }))
      const [again] = await claim({ slots: 1, types: [{ type: 'mail', leaseMs: unit }] })
      assert.equal(again!.id, 'urgent')
      await advance(2 * unit)
      assert.deepEqual(idsOf(await claim()), ['urgent', 'plain'])
    },
  },
  {
    name: 'an unblocked job is due when its blocker ends, behind jobs that were due before',
    proves: ['S15', 'chains §3.2'],
    run: async ({ storage, added, claim, claimOne, advance, unit }) => {
      const blocker = await added({ type: 'other' })
      await added({ id: 'dependent', blockers: [refOf(blocker)] })
      await added({ id: 'waiting' })
      await advance(unit)
      await complete(storage, await claimOne({ types: [{ type: 'other', leaseMs: 10 * unit }] }))
      assert.deepEqual(idsOf(await claim()), ['waiting', 'dependent'])
    },
  },
]
