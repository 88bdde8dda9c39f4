// get: every field of a record is true from the add to the expiry, and bytes are returned as given.

import assert from 'node:assert/strict'
import { bytes } from '../case.ts'
import type { Case } from '../case.ts'
import { getAttemptCases } from './get-attempts.ts'
import { getFieldCases } from './get-fields.ts'
import { getKeyCases } from './get-keys.ts'
import { getLineageCases } from './get-lineage.ts'
import { complete, settleOne } from '../outcomes.ts'
import { jobStates, recordOf, refOf, stateOf } from '../records.ts'
import { inState } from '../scenarios.ts'

const lifeCases: readonly Case[] = [
  ...jobStates.map((state): Case => ({
    name: `a ${state} job has its state and the times of that state`,
    proves: ['trap 15'],
    run: async (context) => {
      const { storage } = context
      const job = await inState(context, state)
      const record = await recordOf(storage, job)
      const ended = ['completed', 'failed', 'cancelled'].includes(state)
      const ran = ['processing', 'failing', 'completed', 'failed'].includes(state)
      assert.equal(record.state, state)
      assert.equal(record.attempt, ran ? 1 : 0)
      assert.equal(record.failures, state === 'failing' || state === 'failed' ? 1 : 0)
      assert.equal(record.finishedAt !== undefined, ended)
      assert.equal(record.expiresAt, ended ? record.finishedAt! + job.retention.completedMs : undefined)
      assert.equal(record.leaseUntil !== undefined, state === 'processing')
      if (ran && state !== 'failing') assert.ok(record.startedAt! >= record.createdAt)
      if (!ran) assert.equal(record.startedAt, undefined)
      assert.equal(record.openBlockers, state === 'blocked' ? 1 : 0)
    },
  })),
  {
    name: 'a scheduled job reads as queued from its runAt on, without any move',
    proves: ['F1'],
    run: async ({ storage, added, advance, unit }) => {
      const job = await added({ delayMs: 10 * unit })
      const before = await recordOf(storage, job)
      assert.equal(before.state, 'scheduled')
      await advance(10 * unit)
      assert.deepEqual(await recordOf(storage, job), { ...before, state: 'queued' })
    },
  },
  {
    name: 'a failing job stays failing when its runAt has passed',
    run: async (context) => {
      const job = await inState(context, 'failing')
      await context.advance(51 * context.unit)
      assert.equal(await stateOf(context.storage, job), 'failing')
    },
  },
  {
    name: 'a job in processing names its holder, its label and the end of its lease',
    run: async ({ storage, added, claimOne, unit }) => {
      const job = await added()
      const lease = await claimOne({ label: 'host-1' })
      const record = await recordOf(storage, job)
      assert.deepEqual(
        [record.worker, record.label, record.attempt, record.leaseUntil, record.startedAt],
        [lease.worker, 'host-1', 1, lease.leaseUntil, lease.startedAt],
      )
      assert.equal(record.leaseUntil, record.startedAt! + 10 * unit)
      await complete(storage, lease)
      const { label, startedAt } = await recordOf(storage, job)
      assert.deepEqual([label, startedAt], ['host-1', lease.startedAt], 'also after its end')
    },
  },
  {
    name: 'a job whose lease has ended and was not taken back reads as processing',
    run: async (context) => {
      const job = await inState(context, 'processing')
      await context.advance(11 * context.unit)
      assert.equal(await stateOf(context.storage, job), 'processing')
    },
  },
  {
    name: 'createdAt stays the same through retry, release, lost lease, end and revival',
    proves: ['trap 15'],
    run: async ({ storage, added, advance, claimOne, unit }) => {
      const job = await added({ maxAttempts: 9 })
      const { createdAt } = await recordOf(storage, job)
      const unchanged = async () => assert.equal((await recordOf(storage, job)).createdAt, createdAt)
      for (const kind of ['retry', 'released'] as const) {
        await advance(unit)
        await settleOne(storage, await claimOne(), { kind })
        await unchanged()
      }
      await claimOne()
      await advance(11 * unit)
      const lease = await claimOne()
      await unchanged()
      await settleOne(storage, lease, { kind: 'failed' })
      await storage.revive([refOf(job)])
      await unchanged()
    },
  },
  {
    name: 'a job that failed with its blocker or stalled has a reason and no error',
    run: async ({ storage, added, advance, claimOne, claim, unit }) => {
      const job = await added({ maxAttempts: 2 })
      await settleOne(storage, await claimOne(), { kind: 'retry', error: bytes('e') })
      const dependent = await added({ type: 'dependent', blockers: [refOf(job)] })
      await claimOne()
      await advance(11 * unit)
      assert.deepEqual(await claim(), [])
      const [stalled, failed] = await storage.get([job, dependent].map(refOf), { parts: ['error'] })
      assert.deepEqual([stalled!.state, stalled!.reason, stalled!.error], ['failed', 'stalled', undefined])
      assert.deepEqual([failed!.state, failed!.reason, failed!.error], ['failed', 'blocker_failed', undefined])
    },
  },
]

export const getCases: readonly Case[] = [
  ...getFieldCases,
  ...lifeCases,
  ...getLineageCases,
  ...getKeyCases,
  ...getAttemptCases,
]
