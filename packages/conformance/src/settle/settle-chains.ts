// Continuations: a job ends and its successor starts in one move, and the chain has the state of its tail.

import assert from 'node:assert/strict'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'
import { complete, continueWith, fail, retry, settleOutcome } from '../outcomes.ts'
import { fenceOf, idsOf, recordOf, refOf, snapshotOf, statesOf } from '../records.ts'

const joinCases: readonly Case[] = [
  {
    name: 'a continued job is completed without a result, and its successor is the tail of its chain',
    proves: ['S13', 'chains §2.4'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added()
      const next = job({ type: 'other', payload: bytes('go on') })
      const verdict = await continueWith(storage, await claimOne(), next)
      assert.equal(verdict.state, 'completed')
      const [addVerdict] = verdict.added
      assert.ok(addVerdict?.verdict === 'added' && addVerdict.job.state === 'queued')
      assert.deepEqual([refOf(addVerdict.job), addVerdict.job.token], [refOf(next), next.token])
      const record = await recordOf(storage, first, 'result', 'tail')
      assert.deepEqual(
        [record.state, record.result, record.tail?.id, record.tail?.state],
        ['completed', undefined, next.id, 'queued'],
      )
      const tail = await recordOf(storage, next, 'payload')
      assert.deepEqual(
        [refOf(tail.chain), tail.chainIndex, refOf(tail.root), refOf(tail.origin!)],
        [refOf(first), 1, refOf(first), refOf(first)],
      )
      assert.deepEqual([text(tail.payload), tail.attempt, tail.failures], ['go on', 0, 0])
    },
  },
  {
    name: 'each job of a chain has its predecessor as origin and the first job as chain and root',
    proves: ['chains §2.4'],
    run: async ({ storage, added, job, claimOne }) => {
      const jobs = [await added(), job(), job()]
      await continueWith(storage, await claimOne(), jobs[1]!)
      await continueWith(storage, await claimOne(), jobs[2]!)
      const claimed = await claimOne()
      assert.deepEqual(
        [claimed.chainIndex, refOf(claimed.chain), refOf(claimed.root)],
        [2, refOf(jobs[0]!), refOf(jobs[0]!)],
      )
      assert.deepEqual(refOf(claimed.origin!), refOf(jobs[1]!))
      await complete(storage, claimed, 'end')
      const { tail } = await recordOf(storage, jobs[0]!, 'tail', 'result')
      assert.deepEqual([tail?.id, tail?.state], [jobs[2]!.id, 'completed'])
      assert.deepEqual(await statesOf(storage, ...jobs), ['completed', 'completed', 'completed'])
    },
  },
  {
    name: 'a continuation inside a tree keeps the root of the tree',
    proves: ['chains §2.4'],
    run: async ({ storage, job, claimOne }) => {
      const [top, under, next] = [job({ token: 't', blockers: [1] }), job({ token: 't' }), job()]
      await storage.add([top, under])
      await continueWith(storage, await claimOne(), next)
      const record = await recordOf(storage, next)
      assert.deepEqual(
        [refOf(record.root), refOf(record.chain), refOf(record.origin!)],
        [refOf(top), refOf(under), refOf(under)],
      )
    },
  },
  {
    name: 'a continuation has a time, a priority and attempts of its own',
    proves: ['F1', 'F2'],
    run: async ({ storage, added, job, claimOne, unit }) => {
      await added({ priority: 1, maxAttempts: 1 })
      const next = job({ priority: 5, maxAttempts: 4, delayMs: 50 * unit })
      await continueWith(storage, await claimOne(), next)
      const { state, priority, maxAttempts, runAt, createdAt } = await recordOf(storage, next)
      assert.deepEqual([state, priority, maxAttempts, runAt], ['scheduled', 5, 4, createdAt + 50 * unit])
    },
  },
  {
    name: 'a failed continuation fails the chain, and its first job stays completed',
    proves: ['chains §2.4'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added()
      await continueWith(storage, await claimOne(), job({ id: 'next' }))
      await fail(storage, await claimOne())
      const { state, tail } = await recordOf(storage, first, 'tail')
      assert.deepEqual([state, tail?.state], ['completed', 'failed'])
    },
  },
  {
    name: 'a continuation has its own retries, and the chain stays live',
    proves: ['S13'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added()
      await continueWith(storage, await claimOne(), job({ id: 'next' }))
      await retry(storage, await claimOne())
      await complete(storage, await claimOne(), 'at last')
      const { tail, failures } = await recordOf(storage, first, 'tail')
      assert.deepEqual([tail?.state, tail?.failures, failures], ['completed', 1, 0])
    },
  },
]

