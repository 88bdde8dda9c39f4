// The attempts on a record: the last ten, each once, in order, with fence, times and outcome.

import assert from 'node:assert/strict'
import type { AttemptRecord, JobState } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case, CaseContext } from '../case.ts'
import { type Ending, settleOne } from '../outcomes.ts'
import { recordOf, refOf } from '../records.ts'

/** Every ending, with the outcome and the state that its attempt is recorded with. */
const endings: readonly (readonly [string, (context: CaseContext) => Ending, AttemptRecord['outcome'], JobState])[] = [
  ['completed', () => ({ kind: 'completed' }), 'completed', 'completed'],
  ['a retry', ({ unit }) => ({ kind: 'retry', error: bytes('e'), delayMs: unit }), 'retry', 'failing'],
  ['failed', () => ({ kind: 'failed', error: bytes('e') }), 'failed', 'failed'],
  ['a release', () => ({ kind: 'released' }), 'released', 'queued'],
  ['a snooze', ({ unit }) => ({ kind: 'released', delayMs: 50 * unit }), 'released', 'scheduled'],
  ['a continuation', ({ job }) => ({ kind: 'continued', next: job({ type: 'next' }) }), 'continued', 'completed'],
]

export const getAttemptCases: readonly Case[] = [
  ...endings.map(([name, ending, outcome, state]): Case => ({
    name: `an attempt that ended by ${name} is recorded with its outcome`,
    proves: ['F12'],
    run: async (context) => {
      const { storage, added, advance, claimOne, now, unit } = context
      const job = await added()
      const lease = await claimOne({ label: 'host-1' })
      await advance(unit)
      const given = ending(context)
      await settleOne(storage, lease, given)
      const { attempts } = await recordOf(storage, job, 'attempts')
      assert.equal(attempts!.length, 1)
      const { attempt, worker, label, startedAt, endedAt, error, ...how } = attempts![0]!
      assert.deepEqual([attempt, worker, label, startedAt], [1, lease.worker, 'host-1', lease.startedAt])
      assert.deepEqual(how, { outcome, state })
      assert.ok(endedAt >= startedAt + unit && endedAt <= (await now()))
      assert.equal(text(error), 'error' in given ? 'e' : undefined)
    },
  })),
  {
    name: 'an attempt whose lease was lost is recorded as stalled with the new state: queued, or failed at the last',
    proves: ['F14'],
    run: async ({ storage, added, advance, claimOne, unit }) => {
      const job = await added({ maxAttempts: 2 })
      const workers = []
      for (let attempt = 1; attempt <= 2; attempt++) {
        workers.push((await claimOne()).worker)
        await advance(11 * unit)
        await storage.recover({ types: ['mail'], limit: 10 })
      }
      const { attempts } = await recordOf(storage, job, 'attempts')
      assert.deepEqual(
        attempts!.map(({ attempt, worker, outcome, state, error }) => [attempt, worker, outcome, state, error]),
        [
          [1, workers[0], 'stalled', 'queued', undefined],
          [2, workers[1], 'stalled', 'failed', undefined],
        ],
      )
    },
  },
  {
    name: 'a running attempt is not among the recorded ones',
    run: async ({ storage, added, claimOne }) => {
      const job = await added()
      assert.deepEqual((await recordOf(storage, job, 'attempts')).attempts, [])
      await claimOne()
      assert.deepEqual((await recordOf(storage, job, 'attempts')).attempts, [])
    },
  },
  {
    name: 'the last ten attempts are kept, oldest first',
    proves: ['F12'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added({ maxAttempts: undefined })
      for (let attempt = 1; attempt <= 12; attempt++) {
        await settleOne(storage, await claimOne(), { kind: 'retry', error: bytes(`e${attempt}`) })
      }
      const record = await recordOf(storage, job, 'attempts', 'error')
      assert.deepEqual([record.attempt, record.failures, text(record.error)], [12, 12, 'e12'])
      assert.deepEqual(
        record.attempts!.map(({ attempt, error }) => [attempt, text(error)]),
        Array.from({ length: 10 }, (_, index) => [index + 3, `e${index + 3}`]),
      )
    },
  },
  {
    name: 'a new job under an old id has no attempts and no error',
    proves: ['Q4.05'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      const old = await added()
      await settleOne(storage, await claimOne(), { kind: 'failed', error: bytes('e') })
      const { createdAt } = await recordOf(storage, old)
      await advance(unit)
      await added({ id: old.id })
      const record = await recordOf(storage, refOf(old), 'attempts', 'error')
      assert.deepEqual([record.attempt, record.failures, record.attempts, record.error], [0, 0, [], undefined])
      assert.ok(record.createdAt > createdAt)
      assert.deepEqual([record.finishedAt, record.expiresAt, record.startedAt], [undefined, undefined, undefined])
    },
  },
]
