// The relations on a record: its chain, root, origin and blockers.

import assert from 'node:assert/strict'
import { text } from '../case.ts'
import type { Case } from '../case.ts'
import { settleOne } from '../outcomes.ts'
import { findRecord, recordOf, refOf, stateOf } from '../records.ts'
import { chainOfTwo, claimType, inState, runOne, treeOfTwo } from '../scenarios.ts'

export const getLineageCases: readonly Case[] = [
  {
    name: 'a continuation names its chain, its place, its root and the job before it',
    run: async (context) => {
      const { storage, job } = context
      const { first, next } = await chainOfTwo(context)
      const third = job({ type: 'third' })
      await settleOne(storage, await claimType(context, 'next'), { kind: 'continued', next: third })
      const records = await storage.get([first, next, third].map(refOf))
      assert.deepEqual(
        records.map((record) => [record!.chain, record!.chainIndex, record!.root, record!.origin]),
        [
          [refOf(first), 0, refOf(first), undefined],
          [refOf(first), 1, refOf(first), refOf(first)],
          [refOf(first), 2, refOf(first), refOf(next)],
        ],
      )
    },
  },
  {
    name: 'the first job of a chain has the tail with its parts; a chain of one is its own tail; other jobs have none',
    run: async (context) => {
      const { storage } = context
      const { first, next } = await chainOfTwo(context)
      assert.equal((await recordOf(storage, first, 'tail')).tail!.state, 'queued')
      await runOne(context, 'next', 'end')
      const record = await recordOf(storage, first, 'tail', 'result')
      assert.deepEqual([record.state, text(record.result)], ['completed', undefined])
      assert.deepEqual([record.tail!.id, record.tail!.state, text(record.tail!.result)], [next.id, 'completed', 'end'])
      assert.equal((await recordOf(storage, next, 'tail')).tail, undefined)
      const single = await inState(context, 'completed')
      const { tail } = await recordOf(storage, single, 'tail', 'result')
      assert.deepEqual([tail!.id, text(tail!.result)], [single.id, 'done'])
    },
  },
  {
    name: 'all jobs of a chain have the expiry of its end',
    run: async (context) => {
      const { storage, unit } = context
      const { first, next } = await chainOfTwo(context)
      assert.equal((await recordOf(storage, first)).expiresAt, undefined)
      await context.advance(unit)
      await runOne(context, 'next')
      const [a, b] = await storage.get([first, next].map(refOf))
      assert.deepEqual([a!.expiresAt, b!.expiresAt], Array(2).fill(b!.finishedAt! + next.retention.completedMs))
    },
  },
  {
    name: 'a blocker started with its dependent has root and origin there; an existing blocker is its own root',
    proves: ['chains trap 24'],
    run: async (context) => {
      const { storage, added, job } = context
      const existing = await added({ type: 'existing' })
      const top = job({ blockers: [1, refOf(existing)] })
      const middle = job({ type: 'middle', token: top.token, blockers: [2] })
      const bottom = job({ type: 'bottom', token: top.token })
      await storage.add([top, middle, bottom])
      const records = await storage.get([top, middle, bottom, existing].map(refOf))
      assert.deepEqual(
        records.map((record) => [record!.root, record!.origin, record!.chain]),
        [
          [refOf(top), undefined, refOf(top)],
          [refOf(top), refOf(top), refOf(middle)],
          [refOf(top), refOf(middle), refOf(bottom)],
          [refOf(existing), undefined, refOf(existing)],
        ],
      )
    },
  },
  {
    name: 'a continuation of a blocker keeps the root of its chain',
    run: async (context) => {
      const { storage, job } = context
      const { root, child } = await treeOfTwo(context)
      const next = job({ type: 'next' })
      await settleOne(storage, await claimType(context, 'child'), { kind: 'continued', next })
      const record = await recordOf(storage, next)
      assert.deepEqual([record.root, record.origin, record.chain], [refOf(root), refOf(child), refOf(child)])
    },
  },
  {
    name: 'blockers are listed as given, also twice, and each open chain is counted once',
    proves: ['chains trap 22'],
    run: async (context) => {
      const { storage, added, job } = context
      const [a, b] = [await added({ type: 'a' }), await added({ type: 'b' })]
      const top = job({ blockers: [refOf(b), 1, refOf(a), refOf(b)] })
      const child = job({ type: 'child', token: top.token })
      await storage.add([top, child])
      const record = await recordOf(storage, top, 'blockers')
      assert.deepEqual([record.blockers, record.openBlockers], [[b, child, a, b].map(refOf), 3])
      await runOne(context, 'b')
      assert.equal((await recordOf(storage, top)).openBlockers, 2)
      assert.deepEqual((await recordOf(storage, a, 'blockers')).blockers, [])
    },
  },
  {
    name: 'reads in a transaction see its writes; other reads do not until it commits',
    needs: ['transactions'],
    proves: ['S23'],
    run: async ({ storage, job }) => {
      const given = job()
      await storage.transaction!(async (tx) => {
        await storage.add([given], tx)
        const [inside] = await storage.get([refOf(given)], { tx, lock: true })
        assert.equal(inside!.state, 'queued')
        assert.equal(await findRecord(storage, given), undefined)
      })
      assert.equal(await stateOf(storage, given), 'queued')
    },
  },
]
