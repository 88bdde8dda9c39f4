// recover: every lost lease is taken back once, a live one only for its age, and each counts as a failure.

import assert from 'node:assert/strict'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'
import { complete, fail, retry } from '../outcomes.ts'
import { fenceOf, idsOf, recordOf, refOf, snapshotOf, statesOf } from '../records.ts'
import { recoverEndCases } from './recover-ends.ts'
import { lostLeases } from '../scenarios.ts'

const mail = { types: ['mail'], limit: 100 }

const takenBackCases: readonly Case[] = [
  {
    name: 'a lost lease is taken back and reported with fence and label, costs one failure, and its job is due at once',
    proves: ['L2', 'S4', 'trap 43'],
    run: async (context) => {
      const { storage, now, claimOne } = context
      const [lease] = await lostLeases(context, [{ payload: bytes('kept') }])
      const before = await now()
      const recovered = await storage.recover(mail)
      assert.deepEqual(recovered.map(fenceOf), [fenceOf(lease!)])
      assert.deepEqual(
        recovered.map(({ label, state }) => [label, state]),
        [['host', 'queued']],
      )
      const record = await recordOf(storage, lease!, 'payload', 'error')
      assert.deepEqual([record.state, record.attempt, record.failures, record.snoozes], ['queued', 1, 1, 0])
      assert.deepEqual(
        [text(record.payload), record.error, record.worker, record.label],
        ['kept', undefined, undefined, undefined],
      )
      assert.ok(before <= record.runAt && record.runAt <= (await now()))
      const again = await claimOne()
      assert.deepEqual([again.attempt, again.failures, again.createdAt], [2, 1, lease!.createdAt])
    },
  },
  {
    name: 'a lease is taken back exactly from its end',
    proves: ['S4'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      await added()
      const lease = await claimOne()
      await advance(unit)
      const before = await snapshotOf(storage, lease)
      assert.deepEqual(await storage.recover(mail), [])
      assert.deepEqual(await snapshotOf(storage, lease), before)
      await advance(9 * unit)
      assert.equal((await storage.recover(mail)).length, 1)
    },
  },
  {
    name: 'each lost lease is taken back once',
    proves: ['S4', 'trap 17', 'trap 34'],
    run: async (context) => {
      const { storage, another } = context
      const [lease] = await lostLeases(context, [{}])
      const other = await another()
      const rounds = await Promise.all([storage.recover(mail), other.recover(mail), storage.recover(mail)])
      assert.equal(rounds.flat().length, 1)
      assert.deepEqual(await storage.recover(mail), [])
      assert.equal((await recordOf(storage, lease!)).failures, 1)
    },
  },
  {
    name: 'recover does not affect waiting, ended and removed jobs',
    // Seen in other queues: rescue decided on an old read overwrites a finished job.
    proves: ['S8', 'S4'],
    run: async (context) => {
      const { storage, job, unit } = context
      const leases = await lostLeases(context, [{}, {}, {}, {}, {}])
      await storage.remove([refOf(leases[4]!)], { trees: true })
      await complete(storage, leases[0]!, 'late')
      await fail(storage, leases[1]!)
      await retry(storage, leases[2]!, 500 * unit)
      await storage.cancel([refOf(leases[3]!)], { force: true })
      const waiting = job()
      await storage.add([waiting])
      const before = await snapshotOf(storage, ...leases, waiting)
      assert.deepEqual(await storage.recover({ ...mail, olderThanMs: 0 }), [])
      assert.deepEqual(await snapshotOf(storage, ...leases, waiting), before)
    },
  },
  {
    name: 'recover takes back leases only of the types it names',
    proves: ['S24'],
    run: async (context) => {
      const { storage } = context
      const [lease] = await lostLeases(context, [{}])
      assert.deepEqual(await storage.recover({ types: ['post'], limit: 100 }), [])
      assert.deepEqual(await storage.recover({ types: [], limit: 100 }), [])
      assert.deepEqual(await statesOf(storage, lease!), ['processing'])
      assert.equal((await storage.recover({ types: ['post', 'mail'], limit: 100 })).length, 1)
    },
  },
  {
    name: 'recover takes back no more leases than its limit, and all of them over several calls',
    proves: ['S16'],
    run: async (context) => {
      const { storage } = context
      const leases = await lostLeases(context, [{}, {}, {}, {}, {}])
      const taken: string[][] = []
      for (let round = 0; round < 4; round++) taken.push(idsOf(await storage.recover({ types: ['mail'], limit: 2 })))
      assert.deepEqual(
        taken.map((each) => each.length),
        [2, 2, 1, 0],
      )
      assert.deepEqual(taken.flat().toSorted(), idsOf(leases).toSorted())
    },
  },
  {
    name: 'the lost attempt is on the record as stalled',
    proves: ['F12', 'S7'],
    run: async (context) => {
      const [lease] = await lostLeases(context, [{}])
      await context.storage.recover(mail)
      const { attempts } = await recordOf(context.storage, lease!, 'attempts')
      assert.equal(attempts?.length, 1)
      const { attempt, worker, label, startedAt, endedAt, outcome, state } = attempts[0]!
      assert.deepEqual([attempt, worker, label, outcome, state], [1, lease!.worker, 'host', 'stalled', 'queued'])
      assert.ok(startedAt === lease!.startedAt && endedAt >= lease!.leaseUntil)
    },
  },
  {
    name: 'a paused type is recovered but not claimed',
    proves: ['S22', 'F26'],
    run: async (context) => {
      const { storage, claim } = context
      await lostLeases(context, [{}])
      await storage.pause({ type: 'mail', paused: true })
      assert.deepEqual(
        (await storage.recover(mail)).map(({ state }) => state),
        ['queued'],
      )
      assert.deepEqual(await claim(), [])
    },
  },
]

