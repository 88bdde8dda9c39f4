// claim: due jobs, each to one holder, under a lease with a fence that never repeats, within the slots asked for.

import assert from 'node:assert/strict'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'
import { claimAheadCases } from './claim-ahead.ts'
import { claimOfferLeftCases } from './claim-offers-left.ts'
import { claimOfferCases } from './claim-offers.ts'
import { claimBacklogCases } from './claim-backlog.ts'
import { claimGroupCases } from './claim-groups.ts'
import { claimHoldCases } from './claim-holds.ts'
import { claimLimitCases } from './claim-limits.ts'
import { claimLostCases } from './claim-lost.ts'
import { claimOrderCases } from './claim-order.ts'
import { claimRateCases } from './claim-rates.ts'
import { claimSlotCases } from './claim-slots.ts'
import { claimSettleCases } from './claim-settle.ts'
import { claimTurnCases } from './claim-turns.ts'
import { claimWeightCases } from './claim-weights.ts'
import { complete, continueWith, fail, retry, settleOutcome } from '../outcomes.ts'
import { fenceOf, idsOf, recordOf, refOf, statesOf } from '../records.ts'
import { claimDeadlineCases } from './claim-deadlines.ts'

const leaseCases: readonly Case[] = [
  {
    name: 'a claimed job has every field that its handler needs',
    proves: ['R2', 'S2'],
    run: async ({ storage, added, claimOne, unit }) => {
      const job = await added({
        payload: bytes('hello'),
        priority: 3,
        group: { key: 'g', ordered: true },
        maxAttempts: 7,
        trace: 'trace',
        retention: { completedMs: Infinity, failedMs: 2, cancelledMs: 3 },
      })
      const claimed = await claimOne({ worker: 'w' })
      assert.equal(text(claimed.payload), 'hello')
      assert.deepEqual(
        [claimed.type, claimed.id, claimed.token, claimed.worker, claimed.attempt, claimed.failures, claimed.snoozes],
        ['mail', job.id, job.token, 'w', 1, 0, 0],
      )
      assert.deepEqual([claimed.priority, claimed.group, claimed.maxAttempts, claimed.trace], [3, 'g', 7, 'trace'])
      const { completedMs, failedMs, cancelledMs } = claimed.retention
      assert.deepEqual([completedMs, failedMs, cancelledMs], [Infinity, 2, 3])
      assert.equal(claimed.leaseUntil, claimed.startedAt + 10 * unit)
      assert.deepEqual([refOf(claimed.chain), claimed.chainIndex, refOf(claimed.root)], [refOf(job), 0, refOf(job)])
      assert.deepEqual([claimed.origin, [...claimed.blockers]], [undefined, []])
      const { createdAt, runAt } = await recordOf(storage, job)
      assert.deepEqual([claimed.createdAt, claimed.runAt], [createdAt, runAt])
    },
  },
  {
    name: 'a field that a job was not given is absent from its claim',
    run: async ({ storage, job, claimOne }) => {
      const { maxAttempts: _, ...bare } = job()
      await storage.add([bare])
      const claimed = await claimOne({ types: [{ type: 'mail', leaseMs: 5_000, maxAttempts: 4 }] })
      for (const field of ['payload', 'group', 'trace', 'maxAttempts', 'origin'] as const)
        assert.equal(claimed[field], undefined, field)
      assert.equal(claimed.priority, 0)
    },
  },
  {
    name: 'the record shows the holder, the start and the end of the lease',
    run: async ({ storage, added, claimOne, now }) => {
      const job = await added()
      const before = await now()
      const claimed = await claimOne({ worker: 'host-1-7', label: 'host' })
      const record = await recordOf(storage, job)
      assert.deepEqual(
        [record.state, record.worker, record.label, record.attempt, record.failures],
        ['processing', 'host-1-7', 'host', 1, 0],
      )
      assert.deepEqual([record.startedAt, record.leaseUntil], [claimed.startedAt, claimed.leaseUntil])
      assert.ok(before <= claimed.startedAt && claimed.startedAt <= (await now()))
    },
  },
  {
    name: 'each type gets its own leaseMs',
    run: async ({ added, claim, unit }) => {
      await added({ type: 'a' })
      await added({ type: 'b' })
      const types = [
        { type: 'a', leaseMs: 20 * unit },
        { type: 'b', leaseMs: 30 * unit },
      ]
      const spans = (await claim({ types })).map(({ type, startedAt, leaseUntil }) => [type, leaseUntil - startedAt])
      assert.deepEqual(spans.toSorted(), [
        ['a', 20 * unit],
        ['b', 30 * unit],
      ])
    },
  },
  {
    name: 'the attempt grows with every claim, failures only with attempts that count',
    proves: ['S5', 'R1', 'S17'],
    run: async ({ storage, added, claimOne }) => {
      await added({ maxAttempts: 9 })
      const seen: number[][] = []
      const next = async () => {
        const claimed = await claimOne()
        seen.push([claimed.attempt, claimed.failures, claimed.snoozes])
        return claimed
      }
      await settleOutcome(storage, { ...fenceOf(await next()), kind: 'released' })
      await retry(storage, await next())
      await settleOutcome(storage, { ...fenceOf(await next()), kind: 'released', delayMs: 0 })
      await settleOutcome(storage, { ...fenceOf(await next()), kind: 'retry', stalled: true })
      await next()
      assert.deepEqual(seen, [
        [1, 0, 0],
        [2, 0, 0],
        [3, 1, 0],
        [4, 1, 1],
        [5, 2, 1],
      ])
    },
  },
  {
    name: 'a claim without due jobs returns empty lists',
    run: async ({ storage, claimRequest }) => {
      const { jobs, recovered, ended, settled: verdicts } = await storage.claim(claimRequest())
      assert.deepEqual([[...jobs], [...recovered], [...ended], [...verdicts]], [[], [], [], []])
    },
  },
]

