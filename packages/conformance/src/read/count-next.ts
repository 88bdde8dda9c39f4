// count with `next`: which job of a type a claim would start next, whose turn it is, and what keeps it from a start.

import assert from 'node:assert/strict'
import type { Limits, NextQuery, NextStart } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { fail, settleOne } from '../outcomes.ts'
import { refOf } from '../records.ts'
import { claimWithin, lostLease } from '../scenarios.ts'

const none: Limits = {}

async function nextOf({ storage }: CaseContext, query: Partial<NextQuery> = {}): Promise<NextStart> {
  const { types, next } = await storage.count({ types: [], next: { type: 'mail', limits: none, ...query } })
  assert.deepEqual(types, [])
  assert.ok(next, 'expected an answer to `next`')
  return next
}

/** The only job that a claim of one slot starts now. */
async function startedNext(context: CaseContext, limits: Limits = none): Promise<string | undefined> {
  return (await claimWithin(context, limits, 1))[0]?.id
}

export const countNextCases: readonly Case[] = [
  {
    name: 'next: a type that is not known starts nothing, and a count without the query has no answer',
    proves: ['F32'],
    run: async (context) => {
      const next = await nextOf(context, { group: 'g' })
      assert.deepEqual(
        [next.running, next.line, next.turn, next.paused, next.leaseEnd, next.freesAt, next.slowedUntil],
        [0, undefined, undefined, undefined, undefined, undefined, undefined],
      )
      const { group } = next
      assert.deepEqual(
        [group?.group, group?.running, group?.waiting, group?.ordered, group?.job, group?.turnAt, group?.paused],
        ['g', 0, 0, false, undefined, undefined, undefined],
      )
      assert.equal((await context.storage.count({ types: ['mail'] })).next, undefined)
    },
  },
  {
    name: 'next: of the jobs without a group, the first by priority, runAt and sequence number that is due',
    proves: ['F32'],
    run: async (context) => {
      const { storage, job, unit } = context
      await storage.add([
        job({ id: 'second' }),
        job({ id: 'third' }),
        job({ id: 'first', priority: 5 }),
        job({ id: 'later', priority: 9, delayMs: 50 * unit }),
        job({ id: 'grouped', priority: 7, group: { key: 'g' }, delayMs: 50 * unit }),
      ])
      for (const id of ['first', 'second', 'third']) {
        const next = await nextOf(context)
        assert.deepEqual([next.line, next.turn], [id, {}])
        assert.equal(await startedNext(context), id)
      }
      const next = await nextOf(context)
      assert.deepEqual([next.line, next.turn, next.running], [undefined, undefined, 3])
      assert.ok(next.leaseEnd! > (await context.now()))
    },
  },
  {
    name: 'next: whose turn it is, between groups and the jobs without one, as claims take them',
    proves: ['F32', 'F24'],
    run: async (context) => {
      const { storage, job } = context
      const of = (key: string, id: string) => job({ id, group: { key } })
      await storage.add([
        job({ id: 'l1' }),
        of('g', 'g1'),
        of('g', 'g2'),
        of('h', 'h1'),
        job({ id: 'l2' }),
        job({ id: 'l3' }),
      ])
      for (let left = 6; left > 0; left--) {
        const { turn, line } = await nextOf(context)
        const key = turn!.group
        const expected = key === undefined ? line : (await nextOf(context, { group: key })).group!.job
        assert.equal(await startedNext(context), expected)
      }
      assert.equal((await nextOf(context)).turn, undefined)
    },
  },
  {
    name: 'next: without turns it is not told whose turn it is, unless there is only one choice',
    proves: ['F32', 'F24'],
    run: async (context) => {
      const { storage, job } = context
      const limits = { group: { fair: false } }
      await storage.add([job({ id: 'g1', group: { key: 'g' } })])
      assert.deepEqual((await nextOf(context, { limits })).turn, { group: 'g' })
      await storage.add([job({ id: 'h1', group: { key: 'h' } })])
      assert.equal((await nextOf(context, { limits })).turn, undefined)
      await claimWithin(context, limits)
      await storage.add([job({ id: 'line' })])
      assert.deepEqual((await nextOf(context, { limits })).turn, {})
      await storage.add([job({ id: 'h2', group: { key: 'h' } })])
      assert.equal((await nextOf(context, { limits })).turn, undefined)
    },
  },
  {
    name: 'next: the first job of an ordered group is its head, in any state',
    proves: ['F32', 'F21'],
    run: async (context) => {
      const { storage, job, unit } = context
      const group = { key: 'g', ordered: true } as const
      await storage.add([job({ id: 'head', group, delayMs: 5 * unit }), job({ id: 'other', group, priority: 9 })])
      const { group: first } = await nextOf(context, { group: 'g' })
      assert.deepEqual([first?.ordered, first?.job, first?.running, first?.waiting], [true, 'head', 0, 2])
      assert.equal(first?.turnAt, (await storage.get([{ type: 'mail', id: 'head' }]))[0]!.runAt)
      await context.advance(6 * unit)
      assert.equal(await startedNext(context), 'head')
      const { group: running } = await nextOf(context, { group: 'g' })
      assert.deepEqual([running?.job, running?.running, running?.turnAt], ['head', 1, undefined])
    },
  },
  {
    name: 'next: the first job of an unordered group is the best of those that are due',
    proves: ['F32', 'F21'],
    run: async (context) => {
      const { storage, job, unit } = context
      const group = { key: 'g' }
      await storage.add([
        job({ id: 'second', group }),
        job({ id: 'first', group, priority: 3 }),
        job({ id: 'later', group, priority: 9, delayMs: 50 * unit }),
      ])
      assert.equal((await nextOf(context, { group: 'g' })).group?.job, 'first')
      const limits = { group: { limit: 1 } }
      assert.equal(await startedNext(context, limits), 'first')
      const next = await nextOf(context, { group: 'g', limits })
      assert.deepEqual(
        [next.group?.job, next.group?.freesAt, next.group?.turnAt, next.turn],
        ['second', Infinity, undefined, undefined],
      )
    },
  },
  {
    name: 'next: pauses, slow-downs and failed jobs that hold a group',
    proves: ['F32', 'F23', 'F26'],
    run: async (context) => {
      const { storage, job, claimOne, unit } = context
      await storage.pause({ type: 'mail', paused: true, by: 'ann' })
      await storage.pause({ type: 'mail', group: 'g', paused: true, by: 'ben' })
      const paused = await nextOf(context, { group: 'g' })
      assert.deepEqual([paused.paused?.by, paused.group?.paused?.by], ['ann', 'ben'])
      await storage.pause({ type: 'mail', paused: false })
      await storage.pause({ type: 'mail', group: 'g', paused: false })
      await storage.add([
        job({ id: 'holder', group: { key: 'g', ordered: true, onFailure: 'hold' } }),
        job({ id: 'other', group: { key: 'g', ordered: true } }),
      ])
      await fail(storage, await claimOne())
      const held = await nextOf(context, { group: 'g' })
      assert.deepEqual(
        [held.group?.heldBy, held.group?.job, held.group?.turnAt, held.turn],
        ['holder', 'other', undefined, undefined],
      )
      const { runAt: slowedUntil } = await settleOne(storage, await runningLine(context), {
        kind: 'released',
        delayMs: 5 * unit,
        slowDown: 'type',
      })
      assert.equal((await nextOf(context)).slowedUntil, slowedUntil)
    },
  },
  {
    name: 'next: a rate is free for the weight of the query, or for a heavier job that is waited for',
    proves: ['F32', 'F22'],
    run: async (context) => {
      const { storage, job, unit } = context
      const limits = { rate: { limit: 5, perMs: 20 * unit } }
      await storage.add([job({ weight: 3 }), job({ id: 'heavy', weight: 4 })])
      await claimWithin(context, limits, 1)
      const light = await nextOf(context, { limits, weight: 2 })
      assert.deepEqual([light.used, light.freesAt], [3, undefined])
      assert.ok((await nextOf(context, { limits, weight: 3 })).freesAt! > (await context.now()))
      // This claim finds no room for the heavy job, which nothing overtakes from now on.
      assert.deepEqual(await claimWithin(context, limits), [])
      assert.ok((await nextOf(context, { limits, weight: 1 })).freesAt! > (await context.now()))
    },
  },
  {
    name: 'next: the end of a lost lease is shown until a claim takes the job back',
    proves: ['F32'],
    run: async (context) => {
      const lost = await lostLease(context)
      assert.equal((await nextOf(context)).leaseEnd, lost.leaseUntil)
      await context.storage.recover({ types: ['mail'], limit: 10 })
      const next = await nextOf(context)
      assert.deepEqual([next.leaseEnd, next.line], [undefined, refOf(lost).id])
    },
  },
]

/** A job without a group, in processing. */
async function runningLine({ added, claimOne }: CaseContext) {
  await added()
  return claimOne()
}
