// sweep and expiry: an expired record is absent at once, and nothing else is ever deleted.

import assert from 'node:assert/strict'
import type { NewJob, Storage } from 'holdfast/storage'
import { type Case, text } from '../case.ts'
import { settleOne } from '../outcomes.ts'
import { findRecord, jobStates, recordOf, refOf, stateOf } from '../records.ts'
import { chainOfTwo, claimType, inState, runOne } from '../scenarios.ts'
import { sweepMarkCases } from './sweep-marks.ts'
import { sweepChainCases } from './sweep-chains.ts'
import { sweepCountCases } from './sweep-counts.ts'

const keptFor = (ms: number) => ({ retention: { completedMs: ms, failedMs: ms, cancelledMs: ms } })
const counted = async (storage: Storage): Promise<number> => {
  const { types } = await storage.count({})
  return types.flatMap((counts) => Object.values(counts.states)).reduce((sum, count) => sum + count, 0)
}
const nothing = { jobs: 0, ended: [], marks: 0, entries: 0, more: false }

const expiryCases: readonly Case[] = [
  ...(['completed', 'failed', 'cancelled'] as const).map((state): Case => ({
    name: `a ${state} record expires after its own retention, to the millisecond, and is absent before it is swept`,
    proves: ['S12', 'F29', 'trap 31'],
    run: async (context) => {
      const { storage, added, advance, unit } = context
      const retention = { completedMs: Infinity, failedMs: Infinity, cancelledMs: Infinity, [`${state}Ms`]: 10 * unit }
      const job = await inState(context, state, { retention })
      const { expiresAt, finishedAt } = await recordOf(storage, job)
      assert.equal(expiresAt, finishedAt! + 10 * unit)
      await advance(10 * unit)
      assert.equal(await findRecord(storage, job), undefined)
      assert.deepEqual((await storage.list({ of: 'jobs', limit: 10 })).items, [])
      assert.deepEqual((await storage.list({ of: 'chains', limit: 10 })).items, [])
      assert.equal(await counted(storage), 0)
      await added({ id: job.id })
    },
  })),
  ...(['completed', 'failed', 'cancelled'] as const).map((state): Case => ({
    name: `a ${state} record with a retention of 0 ms is gone at its end, and its id is free`,
    proves: ['F29', 'S20'],
    run: async (context) => {
      const { storage, added } = context
      const job = await inState(context, state, keptFor(0))
      assert.equal(await findRecord(storage, job), undefined)
      assert.equal(await counted(storage), 0)
      await added({ id: job.id })
    },
  })),
  {
    name: 'a record with an infinite retention has no expiry and is never swept',
    proves: ['F29'],
    run: async (context) => {
      const { storage, advance, unit } = context
      const jobs: NewJob[] = []
      for (const state of ['completed', 'failed', 'cancelled'] as const) {
        jobs.push(await inState(context, state, keptFor(Infinity)))
      }
      await advance(20 * unit)
      assert.deepEqual(await storage.sweep({ limit: 10 }), nothing)
      for (const job of jobs) {
        const { expiresAt, retention } = await recordOf(storage, job)
        assert.deepEqual([expiresAt, retention.completedMs], [undefined, Infinity])
      }
    },
  },
  {
    name: 'the keepMs of an outcome sets the retention of its record',
    proves: ['S12'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      const job = await added(keptFor(0))
      const verdict = await settleOne(storage, await claimOne(), { kind: 'completed', keepMs: 10 * unit })
      const { expiresAt, finishedAt } = await recordOf(storage, job)
      assert.deepEqual([verdict.expiresAt, expiresAt], [expiresAt, finishedAt! + 10 * unit])
      await advance(10 * unit)
      assert.equal(await findRecord(storage, job), undefined)
    },
  },
]

