// recover of a last attempt, of a job that was asked to stop, and of a job with dependents: how each ends.

import assert from 'node:assert/strict'
import type { Case } from '../case.ts'
import { recordOf, refOf, statesOf } from '../records.ts'
import { lostLeases } from '../scenarios.ts'

const mail = { types: ['mail'], limit: 100 }

export const recoverEndCases: readonly Case[] = [
  {
    name: 'a job whose last attempt is taken back fails as stalled without an error',
    proves: ['F14', 'S17', 'trap 7', 'W15'],
    run: async (context) => {
      const { storage, claim } = context
      const [lease] = await lostLeases(context, [{ maxAttempts: 1 }])
      assert.deepEqual(
        (await storage.recover(mail)).map(({ state }) => state),
        ['failed'],
      )
      const record = await recordOf(storage, lease!, 'error', 'attempts')
      assert.deepEqual(
        [record.state, record.reason, record.error, record.failures],
        ['failed', 'stalled', undefined, 1],
      )
      assert.equal(record.expiresAt, record.finishedAt! + record.retention.failedMs)
      assert.equal(record.attempts?.[0]?.state, 'failed')
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: 'a job without maxAttempts waits again however often its lease was lost',
    proves: ['F14'],
    run: async ({ storage, job, claimOne, advance, unit }) => {
      const { maxAttempts: _, ...bare } = job()
      await storage.add([bare])
      for (let round = 0; round < 3; round++) {
        await claimOne({ types: [{ type: 'mail', leaseMs: unit }] })
        await advance(2 * unit)
        assert.deepEqual(
          (await storage.recover(mail)).map(({ state }) => state),
          ['queued'],
        )
      }
      assert.equal((await recordOf(storage, bare)).failures, 3)
    },
  },
  {
    name: 'a job that was asked to stop is cancelled when its lease is taken back',
    proves: ['F17', 'S9'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      const job = await added({ maxAttempts: 9 })
      await claimOne({ types: [{ type: 'mail', leaseMs: unit }] })
      await storage.cancel([refOf(job)], { abort: true, reason: 'enough' })
      await advance(2 * unit)
      assert.deepEqual(
        (await storage.recover(mail)).map(({ state }) => state),
        ['cancelled'],
      )
      const { state, cancelReason, finishedAt, expiresAt, retention, attempts } = await recordOf(
        storage,
        job,
        'attempts',
      )
      assert.deepEqual([state, cancelReason, expiresAt], ['cancelled', 'enough', finishedAt! + retention.cancelledMs])
      assert.deepEqual([attempts?.length, attempts?.[0]?.state], [1, 'cancelled'])
    },
  },
  {
    name: 'dependents of a job that recover fails fail with it, and its key is free',
    proves: ['S13', 'chains trap 23', 'F25'],
    run: async (context) => {
      const { storage, added } = context
      const deduplication = { key: 'k', mode: 'simple' } as const
      const [lease] = await lostLeases(context, [{ maxAttempts: 1, deduplication }])
      const dependent = await added({ type: 'other', blockers: [refOf(lease!)] })
      await storage.recover(mail)
      const { state, reason } = await recordOf(storage, dependent)
      assert.deepEqual([state, reason], ['failed', 'blocker_failed'])
      await added({ deduplication })
    },
  },
  {
    name: 'each job of a batch of lost leases gets its own state',
    proves: ['L3', 'S17'],
    run: async (context) => {
      const { storage } = context
      const leases = await lostLeases(context, [{ maxAttempts: 1 }, { maxAttempts: 2 }, { maxAttempts: 1 }])
      const recovered = await storage.recover(mail)
      const reported = new Map(recovered.map(({ id, state }) => [id, state]))
      assert.deepEqual(
        leases.map(({ id }) => reported.get(id)),
        ['failed', 'queued', 'failed'],
      )
      assert.deepEqual(await statesOf(storage, ...leases), ['failed', 'queued', 'failed'])
    },
  },
]