const holderCases: readonly Case[] = [
  {
    name: 'two claimers never hold the same job',
    proves: ['S4', 'trap 9'],
    run: async ({ storage, another, job, claimRequest }) => {
      await storage.add(Array.from({ length: 40 }, () => job()))
      const handles = [storage, await another()]
      const claims = await Promise.all(
        Array.from({ length: 8 }, (_, index) => handles[index % 2]!.claim(claimRequest({ slots: 10 }))),
      )
      const claimed = claims.flatMap(({ jobs }) => idsOf(jobs))
      assert.deepEqual([claimed.length, new Set(claimed).size], [40, 40])
      assert.ok(claims.every(({ jobs }) => jobs.length <= 10))
    },
  },
  {
    name: 'a held job is not claimed while its lease lasts',
    proves: ['S4'],
    run: async ({ added, claim, claimOne, advance, unit }) => {
      await added()
      await claimOne()
      assert.deepEqual(await claim(), [])
      await advance(unit)
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: 'ended and blocked jobs are not claimed',
    proves: ['S8', 'S9'],
    run: async ({ storage, job, claim }) => {
      const jobs = [job(), job(), job(), job()]
      await storage.add(jobs)
      await storage.cancel([refOf(jobs[0]!)])
      const [done, broken, open] = await claim()
      await storage.add([job({ blockers: [refOf(open!)] })])
      await complete(storage, done!)
      await fail(storage, broken!)
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: 'the tail of a removed chain is neither claimed nor taken back',
    proves: ['S20', 'S8'],
    run: async ({ storage, job, claim, advance, unit }) => {
      await storage.add([job(), job()])
      const [one, two] = await claim()
      await continueWith(storage, one!, job({ id: 'runs' }))
      await claim({ types: [{ type: 'mail', leaseMs: unit }] })
      await continueWith(storage, two!, job({ id: 'waits' }))
      await storage.remove([one!, two!].map(refOf), { trees: true })
      await advance(2 * unit)
      assert.deepEqual(await storage.recover({ types: ['mail'], limit: 10 }), [])
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: 'a claim takes jobs only of the types it names',
    proves: ['S24'],
    run: async ({ added, claim, unit }) => {
      const [mail, post] = [await added(), await added({ type: 'post' })]
      assert.deepEqual(idsOf(await claim()), [mail.id])
      assert.deepEqual(await claim({ types: [] }), [])
      assert.deepEqual(idsOf(await claim({ types: [{ type: 'post', leaseMs: 10 * unit }] })), [post.id])
    },
  },
  {
    name: 'a cancelled job is never claimed, also when cancel and claim race',
    proves: ['S9', 'trap 11'],
    run: async ({ storage, another, added, claim }) => {
      const other = await another()
      for (let round = 0; round < 20; round++) {
        const job = await added()
        const [held, [verdict]] = await Promise.all([claim(), other.cancel([refOf(job)])])
        assert.equal(verdict?.verdict, held.length === 0 ? 'cancelled' : 'processing')
        assert.deepEqual(await statesOf(storage, job), [held.length === 0 ? 'cancelled' : 'processing'])
      }
    },
  },
  {
    name: 'a paused type is not claimed through any handle until it is resumed, and leaves its slots to other types',
    proves: ['S22', 'F26'],
    run: async ({ storage, another, added, claim, claimRequest, unit }) => {
      const [mail, post] = [await added(), await added({ type: 'post' })]
      const types = ['mail', 'post'].map((type) => ({ type, leaseMs: 10 * unit }))
      await storage.pause({ type: 'mail', paused: true })
      assert.deepEqual(idsOf((await (await another()).claim(claimRequest({ slots: 1, types }))).jobs), [post.id])
      await storage.pause({ type: 'mail', paused: false })
      assert.deepEqual(idsOf(await claim()), [mail.id])
    },
  },
]

const dueCases: readonly Case[] = [
  {
    name: 'no job is claimed before it is due',
    proves: ['S14', 'F1'],
    run: async ({ added, claim, advance, unit }) => {
      await added({ delayMs: 20 * unit })
      assert.deepEqual(await claim(), [])
      await advance(unit)
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: 'a job can be claimed exactly when it is due',
    proves: ['F1'],
    run: async ({ added, claimOne, advance, unit }) => {
      const job = await added({ delayMs: 5 * unit })
      await advance(5 * unit)
      const claimed = await claimOne()
      assert.ok(claimed.id === job.id && claimed.startedAt >= claimed.runAt)
    },
  },
  {
    name: 'a retry is claimed when its delay has passed, not before',
    proves: ['S18', 'S14'],
    run: async ({ storage, added, claim, claimOne, advance, unit }) => {
      await added()
      await retry(storage, await claimOne(), 20 * unit)
      await advance(unit)
      assert.deepEqual(await claim(), [])
      await advance(19 * unit)
      assert.equal((await claimOne()).attempt, 2)
    },
  },
]

export const claimCases: readonly Case[] = [
  ...leaseCases,
  ...holderCases,
  ...dueCases,
  ...claimSlotCases,
  ...claimOrderCases,
  ...claimBacklogCases,
  ...claimAheadCases,
  ...claimOfferCases,
  ...claimOfferLeftCases,
  ...claimGroupCases,
  ...claimLostCases,
  ...claimSettleCases,
  ...claimDeadlineCases,
  ...claimTurnCases,
  ...claimLimitCases,
  ...claimRateCases,
  ...claimWeightCases,
  ...claimHoldCases,
]
