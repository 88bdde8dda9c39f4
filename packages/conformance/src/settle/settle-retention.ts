// Retention of ended records: each end state has its own time, from 0 ms to infinite.

import assert from 'node:assert/strict'
import type { JobState, Outcome } from 'holdfast/storage'
import { bytes } from '../case.ts'
import type { Case, CaseContext } from '../case.ts'
import { complete, continueWith, fail, settleOutcome } from '../outcomes.ts'
import { fenceOf, recordOf, refOf, statesOf } from '../records.ts'

type End = 'completed' | 'failed' | 'cancelled'
const ends: readonly End[] = ['completed', 'failed', 'cancelled']

/** Adds one job and brings it to this end. A cancelled job was asked to stop. */
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
    name: `a ${end} job is kept for the retention of that end state`,
    proves: ['F29', 'S12'],
    run: async (context) => {
      const { job, verdict } = await ended(context, end, {})
      const { finishedAt, expiresAt, state } = await recordOf(context.storage, job)
      const ms = { completed: 900_001, failed: 900_002, cancelled: 900_003 }
      assert.deepEqual([state, expiresAt, verdict.expiresAt], [end, finishedAt! + ms[end], expiresAt])
    },
  },
  {
    name: `a ${end} job with a retention of 0 ms is gone at its end`,
    proves: ['F29', 'S20'],
    run: async (context) => {
      const { job, verdict } = await ended(context, end, { [`${end}Ms`]: 0 })
      assert.equal(verdict.state, end satisfies JobState)
      assert.deepEqual(await statesOf(context.storage, job), [undefined])
    },
  },
  {
    name: `a ${end} job with an infinite retention has no expiry`,
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
    name: `a ${end} job is readable until its expiry and absent from that instant on, swept or not`,
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
      name: `keepMs ${keepMs} of an outcome of kind ${kind} overrides the retention of the job`,
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
    name: 'the short retention of one job does not affect the result of another',
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
    name: 'a continued job with a retention of 0 ms is kept while its chain is live',
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
    name: 'a chain expires as a whole with its tail',
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
    name: 'a chain whose tail has a retention of 0 ms is gone at its end',
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