const ageCases: readonly Case[] = [
  {
    name: 'an attempt above the age limit is taken back from a live holder whatever its lease',
    proves: ['Q4.42', 'S4'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      await added()
      const lease = await claimOne({ types: [{ type: 'mail', leaseMs: 500 * unit }] })
      await advance(6 * unit)
      const recovered = await storage.recover({ ...mail, olderThanMs: 5 * unit })
      assert.deepEqual(recovered.map(fenceOf), [fenceOf(lease)])
      const [verdict] = await storage.extend([{ ...fenceOf(lease), leaseMs: 500 * unit }])
      assert.equal(verdict?.verdict, 'taken_by_another_worker')
    },
  },
  {
    name: 'the age counts from the start of the attempt, whatever extensions or earlier attempts it had',
    proves: ['Q4.42', 'trap 20'],
    run: async ({ storage, added, claim, claimOne, advance, unit }) => {
      await added({ id: 'old' })
      const old = await claimOne()
      await advance(30 * unit)
      await storage.extend([{ ...fenceOf(old), leaseMs: 500 * unit }])
      await added({ id: 'young' })
      await claim({ types: [{ type: 'mail', leaseMs: 500 * unit }] })
      assert.deepEqual(idsOf(await storage.recover({ ...mail, olderThanMs: 20 * unit })), ['old'])
      await claimOne({ types: [{ type: 'mail', leaseMs: 500 * unit }] })
      assert.deepEqual(await storage.recover({ ...mail, olderThanMs: 20 * unit }), [])
    },
  },
  {
    name: 'with an age limit, lost leases of younger attempts are taken back too',
    proves: ['Q4.42'],
    run: async (context) => {
      const leases = await lostLeases(context, [{}])
      const recovered = await context.storage.recover({ ...mail, olderThanMs: 900 * context.unit })
      assert.deepEqual(recovered.map(fenceOf), leases.map(fenceOf))
    },
  },
]

const raceCases: readonly Case[] = [
  {
    name: 'of a concurrent recover and late settle one wins, and the record shows that one',
    proves: ['S4', 'S7', 'S8', 'trap 34'],
    run: async (context) => {
      const { storage, another } = context
      const other = await another()
      const leases = await lostLeases(
        context,
        Array.from({ length: 20 }, () => ({})),
      )
      for (const lease of leases) {
        const [recovered, [verdict]] = await Promise.all([
          other.recover({ types: ['mail'], limit: 1 }),
          storage.settle([{ ...fenceOf(lease), kind: 'completed' }]),
        ])
        const state = verdict?.verdict === 'settled' ? 'completed' : 'queued'
        if (idsOf(recovered).includes(lease.id)) assert.equal(state, 'queued')
        assert.deepEqual(await statesOf(storage, lease), [state])
      }
    },
  },
]

export const recoverCases: readonly Case[] = [...takenBackCases, ...ageCases, ...recoverEndCases, ...raceCases]
