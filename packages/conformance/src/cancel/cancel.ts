// cancel: a waiting job ends at once and never starts; a running one is left alone, asked to stop, or ended by force.

import assert from 'node:assert/strict'
import type { CancelVerdict, JobState } from 'holdfast/storage'
import { cancelChainCases } from './cancel-chains.ts'
import { cancelDependentCases } from './cancel-dependents.ts'
import { cancelRunningCases } from './cancel-running.ts'
import type { Case } from '../case.ts'
import { bytes, text } from '../case.ts'
import { findRecord, idsOf, jobStates, recordOf, refOf, stateOf } from '../records.ts'
import { inState, runOne } from '../scenarios.ts'

const plain: Readonly<Record<JobState, CancelVerdict['verdict']>> = {
  scheduled: 'cancelled',
  blocked: 'cancelled',
  queued: 'cancelled',
  failing: 'cancelled',
  processing: 'processing',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
}
const forced = { ...plain, processing: 'cancelled' } as const
const asked = { ...plain, processing: 'cancelling' } as const

const verdictCases = jobStates.flatMap((state): Case[] =>
  [
    ['cancel', plain[state], {}] as const,
    ['cancel with abort', asked[state], { abort: true }] as const,
    ['cancel with force', forced[state], { force: true }] as const,
  ].map(([call, verdict, options]) => ({
    name: `${call} of a ${state} job answers ${verdict}`,
    proves: ['Q4.18', 'Q4.19', 'Q4.20', 'Q4.22', 'F17'],
    run: async (context) => {
      const { storage } = context
      const job = await inState(context, state)
      const before = await recordOf(storage, job, 'payload', 'result', 'error', 'attempts')
      assert.deepEqual(await storage.cancel([refOf(job)], options), [{ verdict }])
      const after = await recordOf(storage, job, 'payload', 'result', 'error', 'attempts')
      if (verdict === 'cancelled') assert.equal(after.state, 'cancelled')
      if (verdict === state) assert.deepEqual(after, before)
      if (verdict === 'cancelling') assert.equal(after.state, 'processing')
    },
  })),
)

const neverStarts = (['scheduled', 'blocked', 'queued', 'failing'] as const).map((state): Case => ({
  name: `a job cancelled while ${state} never starts`,
  proves: ['S9', 'trap 12'],
  run: async (context) => {
    const { storage, advance, claim, unit } = context
    const job = await inState(context, state)
    await storage.cancel([refOf(job)])
    if (state === 'blocked') await runOne(context, 'open blocker')
    await advance(51 * unit)
    assert.deepEqual(await claim(), [])
    assert.deepEqual(await storage.recover({ types: ['mail'], limit: 10 }), [])
    assert.equal(await stateOf(storage, job), 'cancelled')
  },
}))

