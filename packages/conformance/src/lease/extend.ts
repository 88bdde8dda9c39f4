// extend: only the holder extends its lease, also late if no other worker took the job; a stale fence is refused with its reason.

import assert from 'node:assert/strict'
import type { Case } from '../case.ts'
import { complete, fail, retry, settleOutcome } from '../outcomes.ts'
import { fenceOf, recordOf, refOf, snapshotOf } from '../records.ts'
import { staleFences } from './stale-fences.ts'
import { reportCases } from './reports.ts'

const staleCases: readonly Case[] = staleFences.map(({ when, answer, arrange }) => ({
  name: `a holder whose ${when} gets ${answer}, and nothing is extended`,
  // Seen in other queues: completion guarded by id or state only.
  proves: ['S6', 'S8', 'trap 6'],
  run: async (context) => {
    const { storage, unit } = context
    const { lease, untouched } = await arrange(context)
    const before = await snapshotOf(storage, ...untouched)
    assert.deepEqual(
      (await storage.extend([{ ...lease, leaseMs: 100 * unit }])).map(({ verdict }) => verdict),
      [answer],
    )
    assert.deepEqual(await snapshotOf(storage, ...untouched), before)
  },
}))

const heldCases: readonly Case[] = [
  {
    name: 'a lease is extended from the storage’s current time, and the record has its end',
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
    name: 'an extension changes only the end of the lease',
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
    name: 'an extended job is not taken back by claim or recover',
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
    name: 'an extended lease ends at its new end',
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
    name: 'an ended lease can be extended as long as the job was not taken back',
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
    name: 'a lease may be extended repeatedly, and a repeated call is harmless',
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
    name: 'a holder that was asked to stop gets cancelling with the reason, and its lease is extended',
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
    name: 'a request to stop without a reason is reported to the holder without one',
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
    name: 'leases of a paused type are extended',
    proves: ['F26'],
    run: async ({ storage, added, claimOne, unit }) => {
      await added()
      const lease = fenceOf(await claimOne())
      await storage.pause({ type: 'mail', paused: true })
      assert.equal((await storage.extend([{ ...lease, leaseMs: 40 * unit }]))[0]?.verdict, 'extended')
    },
  },
  {
    name: 'after a cancel without abort the lease is extended',
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
    name: 'each lease has its own verdict, in order, and a refused lease affects no other',
    // Planted defect: batch verdicts shifted by one.
    proves: ['S6', 'S7'],
    run: async ({ storage, job, claim, unit }) => {
      await storage.add(Array.from({ length: 6 }, () => job()))
      const leases = (await claim()).map(fenceOf)
      await complete(storage, leases[0]!)
      await fail(storage, leases[1]!)
      await storage.cancel([refOf(leases[3]!)], { force: true })
      await storage.cancel([refOf(leases[4]!)], { abort: true })
      const unknown = { type: 'mail', id: 'unknown', worker: 'w', attempt: 1 }
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
    name: 'each lease of a batch is extended by its own leaseMs',
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
    name: 'an empty batch of leases has no verdicts',
    run: async ({ storage }) => {
      assert.deepEqual(await storage.extend([]), [])
    },
  },
]

const ownCases: readonly Case[] = [
  {
    name: 'a released attempt cannot be extended',
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
    name: 'an extension after the record has expired answers not_found',
    proves: ['S12'],
    run: async ({ storage, added, claimOne, unit }) => {
      await added({ retention: { completedMs: 0, failedMs: 0, cancelledMs: 0 } })
      const lease = fenceOf(await claimOne())
      await complete(storage, lease)
      assert.equal((await storage.extend([{ ...lease, leaseMs: 50 * unit }]))[0]?.verdict, 'not_found')
    },
  },
]

export const extendCases: readonly Case[] = [...heldCases, ...staleCases, ...batchCases, ...ownCases, ...reportCases]
