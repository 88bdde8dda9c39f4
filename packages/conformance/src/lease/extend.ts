// Guards extend: the holder alone keeps its lease, a late sole holder too; a stale one is told why and changes nothing.

import assert from 'node:assert/strict'
import type { Case } from '../case.ts'
import { complete, fail, retry, settleOutcome } from '../outcomes.ts'
import { fenceOf, recordOf, refOf, snapshotOf } from '../records.ts'
import { staleFences } from './stale-fences.ts'

const staleCases: readonly Case[] = staleFences.map(({ when, told, arrange }) => ({
  name: `a holder whose ${when} is told ${told}, and nothing is extended`,
  // Seen in other queues: completion guarded by id or state only.
  proves: ['S6', 'S8', 'trap 6'],
  run: async (context) => {
    const { storage, unit } = context
    const { lease, untouched } = await arrange(context)
    const before = await snapshotOf(storage, ...untouched)
    assert.deepEqual(
      (await storage.extend([{ ...lease, leaseMs: 100 * unit }])).map(({ verdict }) => verdict),
      [told],
    )
    assert.deepEqual(await snapshotOf(storage, ...untouched), before)
  },
}))

const heldCases: readonly Case[] = [
  {
    name: 'a lease is extended from the now of the storage, and the record says until when',
    proves: ['S6', 'R4'],
    run: async ({ storage, added, claimOne, now, unit }) => {
      await added()
      const lease = fenceOf(await claimOne())
      const before = await now()
      const [verdict] = await storage.extend([{ ...lease, leaseMs: 40 * unit }])
      assert.ok(verdict?.verdict === 'extended')
      assert.ok(before + 40 * unit <= verdict.until && verdict.until <= (await now()) + 40 * unit)
      assert.equal((await recordOf(storage, lease)).leaseUntil, verdict.until)
    },
  },
  {
    name: 'an extension changes nothing but the end of the lease',
    proves: ['S6'],
    run: async ({ storage, added, claimOne, unit }) => {
      await added()
      const lease = fenceOf(await claimOne({ label: 'host' }))
      const [before] = await snapshotOf(storage, lease)
      await storage.extend([{ ...lease, leaseMs: 40 * unit }])
      const [after] = await snapshotOf(storage, lease)
      const { leaseUntil: _, tail: _1, ...old } = before!
      const { leaseUntil: _2, tail: _3, ...young } = after!
      assert.deepEqual(young, old)
    },
  },
  {
    name: 'an extended job is not taken back, by claim or by recover',
    proves: ['W7', 'trap 20', 'S4'],
    run: async ({ storage, added, claim, claimOne, advance, unit }) => {
      await added()
      const lease = fenceOf(await claimOne({ types: [{ type: 'mail', leaseMs: 5 * unit }] }))
      await storage.extend([{ ...lease, leaseMs: 100 * unit }])
      await advance(6 * unit)
      assert.deepEqual(await claim(), [])
      assert.deepEqual(await storage.recover({ types: ['mail'], limit: 10 }), [])
    },
  },
  {
    name: 'an extended lease ends in its turn',
    proves: ['L2'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      await added()
      const lease = fenceOf(await claimOne())
      await storage.extend([{ ...lease, leaseMs: 20 * unit }])
      await advance(20 * unit)
      assert.equal((await claimOne()).attempt, 2)
    },
  },
  {
    name: 'a lease that ran out is good again while nobody took the job',
    proves: ['S10', 'chains §3.4'],
    run: async ({ storage, added, claim, claimOne, advance, unit }) => {
      await added()
      const lease = fenceOf(await claimOne({ types: [{ type: 'mail', leaseMs: unit }] }))
      await advance(2 * unit)
      const [verdict] = await storage.extend([{ ...lease, leaseMs: 100 * unit }])
      assert.equal(verdict?.verdict, 'extended')
      assert.deepEqual(await claim(), [])
      assert.equal((await recordOf(storage, lease)).failures, 0)
    },
  },
  {
    name: 'a lease may be extended again and again, and its repeat does no harm',
    proves: ['N4'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      await added()
      const extension = { ...fenceOf(await claimOne()), leaseMs: 10 * unit }
      let last = 0
      for (let round = 0; round < 3; round++) {
        await storage.extend([extension])
        const [verdict] = await storage.extend([extension])
        assert.ok(verdict?.verdict === 'extended' && verdict.until > last)
        last = verdict.until
        await advance(5 * unit)
      }
      const { attempt, failures } = await recordOf(storage, extension)
      assert.deepEqual([attempt, failures], [1, 0])
    },
  },
  {
    name: 'who was asked to stop is told so, with the reason, and its lease is extended all the same',
    proves: ['F17', 'S9'],
    run: async ({ storage, added, claimOne, now, unit }) => {
      const job = await added()
      const lease = fenceOf(await claimOne())
      await storage.cancel([refOf(job)], { abort: true, reason: 'enough' })
      const before = await now()
      const [verdict] = await storage.extend([{ ...lease, leaseMs: 40 * unit }])
      assert.ok(verdict?.verdict === 'cancelling')
      assert.ok(verdict.reason === 'enough' && verdict.until >= before + 40 * unit)
      const record = await recordOf(storage, lease)
      assert.deepEqual([record.state, record.cancelling, record.leaseUntil], ['processing', true, verdict.until])
    },
  },
  {
    name: 'a stop that was asked for without a reason is told without one',
    proves: ['F17'],
    run: async ({ storage, added, claimOne, unit }) => {
      const job = await added()
      const lease = fenceOf(await claimOne())
      await storage.cancel([refOf(job)], { abort: true })
      const [verdict] = await storage.extend([{ ...lease, leaseMs: 40 * unit }])
      assert.ok(verdict?.verdict === 'cancelling' && verdict.reason === undefined)
    },
  },
  {
    name: 'a pause leaves leases alone: they are extended',
    proves: ['F26'],
    run: async ({ storage, added, claimOne, unit }) => {
      await added()
      const lease = fenceOf(await claimOne())
      await storage.pause({ type: 'mail', paused: true })
      assert.equal((await storage.extend([{ ...lease, leaseMs: 40 * unit }]))[0]?.verdict, 'extended')
    },
  },
  {
    name: 'a job that was cancelled without abort goes on: its lease is extended',
    proves: ['Q4.19'],
    run: async ({ storage, added, claimOne, unit }) => {
      const job = await added()
      const lease = fenceOf(await claimOne())
      await storage.cancel([refOf(job)])
      assert.equal((await storage.extend([{ ...lease, leaseMs: 40 * unit }]))[0]?.verdict, 'extended')
    },
  },
]

