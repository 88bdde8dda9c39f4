// count: the counts equal the records by state after every move, and show what is due, delayed and oldest.

import assert from 'node:assert/strict'
import type { JobState, Storage, TypeCounts } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, fail, settleOne, settleVerdict } from '../outcomes.ts'
import { idsOf, jobStates, recordOf, refOf } from '../records.ts'
import { chainOfTwo, claimType, inState, runOne, treeOfTwo } from '../scenarios.ts'
import { countLimitCases } from './count-limits.ts'
import { countNextCases } from './count-next.ts'

const none = Object.fromEntries(jobStates.map((state) => [state, 0])) as Record<JobState, number>

/** The counts of a type; all zero if the storage has none. */
async function countsOf(storage: Storage, type = 'mail'): Promise<TypeCounts> {
  const { types } = await storage.count({ types: [type] })
  return types.find((counts) => counts.type === type) ?? { type, states: none, due: 0, delayed: 0, pausedGroups: [] }
}

/** Asserts that every count equals the number of records. */
async function agree({ storage }: CaseContext): Promise<void> {
  const { items } = await storage.list({ of: 'jobs', limit: 1000 })
  const { types } = await storage.count({})
  for (const type of new Set([...items, ...types].map((item) => item.type))) {
    const expected = { ...none }
    for (const item of items) if (item.type === type) expected[item.state]++
    assert.deepEqual(types.find((counts) => counts.type === type)?.states, expected, type)
  }
}

