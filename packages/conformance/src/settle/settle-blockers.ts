// Dependents of a chain that ends: each one's open blockers are decremented once, in the same move.

import assert from 'node:assert/strict'
import type { ClaimedJob, JobRef } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case, CaseContext } from '../case.ts'
import { complete, continueWith, fail, retry, settleOutcome } from '../outcomes.ts'
import { fenceOf, idsOf, recordOf, refOf, statesOf } from '../records.ts'

const gone = { completedMs: 0, failedMs: 0, cancelledMs: 0 }

/** Two running blockers and a job of type 'other' that depends on both. */
async function pair({ added, claim }: CaseContext): Promise<{ one: ClaimedJob; two: ClaimedJob; dependent: JobRef }> {
  const blockers = [await added({ id: 'one' }), await added({ id: 'two' })]
  const dependent = refOf(await added({ id: 'dependent', type: 'other', blockers: blockers.map(refOf) }))
  const [one, two] = await claim()
  return { one: one!, two: two!, dependent }
}
const other = ({ unit }: CaseContext) => ({ types: [{ type: 'other', leaseMs: 10 * unit }] })

const unblockCases: readonly Case[] = [
  {
    name: 'the settle of its last blocker unblocks a job, which has the results of all blockers',
    proves: ['S13', 'chains trap 1'],
    run: async (context) => {
      const { storage, claim, claimOne } = context
      const { one, two, dependent } = await pair(context)
      assert.deepEqual([...(await complete(storage, two, 'second')).unblocked], [])
      const { state, openBlockers } = await recordOf(storage, dependent)
      assert.deepEqual([state, openBlockers, await claim(other(context))], ['blocked', 1, []])
      assert.deepEqual((await complete(storage, one, 'first')).unblocked.map(refOf), [dependent])
      assert.equal((await recordOf(storage, dependent)).openBlockers, 0)
      const claimed = await claimOne(other(context))
      assert.deepEqual(
        claimed.blockers.map(({ type, id, result }) => [type, id, text(result)]),
        [
          ['mail', 'one', 'first'],
          ['mail', 'two', 'second'],
        ],
      )
    },
  },
  {
    name: 'two blockers that end in one batch both count',
    // Planted defect: blocker count from a snapshot.
    proves: ['S13', 'chains trap 1'],
    run: async (context) => {
      const { storage } = context
      const { one, two, dependent } = await pair(context)
      const verdicts = await storage.settle(
        [one, two].map((lease) => ({ ...fenceOf(lease), kind: 'completed' }) as const),
      )
      assert.deepEqual(
        verdicts.map((verdict) => verdict.verdict === 'settled' && idsOf(verdict.unblocked)),
        [[], ['dependent']],
      )
      assert.deepEqual(await statesOf(storage, dependent), ['queued'])
    },
  },
  {
    name: 'two blockers that end concurrently, through two handles, both count',
    // Planted defect: blocker count from a snapshot.
    proves: ['S13', 'chains trap 1'],
    run: async ({ storage, another, added, claim, unit }) => {
      const handles = [storage, await another()]
      const jobs = []
      for (let round = 0; round < 10; round++) {
        const blockers = [await added(), await added()]
        jobs.push(await added({ type: 'other', blockers: blockers.map(refOf) }))
      }
      await Promise.all((await claim()).map((lease, index) => complete(handles[index % 2]!, lease)))
      assert.equal((await claim({ types: [{ type: 'other', leaseMs: 10 * unit }] })).length, jobs.length)
    },
  },
  {
    name: 'all dependents of a chain are unblocked together',
    proves: ['S13'],
    run: async (context) => {
      const { storage, added, claim, claimOne } = context
      const blocker = await added()
      const jobs = []
      for (let index = 0; index < 9; index++) jobs.push(await added({ type: 'other', blockers: [refOf(blocker)] }))
      const { unblocked } = await complete(storage, await claimOne())
      assert.deepEqual(idsOf(unblocked).toSorted(), idsOf(jobs).toSorted())
      assert.equal((await claim(other(context))).length, 9)
    },
  },
  {
    name: 'a retry, a release and a continuation of a blocker unblock no job',
    proves: ['S13', 'chains trap 12'],
    run: async (context) => {
      const { storage, added, job, claimOne } = context
      const blocker = await added()
      const dependent = await added({ type: 'other', blockers: [refOf(blocker)] })
      for (const verdict of [
        await retry(storage, await claimOne()),
        await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'released' }),
        await continueWith(storage, await claimOne(), job()),
      ])
        assert.deepEqual([[...verdict.unblocked], [...verdict.ended]], [[], []])
      assert.equal((await recordOf(storage, dependent)).openBlockers, 1)
      const { unblocked } = await complete(storage, await claimOne(), 'of the tail')
      assert.deepEqual(unblocked.map(refOf), [refOf(dependent)])
      const [given] = (await claimOne(other(context))).blockers
      assert.deepEqual([given?.id, text(given?.result)], [blocker.id, 'of the tail'])
    },
  },
  {
    name: 'a dependent whose runAt is in the future is scheduled when it is unblocked',
    proves: ['chains §3.2', 'S14'],
    run: async (context) => {
      const { storage, added, claimOne, claim, unit } = context
      const blocker = await added()
      const dependent = await added({ type: 'other', delayMs: 50 * unit, blockers: [refOf(blocker)] })
      const { runAt } = await recordOf(storage, dependent)
      const { unblocked } = await complete(storage, await claimOne())
      assert.deepEqual(unblocked.map(refOf), [refOf(dependent)])
      const record = await recordOf(storage, dependent)
      assert.deepEqual([record.state, record.runAt, await claim(other(context))], ['scheduled', runAt, []])
    },
  },
  {
    name: 'a dependent whose runAt has passed is due when it is unblocked',
    proves: ['chains §3.2'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      const blocker = await added()
      const dependent = await added({ type: 'other', blockers: [refOf(blocker)] })
      await advance(unit)
      await complete(storage, await claimOne())
      const { finishedAt } = await recordOf(storage, blocker)
      assert.equal((await recordOf(storage, dependent)).runAt, finishedAt)
    },
  },
  {
    name: 'a cancelled dependent stays cancelled when its blocker ends',
    proves: ['S9', 'S13'],
    run: async ({ storage, added, claimOne }) => {
      const blocker = await added()
      const dependent = await added({ type: 'other', blockers: [refOf(blocker)] })
      await storage.cancel([refOf(dependent)])
      assert.deepEqual([...(await complete(storage, await claimOne())).unblocked], [])
      assert.deepEqual(await statesOf(storage, dependent), ['cancelled'])
    },
  },
  {
    name: 'a new life under the id of a dependent is neither unblocked nor failed by the old blocker',
    proves: ['S13', 'S24'],
    run: async ({ storage, added, claim }) => {
      const [one, two, three] = [await added(), await added(), await added()]
      for (const blocker of [one, two]) {
        const dependent = await added({ id: `behind ${blocker.id}`, type: 'other', blockers: [refOf(blocker)] })
        await storage.cancel([refOf(dependent)])
        await added({ id: dependent.id, type: 'other', blockers: [refOf(three)] })
      }
      const leases = await claim()
      assert.deepEqual([...(await complete(storage, leases[0]!)).unblocked], [])
      assert.deepEqual([...(await fail(storage, leases[1]!)).ended], [])
      assert.equal((await complete(storage, leases[2]!)).unblocked.length, 2)
    },
  },
]

