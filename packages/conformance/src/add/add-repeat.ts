// The token: an add whose reply was lost can be repeated safely, whatever state its job is in by then.

import assert from 'node:assert/strict'
import type { ClaimedJob, JobRef, NewJob } from 'holdfast/storage'
import { bytes } from '../case.ts'
import type { Case, CaseContext } from '../case.ts'
import { complete, continueWith, fail, retry } from '../outcomes.ts'
import { recordOf, refOf, snapshotOf, statesOf } from '../records.ts'
import { addOne } from '../scenarios.ts'

type Then = (context: CaseContext, job: JobRef) => Promise<unknown>

const since: readonly (readonly [string, Then])[] = [
  ['waits', async () => {}],
  ['runs', ({ claimOne }) => claimOne()],
  ['waits for its retry', async ({ storage, claimOne, unit }) => retry(storage, await claimOne(), 500 * unit)],
  ['has completed', async ({ storage, claimOne }) => complete(storage, await claimOne(), 'done')],
  ['has failed', async ({ storage, claimOne }) => fail(storage, await claimOne())],
  ['was cancelled', ({ storage }, job) => storage.cancel([refOf(job)])],
  ['was continued', async ({ storage, claimOne, job }) => continueWith(storage, await claimOne(), job({ id: 'next' }))],
]

const sinceCases: readonly Case[] = since.map(([what, then]) => ({
  name: `a repeated add whose job ${what} answers added and changes nothing`,
  proves: ['S3', 'R3', 'N4', 'trap 49'],
  run: async (context) => {
    const { storage, job } = context
    const first = job({ payload: bytes('once'), deduplication: { key: 'k', mode: 'throttle', windowMs: 500_000 } })
    await addOne(storage, first)
    await then(context, first)
    const before = await snapshotOf(storage, first)
    const repeat = await addOne(storage, first)
    assert.equal(repeat.verdict, 'added')
    assert.deepEqual([repeat.job.type, repeat.job.id, repeat.job.token], [first.type, first.id, first.token])
    assert.deepEqual(await snapshotOf(storage, first), before)
  },
}))

const repeated = async ({ storage }: CaseContext, jobs: readonly NewJob[]): Promise<void> => {
  const first = await storage.add(jobs)
  const before = await snapshotOf(storage, ...jobs)
  const second = await storage.add(jobs)
  assert.deepEqual(
    second.map((verdict) => verdict.verdict),
    first.map((verdict) => verdict.verdict),
  )
  assert.deepEqual(await snapshotOf(storage, ...jobs), before)
}

const batchCases: readonly Case[] = [
  {
    name: 'a repeated batch gets the first answer for each job',
    proves: ['S3', 'R3'],
    run: async (context) => {
      const { job, added } = context
      const taken = await added()
      const deduplication = { key: 'k', mode: 'simple' } as const
      await repeated(context, [
        job({ token: 't', deduplication }),
        job({ token: 't', id: taken.id }),
        job({ token: 't', deduplication }),
        job({ token: 'u', blockers: [{ type: 'mail', id: 'unknown' }] }),
      ])
    },
  },
  {
    name: 'a repeated batch with a shared key is not a duplicate of itself',
    proves: ['S3', 'W11'],
    run: async (context) => {
      const { job, unit } = context
      const deduplication = { key: 'k', mode: 'throttle', windowMs: 500 * unit, shared: true } as const
      await repeated(context, [job({ token: 't', deduplication }), job({ token: 't', deduplication })])
    },
  },
  {
    name: 'a repeated tree counts no blocker twice and skips what was skipped',
    proves: ['S3', 'S13'],
    run: async (context) => {
      const { job, added } = context
      const taken = await added()
      await repeated(context, [
        job({ token: 't', blockers: [2, refOf(taken)] }),
        job({ token: 't', id: taken.id, blockers: [3] }),
        job({ token: 't' }),
        job({ token: 't' }),
      ])
    },
  },
  {
    name: 'a batch sent twice concurrently adds each job once, and both calls answer added',
    proves: ['S3'],
    run: async ({ storage, another, job, claim }) => {
      const jobs = Array.from({ length: 10 }, () => job({ token: 't' }))
      const verdicts = (await Promise.all([storage.add(jobs), (await another()).add(jobs)])).flat()
      assert.equal(verdicts.filter((verdict) => verdict.verdict === 'added').length, 20)
      assert.equal((await claim()).length, 10)
    },
  },
]