const waitingCases: readonly Case[] = [
  {
    name: 'cancel of an unknown id, or of the id under another type, answers not_found',
    run: async ({ storage, added }) => {
      const job = await added()
      const unknown = [
        { type: 'mail', id: 'unknown' },
        { type: 'sms', id: job.id },
      ]
      assert.deepEqual(await storage.cancel(unknown), [{ verdict: 'not_found' }, { verdict: 'not_found' }])
      assert.equal(await stateOf(storage, job), 'queued')
    },
  },
  {
    name: 'cancel of an expired record answers not_found, swept or not',
    run: async (context) => {
      const { storage, advance, unit } = context
      const retention = { completedMs: 10 * unit, failedMs: 10 * unit, cancelledMs: 10 * unit }
      const jobs = []
      for (const state of ['completed', 'failed', 'cancelled'] as const) {
        jobs.push(refOf(await inState(context, state, { retention })))
      }
      await advance(11 * unit)
      assert.deepEqual(
        await storage.cancel(jobs, { force: true }),
        jobs.map(() => ({ verdict: 'not_found' })),
      )
    },
  },
  {
    name: 'a cancelled record has its time, reason, expiry and payload',
    run: async ({ storage, added, unit }) => {
      const retention = { completedMs: 1, failedMs: 2, cancelledMs: 30 * unit }
      const job = await added({ payload: bytes('p'), retention })
      await storage.cancel([refOf(job)], { reason: 'not needed' })
      const record = await recordOf(storage, job, 'payload', 'error', 'result', 'attempts')
      assert.equal(record.cancelReason, 'not needed')
      assert.ok(record.finishedAt! >= record.createdAt)
      assert.equal(record.expiresAt, record.finishedAt! + 30 * unit)
      assert.equal(text(record.payload), 'p')
      assert.deepEqual([record.reason, record.error, record.result], [undefined, undefined, undefined])
      assert.deepEqual([record.attempt, record.failures, record.attempts], [0, 0, []])
    },
  },
  {
    name: 'a cancel without a reason records none',
    run: async (context) => {
      const job = await inState(context, 'cancelled')
      assert.equal((await recordOf(context.storage, job)).cancelReason, undefined)
    },
  },
  {
    name: 'a second cancel changes neither reason, time nor expiry of the first',
    proves: ['S8'],
    run: async ({ storage, added, advance, unit }) => {
      const job = await added()
      await storage.cancel([refOf(job)], { reason: 'first' })
      const before = await recordOf(storage, job)
      await advance(unit)
      assert.deepEqual(await storage.cancel([refOf(job)], { reason: 'second', force: true }), [
        { verdict: 'cancelled' },
      ])
      assert.deepEqual(await recordOf(storage, job), before)
    },
  },
  {
    name: 'a cancelled record with a retention of 0 ms is gone at once',
    run: async ({ storage, added, unit }) => {
      const job = await added({ retention: { completedMs: unit, failedMs: unit, cancelledMs: 0 } })
      assert.deepEqual(await storage.cancel([refOf(job)]), [{ verdict: 'cancelled' }])
      assert.equal(await findRecord(storage, job), undefined)
      assert.deepEqual(await storage.cancel([refOf(job)]), [{ verdict: 'not_found' }])
    },
  },
  {
    name: 'a cancelled record with an infinite retention has no expiry',
    run: async ({ storage, added, advance, unit }) => {
      const job = await added({ retention: { completedMs: 0, failedMs: 0, cancelledMs: Infinity } })
      await storage.cancel([refOf(job)])
      await advance(11 * unit)
      await storage.sweep({ limit: 10 })
      const { state, expiresAt } = await recordOf(storage, job)
      assert.deepEqual([state, expiresAt], ['cancelled', undefined])
    },
  },
  {
    name: 'after a cancel the id is free at once, and only the new payload runs',
    proves: ['trap 10', 'S9'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      const job = await added({ payload: bytes('old') })
      const other = await added()
      await advance(unit)
      await storage.cancel([refOf(job)], { reason: 'gone' })
      await added({ id: job.id, payload: bytes('new') })
      const record = await recordOf(storage, job)
      assert.deepEqual([record.state, record.cancelReason, record.finishedAt], ['queued', undefined, undefined])
      assert.equal((await claimOne({ slots: 1 })).id, other.id, 'the new job has a new place in the order')
      const claimed = await claimOne()
      assert.deepEqual([claimed.id, text(claimed.payload), claimed.attempt], [job.id, 'new', 1])
    },
  },
  {
    name: 'a cancelled job frees its key at once, also in mode throttle within the window',
    proves: ['F25'],
    run: async ({ storage, added, unit }) => {
      for (const deduplication of [
        { key: 'a', mode: 'simple' },
        { key: 'b', mode: 'simple', windowMs: 100 * unit },
        { key: 'c', mode: 'throttle' },
        { key: 'd', mode: 'throttle', windowMs: 100 * unit },
      ] as const) {
        await storage.cancel([refOf(await added({ deduplication }))])
        await added({ deduplication })
      }
    },
  },
  {
    name: 'a shared key stays taken when its job is cancelled',
    proves: ['F25'],
    run: async ({ storage, added, job, unit }) => {
      const deduplication = { key: 'k', mode: 'throttle', windowMs: 100 * unit, shared: true } as const
      await storage.cancel([refOf(await added({ deduplication }))])
      assert.equal((await storage.add([job({ deduplication })]))[0]!.verdict, 'duplicate')
    },
  },
  {
    name: 'a cancelled head lets the next job of its group start; cancelling another member keeps the order',
    proves: ['F21'],
    run: async (context) => {
      const { storage, added, claim } = context
      const group = { key: 'g', ordered: true } as const
      const [a, b, c] = [
        await added({ group, delayMs: 50 * context.unit }),
        await added({ group }),
        await added({ group }),
      ]
      assert.deepEqual(await claim(), [])
      await storage.cancel([refOf(b)])
      assert.deepEqual(await claim(), [])
      await storage.cancel([refOf(a)])
      assert.deepEqual(idsOf(await claim()), [c.id])
    },
  },
  {
    name: 'jobs of a paused type can be cancelled',
    proves: ['F26'],
    run: async ({ storage, added }) => {
      const job = await added()
      await storage.pause({ type: 'mail', paused: true })
      assert.deepEqual(await storage.cancel([refOf(job)]), [{ verdict: 'cancelled' }])
    },
  },
  {
    name: 'verdicts come in order, and a refused item affects no other',
    run: async (context) => {
      const { storage, added } = context
      const [done, held] = [await inState(context, 'completed'), await inState(context, 'processing')]
      const [a, b] = [await added(), await added()]
      const verdicts = await storage.cancel([a, { type: 'mail', id: 'unknown' }, held, b, done, a].map(refOf))
      assert.deepEqual(
        verdicts.map(({ verdict }) => verdict),
        ['cancelled', 'not_found', 'processing', 'cancelled', 'completed', 'cancelled'],
      )
      assert.deepEqual([await stateOf(storage, a), await stateOf(storage, b)], ['cancelled', 'cancelled'])
      assert.deepEqual([await stateOf(storage, held), await stateOf(storage, done)], ['processing', 'completed'])
    },
  },
  {
    name: 'a cancel of no jobs has no verdicts',
    run: async ({ storage }) => assert.deepEqual(await storage.cancel([]), []),
  },
  {
    name: 'of a concurrent cancel and claim exactly one wins',
    proves: ['trap 11', 'S9'],
    run: async ({ storage, added, claim }) => {
      for (let round = 0; round < 20; round++) {
        const job = await added()
        // Alternating, so that neither call is always sent first.
        const early = round % 2 === 0 ? storage.cancel([refOf(job)]) : undefined
        const claiming = claim()
        const [cancelled, claimed] = await Promise.all([early ?? storage.cancel([refOf(job)]), claiming])
        assert.equal(cancelled[0]!.verdict, claimed.length === 0 ? 'cancelled' : 'processing')
      }
    },
  },
]

export const cancelCases: readonly Case[] = [
  ...verdictCases,
  ...neverStarts,
  ...waitingCases,
  ...cancelRunningCases,
  ...cancelChainCases,
  ...cancelDependentCases,
]