const failureCases: readonly Case[] = [
  {
    name: 'a job fails without an error when the first of its blockers fails, whatever the others do',
    proves: ['chains trap 23', 'S13'],
    run: async (context) => {
      const { storage } = context
      const { one, two, dependent } = await pair(context)
      const { ended, unblocked } = await fail(storage, one)
      assert.deepEqual(
        ended.map((each) => [each.type, each.id, each.state, each.reason, each.attempt, each.failures]),
        [['other', 'dependent', 'failed', 'blocker_failed', 0, 0]],
      )
      assert.deepEqual([...unblocked], [])
      const record = await recordOf(storage, dependent, 'error')
      assert.deepEqual([record.state, record.reason, record.error], ['failed', 'blocker_failed', undefined])
      assert.equal(record.expiresAt, record.finishedAt! + record.retention.failedMs)
      assert.deepEqual([...(await complete(storage, two)).unblocked], [])
      assert.deepEqual(await statesOf(storage, dependent), ['failed'])
    },
  },
  {
    name: 'a blocker that used up its attempts or stalled fails its dependents',
    proves: ['chains trap 23', 'S17'],
    run: async ({ storage, added, claimOne }) => {
      for (const stalled of [false, true]) {
        const blocker = await added({ maxAttempts: 1 })
        const dependent = await added({ type: 'other', blockers: [refOf(blocker)] })
        const { ended } = await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'retry', stalled })
        assert.deepEqual(idsOf(ended), [dependent.id])
        assert.deepEqual(await statesOf(storage, dependent), ['failed'])
      }
    },
  },
  {
    name: 'a failure reaches indirect dependents, and a job on two paths fails once',
    proves: ['chains trap 23', 'S7', 'S13'],
    run: async ({ storage, added, claimOne }) => {
      const top = await added()
      const [left, right] = [
        await added({ type: 'other', blockers: [refOf(top)] }),
        await added({ type: 'other', blockers: [refOf(top)] }),
      ]
      const both = await added({ type: 'other', blockers: [refOf(left), refOf(right)] })
      const last = await added({ type: 'other', blockers: [refOf(both)] })
      const { ended } = await fail(storage, await claimOne())
      assert.deepEqual(idsOf(ended).toSorted(), idsOf([left, right, both, last]).toSorted())
      assert.ok(ended.every(({ state, reason }) => state === 'failed' && reason === 'blocker_failed'))
      assert.deepEqual(await statesOf(storage, left, right, both, last), ['failed', 'failed', 'failed', 'failed'])
    },
  },
  {
    name: 'a job with onBlockerFailure wait stays blocked and runs when its blocker is revived and completes',
    proves: ['chains trap 23'],
    run: async (context) => {
      const { storage, added, claimOne } = context
      const blocker = await added()
      const patient = await added({ type: 'other', blockers: [refOf(blocker)], onBlockerFailure: 'wait' })
      const behind = await added({ type: 'other', blockers: [refOf(patient)] })
      const { ended } = await fail(storage, await claimOne())
      assert.deepEqual([...ended], [])
      assert.deepEqual(await statesOf(storage, patient, behind), ['blocked', 'blocked'])
      assert.equal((await recordOf(storage, patient)).openBlockers, 1)
      await storage.revive([refOf(blocker)])
      const { unblocked } = await complete(storage, await claimOne(), 'at last')
      assert.deepEqual(unblocked.map(refOf), [refOf(patient)])
      assert.equal(text((await claimOne(other(context))).blockers[0]?.result), 'at last')
    },
  },
  {
    name: 'a continuation that fails with its blocker fails its chain and the dependents of the chain',
    proves: ['S13', 'chains trap 23'],
    run: async ({ storage, added, job, claim }) => {
      const [first, blocker] = [await added(), await added()]
      const dependent = await added({ type: 'other', blockers: [refOf(first)] })
      const [lease, held] = await claim()
      const next = job({ type: 'other', blockers: [refOf(blocker)] })
      await continueWith(storage, lease!, next)
      const { ended } = await fail(storage, held!)
      assert.deepEqual(idsOf(ended).toSorted(), idsOf([next, dependent]).toSorted())
      assert.deepEqual(await statesOf(storage, next, dependent), ['failed', 'failed'])
    },
  },
]

