// Blockers that exist already: a job waits for each distinct chain that is open when it is added, and for no other.

import assert from 'node:assert/strict'
import { text } from '../case.ts'
import type { Case } from '../case.ts'
import { addRefusedBlockerCases } from './add-refused-blockers.ts'
import { complete, continueWith } from '../outcomes.ts'
import { idsOf, recordOf, refOf, statesOf } from '../records.ts'
import { addOne } from '../scenarios.ts'

const gone = { completedMs: 0, failedMs: 0, cancelledMs: 0 }

const openCases: readonly Case[] = [
  {
    name: 'a job with an open blocker is blocked, is not claimed, and lists its blockers',
    proves: ['S13'],
    run: async ({ storage, added, job, claim }) => {
      const [one, two] = [await added({ type: 'other' }), await added({ type: 'other' })]
      const dependent = job({ blockers: [refOf(two), refOf(one)] })
      const verdict = await addOne(storage, dependent)
      assert.ok(verdict.verdict === 'added' && verdict.job.state === 'blocked')
      const record = await recordOf(storage, dependent, 'blockers')
      assert.deepEqual([record.state, record.openBlockers], ['blocked', 2])
      assert.deepEqual(record.blockers?.map(refOf), [refOf(two), refOf(one)])
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: 'a job blocked by an existing chain is its own root and has no origin',
    proves: ['chains trap 24'],
    run: async ({ storage, added }) => {
      const blocker = await added()
      const dependent = await added({ blockers: [refOf(blocker)] })
      const records = await storage.get([refOf(blocker), refOf(dependent)])
      assert.deepEqual(
        records.map((record) => refOf(record!.root)),
        [refOf(blocker), refOf(dependent)],
      )
      assert.ok(records.every((record) => record?.origin === undefined))
    },
  },
  {
    name: 'a blocked job with a delay is blocked, not scheduled',
    proves: ['chains §3.2'],
    run: async ({ storage, added, unit }) => {
      const blocker = await added()
      const job = await added({ blockers: [refOf(blocker)], delayMs: 50 * unit })
      const { state, runAt, createdAt } = await recordOf(storage, job)
      assert.deepEqual([state, runAt], ['blocked', createdAt + 50 * unit])
    },
  },
  {
    name: 'a chain named twice counts as one open blocker and is listed twice',
    proves: ['chains trap 22'],
    run: async ({ storage, added, claimOne }) => {
      const blocker = refOf(await added())
      const job = await added({ blockers: [blocker, blocker] })
      const record = await recordOf(storage, job, 'blockers')
      assert.equal(record.openBlockers, 1)
      assert.deepEqual(record.blockers?.map(refOf), [blocker, blocker])
      await complete(storage, await claimOne(), 'done')
      assert.deepEqual(
        (await claimOne()).blockers.map(({ id, result }) => [id, text(result)]),
        [
          [blocker.id, 'done'],
          [blocker.id, 'done'],
        ],
      )
    },
  },
  {
    name: 'a chain stays open until its tail ends, even when its first job has completed',
    proves: ['S13'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added()
      await continueWith(storage, await claimOne(), job())
      assert.equal((await recordOf(storage, await added({ blockers: [refOf(first)] }))).state, 'blocked')
    },
  },
]

const doneCases: readonly Case[] = [
  {
    name: 'a job with completed blockers is due at once and gets their results in order',
    proves: ['chains §3.2'],
    run: async ({ storage, added, claim, claimOne }) => {
      const blockers = [await added(), await added(), await added()]
      for (const held of await claim()) await complete(storage, held, held.id === blockers[1]!.id ? undefined : held.id)
      const job = await added({ blockers: blockers.toReversed().map(refOf) })
      const { state, openBlockers } = await recordOf(storage, job)
      assert.deepEqual([state, openBlockers], ['queued', 0])
      const [c, b, a] = (await claimOne()).blockers
      assert.deepEqual(idsOf([a!, b!, c!]), idsOf(blockers))
      assert.deepEqual(
        [a, b, c].map((blocker) => text(blocker!.result)),
        [blockers[0]!.id, undefined, blockers[2]!.id],
      )
    },
  },
  {
    name: 'a job with completed blockers and a delay is scheduled',
    proves: ['chains §3.2'],
    run: async ({ storage, added, claimOne, unit }) => {
      const blocker = await added()
      await complete(storage, await claimOne())
      const job = await added({ blockers: [refOf(blocker)], delayMs: 50 * unit })
      assert.deepEqual(await statesOf(storage, job), ['scheduled'])
    },
  },
  {
    name: 'a job waits only for the blockers that are still open',
    proves: ['S13'],
    run: async ({ storage, added, claimOne }) => {
      const done = await added()
      await complete(storage, await claimOne(), 'early')
      const open = await added()
      const job = await added({ blockers: [refOf(done), refOf(open)] })
      assert.equal((await recordOf(storage, job)).openBlockers, 1)
      const { unblocked } = await complete(storage, await claimOne(), 'late')
      assert.deepEqual(unblocked.map(refOf), [refOf(job)])
      assert.deepEqual(
        (await claimOne()).blockers.map(({ result }) => text(result)),
        ['early', 'late'],
      )
    },
  },
  {
    name: 'a completed chain gives the result of its tail',
    proves: ['S13'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added()
      await continueWith(storage, await claimOne(), job())
      await complete(storage, await claimOne(), 'of the tail')
      await added({ blockers: [refOf(first)] })
      const [blocker] = (await claimOne()).blockers
      assert.deepEqual([refOf(blocker!), text(blocker!.result)], [refOf(first), 'of the tail'])
    },
  },
  {
    name: 'a completed chain outlives its retention while a job that depends on it is unfinished',
    proves: ['chains trap 25', 'chains §3.8'],
    run: async ({ storage, added, claimOne, advance, unit }) => {
      const blocker = await added({ retention: { ...gone, completedMs: 10 * unit } })
      await complete(storage, await claimOne(), 'needed')
      await added({ blockers: [refOf(blocker)], delayMs: 12 * unit })
      assert.equal((await recordOf(storage, blocker)).expiresAt, undefined)
      await advance(12 * unit)
      await storage.sweep({ limit: 100 })
      assert.deepEqual(await statesOf(storage, blocker), ['completed'])
      const claimed = await claimOne()
      assert.equal(text(claimed.blockers[0]?.result), 'needed')
      await complete(storage, claimed)
      assert.deepEqual(await statesOf(storage, blocker), [undefined])
    },
  },
]

const siblingCases: readonly Case[] = [
  {
    name: 'a job may name a blocker of the same call by id, before or after it; each is its own root',
    proves: ['chains §2.6'],
    run: async ({ storage, job, claim }) => {
      const before = job({ type: 'part' })
      const after = job({ type: 'part', token: before.token })
      const whole = job({ token: before.token, blockers: [refOf(before), refOf(after)] })
      const verdicts = await storage.add([before, whole, after])
      assert.deepEqual(
        verdicts.map((each) => each.verdict === 'added' && each.job.state),
        ['queued', 'blocked', 'queued'],
      )
      for (const each of [before, after]) {
        const [record] = await storage.get([refOf(each)])
        assert.deepEqual([record!.root, record!.origin], [refOf(each), undefined])
      }
      for (const held of await claim({ types: [{ type: 'part', leaseMs: 60_000 }] })) await complete(storage, held)
      assert.deepEqual(await statesOf(storage, whole), ['queued'])
    },
  },
  {
    name: 'a blocker of the same call that is a duplicate stands for the existing chain; it is added even if its dependent is a duplicate',
    proves: ['chains §2.6', 'chains §3.1'],
    run: async ({ storage, added, job, claim }) => {
      const deduplication = { key: 'k', mode: 'simple' } as const
      const standing = await added({ type: 'part', deduplication })
      const part = job({ type: 'part', deduplication })
      const whole = job({ token: part.token, blockers: [refOf(part)] })
      const [first] = await storage.add([part, whole])
      assert.ok(first!.verdict === 'duplicate' && first!.job.id === standing.id)
      const [record] = await storage.get([refOf(whole)], { parts: ['blockers'] })
      assert.deepEqual([record!.state, record!.blockers], ['blocked', [refOf(standing)]])
      const more = job({ type: 'part' })
      const again = job({ id: whole.id, token: more.token, blockers: [refOf(more)] })
      const verdicts = await storage.add([again, more])
      assert.deepEqual(
        verdicts.map(({ verdict }) => verdict),
        ['duplicate', 'added'],
      )
      for (const held of await claim({ types: [{ type: 'part', leaseMs: 60_000 }] })) await complete(storage, held)
      assert.deepEqual(await statesOf(storage, whole), ['queued'])
    },
  },
  {
    name: 'a job of the same call under another token cannot be a blocker by id',
    run: async ({ storage, job }) => {
      const part = job({ type: 'part' })
      const verdicts = await storage.add([job({ blockers: [refOf(part)] }), part])
      assert.deepEqual(
        verdicts.map(({ verdict }) => verdict),
        ['blocker_not_found', 'added'],
      )
    },
  },
  {
    name: 'jobs added by one outcome may block each other, but none waits for the continuation',
    proves: ['chains §2.6'],
    run: async ({ storage, added, job, claimOne }) => {
      await added()
      const next = job({ type: 'next', blockers: [2] })
      const part = job({ type: 'part', token: next.token })
      const whole = job({ type: 'whole', token: next.token, blockers: [refOf(part)] })
      const lease = await claimOne()
      const { type, id, worker, attempt } = lease
      const wrong = job({ type: 'whole', token: next.token, blockers: [refOf(next)] })
      const outcome = { type, id, worker, attempt, kind: 'continued', next } as const
      const [refused] = await storage.settle([{ ...outcome, add: [part, wrong] }])
      assert.equal(refused!.verdict, 'conflict')
      const [settled] = await storage.settle([{ ...outcome, add: [part, whole] }])
      assert.equal(settled!.verdict, 'settled')
      assert.deepEqual(await statesOf(storage, next, whole, part), ['blocked', 'blocked', 'queued'])
    },
  },
]

const raceCases: readonly Case[] = [
  {
    name: 'a blocker that ends while its dependent is being added is counted',
    proves: ['chains trap 2', 'S13'],
    run: async ({ storage, another, added, job, claim }) => {
      const other = await another()
      for (let round = 0; round < 20; round++) {
        const blocker = await added()
        const [held] = await claim()
        const dependent = job({ blockers: [refOf(blocker)] })
        await Promise.all([complete(storage, held!), addOne(other, dependent)])
        assert.deepEqual(await statesOf(storage, dependent), ['queued'])
        for (const done of await claim()) await complete(storage, done)
      }
    },
  },
]

export const addBlockerCases: readonly Case[] = [
  ...openCases,
  ...doneCases,
  ...addRefusedBlockerCases,
  ...siblingCases,
  ...raceCases,
]