export const countCases: readonly Case[] = [
  {
    name: 'an empty storage has a time and no types',
    run: async ({ storage, advance, unit }) => {
      const before = await storage.count({})
      assert.deepEqual(before.types, [])
      await advance(10 * unit)
      assert.ok((await storage.count({})).now >= before.now + 10 * unit)
    },
  },
  ...jobStates.map((state): Case => ({
    name: `a ${state} job is counted in that state only`,
    proves: ['S19'],
    run: async (context) => {
      await inState(context, state)
      assert.deepEqual((await countsOf(context.storage)).states, { ...none, [state]: 1 })
    },
  })),
  {
    name: 'every type with a record is counted, or only the types asked for',
    run: async ({ storage, added }) => {
      for (const type of ['a', 'b', 'b', 'c']) await added({ type })
      const queued = async (types?: string[]) => {
        const { types: found } = await storage.count(types ? { types } : {})
        return found.map((counts) => `${counts.type} ${counts.states.queued}`).toSorted()
      }
      assert.deepEqual(await queued(), ['a 1', 'b 2', 'c 1'])
      assert.deepEqual(await queued(['c', 'b']), ['b 2', 'c 1'])
    },
  },
  {
    name: 'a type without jobs that is asked for counts nothing',
    run: async ({ storage }) => {
      const { states: counted, due, delayed, oldestDueAt } = await countsOf(storage, 'nothing')
      assert.deepEqual([counted, due, delayed, oldestDueAt], [none, 0, 0, undefined])
    },
  },
  {
    name: 'a scheduled job counts as queued and due from its runAt on',
    run: async ({ storage, added, advance, unit }) => {
      const job = await added({ delayMs: 10 * unit })
      const before = await countsOf(storage)
      assert.deepEqual([before.states.scheduled, before.delayed, before.due, before.oldestDueAt], [1, 1, 0, undefined])
      await advance(10 * unit)
      const { states: counted, due, delayed, oldestDueAt } = await countsOf(storage)
      assert.deepEqual([counted, due, delayed], [{ ...none, queued: 1 }, 1, 0])
      assert.equal(oldestDueAt, (await recordOf(storage, job)).runAt)
    },
  },
  {
    name: 'a failing job counts as delayed until its runAt, then as due, and stays failing',
    run: async (context) => {
      const { storage, advance, unit } = context
      await inState(context, 'failing')
      const before = await countsOf(storage)
      assert.deepEqual([before.states.failing, before.due, before.delayed], [1, 0, 1])
      await advance(51 * unit)
      const after = await countsOf(storage)
      assert.deepEqual([after.states.failing, after.due, after.delayed], [1, 1, 0])
    },
  },
  {
    name: 'a job with a lost lease counts as processing and as due',
    proves: ['W21'],
    run: async (context) => {
      const { storage, advance, unit } = context
      await inState(context, 'processing')
      assert.equal((await countsOf(storage)).due, 0)
      await advance(10 * unit)
      const { states: counted, due, delayed, oldestDueAt } = await countsOf(storage)
      assert.deepEqual([counted.processing, due, delayed, oldestDueAt], [1, 1, 0, undefined])
    },
  },
  {
    name: 'three ready, two delayed, one running, one failed and one blocked job count as three due and two delayed',
    proves: ['W21'],
    run: async (context) => {
      const { storage, added, unit } = context
      await inState(context, 'failed')
      await inState(context, 'processing')
      await inState(context, 'failing')
      await added({ delayMs: 50 * unit })
      for (let count = 0; count < 3; count++) await added()
      await inState(context, 'blocked')
      const { due, delayed } = await countsOf(storage)
      assert.deepEqual([due, delayed], [3, 2])
    },
  },
  {
    name: 'groups and pauses do not change what is due',
    run: async ({ storage, added, claimOne }) => {
      const group = { key: 'g', ordered: true } as const
      for (let count = 0; count < 3; count++) await added({ group })
      assert.equal((await countsOf(storage)).due, 3)
      await claimOne()
      assert.equal((await countsOf(storage)).due, 2)
      await storage.pause({ type: 'mail', group: 'g', paused: true })
      assert.equal((await countsOf(storage)).due, 2)
      await storage.pause({ type: 'mail', paused: true })
      assert.deepEqual([(await countsOf(storage)).due, (await countsOf(storage)).states.queued], [2, 2])
    },
  },
  {
    name: 'jobs behind a head that is not due count by their own runAt',
    run: async ({ storage, added, advance, unit }) => {
      const group = { key: 'g', ordered: true } as const
      await added({ group, delayMs: 50 * unit })
      const second = await added({ group, delayMs: 10 * unit })
      assert.deepEqual([(await countsOf(storage)).due, (await countsOf(storage)).delayed], [0, 2])
      await advance(10 * unit)
      const { due, delayed, oldestDueAt, states: counted } = await countsOf(storage)
      assert.deepEqual([due, delayed, counted.queued, counted.scheduled], [1, 1, 1, 1])
      assert.equal(oldestDueAt, (await recordOf(storage, second)).runAt)
    },
  },
  {
    name: 'oldestDueAt is the earliest runAt among waiting jobs that are due, whatever their priority',
    proves: ['F40'],
    run: async ({ storage, added, advance, claimOne, unit }) => {
      const first = await added({ priority: -1 })
      await advance(unit)
      await added({ priority: 1 })
      await added({ delayMs: 50 * unit })
      assert.equal((await countsOf(storage)).oldestDueAt, (await recordOf(storage, first)).runAt)
      await claimOne({ slots: 1 })
      assert.equal((await countsOf(storage)).oldestDueAt, (await recordOf(storage, first)).runAt)
      await storage.cancel([refOf(first)])
      assert.equal((await countsOf(storage)).oldestDueAt, undefined, 'neither running nor later jobs count')
    },
  },
  {
    name: 'both jobs of a chain are counted, each in its own type and state',
    run: async (context) => {
      const { storage } = context
      await chainOfTwo(context)
      assert.deepEqual((await countsOf(storage)).states, { ...none, completed: 1 })
      assert.deepEqual((await countsOf(storage, 'next')).states, { ...none, queued: 1 })
    },
  },
  {
    name: 'expired records are not counted, swept or not',
    proves: ['S19'],
    run: async (context) => {
      const { storage, advance, unit } = context
      const retention = { completedMs: 10 * unit, failedMs: 10 * unit, cancelledMs: 10 * unit }
      for (const state of ['completed', 'failed', 'cancelled', 'queued'] as const) {
        await inState(context, state, { retention })
      }
      await advance(10 * unit)
      assert.deepEqual((await countsOf(storage)).states, { ...none, queued: 1 })
      await storage.sweep({ limit: 10 })
      assert.deepEqual((await countsOf(storage)).states, { ...none, queued: 1 })
    },
  },
  {
    name: 'a type with only expired records is not counted, swept or not',
    run: async (context) => {
      const { storage, advance, unit } = context
      await inState(context, 'completed', { retention: { completedMs: 10 * unit, failedMs: 0, cancelledMs: 0 } })
      await advance(10 * unit)
      assert.deepEqual((await storage.count({})).types, [])
      await storage.sweep({ limit: 10 })
      assert.deepEqual((await storage.count({})).types, [])
    },
  },
  {
    name: 'refused writes change no count: a late settle and a late recover after a cancel by force',
    proves: ['S19'],
    run: async (context) => {
      const { storage, added, claimOne, advance, unit } = context
      const job = await added()
      const lease = await claimOne()
      await storage.cancel([refOf(job)], { force: true })
      assert.equal(await settleVerdict(storage, lease, { kind: 'completed' }), 'cancelled')
      await storage.cancel([refOf(job)])
      await advance(11 * unit)
      await storage.recover({ types: ['mail'], limit: 10 })
      assert.deepEqual((await countsOf(storage)).states, { ...none, cancelled: 1 })
    },
  },
  {
    name: 'counts equal the records after every move of a job',
    proves: ['S19'],
    run: async (context) => {
      const { storage, added, advance, claimOne, unit } = context
      const job = await added({ delayMs: unit, maxAttempts: 9 })
      await agree(context)
      await advance(unit)
      await settleOne(storage, await claimOne(), { kind: 'released' })
      await agree(context)
      await settleOne(storage, await claimOne(), { kind: 'released', delayMs: unit })
      await agree(context)
      await advance(unit)
      await settleOne(storage, await claimOne(), { kind: 'retry', delayMs: unit })
      await agree(context)
      await storage.revive([refOf(job)])
      await claimOne()
      await advance(11 * unit)
      await agree(context)
      await storage.recover({ types: ['mail'], limit: 10 })
      await agree(context)
      await fail(storage, await claimOne())
      await agree(context)
      await storage.revive([refOf(job)])
      await agree(context)
      const lease = await claimOne()
      await complete(storage, lease)
      await complete(storage, lease)
      await agree(context)
      await storage.remove([refOf(job)])
      await agree(context)
    },
  },
  {
    name: 'counts equal the records after moves with blockers, chains, trees and new lives of an id',
    proves: ['S19'],
    run: async (context) => {
      const { storage, added, job } = context
      const { root } = await treeOfTwo(context)
      const dependents = [await added({ blockers: [refOf(root)] }), await added({ blockers: [refOf(root)] })]
      await agree(context)
      await settleOne(storage, await claimType(context, 'child'), { kind: 'continued', next: job({ type: 'next' }) })
      await agree(context)
      await runOne(context, 'next')
      await agree(context)
      const lease = await claimType(context, 'mail')
      assert.deepEqual(idsOf((await fail(storage, lease)).ended).toSorted(), idsOf(dependents).toSorted())
      await agree(context)
      await added({ id: dependents[0]!.id })
      await agree(context)
      await storage.remove([refOf(root)], { trees: true })
      await agree(context)
      await storage.remove([refOf(dependents[1]!)])
      await agree(context)
      assert.deepEqual((await countsOf(storage)).states, { ...none, queued: 1 })
    },
  },
  {
    name: 'counts equal the records after a chain with a retention of 0 ms has ended',
    proves: ['S19', 'S20'],
    run: async (context) => {
      const keepNothing = { retention: { completedMs: 0, failedMs: 0, cancelledMs: 0 } }
      await chainOfTwo(context, { first: keepNothing, next: keepNothing })
      await agree(context)
      await runOne(context, 'next')
      await context.added()
      await agree(context)
      assert.deepEqual((await countsOf(context.storage)).states, { ...none, queued: 1 })
    },
  },
  ...countLimitCases,
  ...countNextCases,
]
