// Repeated settles: a settle whose reply was lost gets the first answer, whatever happened since, and takes effect once.

import assert from 'node:assert/strict'
import type { JobRef, Outcome, Storage } from 'holdfast/storage'
import { bytes } from '../case.ts'
import type { Case } from '../case.ts'
import { complete, fail, outcomeKinds, retry, sampleOutcome, settleOutcome } from '../outcomes.ts'
import { fenceOf, recordOf, refOf, snapshotOf, statesOf } from '../records.ts'

/** Asserts that a repeated settle gets the first state, reports nothing, and changes none of these jobs. */
async function repeated(storage: Storage, outcome: Outcome, state: string, ...untouched: JobRef[]): Promise<void> {
  const before = await snapshotOf(storage, outcome, ...untouched)
  const verdict = await settleOutcome(storage, outcome)
  assert.deepEqual([verdict.state, [...verdict.added], [...verdict.ended], [...verdict.unblocked]], [state, [], [], []])
  assert.deepEqual(await snapshotOf(storage, outcome, ...untouched), before)
}

const kindCases: readonly Case[] = outcomeKinds.map((kind) => ({
  name: `a repeated ${kind} gets the first answer and takes effect once`,
  proves: ['S7', 'R3', 'N4', 'trap 49'],
  run: async ({ storage, added, job, claimOne }) => {
    await added()
    const next = job({ type: 'other' })
    const outcome = sampleOutcome(kind, fenceOf(await claimOne()), next)
    const first = await settleOutcome(storage, outcome)
    await repeated(storage, outcome, first.state, next)
  },
}))

const laterCases: readonly Case[] = (['retry', 'released'] as const).flatMap((kind): Case[] => [
  {
    name: `a repeated ${kind} gets the first answer while another attempt runs`,
    proves: ['S7', 'R3'],
    run: async ({ storage, added, job, claimOne }) => {
      await added()
      const outcome = sampleOutcome(kind, fenceOf(await claimOne()), job())
      const { state } = await settleOutcome(storage, outcome)
      await claimOne()
      await repeated(storage, outcome, state)
    },
  },
  ...(
    [
      ['completed', complete],
      ['failed', fail],
    ] as const
  ).map(([end, finish]): Case => ({
    name: `a repeated ${kind} gets the first answer after another attempt ${end}`,
    proves: ['S7', 'S8', 'R3'],
    run: async ({ storage, added, job, claimOne }) => {
      await added()
      const outcome = sampleOutcome(kind, fenceOf(await claimOne()), job())
      const { state } = await settleOutcome(storage, outcome)
      await finish(storage, await claimOne())
      await repeated(storage, outcome, state)
    },
  })),
  {
    name: `a repeated ${kind} gets the first answer after the job was cancelled`,
    proves: ['S7', 'S9', 'trap 12'],
    run: async ({ storage, added, job, claimOne }) => {
      await added()
      const outcome = sampleOutcome(kind, fenceOf(await claimOne()), job())
      const { state } = await settleOutcome(storage, outcome)
      await storage.cancel([refOf(outcome)])
      await repeated(storage, outcome, state)
    },
  },
])