const expiryCases: readonly Case[] = [
  {
    name: 'a blocker is kept, whatever its retention, while an unfinished dependent needs its result',
    proves: ['chains trap 25', 'chains §3.8'],
    run: async (context) => {
      const { storage, added, claim, claimOne, advance, unit } = context
      const [short, slow] = [await added({ retention: gone }), await added()]
      await added({ type: 'other', blockers: [short, slow].map(refOf) })
      const [one, two] = await claim()
      await settleOutcome(storage, { ...fenceOf(one!), kind: 'completed', result: bytes('needed') })
      await advance(2 * unit)
      await storage.sweep({ limit: 100 })
      const { state, expiresAt } = await recordOf(storage, short)
      assert.deepEqual([state, expiresAt], ['completed', undefined])
      await complete(storage, two!)
      const claimed = await claimOne(other(context))
      assert.equal(text(claimed.blockers[0]?.result), 'needed')
      await complete(storage, claimed)
      assert.deepEqual(await statesOf(storage, short), [undefined])
    },
  },
  {
    name: 'a blocker whose last dependent ends before its expiry expires on time',
    proves: ['chains §3.8', 'S12'],
    run: async (context) => {
      const { storage, added, claimOne } = context
      const blocker = await added({ retention: { ...gone, completedMs: 777_000 } })
      for (let index = 0; index < 2; index++) await added({ type: 'other', blockers: [refOf(blocker)] })
      await complete(storage, await claimOne())
      const slots = { slots: 1, ...other(context) }
      await complete(storage, await claimOne(slots))
      assert.equal((await recordOf(storage, blocker)).expiresAt, undefined)
      await fail(storage, await claimOne(slots))
      const { finishedAt, expiresAt } = await recordOf(storage, blocker)
      assert.equal(expiresAt, finishedAt! + 777_000)
    },
  },
  {
    name: 'a dependent that fails with its blocker does not keep it: with a retention of 0 ms it is gone',
    proves: ['chains §3.8', 'S20'],
    run: async ({ storage, added, claimOne }) => {
      const blocker = await added({ retention: gone })
      const dependent = await added({ type: 'other', blockers: [refOf(blocker)] })
      await fail(storage, await claimOne())
      assert.deepEqual(await statesOf(storage, blocker, dependent), [undefined, 'failed'])
    },
  },
]

export const settleBlockerCases: readonly Case[] = [...unblockCases, ...failureCases, ...expiryCases]
