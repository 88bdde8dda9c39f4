// Failures: attempts are counted and bounded, a retry keeps its delay, and a stalled attempt has no error.

import assert from 'node:assert/strict'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'
import { complete, retry, settleOutcome } from '../outcomes.ts'
import { fenceOf, recordOf, statesOf } from '../records.ts'

const retryCases: readonly Case[] = [
  {
    name: 'a retry counts a failure, keeps the error, and waits for its delay',
    proves: ['S18', 'S17'],
    run: async ({ storage, added, claimOne, now, unit }) => {
      const job = await added({ payload: bytes('kept') })
      const lease = fenceOf(await claimOne({ label: 'host' }))
      const before = await now()
      const verdict = await settleOutcome(storage, {
        ...lease,
        kind: 'retry',
        error: bytes('oops'),
        delayMs: 50 * unit,
      })
      assert.ok(before + 50 * unit <= verdict.runAt! && verdict.runAt! <= (await now()) + 50 * unit)
      const record = await recordOf(storage, job, 'error', 'payload')
      assert.deepEqual([verdict.state, record.state, record.runAt], ['failing', 'failing', verdict.runAt])
      assert.deepEqual([record.failures, record.attempt, record.snoozes], [1, 1, 0])
      assert.deepEqual([text(record.error), text(record.payload)], ['oops', 'kept'])
      for (const field of ['leaseUntil', 'finishedAt', 'expiresAt', 'worker', 'label'] as const)
        assert.equal(record[field], undefined, field)
    },
  },
  {
    name: 'a retry with a runAt is due then, to the millisecond; in the past or without a time it is due now',
    proves: ['S18', 'F1'],
    run: async ({ storage, added, claimOne, now, unit }) => {
      const job = await added({ maxAttempts: 9 })
      const before = await now()
      const past = await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'retry', runAt: 1 })
      assert.ok(past.runAt! >= before)
      const none = await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'retry' })
      assert.ok(before <= none.runAt! && none.runAt! <= (await now()))
      const runAt = (await now()) + 50 * unit + 3
      const exact = await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'retry', runAt })
      const record = await recordOf(storage, job)
      assert.deepEqual([exact.state, exact.runAt, record.runAt, record.failures], ['failing', runAt, runAt, 3])
    },
  },
  {
    name: 'a retry of the last attempt fails the job with its error and the retention of failures',
    proves: ['S17'],
    run: async ({ storage, added, claimOne }) => {
      const retention = { completedMs: 1, failedMs: 77_000, cancelledMs: 2 }
      const job = await added({ maxAttempts: 2, retention })
      assert.equal((await retry(storage, await claimOne())).state, 'failing')
      const outcome = { ...fenceOf(await claimOne()), kind: 'retry', error: bytes('last'), delayMs: 1_000 } as const
      const verdict = await settleOutcome(storage, outcome)
      const record = await recordOf(storage, job, 'error')
      assert.deepEqual([verdict.state, record.state, record.failures, record.attempt], ['failed', 'failed', 2, 2])
      assert.deepEqual([text(record.error), record.reason], ['last', undefined])
      assert.equal(record.expiresAt, record.finishedAt! + 77_000)
      assert.equal(verdict.expiresAt, record.expiresAt)
    },
  },
  {
    name: 'releases do not count towards maxAttempts',
    proves: ['S17', 'R1'],
    run: async ({ storage, added, claimOne }) => {
      await added({ maxAttempts: 2 })
      for (let round = 0; round < 3; round++)
        await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'released' })
      assert.equal((await retry(storage, await claimOne())).state, 'failing')
      assert.equal((await retry(storage, await claimOne())).state, 'failed')
    },
  },
  {
    name: 'a job without maxAttempts may be retried without limit',
    proves: ['S17'],
    run: async ({ storage, job, claimOne }) => {
      const { maxAttempts: _, ...bare } = job()
      await storage.add([bare])
      for (let round = 1; round <= 15; round++) assert.equal((await retry(storage, await claimOne())).state, 'failing')
      assert.equal((await recordOf(storage, bare)).failures, 15)
    },
  },
  {
    name: 'the error on the record is that of the last failed attempt',
    proves: ['F12'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added()
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'retry', error: bytes('first') })
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'retry', error: bytes('second') })
      const record = await recordOf(storage, job, 'error', 'attempts')
      assert.equal(text(record.error), 'second')
      assert.deepEqual(record.attempts!.map(({ error }) => text(error)).toSorted(), ['first', 'second'])
    },
  },
]

