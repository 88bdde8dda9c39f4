// Guards how long the record of an end is kept: by its own end, for its own time, from 0 ms to for ever.

import assert from 'node:assert/strict'
import type { JobState, Outcome } from 'holdfast/storage'
import { bytes } from '../case.ts'
import type { Case, CaseContext } from '../case.ts'
import { complete, continueWith, fail, settleOutcome } from '../outcomes.ts'
import { fenceOf, recordOf, refOf, statesOf } from '../records.ts'

type End = 'completed' | 'failed' | 'cancelled'
const ends: readonly End[] = ['completed', 'failed', 'cancelled']

/** One job, ended so. The cancelled one was asked to stop, and did. */
async function ended({ storage, added, claimOne }: CaseContext, end: End, kept: Partial<Record<`${End}Ms`, number>>) {
  const job = await added({ retention: { completedMs: 900_001, failedMs: 900_002, cancelledMs: 900_003, ...kept } })
  const lease = await claimOne()
  if (end === 'completed') return { job, verdict: await complete(storage, lease, 'done') }
  if (end === 'failed') return { job, verdict: await fail(storage, lease) }
  await storage.cancel([refOf(job)], { abort: true })
  return { job, verdict: await settleOutcome(storage, { ...fenceOf(lease), kind: 'retry', error: bytes('aborted') }) }
}

const endCases: readonly Case[] = ends.flatMap((end): Case[] => [
  {
    name: `a ${end} job is kept for the time given for that end`,
    proves: ['F29', 'S12'],
    run: async (context) => {
      const { job, verdict } = await ended(context, end, {})
      const { finishedAt, expiresAt, state } = await recordOf(context.storage, job)
      const ms = { completed: 900_001, failed: 900_002, cancelled: 900_003 }
      assert.deepEqual([state, expiresAt, verdict.expiresAt], [end, finishedAt! + ms[end], expiresAt])
    },
  },
  {
    name: `a ${end} job that is kept for 0 ms is gone at its end`,
    proves: ['F29', 'S20'],
    run: async (context) => {
      const { job, verdict } = await ended(context, end, { [`${end}Ms`]: 0 })
      assert.equal(verdict.state, end satisfies JobState)
      assert.deepEqual(await statesOf(context.storage, job), [undefined])
    },
  },
  {
    name: `a ${end} job that is kept for ever has no expiry`,
    proves: ['F29'],
    run: async (context) => {
      const { job, verdict } = await ended(context, end, { [`${end}Ms`]: Infinity })
      await context.advance(3 * context.unit)
      await context.storage.sweep({ limit: 100 })
      const { state, expiresAt } = await recordOf(context.storage, job)
      assert.deepEqual([state, expiresAt, verdict.expiresAt], [end, undefined, undefined])
    },
  },
  {
    name: `a ${end} job is there until its time is over, and absent from that instant on, swept or not`,
    proves: ['S12', 'trap 26'],
    run: async (context) => {
      const { storage, advance, unit } = context
      const { job } = await ended(context, end, { [`${end}Ms`]: 20 * unit })
      await advance(unit)
      assert.deepEqual(await statesOf(storage, job), [end])
      await advance(19 * unit)
      assert.deepEqual(await statesOf(storage, job), [undefined])
    },
  },
])

const keepCases: readonly Case[] = [
  ...(['completed', 'failed'] as const).flatMap((kind) =>
    [77_000, 0, Infinity].map((keepMs): Case => ({
      name: `keepMs ${keepMs} of an outcome of kind ${kind} rules over the retention of the job`,
      proves: ['S12', 'F29'],
      run: async ({ storage, added, claimOne }) => {
        const job = await added({ retention: { completedMs: 1_000_000, failedMs: 1_000_000, cancelledMs: 1 } })
        const verdict = await settleOutcome(storage, { ...fenceOf(await claimOne()), kind, keepMs } as Outcome)
        assert.equal(verdict.state, kind)
        if (keepMs === 0) return assert.deepEqual(await statesOf(storage, job), [undefined])
        const { finishedAt, expiresAt } = await recordOf(storage, job)
        assert.equal(expiresAt, keepMs === Infinity ? undefined : finishedAt! + keepMs)
        assert.equal(verdict.expiresAt, expiresAt)
      },
    })),
  ),
  {
    name: 'the short time of one job does not touch the result of another',
    // Seen in other queues: one short result TTL deletes the results of all jobs.
    proves: ['S12', 'trap 26'],
    run: async ({ storage, job, claim, advance, unit }) => {
      await storage.add([job({ id: 'short' }), job({ id: 'long' })])
      const leases = (await claim()).map(fenceOf)
      const keepMs = [unit, 500 * unit]
      await storage.settle(
        leases.map((lease, index) => ({ ...lease, kind: 'completed', keepMs: keepMs[index]! }) as const),
      )
      await advance(2 * unit)
      await storage.sweep({ limit: 100 })
      assert.deepEqual(await statesOf(storage, ...leases), [undefined, 'completed'])
    },
  },
]

const chainCases: readonly Case[] = [
  {
    name: 'a job that was continued is kept while its chain lives, though its own time was 0 ms',
    proves: ['chains §3.8', 'S13'],
    run: async ({ storage, added, job, claimOne, advance, unit }) => {
      const retention = { completedMs: 0, failedMs: 0, cancelledMs: 0 }
      const first = await added({ retention })
      await continueWith(storage, await claimOne(), job({ id: 'next', delayMs: 500 * unit }))
      await advance(unit)
      await storage.sweep({ limit: 100 })
      const record = await recordOf(storage, first)
      assert.deepEqual([record.state, record.expiresAt], ['completed', undefined])
    },
  },
  {
    name: 'a chain goes as a whole, when the time of its tail is over',
    proves: ['chains §3.8', 'S20'],
    run: async ({ storage, added, job, claimOne, advance, unit }) => {
      const first = await added({ retention: { completedMs: 0, failedMs: 0, cancelledMs: 0 } })
      const next = job({ retention: { completedMs: 20 * unit, failedMs: 0, cancelledMs: 0 } })
      await continueWith(storage, await claimOne(), next)
      await complete(storage, await claimOne(), 'done')
      await advance(unit)
      assert.deepEqual(await statesOf(storage, first, next), ['completed', 'completed'])
      await advance(19 * unit)
      assert.deepEqual(await statesOf(storage, first, next), [undefined, undefined])
    },
  },
  {
    name: 'a chain whose tail is kept for 0 ms is gone whole at its end',
    proves: ['chains §3.8'],
    run: async ({ storage, added, job, claimOne }) => {
      const first = await added({ retention: { completedMs: Infinity, failedMs: Infinity, cancelledMs: Infinity } })
      const next = job({ retention: { completedMs: 0, failedMs: 0, cancelledMs: 0 } })
      await continueWith(storage, await claimOne(), next)
      await complete(storage, await claimOne())
      assert.deepEqual(await statesOf(storage, first, next), [undefined, undefined])
    },
  },
]

export const settleRetentionCases: readonly Case[] = [...endCases, ...keepCases, ...chainCases]
