// What a cancel does to the dependents and the blockers of the cancelled job.

import assert from 'node:assert/strict'
import { text } from '../case.ts'
import type { Case } from '../case.ts'
import { complete, fail } from '../outcomes.ts'
import { findRecord, recordOf, refOf, stateOf } from '../records.ts'
import { chainOfTwo, claimType, runOne } from '../scenarios.ts'

export const cancelDependentCases: readonly Case[] = [
  {
    name: 'a cancelled blocker fails its dependents, direct and indirect, in the same move',
    proves: ['chains §3.2', 'chains trap 23', 'S13'],
    run: async ({ storage, added }) => {
      const blocker = await added({ type: 'blocker' })
      const first = await added({ blockers: [refOf(blocker)] })
      const second = await added({ blockers: [refOf(first)] })
      const [answer] = await storage.cancel([refOf(blocker)])
      assert.equal(answer!.verdict, 'cancelled')
      const reported = answer!.ended!.map(({ type, id, chain, state, reason }) => ({ type, id, chain, state, reason }))
      const failed = { state: 'failed', reason: 'blocker_failed' }
      assert.deepEqual(
        reported,
        [first, second].map((job) => ({ ...refOf(job), chain: refOf(job), ...failed })),
      )
      for (const job of [first, second]) {
        const record = await recordOf(storage, job, 'error', 'attempts')
        assert.deepEqual([record.state, record.reason, record.error], ['failed', 'blocker_failed', undefined])
        assert.equal(record.expiresAt, record.finishedAt! + job.retention.failedMs)
        assert.deepEqual([record.attempt, record.failures, record.attempts], [0, 0, []])
      }
    },
  },
  {
    name: 'a dependent that failed with its blocker frees its id, its key and its group',
    proves: ['F25', 'F21'],
    run: async (context) => {
      const { storage, added } = context
      const fields = { group: { key: 'g', ordered: true }, deduplication: { key: 'k', mode: 'simple' } } as const
      const blocker = await added({ type: 'blocker' })
      const dependent = await added({ ...fields, blockers: [refOf(blocker)] })
      await storage.cancel([refOf(blocker)])
      await added({ ...fields, id: dependent.id })
      assert.equal((await claimType(context, 'mail')).id, dependent.id)
    },
  },
  {
    name: 'a dependent with onBlockerFailure wait stays blocked by a cancelled blocker until that is revived and completes',
    proves: ['chains trap 23'],
    run: async (context) => {
      const { storage, added, claim } = context
      const blocker = await added({ type: 'blocker' })
      const dependent = await added({ blockers: [refOf(blocker)], onBlockerFailure: 'wait' })
      await storage.cancel([refOf(blocker)])
      const record = await recordOf(storage, dependent)
      assert.deepEqual([record.state, record.openBlockers], ['blocked', 1])
      assert.deepEqual(await claim(), [])
      await storage.revive([refOf(blocker)])
      await runOne(context, 'blocker', 'late')
      assert.equal(text((await claimType(context, 'mail')).blockers[0]!.result), 'late')
    },
  },
  {
    name: 'a blocker cancelled by force while it runs fails its dependent',
    run: async (context) => {
      const { storage, added } = context
      const blocker = await added({ type: 'blocker' })
      const dependent = await added({ blockers: [refOf(blocker)] })
      await claimType(context, 'blocker')
      await storage.cancel([refOf(blocker)], { abort: true })
      assert.equal(await stateOf(storage, dependent), 'blocked')
      await storage.cancel([refOf(blocker)], { force: true })
      assert.equal(await stateOf(storage, dependent), 'failed')
    },
  },
  {
    name: 'a blocker that was asked to stop and still completes unblocks its dependent',
    run: async (context) => {
      const { storage, added } = context
      const blocker = await added({ type: 'blocker' })
      const dependent = await added({ blockers: [refOf(blocker)] })
      const lease = await claimType(context, 'blocker')
      await storage.cancel([refOf(blocker)], { abort: true })
      assert.deepEqual((await complete(storage, lease)).unblocked, [refOf(dependent)])
      assert.equal((await claimType(context, 'mail')).id, dependent.id)
    },
  },
  {
    name: 'cancelling the tail of a blocker chain fails the dependent',
    run: async (context) => {
      const { storage, added } = context
      const { first } = await chainOfTwo(context, { first: { type: 'blocker' } })
      const dependent = await added({ blockers: [refOf(first)] })
      await storage.cancel([refOf(first)], { chains: true })
      assert.equal((await recordOf(storage, dependent)).reason, 'blocker_failed')
    },
  },
  {
    name: 'a continuation that fails with its blocker is reported with its chain, by cancel and by settle',
    proves: ['chains §3.10'],
    run: async (context) => {
      const { storage, added } = context
      for (const way of ['cancel', 'settle']) {
        const blocker = await added({ type: 'blocker' })
        const { first, next } = await chainOfTwo(context, { next: { blockers: [refOf(blocker)] } })
        const { ended } =
          way === 'cancel'
            ? (await storage.cancel([refOf(blocker)]))[0]!
            : await fail(storage, await claimType(context, 'blocker'))
        assert.deepEqual(
          ended!.map(({ type, id, chain }) => ({ type, id, chain })),
          [{ ...refOf(next), chain: refOf(first) }],
        )
      }
    },
  },
  {
    name: 'a cancelled dependent does not affect its blocker, and stays cancelled when the blocker ends',
    proves: ['S9'],
    run: async (context) => {
      const { storage, added } = context
      const blocker = await added({ type: 'blocker' })
      const dependent = await added({ blockers: [refOf(blocker)] })
      await storage.cancel([refOf(dependent)])
      assert.equal(await stateOf(storage, blocker), 'queued')
      const verdict = await complete(storage, await claimType(context, 'blocker'))
      assert.deepEqual([verdict.unblocked, verdict.ended], [[], []])
      assert.equal(await stateOf(storage, dependent), 'cancelled')
    },
  },
  {
    name: 'a new job under the id of a cancelled dependent is not unblocked by the old blocker',
    proves: ['S13'],
    run: async (context) => {
      const { storage, added } = context
      const [old, other] = [await added({ type: 'old' }), await added({ type: 'other' })]
      const dependent = await added({ blockers: [refOf(old)] })
      await storage.cancel([refOf(dependent)])
      await added({ id: dependent.id, blockers: [refOf(other)] })
      assert.deepEqual((await complete(storage, await claimType(context, 'old'))).unblocked, [])
      const { state, openBlockers } = await recordOf(storage, dependent)
      assert.deepEqual([state, openBlockers], ['blocked', 1])
    },
  },
  {
    name: 'an ended blocker starts to expire when its last dependent is cancelled',
    proves: ['chains trap 25'],
    run: async (context) => {
      const { storage, added, unit } = context
      const retention = { completedMs: 60 * unit, failedMs: 0, cancelledMs: 0 }
      const [done, open] = [await added({ type: 'done', retention }), await added({ type: 'open' })]
      const dependent = await added({ blockers: [refOf(done), refOf(open)] })
      await runOne(context, 'done')
      assert.equal((await recordOf(storage, done)).expiresAt, undefined)
      await storage.cancel([refOf(dependent)])
      const { expiresAt, finishedAt } = await recordOf(storage, done)
      assert.equal(expiresAt, finishedAt! + 60 * unit)
    },
  },
  {
    name: 'an ended blocker past its retention is gone when its last dependent is cancelled',
    proves: ['chains trap 25'],
    run: async (context) => {
      const { storage, added, advance, unit } = context
      const retention = { completedMs: 10 * unit, failedMs: 0, cancelledMs: 0 }
      const [done, open] = [await added({ type: 'done', retention }), await added({ type: 'open' })]
      const dependent = await added({ blockers: [refOf(done), refOf(open)] })
      await runOne(context, 'done')
      await advance(11 * unit)
      await storage.sweep({ limit: 10 })
      assert.equal(await stateOf(storage, done), 'completed')
      await storage.cancel([refOf(dependent)])
      assert.equal(await findRecord(storage, done), undefined)
      await added({ type: 'done', id: done.id })
    },
  },
]
