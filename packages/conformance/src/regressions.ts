// Defects that the model test found in a driver, as cases: no other case had covered these histories.

import assert from 'node:assert/strict'
import type { JobRef, Storage } from 'holdfast/storage'
import { bytes, text } from './case.ts'
import type { Case } from './case.ts'
import { complete, continueWith, fail, settleOutcome } from './outcomes.ts'
import { fenceOf, idsOf, recordOf, refOf, statesOf } from './records.ts'
import { addOne } from './scenarios.ts'

const gone = { completedMs: 0, failedMs: 0, cancelledMs: 0 }
const group = { key: 'g', ordered: true } as const

const none = { scheduled: 0, blocked: 0, queued: 0, processing: 0, failing: 0, completed: 0, failed: 0, cancelled: 0 }

/** Settles the tail of a chain without a worker. */
function settleWorkerless(storage: Storage, job: JobRef, kind: 'completed' | 'failed'): Promise<unknown> {
  const expected = { ...refOf(job), chain: refOf(job), token: `${kind} by hand` }
  return settleOutcome(storage, kind === 'completed' ? { ...expected, kind } : { ...expected, kind })
}

export const regressionCases: readonly Case[] = [
  {
    name: 'the deadline of a job that was cancelled and revived is no work for a sweep, and keeps it from no other',
    proves: ['S10'],
    run: async ({ storage, added, advance, unit }) => {
      const revived = await added({ expiresInMs: unit })
      await storage.cancel([refOf(revived)])
      await storage.revive([refOf(revived)])
      const late = await added({ expiresInMs: 2 * unit })
      await advance(2 * unit)
      const { ended, more } = await storage.sweep({ limit: 1 })
      const rest = await storage.sweep({ limit: 1 })
      assert.deepEqual(idsOf([...ended, ...rest.ended]), [late.id])
      assert.equal(more && rest.more, false)
      assert.deepEqual(await statesOf(storage, revived, late), ['queued', 'cancelled'])
    },
  },
  {
    name: 'every job of a shared key shows the key, not only the first',
    proves: ['S11'],
    run: async ({ storage, job, unit }) => {
      const deduplication = { key: 'k', mode: 'throttle', windowMs: 5 * unit, shared: true } as const
      const jobs = [job({ token: 't', deduplication }), job({ token: 't', deduplication })]
      await storage.add(jobs)
      const records = await storage.get(jobs.map(refOf))
      assert.deepEqual(
        records.map((record) => record?.deduplicationKey),
        ['k', 'k'],
      )
    },
  },
  {
    name: 'the end of one job of a shared key changes neither the other jobs nor the key',
    proves: ['S11'],
    run: async ({ storage, job, added, unit }) => {
      const deduplication = { key: 'k', mode: 'throttle', windowMs: 5 * unit, shared: true } as const
      const [first, second] = [job({ token: 't', deduplication }), job({ token: 't', deduplication })]
      await storage.add([first, second])
      await storage.cancel([refOf(second)])
      await added({ id: second.id })
      const verdict = await addOne(storage, job({ deduplication }))
      assert.ok(verdict.verdict === 'duplicate' && verdict.by === 'key')
      assert.deepEqual([verdict.job.id, verdict.job.state], [first.id, 'queued'])
    },
  },
  {
    name: 'a blocker by position that is a duplicate of a continuation stands for its chain, and its dependent runs',
    proves: ['S13', 'L1'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added()
      const next = job({ type: 'next' })
      await continueWith(storage, await claimOne(), next)
      const dependent = job({ token: 't', blockers: [1] })
      await storage.add([dependent, job({ type: 'next', id: next.id, token: 't' })])
      assert.deepEqual((await recordOf(storage, dependent, 'blockers')).blockers?.map(refOf), [refOf(first)])
      await complete(storage, await claimOne({ types: [{ type: 'next', leaseMs: 1_000 }] }), 'done')
      assert.deepEqual(
        (await claimOne()).blockers.map(({ result }) => text(result)),
        ['done'],
      )
    },
  },
  {
    name: 'a revived job that is blocked again is the head of its group and holds it',
    proves: ['S15'],
    run: async ({ storage, added, claim }) => {
      const blocker = refOf(await added({ type: 'other' }))
      const head = await added({ group, blockers: [blocker] })
      const second = await added({ group })
      await storage.cancel([refOf(head)])
      assert.deepEqual(await storage.revive([refOf(head)]), [{ verdict: 'revived' }])
      assert.deepEqual(await claim(), [])
      await settleWorkerless(storage, blocker, 'completed')
      assert.deepEqual(idsOf(await claim()), [head.id])
      assert.deepEqual(await statesOf(storage, second), ['queued'])
    },
  },
  {
    name: 'a revival does not make an expired blocker readable again',
    proves: ['S12'],
    run: async ({ storage, added, claimOne }) => {
      const blocker = await added({ retention: gone })
      const dependent = await added({ blockers: [refOf(blocker)] })
      await complete(storage, await claimOne())
      await fail(storage, await claimOne())
      assert.deepEqual(await statesOf(storage, blocker, dependent), [undefined, 'failed'])
      assert.deepEqual(await storage.revive([refOf(dependent)]), [{ verdict: 'revived' }])
      assert.deepEqual(await statesOf(storage, blocker, dependent), [undefined, 'queued'])
    },
  },
  {
    name: 'the verdict of a job that an outcome adds shows the state after the whole outcome',
    proves: ['S13', 'S7'],
    run: async ({ storage, added, job, claimOne }) => {
      const failed = await added({ type: 'other' })
      await settleWorkerless(storage, failed, 'failed')
      const first = await added()
      const next = job({ type: 'next', blockers: [refOf(failed)] })
      const dependent = job({ type: 'next', blockers: [refOf(first)] })
      const { added: verdicts } = await settleOutcome(storage, {
        ...fenceOf(await claimOne()),
        kind: 'continued',
        next,
        add: [dependent],
      })
      assert.deepEqual(
        verdicts.map((verdict) => verdict.verdict === 'added' && verdict.job.state),
        ['failed', 'failed'],
      )
      assert.deepEqual(await statesOf(storage, next, dependent), ['failed', 'failed'])
    },
  },
  {
    name: 'no continuation takes the id of a failed chain that has a waiting dependent',
    proves: ['S13', 'L1'],
    run: async ({ storage, added, job, claimOne }) => {
      const awaited = await added({ type: 'other' })
      const dependent = await added({ type: 'waits', blockers: [refOf(awaited)], onBlockerFailure: 'wait' })
      await settleWorkerless(storage, awaited, 'failed')
      const first = await added()
      const next = job({ type: 'other', id: awaited.id })
      const [verdict] = await storage.settle([{ ...fenceOf(await claimOne()), kind: 'continued', next }])
      assert.equal(verdict!.verdict, 'conflict')
      assert.deepEqual(await statesOf(storage, first, awaited, dependent), ['processing', 'failed', 'blocked'])
      await added({ type: 'other', id: awaited.id })
      await complete(storage, await claimOne({ types: [{ type: 'other', leaseMs: 1_000 }] }))
      assert.deepEqual(await statesOf(storage, dependent), ['queued'])
    },
  },
  {
    name: 'a chain whose continuation has the id of a blocker of its first job is removed once',
    proves: ['S19'],
    run: async ({ storage, added, job, claimOne }) => {
      const blocker = await added({ type: 'other', retention: gone })
      const first = await added({ blockers: [refOf(blocker)] })
      await added({ type: 'other' })
      await settleWorkerless(storage, blocker, 'completed')
      await continueWith(storage, await claimOne(), job())
      // No job needs the blocker any more, so its id is free.
      await continueWith(storage, await claimOne(), job({ type: 'other', id: blocker.id }))
      assert.deepEqual(await storage.remove([refOf(first)], { trees: true }), [{ verdict: 'removed' }])
      const { types } = await storage.count({ types: ['other'] })
      assert.deepEqual({ ...types[0]!.states }, { ...none, queued: 1 })
    },
  },
  {
    name: 'a job whose record is gone and whose key window lasts is reported as completed without a result, swept or not',
    proves: ['S11', 'S12'],
    run: async ({ storage, added, job, claimOne, unit }) => {
      const deduplication = { key: 'k', mode: 'throttle', windowMs: 5 * unit, shared: true } as const
      const first = await added({ retention: gone, deduplication })
      await settleOutcome(storage, { ...fenceOf(await claimOne()), kind: 'failed', error: bytes('broken') })
      const second = await added({ retention: gone, deduplication: { key: 'l', mode: 'throttle', windowMs: 5 * unit } })
      await complete(storage, await claimOne(), 'secret')
      for (const [key, holder] of [
        ['k', first],
        ['l', second],
        ['sweep', first],
        ['k', first],
        ['l', second],
      ] as const) {
        if (key === 'sweep') {
          await storage.sweep({ limit: 100 })
          continue
        }
        const verdict = await addOne(storage, job({ deduplication: { key, mode: 'simple' } }))
        assert.ok(verdict.verdict === 'duplicate' && verdict.by === 'key')
        assert.deepEqual(
          [verdict.job.id, verdict.job.token, verdict.job.state, verdict.job.result],
          [holder.id, holder.token, 'completed', undefined],
        )
      }
    },
  },
  {
    name: 'a chain that another waits for continues with the id of a part of it that has expired',
    proves: ['S13'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added()
      const part = job({ retention: gone })
      await continueWith(storage, await claimOne(), part)
      await added({ type: 'waits', blockers: [refOf(first)] })
      await continueWith(storage, await claimOne(), job())
      const again = job({ id: part.id })
      const { verdict } = await continueWith(storage, await claimOne(), again)
      assert.equal(verdict, 'settled')
      assert.equal((await recordOf(storage, again)).token, again.token)
    },
  },
]