const batchCases: readonly Case[] = [
  {
    name: 'verdicts come in the order of the leases, each its own, and a refused one touches no other',
    // Planted defect: batch verdicts shifted by one.
    proves: ['S6', 'S7'],
    run: async ({ storage, job, claim, unit }) => {
      await storage.add(Array.from({ length: 6 }, () => job()))
      const leases = (await claim()).map(fenceOf)
      await complete(storage, leases[0]!)
      await fail(storage, leases[1]!)
      await storage.cancel([refOf(leases[3]!)], { force: true })
      await storage.cancel([refOf(leases[4]!)], { abort: true })
      const unknown = { type: 'mail', id: 'nobody', worker: 'w', attempt: 1 }
      const verdicts = await storage.extend([...leases, unknown].map((lease) => ({ ...lease, leaseMs: 50 * unit })))
      assert.deepEqual(
        verdicts.map(({ verdict }) => verdict),
        ['already_completed', 'already_completed', 'extended', 'cancelled', 'cancelling', 'extended', 'not_found'],
      )
      const until = verdicts.map((verdict) => ('until' in verdict ? verdict.until : undefined))
      for (const index of [2, 4, 5]) assert.equal((await recordOf(storage, leases[index]!)).leaseUntil, until[index])
    },
  },
  {
    name: 'each lease of a batch is extended by its own span',
    proves: ['S6'],
    run: async ({ storage, job, claim, unit }) => {
      await storage.add([job(), job()])
      const [one, two] = (await claim()).map(fenceOf)
      await storage.extend([
        { ...one!, leaseMs: 200 * unit },
        { ...two!, leaseMs: 50 * unit },
      ])
      const [first, second] = [await recordOf(storage, one!), await recordOf(storage, two!)]
      assert.equal(first.leaseUntil! - second.leaseUntil!, 150 * unit)
    },
  },
  {
    name: 'no lease, no verdict',
    run: async ({ storage }) => {
      assert.deepEqual(await storage.extend([]), [])
    },
  },
]

const ownCases: readonly Case[] = [
  {
    name: 'who gave its attempt back can no longer extend it',
    // Planted defect: settle accepted after release at stop.
    proves: ['S6'],
    run: async ({ storage, added, claimOne, unit }) => {
      await added()
      const released = fenceOf(await claimOne())
      await settleOutcome(storage, { ...released, kind: 'released' })
      const [verdict] = await storage.extend([{ ...released, leaseMs: 50 * unit }])
      assert.equal(verdict?.verdict, 'taken_by_another_worker')
      const retried = fenceOf(await claimOne())
      await retry(storage, retried)
      assert.equal((await storage.extend([{ ...retried, leaseMs: 50 * unit }]))[0]?.verdict, 'taken_by_another_worker')
      assert.equal((await recordOf(storage, retried)).leaseUntil, undefined)
    },
  },
  {
    name: 'an extension after the record has expired is told not_found',
    proves: ['S12'],
    run: async ({ storage, added, claimOne, unit }) => {
      await added({ retention: { completedMs: 0, failedMs: 0, cancelledMs: 0 } })
      const lease = fenceOf(await claimOne())
      await complete(storage, lease)
      assert.equal((await storage.extend([{ ...lease, leaseMs: 50 * unit }]))[0]?.verdict, 'not_found')
    },
  },
]

export const extendCases: readonly Case[] = [...heldCases, ...staleCases, ...batchCases, ...ownCases]