const otherCases: readonly Case[] = [
  {
    name: 'a repeated settle is recognised as long as its attempt is among the last 10 of the record',
    proves: ['S7', 'R3'],
    run: async ({ storage, added, claimOne }) => {
      await added({ maxAttempts: 50 })
      const outcome: Outcome = { ...fenceOf(await claimOne()), kind: 'retry', error: bytes('first') }
      await settleOutcome(storage, outcome)
      for (let round = 2; round <= 10; round++) await retry(storage, await claimOne())
      await repeated(storage, outcome, 'failing')
    },
  },
  {
    name: 'a repeat of the last retry, which failed the job, answers failed',
    proves: ['S7', 'S17'],
    run: async ({ storage, added, claimOne }) => {
      await added({ maxAttempts: 1 })
      const outcome: Outcome = { ...fenceOf(await claimOne()), kind: 'retry', error: bytes('last') }
      await settleOutcome(storage, outcome)
      await repeated(storage, outcome, 'failed')
    },
  },
  ...outcomeKinds.map((first): Case => ({
    name: `an attempt that ended as ${first} ends once: every other outcome gets the state of the first`,
    // Planted defect: settle accepted after release at stop.
    proves: ['S7', 'S8'],
    run: async ({ storage, added, job, claimOne }) => {
      await added()
      const lease = fenceOf(await claimOne())
      const { state } = await settleOutcome(storage, sampleOutcome(first, lease, job()))
      const next = job()
      for (const second of outcomeKinds) await repeated(storage, sampleOutcome(second, lease, next), state, next)
    },
  })),
  {
    name: 'one fence twice in a batch is settled once, and both items answer settled',
    proves: ['S7', 'S3'],
    run: async ({ storage, added, claimOne }) => {
      await added({ maxAttempts: 2 })
      const outcome: Outcome = { ...fenceOf(await claimOne()), kind: 'retry', error: bytes('once') }
      const verdicts = await storage.settle([outcome, outcome])
      assert.deepEqual(
        verdicts.map((verdict) => verdict.verdict === 'settled' && verdict.state),
        ['failing', 'failing'],
      )
      const { failures, attempts } = await recordOf(storage, outcome, 'attempts')
      assert.deepEqual([failures, attempts!.length], [1, 1])
    },
  },
  {
    name: 'one outcome sent twice concurrently is settled once, and both calls answer settled',
    proves: ['S7', 'R3'],
    run: async ({ storage, another, added, claimOne }) => {
      await added()
      const outcome: Outcome = { ...fenceOf(await claimOne()), kind: 'retry', error: bytes('once') }
      const verdicts = await Promise.all([settleOutcome(storage, outcome), settleOutcome(await another(), outcome)])
      assert.deepEqual(
        verdicts.map(({ state }) => state),
        ['failing', 'failing'],
      )
      assert.equal((await recordOf(storage, outcome)).failures, 1)
    },
  },
  {
    name: 'a repeated continuation adds nothing, whatever state the continuation is in',
    proves: ['S13', 'chains trap 11', 'R3'],
    run: async ({ storage, added, job, claimOne }) => {
      await added()
      const next = job({ id: 'next' })
      const outcome: Outcome = { ...fenceOf(await claimOne()), kind: 'continued', next }
      await settleOutcome(storage, outcome)
      await repeated(storage, outcome, 'completed', next)
      await fail(storage, await claimOne())
      await repeated(storage, outcome, 'completed', next)
    },
  },
  {
    name: 'a repeated outcome does not add its jobs again, even if their ids are free',
    proves: ['S3', 'S13'],
    run: async ({ storage, added, job, claimOne }) => {
      await added()
      const more = job({ id: 'more', retention: { completedMs: 0, failedMs: 0, cancelledMs: 0 } })
      const outcome: Outcome = { ...fenceOf(await claimOne()), kind: 'completed', add: [more] }
      await settleOutcome(storage, outcome)
      await complete(storage, await claimOne())
      await repeated(storage, outcome, 'completed', more)
      assert.deepEqual(await statesOf(storage, more), [undefined])
    },
  },
  {
    name: 'a repeated end unblocks and fails no dependent a second time',
    proves: ['S13', 'S7'],
    run: async ({ storage, added, claim, claimOne, unit }) => {
      const [one, two] = [await added(), await added()]
      const dependent = await added({ type: 'other', blockers: [refOf(one), refOf(two)] })
      const leases = (await claim()).map(fenceOf)
      const outcome: Outcome = { ...leases[0]!, kind: 'completed' }
      await settleOutcome(storage, outcome)
      await repeated(storage, outcome, 'completed', dependent)
      assert.equal((await recordOf(storage, dependent)).openBlockers, 1)
      await complete(storage, leases[1]!)
      await complete(storage, await claimOne({ types: [{ type: 'other', leaseMs: 10 * unit }] }))
      await repeated(storage, outcome, 'completed', dependent)
    },
  },
  {
    name: 'a repeated settle whose record had a retention of 0 ms answers not_found or settled',
    proves: ['S7'],
    run: async ({ storage, added, claimOne }) => {
      await added({ retention: { completedMs: 0, failedMs: 0, cancelledMs: 0 } })
      const outcome: Outcome = { ...fenceOf(await claimOne()), kind: 'completed' }
      await settleOutcome(storage, outcome)
      const [verdict] = await storage.settle([outcome])
      assert.ok(verdict?.verdict === 'not_found' || verdict?.verdict === 'settled')
      assert.deepEqual(await statesOf(storage, outcome), [undefined])
    },
  },
]

export const settleRepeatCases: readonly Case[] = [...kindCases, ...laterCases, ...otherCases]