const conflictCases: readonly Case[] = (
  [
    ['a live job', 'live'],
    ['a completed job', 'completed'],
    ['the job itself', 'self'],
  ] as const
).map(([whose, which]) => ({
  name: `a continuation under the id of ${whose} is a conflict: nothing is written, and the job is still held`,
  proves: ['S13', 'S3'],
  run: async ({ storage, added, job, claim, claimOne, unit }) => {
    const other = await added({ id: 'other' })
    const [holder] = await claim()
    if (which === 'completed') await complete(storage, holder!)
    await added({ id: 'self' })
    const lease = fenceOf(await claimOne())
    const [next, more] = [job({ id: which === 'self' ? 'self' : 'other' }), job()]
    const before = await snapshotOf(storage, lease, other)
    const [verdict] = await storage.settle([{ ...lease, kind: 'continued', next, add: [more] }])
    assert.equal(verdict?.verdict, 'conflict')
    assert.equal(verdict.added[0]?.verdict, 'duplicate')
    assert.deepEqual(await snapshotOf(storage, lease, other, more), [...before, undefined])
    assert.equal((await storage.extend([{ ...lease, leaseMs: 50 * unit }]))[0]?.verdict, 'extended')
    await continueWith(storage, lease, job({ id: 'really new' }))
  },
}))

