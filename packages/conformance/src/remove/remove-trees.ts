// remove of trees: everything below the given roots is removed, in any state, or nothing is.

import assert from 'node:assert/strict'
import type { RemoveVerdict } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { complete, settleOne, settleVerdict } from '../outcomes.ts'
import { findRecord, idsOf, jobStates, refOf, stateOf } from '../records.ts'
import { chainOfTwo, claimType, inState, runOne, treeOfTwo } from '../scenarios.ts'

const removed: RemoveVerdict = { verdict: 'removed' }
const untouched: RemoveVerdict = { verdict: 'untouched' }

const tableCases = jobStates.map((state): Case => ({
  name: `a ${state} root is removed as a tree and never runs`,
  proves: ['S20'],
  run: async (context) => {
    const { storage, added, advance, claim, unit } = context
    const fields = { deduplication: { key: 'k', mode: 'simple' }, group: { key: 'g', ordered: true } } as const
    const job = await inState(context, state, fields)
    assert.deepEqual(await storage.remove([refOf(job)], { trees: true }), [removed])
    assert.equal(await findRecord(storage, job), undefined)
    const next = await added({ ...fields, type: job.type })
    assert.deepEqual(idsOf(await claim()), [next.id], 'its key and its group are free')
    await advance(51 * unit)
    assert.deepEqual(idsOf(await claim()), [next.id], 'nothing of it comes back')
    assert.equal((await storage.list({ of: 'jobs', types: ['mail'], limit: 10 })).items.length, 1)
  },
}))

/** Every fault of a root, with its verdict. */
const faults: readonly (readonly [
  string,
  (context: CaseContext) => Promise<[{ type: string; id: string }, RemoveVerdict]>,
])[] = [
  ['an unknown root', async () => [{ type: 'mail', id: 'unknown' }, { verdict: 'not_found' }]],
  [
    'a continuation',
    async (context) => {
      const { first, next } = await chainOfTwo(context)
      return [refOf(next), { verdict: 'not_root', root: refOf(first) }]
    },
  ],
  [
    'a chain started to block another',
    async (context) => {
      const { root, child } = await treeOfTwo(context)
      return [refOf(child), { verdict: 'not_root', root: refOf(root) }]
    },
  ],
  [
    'a chain that an unfinished job outside waits for',
    async (context) => {
      const needed = await context.added({ type: 'needed' })
      const by = await context.added({ blockers: [refOf(needed)] })
      return [refOf(needed), { verdict: 'referenced', by: [refOf(by)] }]
    },
  ],
]

const allOrNone = faults.map(([what, fault]): Case => ({
  name: `with ${what} among the roots nothing is removed`,
  proves: ['chains §3.8'],
  run: async (context) => {
    const { storage, added } = context
    const [bad, verdict] = await fault(context)
    const [a, b] = [await added(), await added({ type: bad.type })]
    const before = await storage.list({ of: 'jobs', limit: 100 })
    const refs = [refOf(a), bad, refOf(b)]
    assert.deepEqual(await storage.remove(refs, { trees: true }), [untouched, verdict, untouched])
    assert.deepEqual(await storage.list({ of: 'jobs', limit: 100 }), before)
  },
}))

