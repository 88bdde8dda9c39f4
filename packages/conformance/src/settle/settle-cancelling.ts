// The end of a job that was asked to stop: completed if it completes, cancelled by any other outcome.

import assert from 'node:assert/strict'
import type { LeaseRef, Outcome } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case, CaseContext } from '../case.ts'
import { complete, outcomeKinds, sampleOutcome, settleOutcome } from '../outcomes.ts'
import { fenceOf, recordOf, refOf, snapshotOf, statesOf } from '../records.ts'
import { addOne } from '../scenarios.ts'

async function cancelling({ storage, added, claimOne }: CaseContext): Promise<LeaseRef> {
  const job = await added({ payload: bytes('first'), deduplication: { key: 'k', mode: 'simple' }, maxAttempts: 9 })
  const lease = fenceOf(await claimOne())
  const verdicts = await storage.cancel([refOf(job)], { abort: true, reason: 'enough' })
  assert.deepEqual(
    verdicts.map(({ verdict }) => verdict),
    ['cancelling'],
  )
  return lease
}

const stopCases: readonly Case[] = outcomeKinds
  .filter((kind) => kind !== 'completed')
  .flatMap((kind): Case[] => [
    {
      name: `a job that was asked to stop and ends as ${kind} is cancelled`,
      proves: ['F17', 'S9'],
      run: async (context) => {
        const { storage, job, claim } = context
        const lease = await cancelling(context)
        const next = job()
        const verdict = await settleOutcome(storage, sampleOutcome(kind, lease, next))
        const record = await recordOf(storage, lease)
        assert.deepEqual(
          [verdict.state, record.state, record.cancelReason, record.reason],
          ['cancelled', 'cancelled', 'enough', undefined],
        )
        assert.equal(record.expiresAt, record.finishedAt! + record.retention.cancelledMs)
        assert.deepEqual([verdict.expiresAt, record.leaseUntil], [record.expiresAt, undefined])
        assert.deepEqual(await statesOf(storage, next), [undefined])
        assert.deepEqual(await claim(), [])
      },
    },
    {
      name: `a repeated ${kind} that ended a job that was asked to stop answers cancelled again`,
      proves: ['S7', 'R3'],
      run: async (context) => {
        const { storage, job } = context
        const lease = await cancelling(context)
        const outcome = sampleOutcome(kind, lease, job())
        await settleOutcome(storage, outcome)
        const before = await snapshotOf(storage, lease)
        assert.equal((await settleOutcome(storage, outcome)).state, 'cancelled')
        assert.deepEqual(await snapshotOf(storage, lease), before)
      },
    },
  ])

const otherCases: readonly Case[] = [
  {
    name: 'a job that was asked to stop and completes is completed, because the work was done',
    proves: ['F17', 'Q4.21'],
    run: async (context) => {
      const { storage } = context
      const lease = await cancelling(context)
      const verdict = await complete(storage, lease, 'done')
      const record = await recordOf(storage, lease, 'result')
      assert.deepEqual([verdict.state, record.state, text(record.result)], ['completed', 'completed', 'done'])
      assert.equal(record.expiresAt, record.finishedAt! + record.retention.completedMs)
    },
  },
  {
    name: 'a stalled attempt of a job that was asked to stop is cancelled, not stalled',
    proves: ['F17', 'Q4.21'],
    run: async (context) => {
      const { storage } = context
      for (const kind of ['retry', 'failed'] as const) {
        const lease = await cancelling(context)
        assert.equal((await settleOutcome(storage, { ...lease, kind, stalled: true } as Outcome)).state, 'cancelled')
        const { state, reason } = await recordOf(storage, lease)
        assert.deepEqual([state, reason], ['cancelled', undefined])
      }
    },
  },
  {
    name: 'a snooze of a job that was asked to stop cancels it',
    proves: ['F17', 'S9'],
    run: async (context) => {
      const lease = await cancelling(context)
      const verdict = await settleOutcome(context.storage, { ...lease, kind: 'released', delayMs: 10 })
      assert.equal(verdict.state, 'cancelled')
      assert.equal((await recordOf(context.storage, lease)).snoozes, 0)
    },
  },
  {
    name: 'a job cancelled on request frees its key and its id',
    proves: ['F25', 'S20'],
    run: async (context) => {
      const { storage, job, added } = context
      const lease = await cancelling(context)
      const deduplication = { key: 'k', mode: 'simple' } as const
      assert.equal((await addOne(storage, job({ deduplication }))).verdict, 'duplicate')
      await settleOutcome(storage, { ...lease, kind: 'retry' })
      await added({ id: lease.id, deduplication })
    },
  },
  {
    name: 'dependents of a job cancelled on request fail with it, unless their onBlockerFailure is wait',
    proves: ['S13', 'chains trap 23'],
    run: async (context) => {
      const { storage, added } = context
      const lease = await cancelling(context)
      const [fails, waits] = [
        await added({ blockers: [refOf(lease)] }),
        await added({ blockers: [refOf(lease)], onBlockerFailure: 'wait' }),
      ]
      const { ended, unblocked } = await settleOutcome(storage, { ...lease, kind: 'released' })
      assert.deepEqual(
        ended.map(({ id, reason }) => [id, reason]),
        [[fails.id, 'blocker_failed']],
      )
      assert.deepEqual([...unblocked], [])
      assert.deepEqual(await statesOf(storage, fails, waits), ['failed', 'blocked'])
    },
  },
  {
    name: 'a job that was asked to stop is cancelled even if its continuation has a taken id',
    proves: ['F17', 'S9'],
    run: async (context) => {
      const { storage, added, job } = context
      const lease = await cancelling(context)
      const { id } = await added()
      assert.equal(
        (await settleOutcome(storage, { ...lease, kind: 'continued', next: job({ id }) })).state,
        'cancelled',
      )
    },
  },
  {
    name: 'a completion that adds a job with an unknown blocker is a conflict, asked to stop or not',
    proves: ['F17', 'S13'],
    run: async (context) => {
      const { storage, job } = context
      const lease = await cancelling(context)
      const add = [job({ blockers: [{ type: 'mail', id: 'unknown' }] })]
      const [verdict] = await storage.settle([{ ...lease, kind: 'completed', add }])
      assert.equal(verdict?.verdict, 'conflict')
      assert.deepEqual(await statesOf(storage, lease), ['processing'])
    },
  },
  {
    name: 'a job that was cancelled on request and revived is no longer asked to stop',
    proves: ['S9', 'F17'],
    run: async (context) => {
      const { storage, claimOne, unit } = context
      const lease = await cancelling(context)
      await settleOutcome(storage, { ...lease, kind: 'retry' })
      await storage.revive([refOf(lease)])
      const again = fenceOf(await claimOne())
      assert.equal((await storage.extend([{ ...again, leaseMs: 50 * unit }]))[0]?.verdict, 'extended')
      assert.equal((await settleOutcome(storage, { ...again, kind: 'retry' })).state, 'failing')
    },
  },
  {
    name: 'a new life does not inherit the request to stop',
    proves: ['S9', 'trap 10'],
    run: async (context) => {
      const { storage, added, claimOne, unit } = context
      const lease = await cancelling(context)
      await settleOutcome(storage, { ...lease, kind: 'retry' })
      await added({ id: lease.id })
      const again = fenceOf(await claimOne())
      assert.equal((await storage.extend([{ ...again, leaseMs: 50 * unit }]))[0]?.verdict, 'extended')
      assert.equal((await settleOutcome(storage, { ...again, kind: 'retry' })).state, 'failing')
    },
  },
]

export const settleCancellingCases: readonly Case[] = [...stopCases, ...otherCases]