const otherCases: readonly Case[] = [
  {
    name: 'a continuation whose blocker is unknown is a conflict that names it, and the job is still held',
    proves: ['S13'],
    run: async ({ storage, added, job, claimOne }) => {
      await added()
      const lease = fenceOf(await claimOne())
      const next = job({ blockers: [{ type: 'mail', id: 'unknown' }] })
      const [verdict] = await storage.settle([{ ...lease, kind: 'continued', next }])
      assert.ok(verdict?.verdict === 'conflict' && verdict.added[0]?.verdict === 'blocker_not_found')
      assert.equal(verdict.added[0].blocker.id, 'unknown')
      assert.deepEqual(await statesOf(storage, lease, next), ['processing', undefined])
      await complete(storage, lease)
    },
  },
  {
    name: 'a continuation may have an existing chain as blocker',
    proves: ['chains §2.6'],
    run: async ({ storage, added, job, claim, claimOne }) => {
      const [blocker, first] = [await added(), await added()]
      const [held, lease] = await claim()
      const next = job({ blockers: [refOf(blocker)] })
      const verdict = await continueWith(storage, lease!, next)
      assert.ok(verdict.added[0]?.verdict === 'added' && verdict.added[0].job.state === 'blocked')
      await complete(storage, held!, 'done')
      const claimed = await claimOne()
      assert.deepEqual([refOf(claimed), refOf(claimed.chain), claimed.chainIndex], [refOf(next), refOf(first), 1])
      assert.deepEqual(
        claimed.blockers.map(({ result }) => text(result)),
        ['done'],
      )
    },
  },
  {
    name: 'a continuation may add its blockers by position, below it and in the same move',
    proves: ['chains §2.6', 'S13'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added()
      const [next, under] = [job({ token: 't', blockers: [1] }), job({ token: 't' })]
      const verdict = await settleOutcome(storage, {
        ...fenceOf(await claimOne()),
        kind: 'continued',
        next,
        add: [under],
      })
      assert.deepEqual(
        verdict.added.map((each) => each.verdict === 'added' && [each.job.id, each.job.state]),
        [
          [next.id, 'blocked'],
          [under.id, 'queued'],
        ],
      )
      const blocker = await recordOf(storage, under)
      assert.deepEqual(
        [refOf(blocker.root), refOf(blocker.origin!), refOf(blocker.chain)],
        [refOf(first), refOf(next), refOf(under)],
      )
      await complete(storage, await claimOne(), 'under')
      assert.equal((await claimOne()).id, next.id)
    },
  },
  {
    name: 'a conflict affects no other outcome of its batch',
    proves: ['S3', 'S13'],
    run: async ({ storage, job, claim }) => {
      await storage.add([job({ id: 'a' }), job({ id: 'b' }), job({ id: 'c' })])
      const [a, b, c] = (await claim()).map(fenceOf)
      const verdicts = await storage.settle([
        { ...a!, kind: 'completed' },
        { ...b!, kind: 'continued', next: job({ id: 'c' }) },
        { ...c!, kind: 'continued', next: job({ id: 'd' }) },
      ])
      assert.deepEqual(
        verdicts.map(({ verdict }) => verdict),
        ['settled', 'conflict', 'settled'],
      )
      assert.deepEqual(await statesOf(storage, a!, b!, c!, { type: 'mail', id: 'd' }), [
        'completed',
        'processing',
        'completed',
        'queued',
      ])
    },
  },
  {
    name: 'a continuation whose key is taken is a conflict or is added: no chain ends without a tail',
    proves: ['S13', 'S1'],
    run: async ({ storage, added, job, claimOne }) => {
      const deduplication = { key: 'k', mode: 'simple' } as const
      await added({ deduplication, delayMs: 500_000 })
      await added()
      const lease = fenceOf(await claimOne())
      const next = job({ deduplication })
      const [verdict] = await storage.settle([{ ...lease, kind: 'continued', next }])
      const expected = verdict?.verdict === 'conflict' ? ['processing', undefined] : ['completed', 'queued']
      assert.deepEqual(await statesOf(storage, lease, next), expected)
    },
  },
  {
    name: 'of two continuations with one id in a batch the second is a conflict',
    proves: ['S13', 'S11'],
    run: async ({ storage, job, claim }) => {
      await storage.add([job(), job()])
      const leases = (await claim()).map(fenceOf)
      const outcomes = leases.map((lease) => ({ ...lease, kind: 'continued', next: job({ id: 'same' }) }) as const)
      const verdicts = await storage.settle(outcomes)
      assert.deepEqual(
        verdicts.map(({ verdict }) => verdict),
        ['settled', 'conflict'],
      )
      assert.deepEqual(await statesOf(storage, ...leases), ['completed', 'processing'])
    },
  },
  {
    name: 'two workers cannot both continue a job',
    proves: ['chains trap 11', 'S13', 'S6'],
    run: async ({ storage, added, job, claimOne, advance, unit }) => {
      const first = await added()
      const stale = fenceOf(await claimOne({ types: [{ type: 'mail', leaseMs: unit }] }))
      await advance(2 * unit)
      await continueWith(storage, await claimOne(), job({ id: 'good' }))
      const [verdict] = await storage.settle([{ ...stale, kind: 'continued', next: job({ id: 'bad' }) }])
      assert.equal(verdict?.verdict, 'already_completed')
      const chain = await storage.list({ of: 'jobs', chain: refOf(first), limit: 10 })
      assert.deepEqual(idsOf(chain.items).toSorted(), ['good', first.id].toSorted())
    },
  },
]

export const settleChainCases: readonly Case[] = [...joinCases, ...conflictCases, ...otherCases]