const treeCases: readonly Case[] = [
  {
    name: 'a tree is removed with the chains started below it, at every depth',
    run: async ({ storage, job }) => {
      const top = job({ blockers: [1, 2] })
      const token = top.token
      const rest = [job({ token }), job({ token, blockers: [3] }), job({ token })]
      await storage.add([top, ...rest])
      assert.deepEqual(await storage.remove([refOf(top)], { trees: true }), [removed])
      assert.deepEqual((await storage.list({ of: 'jobs', limit: 10 })).items, [])
      assert.deepEqual((await storage.count({})).types, [])
    },
  },
  {
    name: 'a chain that two jobs of a tree wait for is removed once',
    proves: ['S19'],
    run: async ({ storage, added, job }) => {
      const top = job({ blockers: [1, 2] })
      const { token } = top
      await storage.add([top, job({ token, blockers: [3] }), job({ token, blockers: [3] }), job({ token })])
      const other = await added()
      assert.deepEqual(await storage.remove([refOf(top)], { trees: true }), [removed])
      assert.deepEqual(idsOf((await storage.list({ of: 'jobs', limit: 10 })).items), [other.id])
      assert.equal((await storage.count({})).types[0]!.states.queued, 1)
    },
  },
  {
    name: 'roots and blockers of the same id and different types are distinct',
    proves: ['S24'],
    run: async (context) => {
      const { storage, added } = context
      const existing = await added({ type: 'existing', id: 'same' })
      const { root, child } = await treeOfTwo(context, {
        root: { id: 'same', blockers: [1, refOf(existing)] },
        child: { id: 'same' },
      })
      const refused = await storage.remove([refOf(child)], { trees: true })
      assert.deepEqual(refused, [{ verdict: 'not_root', root: refOf(root) }])
      assert.deepEqual(await storage.remove([refOf(root)], { trees: true }), [removed])
      assert.equal(await stateOf(storage, existing), 'queued')
      assert.equal(await findRecord(storage, child), undefined)
    },
  },
  {
    name: 'a removed tree takes every job of its root chain and of the chains below',
    run: async (context) => {
      const { storage, job } = context
      const { root } = await treeOfTwo(context)
      await settleOne(storage, await claimType(context, 'child'), { kind: 'continued', next: job({ type: 'more' }) })
      await runOne(context, 'more')
      await settleOne(storage, await claimType(context, 'mail'), { kind: 'continued', next: job({ type: 'more' }) })
      assert.deepEqual(await storage.remove([refOf(root)], { trees: true }), [removed])
      assert.deepEqual((await storage.list({ of: 'jobs', limit: 10 })).items, [])
    },
  },
  {
    name: 'a chain started to block a continuation belongs to the tree',
    run: async (context) => {
      const { storage, added, job } = context
      const root = await added()
      const next = job({ type: 'next', blockers: [1] })
      const below = job({ type: 'below', token: next.token })
      await settleOne(storage, await claimType(context, 'mail'), { kind: 'continued', next, add: [below] })
      assert.equal(await stateOf(storage, next), 'blocked')
      assert.deepEqual(await storage.remove([refOf(below)], { trees: true }), [
        { verdict: 'not_root', root: refOf(root) },
      ])
      assert.deepEqual(await storage.remove([refOf(root)], { trees: true }), [removed])
      assert.deepEqual((await storage.list({ of: 'jobs', limit: 10 })).items, [])
    },
  },
  {
    name: 'an ended root is removed with the jobs that still wait or run below it',
    run: async (context) => {
      const { storage, claim } = context
      const { root, child } = await treeOfTwo(context)
      await storage.cancel([refOf(root)])
      assert.equal(await stateOf(storage, child), 'queued')
      assert.deepEqual(await storage.remove([refOf(root)], { trees: true }), [removed])
      assert.equal(await findRecord(storage, child), undefined)
      assert.deepEqual(await claim({ types: [{ type: 'child', leaseMs: 1000 }] }), [])
    },
  },
  {
    name: 'the holder of a job of a removed tree gets not_found, and its lease is never taken back',
    proves: ['S6'],
    run: async (context) => {
      const { storage, advance, unit } = context
      const { root } = await treeOfTwo(context)
      const { type, id, worker, attempt } = await claimType(context, 'child')
      await storage.remove([refOf(root)], { trees: true })
      const lease = { type, id, worker, attempt }
      assert.deepEqual(await storage.extend([{ ...lease, leaseMs: unit }]), [{ verdict: 'not_found' }])
      for (const kind of ['completed', 'failed', 'retry', 'released'] as const) {
        assert.equal(await settleVerdict(storage, lease, { kind }), 'not_found')
      }
      await advance(11 * unit)
      assert.deepEqual(await storage.recover({ types: ['child'], limit: 10 }), [])
      assert.deepEqual((await storage.list({ of: 'jobs', limit: 10 })).items, [])
    },
  },
  {
    name: 'the holder of a removed job cannot change the next job of that id',
    proves: ['S5', 'S6'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added()
      const old = await claimOne()
      await storage.remove([refOf(job)], { trees: true })
      await added({ id: job.id })
      assert.notEqual(await settleVerdict(storage, old, { kind: 'completed' }), 'settled')
      const lease = await claimOne()
      assert.notEqual(await settleVerdict(storage, old, { kind: 'completed' }), 'settled')
      assert.equal(await stateOf(storage, job), 'processing')
      await complete(storage, lease)
    },
  },
  {
    name: 'an independent chain does not belong to the tree of the job it blocks',
    proves: ['chains trap 24'],
    run: async ({ storage, added }) => {
      const blocker = await added({ type: 'blocker' })
      const root = await added({ blockers: [refOf(blocker)] })
      assert.deepEqual(await storage.remove([refOf(root)], { trees: true }), [removed])
      assert.equal(await stateOf(storage, blocker), 'queued')
      assert.deepEqual(await storage.remove([refOf(blocker)], { trees: true }), [removed])
    },
  },
  {
    name: 'the end of a blocker does not restore a removed dependent',
    proves: ['S13'],
    run: async (context) => {
      const { storage, added } = context
      const blocker = await added({ type: 'blocker' })
      const root = await added({ blockers: [refOf(blocker)] })
      await storage.remove([refOf(root)], { trees: true })
      const { unblocked, ended } = await complete(storage, await claimType(context, 'blocker'))
      assert.deepEqual([unblocked, ended], [[], []])
      assert.equal(await findRecord(storage, root), undefined)
    },
  },
  {
    name: 'an ended blocker starts to expire when its last dependent is removed',
    proves: ['chains trap 25'],
    run: async (context) => {
      const { storage, added, advance, unit } = context
      const retention = { completedMs: 10 * unit, failedMs: 0, cancelledMs: 0 }
      const [done, open] = [await added({ type: 'done', retention }), await added({ type: 'open' })]
      const root = await added({ blockers: [refOf(done), refOf(open)] })
      await runOne(context, 'done')
      await advance(11 * unit)
      assert.equal(await stateOf(storage, done), 'completed')
      await storage.remove([refOf(root)], { trees: true })
      assert.equal(await findRecord(storage, done), undefined)
    },
  },
  {
    name: 'two trees, of which one needs the other, are removed together in either order',
    run: async ({ storage, added }) => {
      for (const turn of [false, true]) {
        const needed = await added({ type: 'needed' })
        const refs = [refOf(needed), refOf(await added({ blockers: [refOf(needed)] }))]
        if (turn) refs.reverse()
        assert.deepEqual(await storage.remove(refs, { trees: true }), [removed, removed])
        assert.deepEqual(await storage.get(refs), [undefined, undefined])
      }
    },
  },
  {
    name: 'a job outside that needs a chain in the tree is named, and the tree is removed once that job has ended',
    run: async (context) => {
      const { storage, added } = context
      const { root, child } = await treeOfTwo(context)
      const outside = await added({ type: 'outside', blockers: [refOf(child)] })
      const refused = await storage.remove([refOf(root)], { trees: true })
      assert.deepEqual(refused, [{ verdict: 'referenced', by: [refOf(outside)] }])
      await storage.cancel([refOf(outside)])
      assert.deepEqual(await storage.remove([refOf(root)], { trees: true }), [removed])
      assert.equal(await stateOf(storage, outside), 'cancelled')
    },
  },
  {
    name: 'every job that needs a chain is named',
    run: async ({ storage, added }) => {
      const needed = await added({ type: 'needed' })
      const by = [await added({ blockers: [refOf(needed)] }), await added({ blockers: [refOf(needed)] })]
      const verdict = (await storage.remove([refOf(needed)], { trees: true }))[0]!
      assert.ok(verdict.verdict === 'referenced', verdict.verdict)
      assert.deepEqual(idsOf(verdict.by).toSorted(), idsOf(by).toSorted())
    },
  },
  {
    name: 'a removal of no trees has no verdicts',
    run: async ({ storage }) => assert.deepEqual(await storage.remove([], { trees: true }), []),
  },
  {
    name: 'a removal of trees in a transaction that is rolled back has no effect',
    needs: ['transactions'],
    proves: ['S23'],
    run: async (context) => {
      const { storage } = context
      const { root, child } = await treeOfTwo(context)
      const rolledBack = storage.transaction!(async (tx) => {
        assert.deepEqual(await storage.remove([refOf(root)], { trees: true, tx }), [removed])
        throw new Error('rolled back')
      })
      await assert.rejects(rolledBack, /rolled back/)
      assert.deepEqual([await stateOf(storage, root), await stateOf(storage, child)], ['blocked', 'queued'])
    },
  },
]

export const removeTreeCases: readonly Case[] = [...tableCases, ...allOrNone, ...treeCases]
