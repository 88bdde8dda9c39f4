// revive and related jobs: groups, blockers, dependents and chains.

import assert from 'node:assert/strict'
import type { Case } from '../case.ts'
import { complete, fail } from '../outcomes.ts'
import { idsOf, recordOf, refOf, stateOf } from '../records.ts'
import { chainOfTwo, claimType, inState, runOne } from '../scenarios.ts'

export const reviveTogetherCases: readonly Case[] = [
  {
    name: 'the revived last job of an ordered group shares the group with jobs added later',
    proves: ['F21', 'S15'],
    run: async (context) => {
      const { storage, added, claim, claimOne } = context
      const group = { key: 'g', ordered: true } as const
      const first = await inState(context, 'failed', { group })
      await storage.revive([refOf(first)])
      const second = await added({ group })
      const lease = await claimOne()
      assert.equal(lease.id, first.id)
      assert.deepEqual(await claim(), [])
      await complete(storage, lease)
      assert.equal((await claimOne()).id, second.id)
    },
  },
  {
    name: 'a revived job of an ordered group does not run beside another job of the group',
    proves: ['F21', 'S15'],
    run: async (context) => {
      const { storage, added, claim, claimOne } = context
      const group = { key: 'g', ordered: true } as const
      const failed = await inState(context, 'failed', { group })
      const next = await added({ group })
      const lease = await claimOne()
      assert.equal(lease.id, next.id)
      await storage.revive([refOf(failed)])
      assert.deepEqual(await claim(), [])
      await complete(storage, lease)
      assert.equal((await claimOne()).id, failed.id)
    },
  },
  {
    name: 'a revived job and a waiting job of its ordered group do not start in one claim',
    proves: ['F21', 'S15'],
    run: async (context) => {
      const { storage, added, claim } = context
      const group = { key: 'g', ordered: true } as const
      const failed = await inState(context, 'failed', { group })
      await added({ group })
      await storage.revive([refOf(failed)])
      const [lease, ...others] = await claim()
      assert.deepEqual(others, [])
      await complete(storage, lease!)
      assert.equal((await claim()).length, 1)
    },
  },
  {
    name: 'a moved job keeps its place in its ordered group',
    proves: ['F21', 'S15'],
    run: async ({ storage, added, claim, claimOne, now, unit }) => {
      const group = { key: 'g', ordered: true } as const
      const [head, next] = [await added({ group, delayMs: 50 * unit }), await added({ group, delayMs: 50 * unit })]
      await storage.revive([refOf(next)])
      assert.deepEqual(await claim(), [], 'its head is not due')
      await storage.revive([refOf(head)])
      await storage.revive([refOf(next)], { runAt: (await now()) + 50 * unit })
      assert.equal((await claimOne()).id, head.id)
    },
  },
  {
    name: 'a job that was cancelled while blocked is blocked again',
    run: async (context) => {
      const { storage, added } = context
      const blocker = await added({ type: 'blocker' })
      const job = await added({ blockers: [refOf(blocker)] })
      await storage.cancel([refOf(job)])
      assert.deepEqual(await storage.revive([refOf(job)]), [{ verdict: 'revived' }])
      const { state, openBlockers } = await recordOf(storage, job)
      assert.deepEqual([state, openBlockers], ['blocked', 1])
      const verdict = await complete(storage, await claimType(context, 'blocker'))
      assert.deepEqual(verdict.unblocked, [refOf(job)])
      assert.equal((await claimType(context, 'mail')).id, job.id)
    },
  },
  {
    name: 'a job whose blockers completed while it was cancelled is not blocked after its revival',
    run: async (context) => {
      const { storage, added, now, unit } = context
      const blocker = await added({ type: 'blocker' })
      const jobs = [await added({ blockers: [refOf(blocker)] }), await added({ blockers: [refOf(blocker)] })]
      await storage.cancel(jobs.map(refOf))
      await runOne(context, 'blocker')
      await storage.revive([refOf(jobs[0]!)])
      await storage.revive([refOf(jobs[1]!)], { runAt: (await now()) + 50 * unit })
      assert.deepEqual([await stateOf(storage, jobs[0]!), await stateOf(storage, jobs[1]!)], ['queued', 'scheduled'])
      assert.equal((await recordOf(storage, jobs[0]!)).openBlockers, 0)
    },
  },
  {
    name: 'a failed blocker and its dependent can be revived together: the dependent waits, then runs',
    proves: ['chains trap 23'],
    run: async (context) => {
      const { storage, added } = context
      const blocker = await added({ type: 'blocker' })
      const job = await added({ blockers: [refOf(blocker)] })
      await fail(storage, await claimType(context, 'blocker'))
      const revived = await storage.revive([blocker, job].map(refOf))
      assert.deepEqual(revived, [{ verdict: 'revived' }, { verdict: 'revived' }])
      const { state, reason, openBlockers } = await recordOf(storage, job)
      assert.deepEqual([state, reason, openBlockers], ['blocked', undefined, 1])
      await runOne(context, 'blocker')
      assert.equal((await claimType(context, 'mail')).id, job.id)
    },
  },
  {
    name: 'a revived job that is blocked again fails with its blocker again',
    proves: ['chains trap 23'],
    run: async (context) => {
      const { storage, added } = context
      const blocker = await added({ type: 'blocker' })
      const job = await added({ blockers: [refOf(blocker)] })
      await storage.cancel([refOf(job)])
      await storage.revive([refOf(job)])
      const verdict = await fail(storage, await claimType(context, 'blocker'))
      assert.deepEqual(idsOf(verdict.ended), [job.id])
      assert.equal((await recordOf(storage, job)).reason, 'blocker_failed')
    },
  },
  {
    name: 'a job whose blocker is gone cannot be revived without it',
    run: async (context) => {
      const { storage, added, claim } = context
      const blocker = await added({ type: 'blocker' })
      const job = await added({ blockers: [refOf(blocker)] })
      await fail(storage, await claimType(context, 'blocker'))
      await storage.remove([refOf(blocker)])
      await storage.revive([refOf(job)])
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: 'a job whose blocker is gone cannot be revived: a continuation that has its id by now is no blocker',
    proves: ['L1'],
    run: async (context) => {
      const { storage, added } = context
      const blocker = await added({ type: 'blocker' })
      const job = await added({ blockers: [refOf(blocker)] })
      await fail(storage, await claimType(context, 'blocker'))
      await chainOfTwo(context, { first: { type: 'first' }, next: refOf(blocker) })
      assert.deepEqual(await storage.revive([refOf(job)]), [{ verdict: 'not_revivable' }])
      assert.equal(await stateOf(storage, job), 'failed')
    },
  },
  {
    name: 'a revived job does not wait for a continuation that has the id of its completed blocker by now',
    proves: ['L1'],
    run: async (context) => {
      const { storage, added } = context
      const blocker = await added({ type: 'blocker' })
      const job = await added({ blockers: [refOf(blocker)] })
      await runOne(context, 'blocker')
      await fail(storage, await claimType(context, 'mail'))
      await storage.remove([refOf(blocker)])
      await chainOfTwo(context, { first: { type: 'first' }, next: refOf(blocker) })
      assert.deepEqual(await storage.revive([refOf(job)]), [{ verdict: 'revived' }])
      assert.equal(await stateOf(storage, job), 'queued')
    },
  },
  {
    name: 'a revived blocker does not revive the dependents that failed with it',
    proves: ['S8'],
    run: async (context) => {
      const { storage, added } = context
      const blocker = await added({ type: 'blocker' })
      const job = await added({ blockers: [refOf(blocker)] })
      await fail(storage, await claimType(context, 'blocker'))
      await storage.revive([refOf(blocker)])
      const verdict = await complete(storage, await claimType(context, 'blocker'))
      assert.deepEqual([verdict.unblocked, await stateOf(storage, job)], [[], 'failed'])
    },
  },
  {
    name: 'a dependent with onBlockerFailure wait runs once its failed blocker is revived and completes',
    proves: ['chains trap 23'],
    run: async (context) => {
      const { storage, added } = context
      const blocker = await added({ type: 'blocker' })
      const job = await added({ blockers: [refOf(blocker)], onBlockerFailure: 'wait' })
      await fail(storage, await claimType(context, 'blocker'))
      await storage.revive([refOf(blocker)])
      const verdict = await complete(storage, await claimType(context, 'blocker'), 'r')
      assert.deepEqual(verdict.unblocked, [refOf(job)])
      assert.equal((await claimType(context, 'mail')).id, job.id)
    },
  },
  {
    name: 'a job added behind a failed blocker with onBlockerFailure wait runs once that is revived and completes',
    proves: ['chains trap 23'],
    run: async (context) => {
      const { storage, added } = context
      const blocker = await inState(context, 'failed', { type: 'blocker' })
      const job = await added({ blockers: [refOf(blocker)], onBlockerFailure: 'wait' })
      assert.equal(await stateOf(storage, job), 'blocked')
      await storage.revive([refOf(blocker)])
      await runOne(context, 'blocker')
      assert.equal((await claimType(context, 'mail')).id, job.id)
    },
  },
  {
    name: 'an ended blocker is kept again once a dependent is revived',
    proves: ['chains trap 25'],
    run: async (context) => {
      const { storage, added, advance, unit } = context
      const retention = { completedMs: 20 * unit, failedMs: 0, cancelledMs: 0 }
      const [done, open] = [await added({ type: 'done', retention }), await added({ type: 'open' })]
      const job = await added({ blockers: [refOf(done), refOf(open)] })
      await storage.cancel([refOf(job)])
      await runOne(context, 'done', 'r')
      await storage.revive([refOf(job)])
      await advance(21 * unit)
      await storage.sweep({ limit: 10 })
      await runOne(context, 'open')
      assert.equal((await claimType(context, 'mail')).blockers[0]!.result?.length, 1)
    },
  },
  {
    name: 'a revived tail makes its chain live again with its key, and its completion ends the chain',
    proves: ['F25'],
    run: async (context) => {
      const { storage, job } = context
      const deduplication = { key: 'k', mode: 'simple' } as const
      const { first, next } = await chainOfTwo(context, { first: { deduplication } })
      await fail(storage, await claimType(context, 'next'))
      assert.deepEqual(await storage.revive([refOf(first)]), [{ verdict: 'not_revivable' }])
      assert.deepEqual(await storage.revive([refOf(next)]), [{ verdict: 'revived' }])
      const live = await recordOf(storage, first, 'tail')
      assert.deepEqual([live.tail!.state, live.expiresAt], ['queued', undefined])
      const verdicts = await storage.add([job({ deduplication }), job({ id: first.id })])
      assert.deepEqual(
        verdicts.map(({ verdict }) => verdict),
        ['duplicate', 'duplicate'],
      )
      await runOne(context, 'next', 'done')
      assert.equal((await recordOf(storage, first, 'tail')).tail!.state, 'completed')
    },
  },
  {
    name: 'a chain with a revived tail does not expire, and a sweep goes on to other records',
    proves: ['S1'],
    run: async (context) => {
      const { storage, advance, unit } = context
      const retention = { completedMs: 10 * unit, failedMs: 10 * unit, cancelledMs: 10 * unit }
      const { first, next } = await chainOfTwo(context, { first: { retention }, next: { retention } })
      await fail(storage, await claimType(context, 'next'))
      await inState(context, 'failed', { retention })
      await storage.revive([refOf(next)])
      await advance(11 * unit)
      assert.equal((await storage.sweep({ limit: 10 })).jobs, 1, 'the other')
      assert.deepEqual([await stateOf(storage, first), await stateOf(storage, next)], ['completed', 'queued'])
    },
  },
  {
    name: 'the tail of a failed chain is not revived once another job holds the chain’s key',
    proves: ['F25', 'S11'],
    run: async (context) => {
      const { storage, added } = context
      const deduplication = { key: 'k', mode: 'simple' } as const
      const { next } = await chainOfTwo(context, { first: { deduplication } })
      await fail(storage, await claimType(context, 'next'))
      await added({ deduplication })
      assert.deepEqual(await storage.revive([refOf(next)]), [{ verdict: 'conflict' }])
      assert.equal(await stateOf(storage, next), 'failed')
    },
  },
  {
    name: 'the tail of a failed chain is not revived once the chain’s id is taken again',
    proves: ['S11'],
    run: async (context) => {
      const { storage, added, claim, unit } = context
      const { first, next } = await chainOfTwo(context)
      await fail(storage, await claimType(context, 'next'))
      await added({ id: first.id })
      const [verdict] = await storage.revive([refOf(next)])
      assert.ok(['conflict', 'not_found'].includes(verdict!.verdict), verdict!.verdict)
      assert.deepEqual(await claim({ types: [{ type: 'next', leaseMs: unit }] }), [])
      assert.equal((await recordOf(storage, first, 'tail')).tail!.state, 'queued')
    },
  },
]
