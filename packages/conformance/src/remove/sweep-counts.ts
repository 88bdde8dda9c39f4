// sweep with counts to keep: of the ended jobs of a type, only so many stay.

import assert from 'node:assert/strict'
import type { Case, CaseContext } from '../case.ts'
import { idsOf } from '../records.ts'
import { chainOfTwo, inState, runOne } from '../scenarios.ts'

const left = async ({ storage }: CaseContext, state: 'completed' | 'failed' | 'cancelled'): Promise<string[]> =>
  idsOf((await storage.list({ of: 'jobs', types: ['mail'], states: [state], limit: 100 })).items).toSorted()

export const sweepCountCases: readonly Case[] = [
  ...(['completed', 'failed', 'cancelled'] as const).map((state): Case => ({
    name: `of more ${state} jobs than the count, those that expire first are deleted`,
    proves: ['F29'],
    run: async (context) => {
      const { storage, advance, unit } = context
      for (const id of ['a', 'b', 'c', 'd', 'e']) {
        await inState(context, state, { id })
        await advance(unit)
      }
      await context.added({ id: 'waiting' })
      const swept = await storage.sweep({ limit: 100, keep: [{ type: 'mail', state, count: 2 }] })
      assert.equal(swept.jobs, 3)
      assert.deepEqual(await left(context, state), ['d', 'e'])
      assert.equal((await storage.count({ types: ['mail'] })).types[0]!.states.queued, 1)
      assert.equal((await storage.sweep({ limit: 100, keep: [{ type: 'mail', state, count: 2 }] })).jobs, 0)
    },
  })),
  {
    name: 'a count applies to records that are kept for ever too, oldest end first, after those that expire',
    proves: ['F29'],
    run: async (context) => {
      const { storage, advance, unit } = context
      const forever = { completedMs: Infinity, failedMs: Infinity, cancelledMs: Infinity }
      for (const id of ['z', 'm', 'a']) {
        await inState(context, 'failed', { id, retention: forever })
        await advance(unit)
      }
      await inState(context, 'failed', { id: 'expires' })
      const sweep = async (count: number): Promise<number> =>
        (await storage.sweep({ limit: 100, keep: [{ type: 'mail', state: 'failed', count }] })).jobs
      const found = []
      for (const count of [3, 2, 0]) found.push([await sweep(count), await left(context, 'failed')])
      assert.deepEqual(found, [
        [1, ['a', 'm', 'z']],
        [1, ['a', 'm']],
        [2, []],
      ])
    },
  },
  {
    name: 'a count applies to a longer chain that is kept for ever, with all its jobs',
    proves: ['F29'],
    run: async (context) => {
      const retention = { completedMs: Infinity, failedMs: Infinity, cancelledMs: Infinity }
      const { first, next } = await chainOfTwo(context, { first: { retention }, next: { type: 'mail', retention } })
      await runOne(context)
      const keep = [{ type: 'mail', state: 'completed', count: 0 }] as const
      assert.equal((await context.storage.sweep({ limit: 100, keep })).jobs, 2)
      assert.deepEqual(await context.storage.get([first, next]), [undefined, undefined])
    },
  },
  {
    name: 'a count of 0 keeps none, and a count is for its type and state alone',
    proves: ['F29'],
    run: async (context) => {
      await inState(context, 'completed', { id: 'completed' })
      await inState(context, 'failed', { id: 'failed' })
      await inState(context, 'completed', { id: 'x', type: 'other' })
      const swept = await context.storage.sweep({ limit: 100, keep: [{ type: 'mail', state: 'completed', count: 0 }] })
      assert.equal(swept.jobs, 1)
      assert.deepEqual([await left(context, 'completed'), await left(context, 'failed')], [[], ['failed']])
      assert.equal((await context.storage.count({ types: ['other'] })).types[0]!.states.completed, 1)
    },
  },
  {
    name: 'a sweep by count deletes no more than its limit, and says that there are more',
    proves: ['F29'],
    run: async (context) => {
      for (const id of ['a', 'b', 'c', 'd', 'e']) await inState(context, 'completed', { id })
      const request = { limit: 2, keep: [{ type: 'mail', state: 'completed', count: 1 }] } as const
      const counts = []
      for (let round = 0; round < 3; round++) counts.push(await context.storage.sweep(request))
      assert.deepEqual(
        counts.map(({ jobs, more }) => [jobs, more]),
        [
          [2, true],
          [2, false],
          [0, false],
        ],
      )
    },
  },
  {
    name: 'a record that a dependent needs is not deleted by count',
    proves: ['F29'],
    run: async (context) => {
      const { storage, added } = context
      const open = await added({ type: 'open' })
      const { id } = await inState(context, 'completed')
      const needs = [
        { type: 'mail', id },
        { type: 'open', id: open.id },
      ]
      await added({ type: 'after', blockers: needs })
      const swept = await storage.sweep({ limit: 10, keep: [{ type: 'mail', state: 'completed', count: 0 }] })
      assert.deepEqual([swept.jobs, swept.more], [0, false])
      assert.deepEqual(await left(context, 'completed'), [id])
    },
  },
]