const oddCases: readonly Case[] = [
  {
    name: 'a repeated add is recognised after the blocker of its job is gone',
    proves: ['S3', 'R3'],
    run: async ({ storage, added, job, claimOne }) => {
      const blocker = await added({ retention: { completedMs: 0, failedMs: 0, cancelledMs: 0 } })
      const dependent = job({ blockers: [refOf(blocker)] })
      await addOne(storage, dependent)
      await complete(storage, await claimOne(), 'done')
      await complete(storage, await claimOne(), 'done')
      await storage.sweep({ limit: 100 })
      assert.deepEqual(await statesOf(storage, blocker, dependent), [undefined, 'completed'])
      assert.equal((await addOne(storage, dependent)).verdict, 'added')
      assert.deepEqual(await statesOf(storage, dependent), ['completed'])
    },
  },
  {
    name: 'a repeated add whose job is gone makes no second job while the window of its key lasts',
    proves: ['S3', 'F25'],
    run: async ({ storage, job, claim, claimOne, unit }) => {
      const retention = { completedMs: 0, failedMs: 0, cancelledMs: 0 }
      const first = job({ retention, deduplication: { key: 'k', mode: 'throttle', windowMs: 500 * unit } })
      await addOne(storage, first)
      await complete(storage, await claimOne())
      await storage.sweep({ limit: 100 })
      await addOne(storage, first)
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: 'a repeated tree that has completed does not start its blocker again, even if that is gone',
    proves: ['S3', 'R3'],
    run: async ({ storage, job, claim, claimOne }) => {
      const retention = { completedMs: 0, failedMs: 0, cancelledMs: 0 }
      const tree = [job({ token: 't', blockers: [1] }), job({ token: 't', retention })]
      await storage.add(tree)
      await complete(storage, await claimOne())
      await complete(storage, await claimOne())
      await storage.sweep({ limit: 100 })
      assert.deepEqual(await statesOf(storage, ...tree), ['completed', undefined])
      await storage.add(tree)
      assert.deepEqual(await claim(), [])
    },
  },
  {
    name: 'a late repeat does not replace a later life of its id',
    proves: ['S3', 'S11'],
    run: async ({ storage, added, job }) => {
      const first = job({ id: 'same' })
      await addOne(storage, first)
      await storage.cancel([refOf(first)])
      const second = await added({ id: 'same' })
      const before = await snapshotOf(storage, second)
      await addOne(storage, first)
      assert.deepEqual(await snapshotOf(storage, second), before)
    },
  },
  {
    name: 'a token alone does not make a repeat: another id of the same call is another job',
    proves: ['S3'],
    run: async ({ added, claim }) => {
      await added({ id: 'a', token: 't' })
      await added({ id: 'b', token: 't' })
      assert.equal((await claim()).length, 2)
    },
  },
  {
    name: 'a repeated add takes no second place in its group',
    proves: ['S15', 'R3'],
    run: async ({ storage, job, claim }) => {
      const group = { key: 'g', ordered: true } as const
      const [first, second] = [job({ group }), job({ group })]
      await storage.add([first, second])
      await storage.add([first])
      let held: ClaimedJob[] = await claim()
      for (const expected of [first, second]) {
        assert.deepEqual(
          held.map((claimed) => claimed.id),
          [expected.id],
        )
        await complete(storage, held[0]!)
        held = await claim()
      }
      assert.deepEqual(held, [])
    },
  },
  {
    name: 'a repeat of a refused add is decided again',
    proves: ['R3'],
    run: async ({ storage, added, job }) => {
      const dependent = job({ blockers: [{ type: 'mail', id: 'late' }] })
      assert.equal((await addOne(storage, dependent)).verdict, 'blocker_not_found')
      await added({ id: 'late' })
      assert.equal((await addOne(storage, dependent)).verdict, 'added')
      assert.equal((await recordOf(storage, dependent)).openBlockers, 1)
    },
  },
]

export const addRepeatCases: readonly Case[] = [...sinceCases, ...batchCases, ...oddCases]
