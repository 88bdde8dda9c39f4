// Blockers that have failed or are unknown: the job fails, waits or is refused.

import assert from 'node:assert/strict'
import type { Case } from '../case.ts'
import { complete, continueWith, fail } from '../outcomes.ts'
import { recordOf, refOf, statesOf } from '../records.ts'
import { addOne } from '../scenarios.ts'

const unknownJob = { type: 'mail', id: 'unknown' }
const gone = { completedMs: 0, failedMs: 0, cancelledMs: 0 }

const failedCases: readonly Case[] = (['failed', 'cancelled'] as const).flatMap((end): Case[] => [
  {
    name: `a job added with a ${end} blocker fails at once with reason blocker_failed and no error`,
    proves: ['chains trap 23'],
    run: async ({ storage, added, job, claimOne }) => {
      const blocker = refOf(await added())
      if (end === 'failed') await fail(storage, await claimOne())
      else await storage.cancel([blocker])
      const dependent = job({ blockers: [blocker], retention: { completedMs: 1, failedMs: 60_000, cancelledMs: 1 } })
      const verdict = await addOne(storage, dependent)
      assert.ok(verdict.verdict === 'added' && verdict.job.state === 'failed')
      const record = await recordOf(storage, dependent, 'error')
      assert.deepEqual(
        [record.state, record.reason, record.error, record.attempt],
        ['failed', 'blocker_failed', undefined, 0],
      )
      assert.equal(record.expiresAt, record.finishedAt! + 60_000)
      await added({ id: dependent.id })
    },
  },
  {
    name: `a job with onBlockerFailure wait stays blocked by a ${end} chain until that is revived and completes`,
    proves: ['chains trap 23'],
    run: async ({ storage, added, claimOne }) => {
      const blocker = refOf(await added())
      if (end === 'failed') await fail(storage, await claimOne())
      else await storage.cancel([blocker])
      const job = await added({ blockers: [blocker], onBlockerFailure: 'wait' })
      const { state, openBlockers } = await recordOf(storage, job)
      assert.deepEqual([state, openBlockers], ['blocked', 1])
      await storage.revive([blocker])
      await complete(storage, await claimOne(), 'at last')
      assert.equal((await claimOne()).id, job.id)
    },
  },
])

const refusedCases: readonly Case[] = [
  {
    name: 'an unknown blocker refuses every job of its token, is named, and affects no other job',
    proves: ['S3', 'W11'],
    run: async ({ storage, job, added }) => {
      const known = await added()
      const jobs = [
        job({ token: 'good' }),
        job({ token: 'bad' }),
        job({ token: 'bad', blockers: [refOf(known), unknownJob] }),
        job({ token: 'bad', blockers: [4] }),
        job({ token: 'bad' }),
        job({ token: 'also good', blockers: [refOf(known)] }),
      ]
      const verdicts = await storage.add(jobs)
      assert.deepEqual(
        verdicts.map((verdict) => (verdict.verdict === 'blocker_not_found' ? verdict.blocker.id : verdict.verdict)),
        ['added', 'unknown', 'unknown', 'unknown', 'unknown', 'added'],
      )
      const [, ...rest] = await statesOf(storage, ...jobs)
      assert.deepEqual(rest, [undefined, undefined, undefined, undefined, 'blocked'])
    },
  },
  {
    name: 'an expired blocker is unknown, swept or not',
    proves: ['S12'],
    run: async ({ storage, added, job, claimOne, advance, unit }) => {
      const blocker = await added({ retention: { ...gone, completedMs: unit } })
      await complete(storage, await claimOne())
      await advance(unit)
      assert.equal((await addOne(storage, job({ blockers: [refOf(blocker)] }))).verdict, 'blocker_not_found')
    },
  },
  {
    name: 'a continuation cannot be a blocker',
    proves: ['chains §3.2'],
    run: async ({ storage, added, job, claimOne }) => {
      await added()
      const next = job()
      await continueWith(storage, await claimOne(), next)
      const verdict = await addOne(storage, job({ blockers: [refOf(next)] }))
      assert.ok(verdict.verdict === 'blocker_not_found' && verdict.blocker.id === next.id)
    },
  },
  {
    name: 'a blocker of the same id and another type is unknown',
    proves: ['S24'],
    run: async ({ storage, added, job }) => {
      const { id } = await added({ type: 'post' })
      assert.equal((await addOne(storage, job({ blockers: [{ type: 'mail', id }] }))).verdict, 'blocker_not_found')
    },
  },
  {
    name: 'a job cannot be its own blocker',
    run: async ({ storage, job }) => {
      const narcissus = job({ blockers: [{ type: 'mail', id: 'self' }], id: 'self' })
      assert.equal((await addOne(storage, narcissus)).verdict, 'blocker_not_found')
      assert.deepEqual(await statesOf(storage, narcissus), [undefined])
    },
  },
]

export const addRefusedBlockerCases: readonly Case[] = [...failedCases, ...refusedCases]
