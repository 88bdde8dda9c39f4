// revive: a failed or cancelled job is live again with all its attempts left, and a waiting job only moves.

import assert from 'node:assert/strict'
import type { JobState, ReviveVerdict } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'
import { complete, fail, settleOne, settleVerdict } from '../outcomes.ts'
import { findRecord, idsOf, jobStates, recordOf, refOf, stateOf } from '../records.ts'
import { claimType, inState } from '../scenarios.ts'
import { reviveKeyCases } from './revive-keys.ts'
import { reviveTogetherCases } from './revive-related.ts'
import { reviveOptionCases } from './revive-options.ts'

const verdicts: Readonly<Record<JobState, ReviveVerdict['verdict']>> = {
  scheduled: 'moved',
  queued: 'moved',
  failing: 'moved',
  blocked: 'not_revivable',
  processing: 'not_revivable',
  completed: 'not_revivable',
  failed: 'revived',
  cancelled: 'revived',
}

const tableCases = jobStates.map((state): Case => ({
  name: `revive of a ${state} job answers ${verdicts[state]}`,
  run: async (context) => {
    const { storage } = context
    const job = await inState(context, state)
    const before = await recordOf(storage, job, 'payload', 'result', 'error', 'attempts')
    assert.deepEqual(await storage.revive([refOf(job)]), [{ verdict: verdicts[state] }])
    if (verdicts[state] === 'not_revivable') {
      assert.deepEqual(await recordOf(storage, job, 'payload', 'result', 'error', 'attempts'), before)
    } else assert.equal((await claimType(context, job.type)).id, job.id)
  },
}))