const sweepingCases: readonly Case[] = [
  {
    name: 'a sweep of an empty storage finds nothing',
    run: async ({ storage }) => assert.deepEqual(await storage.sweep({ limit: 10 }), nothing),
  },
  {
    name: 'a sweep deletes the expired records and no other, and a second sweep finds nothing',
    proves: ['S20', 'F29'],
    run: async (context) => {
      const { storage, advance, unit } = context
      for (const state of ['completed', 'failed', 'cancelled'] as const)
        await inState(context, state, keptFor(10 * unit))
      const stays = await inState(context, 'completed')
      assert.deepEqual(await storage.sweep({ limit: 10 }), nothing)
      await advance(10 * unit)
      assert.deepEqual(await storage.sweep({ limit: 10 }), { ...nothing, jobs: 3 })
      assert.deepEqual(await storage.sweep({ limit: 10 }), nothing)
      assert.equal(await stateOf(storage, stays), 'completed')
    },
  },
  {
    name: 'a sweep deletes at most its limit and says whether more is left',
    proves: ['F29', 'trap 46'],
    run: async (context) => {
      const { storage, advance, unit } = context
      for (let count = 0; count < 5; count++) await inState(context, 'completed', keptFor(10 * unit))
      await advance(10 * unit)
      const rounds = []
      for (let round = 0; round < 3; round++) rounds.push(await storage.sweep({ limit: 2 }))
      assert.deepEqual(
        rounds.map(({ jobs, more }) => [jobs, more]),
        [
          [2, true],
          [2, true],
          [1, false],
        ],
      )
    },
  },
  ...jobStates.slice(0, 5).map((state): Case => ({
    name: `a ${state} job is never swept`,
    proves: ['S1', 'F29'],
    run: async (context) => {
      const { storage, advance, unit } = context
      const job = await inState(context, state, keptFor(0))
      await advance(51 * unit)
      assert.equal((await storage.sweep({ limit: 10 })).jobs, 0)
      assert.ok(await findRecord(storage, job))
    },
  })),
  {
    name: 'a new job under an expired id is not swept in place of the old one',
    proves: ['S1'],
    run: async (context) => {
      const { storage, added, advance, claimOne, unit } = context
      const old = await inState(context, 'completed', keptFor(10 * unit))
      await advance(11 * unit)
      await added({ id: old.id })
      await storage.sweep({ limit: 10 })
      await storage.sweep({ limit: 10 })
      assert.equal((await claimOne()).id, old.id)
    },
  },
  {
    name: 'a new job under the id of a failed one is not swept when that one would have expired',
    proves: ['S1'],
    run: async (context) => {
      const { storage, added, advance, unit } = context
      const old = await inState(context, 'failed', keptFor(10 * unit))
      await added({ id: old.id })
      await runOne(context)
      await advance(11 * unit)
      await storage.sweep({ limit: 10 })
      assert.equal(await stateOf(storage, old), 'completed')
    },
  },
  {
    name: 'the first job of a chain lives as long as the chain, which expires as a whole after its tail',
    proves: ['chains §3.8'],
    run: async (context) => {
      const { storage, advance, unit } = context
      const { first, next } = await chainOfTwo(context, { first: keptFor(10 * unit), next: keptFor(10 * unit) })
      await advance(11 * unit)
      assert.equal((await storage.sweep({ limit: 10 })).jobs, 0)
      assert.equal(await stateOf(storage, first), 'completed')
      await runOne(context, 'next')
      assert.ok(await findRecord(storage, first))
      await advance(10 * unit)
      assert.deepEqual(await storage.get([first, next].map(refOf)), [undefined, undefined])
      assert.deepEqual(await storage.sweep({ limit: 10 }), { ...nothing, jobs: 2 })
    },
  },
  {
    name: 'an ended chain is kept with its result while an unfinished job needs it',
    proves: ['chains trap 25', 'S20'],
    run: async (context) => {
      const { storage, added, advance, unit } = context
      const [done, open] = [await added({ type: 'done', ...keptFor(0) }), await added({ type: 'open' })]
      await added({ blockers: [refOf(done), refOf(open)], ...keptFor(0) })
      await runOne(context, 'done', 'r')
      await advance(11 * unit)
      assert.equal((await storage.sweep({ limit: 10 })).jobs, 0)
      assert.equal((await recordOf(storage, done)).expiresAt, undefined)
      await runOne(context, 'open')
      const lease = await claimType(context, 'mail')
      assert.equal(text(lease.blockers[0]!.result), 'r')
      await settleOne(storage, lease, { kind: 'completed' })
      await storage.sweep({ limit: 10 })
      assert.equal(await findRecord(storage, done), undefined)
    },
  },
  {
    name: 'a record that two jobs need is kept until both have ended',
    proves: ['chains trap 25'],
    run: async (context) => {
      const { storage, added } = context
      const [done, open] = [await added({ type: 'done', ...keptFor(0) }), await added({ type: 'open' })]
      const blockers = [refOf(done), refOf(open)]
      const jobs = [await added({ blockers, ...keptFor(0) }), await added({ blockers, ...keptFor(0) })]
      await runOne(context, 'done')
      await storage.cancel([refOf(jobs[0]!)])
      assert.equal(await stateOf(storage, done), 'completed')
      await storage.cancel([refOf(jobs[1]!)])
      assert.equal(await findRecord(storage, done), undefined)
    },
  },
]

export const sweepCases: readonly Case[] = [
  ...expiryCases,
  ...sweepingCases,
  ...sweepMarkCases,
  ...sweepCountCases,
  ...sweepChainCases,
]
