// settle: each kind of outcome leaves exactly its record, and a batch has a verdict per item.

import assert from 'node:assert/strict'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'
import { complete, fail, outcomeKinds, retry, sampleOutcome, settleOutcome } from '../outcomes.ts'
import { fenceOf, recordOf, refOf, snapshotOf, statesOf } from '../records.ts'
import { settleAddCases } from './settle-add.ts'
import { settleBlockerCases } from './settle-blockers.ts'
import { settleCancellingCases } from './settle-cancelling.ts'
import { settleChainCases } from './settle-chains.ts'
import { settleFenceCases } from './settle-fence.ts'
import { settleFailureCases } from './settle-failures.ts'
import { settleRepeatCases } from './settle-repeat.ts'
import { settleRetentionCases } from './settle-retention.ts'
import { settleSlowDownCases } from './settle-slow-down.ts'
import { settleWorkerlessCases } from './settle-workerless.ts'

const completedCases: readonly Case[] = [
  {
    name: 'a completed job has its result and its end and no holder',
    proves: ['S7', 'S12'],
    run: async ({ storage, added, claimOne, now }) => {
      const job = await added()
      const lease = await claimOne({ label: 'host' })
      const before = await now()
      const verdict = await complete(storage, lease, 'done')
      assert.deepEqual(
        [verdict.state, [...verdict.added], [...verdict.ended], [...verdict.unblocked]],
        ['completed', [], [], []],
      )
      const record = await recordOf(storage, job, 'result')
      assert.deepEqual(
        [record.state, text(record.result), record.label, record.failures],
        ['completed', 'done', 'host', 0],
      )
      assert.deepEqual([record.leaseUntil, record.reason, record.startedAt], [undefined, undefined, lease.startedAt])
      assert.ok(before <= record.finishedAt! && record.finishedAt! <= (await now()))
    },
  },
  {
    name: 'no result and a result of zero bytes are distinct',
    proves: ['trap 1', 'S2'],
    run: async ({ storage, added, claimOne }) => {
      for (const result of [undefined, '']) {
        const job = await added()
        await complete(storage, await claimOne(), result)
        const record = await recordOf(storage, job, 'result')
        assert.deepEqual([record.state, text(record.result)], ['completed', result])
      }
    },
  },
]

const releasedCases: readonly Case[] = [
  {
    name: 'a release without a time leaves the job queued with its runAt and costs no attempt',
    proves: ['Q4.41', 'trap 2', 'R1'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      const job = await added({ payload: bytes('kept') })
      const { runAt } = await recordOf(storage, job)
      await advance(unit)
      const verdict = await settleOutcome(storage, { ...fenceOf(await claimOne({ label: 'host' })), kind: 'released' })
      assert.equal(verdict.state, 'queued')
      const record = await recordOf(storage, job, 'payload', 'error')
      assert.deepEqual(
        [record.state, record.runAt, record.attempt, record.failures, record.snoozes, text(record.payload)],
        ['queued', runAt, 1, 0, 0, 'kept'],
      )
      for (const field of ['error', 'leaseUntil', 'finishedAt', 'worker', 'label'] as const)
        assert.equal(record[field], undefined, field)
    },
  },
  {
    name: 'a release with a delay is a snooze: scheduled, counted as a snooze, no failure',
    proves: ['F18', 'chains trap 16'],
    run: async ({ storage, added, claimOne, now, unit }) => {
      const job = await added({ maxAttempts: 1 })
      const lease = fenceOf(await claimOne())
      const before = await now()
      const verdict = await settleOutcome(storage, { ...lease, kind: 'released', delayMs: 50 * unit })
      assert.ok(before + 50 * unit <= verdict.runAt! && verdict.runAt! <= (await now()) + 50 * unit)
      const record = await recordOf(storage, job)
      assert.deepEqual([verdict.state, record.state, record.runAt], ['scheduled', 'scheduled', verdict.runAt])
      assert.deepEqual([record.failures, record.snoozes, record.attempt], [0, 1, 1])
    },
  },
  {
    name: 'a release with a runAt is a snooze until then; a past runAt means now',
    proves: ['F18'],
    run: async ({ storage, added, claimOne, now, unit }) => {
      const job = await added()
      const before = await now()
      const past = await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'released', runAt: 1 })
      assert.ok(past.state === 'queued' && past.runAt! >= before)
      const runAt = (await now()) + 50 * unit
      const verdict = await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'released', runAt })
      const record = await recordOf(storage, job)
      assert.deepEqual([verdict.state, verdict.runAt, record.runAt, record.snoozes], ['scheduled', runAt, runAt, 2])
    },
  },
  {
    name: 'snoozes do not use up attempts, however many',
    proves: ['F18', 'S17'],
    run: async ({ storage, added, claimOne }) => {
      await added({ maxAttempts: 1 })
      for (let round = 1; round <= 12; round++) {
        const claimed = await claimOne()
        assert.deepEqual([claimed.attempt, claimed.snoozes, claimed.failures], [round, round - 1, 0])
        await settleOutcome(storage, { ...fenceOf(claimed), kind: 'released', delayMs: 0 })
      }
    },
  },
  {
    name: 'a release may replace the payload, with or without a time; zero bytes replace it too',
    proves: ['F18', 'tasks §5'],
    run: async ({ storage, added, claimOne }) => {
      await added({ payload: bytes('first') })
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'released', payload: bytes('second') })
      const second = await claimOne()
      assert.equal(text(second.payload), 'second')
      await settleOutcome(storage, { ...fenceOf(second), kind: 'released', delayMs: 0, payload: bytes('') })
      assert.equal(text((await claimOne()).payload), '')
    },
  },
]