const failedCases: readonly Case[] = [
  {
    name: 'a failed job has its error and its end and never runs again',
    proves: ['S8', 'S7'],
    run: async ({ storage, added, claim, claimOne }) => {
      const job = await added({ maxAttempts: 50 })
      const lease = fenceOf(await claimOne({ label: 'host' }))
      const verdict = await settleOutcome(storage, { ...lease, kind: 'failed', error: bytes('broken') })
      const record = await recordOf(storage, job, 'error', 'result')
      assert.deepEqual([verdict.state, record.state, record.failures, record.label], ['failed', 'failed', 1, 'host'])
      assert.deepEqual([text(record.error), record.result, record.reason], ['broken', undefined, undefined])
      assert.equal(verdict.expiresAt, record.finishedAt! + record.retention.failedMs)
      assert.deepEqual([record.expiresAt, record.leaseUntil], [verdict.expiresAt, undefined])
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: 'an error may have zero bytes or be absent',
    proves: ['trap 3', 'S2'],
    run: async ({ storage, added, claimOne }) => {
      for (const error of [undefined, bytes('')]) {
        const job = await added()
        await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'failed', ...(error && { error }) })
        assert.equal(text((await recordOf(storage, job, 'error')).error), text(error))
      }
    },
  },
]

const stalledCases: readonly Case[] = [
  {
    name: 'a stalled attempt is queued at once, whatever delay was asked, and counts as a failure',
    proves: ['Q4.40', 'F16', 'S17'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added()
      const outcome = { ...fenceOf(await claimOne()), kind: 'retry', stalled: true, delayMs: 500_000 } as const
      assert.equal((await settleOutcome(storage, outcome)).state, 'queued')
      const record = await recordOf(storage, job, 'error')
      assert.deepEqual([record.state, record.failures, record.error], ['queued', 1, undefined])
      assert.equal((await claimOne()).attempt, 2)
    },
  },
  {
    name: 'a stalled last attempt fails the job as stalled without an error',
    proves: ['Q4.40', 'S17'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added({ maxAttempts: 1 })
      const verdict = await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'retry', stalled: true })
      const record = await recordOf(storage, job, 'error')
      assert.deepEqual(
        [verdict.state, record.state, record.reason, record.error],
        ['failed', 'failed', 'stalled', undefined],
      )
      assert.equal(record.failures, 1)
    },
  },
  {
    name: 'a failed outcome marked stalled has the reason stalled and no error',
    proves: ['Q4.40'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added({ maxAttempts: 50 })
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'failed', stalled: true })
      const record = await recordOf(storage, job, 'error')
      assert.deepEqual(
        [record.state, record.reason, record.error, record.failures],
        ['failed', 'stalled', undefined, 1],
      )
    },
  },
  {
    name: 'a completion after failures and stalls has no reason, and the failures stay counted',
    proves: ['S7'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added()
      await retry(storage, await claimOne())
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'retry', stalled: true })
      await complete(storage, await claimOne(), 'at last')
      const record = await recordOf(storage, job, 'result')
      assert.deepEqual(
        [record.state, record.reason, record.failures, text(record.result)],
        ['completed', undefined, 2, 'at last'],
      )
      assert.deepEqual(await statesOf(storage, job), ['completed'])
    },
  },
]

const snoozeCases: readonly Case[] = [
  {
    name: 'the error of a snooze is on the record and on the next claim; a snooze without an error clears it',
    proves: ['chains trap 16'],
    run: async ({ storage, unit, added, claimOne, advance }) => {
      const job = await added({ maxAttempts: 9 })
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'retry', error: bytes('failed') })
      const failed = await claimOne()
      assert.equal(text(failed.error), 'failed')
      await settleOutcome(storage, { ...fenceOf(failed), kind: 'released', error: bytes('snoozed'), delayMs: unit })
      const put = await recordOf(storage, job, 'error', 'attempts')
      assert.deepEqual([put.failures, text(put.error), text(put.attempts!.at(-1)!.error)], [1, 'snoozed', 'snoozed'])
      await advance(2 * unit)
      const again = await claimOne()
      assert.equal(text(again.error), 'snoozed')
      await settleOutcome(storage, { ...fenceOf(again), kind: 'released', delayMs: unit })
      assert.equal((await recordOf(storage, job, 'error')).error, undefined)
      await advance(2 * unit)
      const last = await claimOne()
      assert.equal(last.error, undefined)
      await settleOutcome(storage, { ...fenceOf(last), kind: 'retry', error: bytes('failed') })
      // A release without a time changes nothing.
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'released', error: bytes('ignored') })
      assert.equal(text((await recordOf(storage, job, 'error')).error), 'failed')
    },
  },
]

export const settleFailureCases: readonly Case[] = [...retryCases, ...failedCases, ...stalledCases, ...snoozeCases]