const ownCases: readonly Case[] = [
  {
    name: 'revive of an unknown or expired job, or of another type, answers not_found',
    run: async (context) => {
      const { storage, advance, unit } = context
      const job = await inState(context, 'failed', {
        retention: { completedMs: 0, failedMs: 10 * unit, cancelledMs: 0 },
      })
      await advance(11 * unit)
      const refs = [{ type: 'mail', id: 'unknown' }, { type: 'sms', id: job.id }, refOf(job)]
      assert.deepEqual(
        await storage.revive(refs),
        refs.map(() => ({ verdict: 'not_found' })),
      )
      assert.equal(await findRecord(storage, job), undefined)
    },
  },
  {
    name: 'a revived job has no failures and no end; its fields and past attempts stay',
    run: async (context) => {
      const { storage, advance, unit } = context
      const given = { payload: bytes('p'), priority: 7, trace: 't', maxAttempts: 1 }
      const job = await inState(context, 'failed', given)
      const before = await recordOf(storage, job)
      await advance(unit)
      await storage.revive([refOf(job)])
      const after = await recordOf(storage, job, 'payload', 'error')
      assert.deepEqual([after.state, after.failures, after.attempt], ['queued', 0, 1])
      assert.deepEqual([after.error, after.reason, after.finishedAt, after.expiresAt], Array(4).fill(undefined))
      assert.deepEqual([text(after.payload), after.priority, after.trace, after.maxAttempts], ['p', 7, 't', 1])
      assert.deepEqual([after.token, after.createdAt], [before.token, before.createdAt])
      assert.ok(after.runAt > before.runAt, 'due from now on, not from its first runAt')
    },
  },
  {
    name: 'a revived job has neither a cancel reason nor a holder',
    run: async ({ storage, added, claimOne }) => {
      const job = await added()
      await claimOne({ label: 'host-1' })
      await storage.cancel([refOf(job)], { abort: true, reason: 'why' })
      await storage.cancel([refOf(job)], { force: true, reason: 'why' })
      await storage.revive([refOf(job)])
      const { state, cancelReason, cancelling, worker, label, leaseUntil } = await recordOf(storage, job)
      assert.deepEqual([state, cancelReason, cancelling ?? false], ['queued', undefined, false])
      assert.deepEqual([worker, label, leaseUntil], [undefined, undefined, undefined])
      const { failures, attempt } = await claimOne()
      assert.deepEqual([failures, attempt], [0, 2])
    },
  },
  {
    name: 'a revived job has all its attempts left, and attempt numbers keep growing',
    proves: ['S5', 'S17'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added({ maxAttempts: 2 })
      const end = async () => (await settleOne(storage, await claimOne(), { kind: 'retry', error: bytes('e') })).state
      assert.deepEqual([await end(), await end()], ['failing', 'failed'])
      await storage.revive([refOf(job)])
      const lease = await claimOne()
      assert.deepEqual([lease.attempt, lease.failures], [3, 0])
      assert.equal((await settleOne(storage, lease, { kind: 'retry' })).state, 'failing')
      assert.equal(await end(), 'failed')
      assert.equal((await recordOf(storage, job)).attempt, 4)
    },
  },
  {
    name: 'a job that failed as stalled can be revived, whether its own maxAttempts or the claim’s ended it',
    proves: ['F14'],
    run: async ({ storage, added, claim, advance, unit }) => {
      const own = await added({ maxAttempts: 1 })
      const unbound = await added({ maxAttempts: undefined })
      const types = [{ type: 'mail', leaseMs: 10 * unit, maxAttempts: 1 }]
      assert.equal((await claim({ types })).length, 2)
      await advance(11 * unit)
      assert.deepEqual(await claim({ types }), [])
      assert.equal((await recordOf(storage, own)).reason, 'stalled')
      assert.deepEqual(await storage.revive([own, unbound].map(refOf)), [
        { verdict: 'revived' },
        { verdict: 'revived' },
      ])
      assert.deepEqual(
        (await claim({ types })).map(({ failures }) => failures),
        [0, 0],
      )
    },
  },
  {
    name: 'a revived job waits for its new runAt and is never early',
    proves: ['S14'],
    run: async (context) => {
      const { storage, advance, claim, claimOne, now, unit } = context
      const job = await inState(context, 'failed')
      const runAt = (await now()) + 10 * unit
      await storage.revive([refOf(job)], { runAt })
      const record = await recordOf(storage, job)
      assert.deepEqual([record.state, record.runAt], ['scheduled', runAt])
      assert.deepEqual(await claim(), [])
      await advance(10 * unit)
      assert.equal((await claimOne()).runAt, runAt)
    },
  },
  {
    name: 'a past runAt means now for a revived and for a moved job, and moves them ahead of no other job',
    run: async (context) => {
      const { storage, added, advance, claim, unit } = context
      const failed = await inState(context, 'failed')
      const [waiting, later] = [await added(), await added({ delayMs: 50 * unit })]
      await advance(unit)
      await storage.revive([failed, later].map(refOf), { runAt: 1 })
      const records = await storage.get([waiting, failed, later].map(refOf))
      assert.ok(records[1]!.runAt > records[0]!.runAt && records[2]!.runAt > records[0]!.runAt)
      assert.equal((await claim({ slots: 1 }))[0]!.id, waiting.id)
    },
  },
  {
    name: 'a scheduled job can be moved to now or to another instant',
    proves: ['F1'],
    run: async (context) => {
      const { storage, advance, claim, now, unit } = context
      const [a, b] = [await inState(context, 'scheduled'), await inState(context, 'scheduled')]
      const runAt = (await now()) + 10 * unit
      assert.deepEqual(await storage.revive([refOf(b)], { runAt }), [{ verdict: 'moved' }])
      assert.deepEqual(await storage.revive([refOf(a)]), [{ verdict: 'moved' }])
      assert.deepEqual([await stateOf(storage, a), await stateOf(storage, b)], ['queued', 'scheduled'])
      assert.deepEqual(idsOf(await claim()), [a.id])
      await advance(10 * unit)
      assert.ok(idsOf(await claim()).includes(b.id))
    },
  },
  {
    name: 'a queued job can be moved to later and does not start before',
    proves: ['F1', 'S14'],
    run: async ({ storage, added, advance, claim, now, unit }) => {
      const [job, other] = [await added(), await added()]
      const runAt = (await now()) + 20 * unit
      assert.deepEqual(await storage.revive([refOf(job)], { runAt }), [{ verdict: 'moved' }])
      const record = await recordOf(storage, job)
      assert.deepEqual([record.state, record.runAt], ['scheduled', runAt])
      assert.deepEqual(idsOf(await claim()), [other.id])
      await advance(20 * unit)
      assert.ok(idsOf(await claim()).includes(job.id))
    },
  },
  {
    name: 'moving a failing job changes only its runAt',
    run: async (context) => {
      const { storage, claimOne, unit } = context
      const job = await inState(context, 'failing')
      const before = await recordOf(storage, job, 'error', 'attempts')
      const runAt = before.runAt - unit
      await storage.revive([refOf(job)], { runAt })
      assert.deepEqual(await recordOf(storage, job, 'error', 'attempts'), { ...before, runAt })
      await storage.revive([refOf(job)])
      assert.equal(await stateOf(storage, job), 'failing')
      assert.deepEqual([(await claimOne()).failures, before.failures], [1, 1])
    },
  },
  {
    name: 'a revived record does not expire and is not swept',
    proves: ['S1'],
    run: async (context) => {
      const { storage, advance, claimOne, unit } = context
      const job = await inState(context, 'failed', {
        retention: { completedMs: 0, failedMs: 10 * unit, cancelledMs: 0 },
      })
      await storage.revive([refOf(job)])
      await advance(11 * unit)
      assert.equal((await storage.sweep({ limit: 10 })).jobs, 0)
      assert.equal(await stateOf(storage, job), 'queued')
      assert.equal((await claimOne()).id, job.id)
    },
  },
  {
    name: 'the holder of a job before its revival is refused',
    proves: ['S5', 'S6'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added()
      const old = await claimOne()
      await storage.cancel([refOf(job)], { force: true })
      await storage.revive([refOf(job)])
      for (const kind of ['completed', 'failed', 'retry', 'released'] as const) {
        assert.equal(await settleVerdict(storage, old, { kind }), 'taken_by_another_worker')
      }
      const lease = await claimOne()
      assert.equal(await settleVerdict(storage, old, { kind: 'completed' }), 'taken_by_another_worker')
      assert.equal((await complete(storage, lease)).state, 'completed')
    },
  },
  {
    name: 'a repeated settle from before the revival gets the first answer and ends nothing',
    proves: ['R3', 'S7'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added()
      const old = await claimOne()
      await fail(storage, old)
      await storage.revive([refOf(job)])
      assert.equal((await fail(storage, old)).state, 'failed')
      assert.equal(await stateOf(storage, job), 'queued')
      await claimOne()
      assert.equal((await fail(storage, old)).state, 'failed')
      assert.equal(await stateOf(storage, job), 'processing')
    },
  },
  {
    name: 'verdicts come in order, and a refused item affects no other',
    run: async (context) => {
      const { storage } = context
      const jobs = []
      for (const state of ['failed', 'completed', 'cancelled'] as const) jobs.push(refOf(await inState(context, state)))
      const answers = await storage.revive([jobs[0]!, { type: 'mail', id: 'unknown' }, jobs[1]!, jobs[2]!, jobs[0]!])
      assert.deepEqual(
        answers.map(({ verdict }) => verdict),
        ['revived', 'not_found', 'not_revivable', 'revived', 'moved'],
      )
      assert.deepEqual(await storage.revive([]), [])
    },
  },
  {
    name: 'a revived job of a paused type waits until the type is resumed',
    proves: ['F26'],
    run: async (context) => {
      const { storage, claim, claimOne } = context
      const job = await inState(context, 'failed')
      await storage.pause({ type: 'mail', paused: true })
      assert.deepEqual(await storage.revive([refOf(job)]), [{ verdict: 'revived' }])
      assert.deepEqual(await claim(), [])
      await storage.pause({ type: 'mail', paused: false })
      assert.equal((await claimOne()).id, job.id)
    },
  },
  {
    name: 'a revival in a transaction that is rolled back has no effect',
    needs: ['transactions'],
    proves: ['S23'],
    run: async (context) => {
      const { storage, claim } = context
      const job = await inState(context, 'failed')
      const before = await recordOf(storage, job, 'error')
      const rolledBack = storage.transaction!(async (tx) => {
        assert.deepEqual(await storage.revive([refOf(job)], { tx }), [{ verdict: 'revived' }])
        throw new Error('rolled back')
      })
      await assert.rejects(rolledBack, /rolled back/)
      assert.deepEqual(await recordOf(storage, job, 'error'), before)
      assert.deepEqual(await claim(), [])
    },
  },
]

export const reviveCases: readonly Case[] = [
  ...tableCases,
  ...ownCases,
  ...reviveKeyCases,
  ...reviveTogetherCases,
  ...reviveOptionCases,
]