const attemptCases: readonly Case[] = [
  ...outcomeKinds.map((kind): Case => ({
    name: `an attempt that ended as ${kind} is on the record with fence, times, outcome and state`,
    proves: ['F12', 'S7', 'R3'],
    run: async ({ storage, added, job, claimOne }) => {
      await added()
      const lease = await claimOne({ label: 'host' })
      const verdict = await settleOutcome(storage, sampleOutcome(kind, fenceOf(lease), job({ type: 'other' })))
      const { attempts } = await recordOf(storage, lease, 'attempts')
      assert.equal(attempts?.length, 1)
      const attempt = attempts[0]!
      assert.deepEqual(
        [attempt.attempt, attempt.worker, attempt.label, attempt.startedAt, attempt.outcome, attempt.state],
        [1, lease.worker, 'host', lease.startedAt, kind, verdict.state],
      )
      assert.ok(attempt.endedAt >= attempt.startedAt)
      assert.equal(text(attempt.error), kind === 'retry' || kind === 'failed' ? 'error' : undefined)
    },
  })),
  {
    name: 'the record keeps the last 10 attempts',
    proves: ['F12', 'S20'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added({ maxAttempts: 50 })
      for (let round = 0; round < 12; round++) await retry(storage, await claimOne())
      const { attempts, attempt } = await recordOf(storage, job, 'attempts')
      const numbers = attempts!.map((each) => each.attempt).toSorted((a, b) => a - b)
      assert.deepEqual([attempt, numbers], [12, [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]])
    },
  },
  {
    name: 'createdAt and token stay the same through every state',
    proves: ['trap 15'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      const job = await added()
      const seen = [await recordOf(storage, job)]
      for (const end of [retry, complete]) {
        await advance(unit)
        const claimed = await claimOne()
        seen.push(await recordOf(storage, job))
        await end(storage, claimed)
        seen.push(await recordOf(storage, job))
      }
      assert.deepEqual(
        seen.map(({ state }) => state),
        ['queued', 'processing', 'failing', 'processing', 'completed'],
      )
      assert.equal(new Set(seen.map(({ createdAt, token }) => `${createdAt} ${token}`)).size, 1)
    },
  },
]

const batchCases: readonly Case[] = [
  {
    name: 'each outcome has its own verdict, in order',
    // Planted defect: batch verdicts shifted by one.
    proves: ['S7'],
    run: async ({ storage, job, claim }) => {
      await storage.add(outcomeKinds.map(() => job()))
      const leases = (await claim()).map(fenceOf)
      const unknown = { type: 'mail', id: 'unknown', worker: 'w', attempt: 1, kind: 'completed' } as const
      const outcomes = leases.map((lease, index) => sampleOutcome(outcomeKinds[index]!, lease, job({ type: 'other' })))
      const verdicts = await storage.settle([
        outcomes[4]!,
        unknown,
        outcomes[2]!,
        outcomes[1]!,
        outcomes[0]!,
        outcomes[3]!,
      ])
      assert.deepEqual(
        verdicts.map((verdict) => (verdict.verdict === 'settled' ? verdict.state : verdict.verdict)),
        ['completed', 'not_found', 'failed', 'failing', 'completed', 'queued'],
      )
      assert.deepEqual(await statesOf(storage, ...leases), ['completed', 'failing', 'failed', 'queued', 'completed'])
    },
  },
  {
    name: 'a refused outcome changes nothing and affects no other outcome of its batch',
    proves: ['S3', 'S6'],
    run: async ({ storage, job, claim }) => {
      await storage.add([job(), job(), job()])
      const [one, two, three] = (await claim()).map(fenceOf)
      await storage.cancel([refOf(two!)], { force: true })
      const before = await snapshotOf(storage, two!)
      const verdicts = await storage.settle(
        [one!, two!, three!].map((lease) => ({ ...lease, kind: 'completed' }) as const),
      )
      assert.deepEqual(
        verdicts.map(({ verdict }) => verdict),
        ['settled', 'cancelled', 'settled'],
      )
      assert.deepEqual(await snapshotOf(storage, two!), before)
    },
  },
  {
    name: 'each job of a batch gets its own result and its own error',
    proves: ['S2', 'S7'],
    run: async ({ storage, job, claim }) => {
      await storage.add(Array.from({ length: 20 }, () => job()))
      const leases = (await claim()).map(fenceOf)
      await storage.settle(
        leases.map((lease, index) =>
          index % 2 === 0
            ? ({ ...lease, kind: 'completed', result: bytes(lease.id) } as const)
            : ({ ...lease, kind: 'failed', error: bytes(lease.id) } as const),
        ),
      )
      const records = await snapshotOf(storage, ...leases)
      assert.deepEqual(
        records.map((record) => text(record!.result ?? record!.error)),
        leases.map(({ id }) => id),
      )
      assert.ok(records.every((record) => (record!.result === undefined) !== (record!.error === undefined)))
    },
  },
  {
    name: 'an empty batch of outcomes has no verdicts',
    run: async ({ storage }) => {
      assert.deepEqual(await storage.settle([]), [])
    },
  },
  {
    name: 'of two workers that settle the same job concurrently one is accepted',
    proves: ['S6', 'S7', 'trap 34'],
    run: async ({ storage, another, added, claimOne, advance, unit }) => {
      const other = await another()
      const job = await added()
      const stale = await claimOne({ types: [{ type: 'mail', leaseMs: unit }] })
      await advance(2 * unit)
      const held = await claimOne()
      const late = other.settle([{ ...fenceOf(stale), kind: 'failed', error: bytes('stale') }])
      const [[refused], verdict] = await Promise.all([late, complete(storage, held, 'good')])
      assert.ok(refused?.verdict !== 'settled' && verdict.state === 'completed')
      const record = await recordOf(storage, job, 'result', 'error')
      assert.deepEqual([text(record.result), record.error], ['good', undefined])
    },
  },
  {
    name: 'a job that runs when its type is paused is settled normally',
    proves: ['F26'],
    run: async ({ storage, job, claim }) => {
      await storage.add([job(), job()])
      const [one, two] = await claim()
      await storage.pause({ type: 'mail', paused: true })
      assert.equal((await complete(storage, one!)).state, 'completed')
      assert.equal((await fail(storage, two!)).state, 'failed')
    },
  },
]

export const settleCases: readonly Case[] = [
  ...completedCases,
  ...settleFailureCases,
  ...releasedCases,
  ...settleRetentionCases,
  ...attemptCases,
  ...batchCases,
  ...settleFenceCases,
  ...settleRepeatCases,
  ...settleCancellingCases,
  ...settleChainCases,
  ...settleAddCases,
  ...settleBlockerCases,
  ...settleWorkerlessCases,
  ...settleSlowDownCases,
]
