// Outcomes that a claim carries: settled first, in the same move, with the verdicts of settle.

import assert from 'node:assert/strict'
import type { Outcome } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'
import { outcomeKinds, sampleOutcome } from '../outcomes.ts'
import { fenceOf, idsOf, recordOf, refOf, snapshotOf, statesOf } from '../records.ts'

export const claimSettleCases: readonly Case[] = [
  ...outcomeKinds.map((kind): Case => ({
    name: `a claim settles an outcome of kind ${kind}`,
    proves: ['S7'],
    run: async ({ storage, added, job, claimOne, claimRequest }) => {
      await added()
      const lease = fenceOf(await claimOne())
      const outcome = sampleOutcome(kind, lease, job({ type: 'other' }))
      const { settled } = await storage.claim(claimRequest({ outcomes: [outcome], slots: 0 }))
      const state = {
        completed: 'completed',
        retry: 'failing',
        failed: 'failed',
        released: 'queued',
        continued: 'completed',
      }
      assert.deepEqual(
        settled.map((verdict) => verdict.verdict === 'settled' && verdict.state),
        [state[kind]],
      )
      assert.deepEqual(await statesOf(storage, lease), [state[kind]])
    },
  })),
  {
    name: 'the next job of a group is claimed in the call that settles its head',
    proves: ['F21'],
    run: async ({ storage, job, claimOne, claimRequest }) => {
      const group = { key: 'g', ordered: true } as const
      await storage.add([job({ group }), job({ id: 'second', group })])
      const outcome = { ...fenceOf(await claimOne()), kind: 'completed' } as const
      assert.deepEqual(idsOf((await storage.claim(claimRequest({ outcomes: [outcome] }))).jobs), ['second'])
    },
  },
  ...(['retry', 'released'] as const).flatMap((kind) =>
    [{}, { delayMs: 0 }].map((when): Case => ({
      name: `a job that is settled as ${kind} for now${'delayMs' in when ? ', by a delay of 0' : ''} is claimed in the same call`,
      proves: ['S7'],
      run: async ({ storage, added, claimOne, claimRequest }) => {
        const { id } = await added()
        const outcome = { ...fenceOf(await claimOne()), kind, ...when } as Outcome
        const { jobs } = await storage.claim(claimRequest({ outcomes: [outcome] }))
        assert.deepEqual(
          jobs.map((job) => [job.id, job.attempt]),
          [[id, 2]],
        )
      },
    })),
  ),
  {
    name: 'a continuation and an unblocked dependent are claimed in the call that makes them due',
    proves: ['S13'],
    run: async ({ storage, added, job, claim, claimRequest }) => {
      const blocker = await added({ id: 'blocker' })
      await added({ id: 'first' })
      await added({ id: 'dependent', blockers: [refOf(blocker)] })
      const [one, two] = (await claim()).map(fenceOf)
      const { jobs } = await storage.claim(
        claimRequest({
          outcomes: [
            { ...one!, kind: 'completed', result: bytes('done') },
            { ...two!, kind: 'continued', next: job({ id: 'next' }) },
          ],
        }),
      )
      assert.deepEqual(idsOf(jobs).toSorted(), ['dependent', 'next'])
      assert.equal(text(jobs.find(({ id }) => id === 'dependent')!.blockers[0]!.result), 'done')
    },
  },
  {
    name: 'the verdicts of a claim come in the order of its outcomes, and a refused outcome changes nothing',
    proves: ['S6', 'S7'],
    run: async ({ storage, job, claim, claimRequest }) => {
      await storage.add([job(), job(), job()])
      const [one, two, three] = (await claim()).map(fenceOf)
      const before = await snapshotOf(storage, two!)
      const { settled } = await storage.claim(
        claimRequest({
          outcomes: [
            { ...one!, kind: 'failed' },
            { ...two!, worker: 'another worker', kind: 'completed' },
            { ...three!, kind: 'completed' },
          ],
        }),
      )
      assert.deepEqual(
        settled.map((verdict) => (verdict.verdict === 'settled' ? verdict.state : verdict.verdict)),
        ['failed', 'taken_by_another_worker', 'completed'],
      )
      assert.deepEqual(await snapshotOf(storage, two!), before)
    },
  },
  {
    name: 'an outcome of an ended lease is settled before leases are taken back',
    proves: ['S10'],
    run: async ({ storage, added, claimOne, claimRequest, advance, unit }) => {
      await added()
      const lease = fenceOf(await claimOne({ types: [{ type: 'mail', leaseMs: unit }] }))
      await advance(2 * unit)
      const { jobs, recovered, settled } = await storage.claim(
        claimRequest({ outcomes: [{ ...lease, kind: 'completed' }] }),
      )
      assert.deepEqual([[...jobs], [...recovered], settled[0]!.verdict], [[], [], 'settled'])
      assert.equal((await recordOf(storage, lease)).failures, 0)
    },
  },
  {
    name: 'a repeated outcome in a claim gets the first answer',
    proves: ['S7', 'R3', 'N4'],
    run: async ({ storage, added, claimOne, claimRequest }) => {
      await added()
      const outcome = { ...fenceOf(await claimOne()), kind: 'completed', result: bytes('once') } as const
      await storage.claim(claimRequest({ outcomes: [outcome] }))
      const before = await snapshotOf(storage, outcome)
      const { settled } = await storage.claim(claimRequest({ outcomes: [outcome] }))
      assert.ok(settled[0]!.verdict === 'settled' && settled[0]!.state === 'completed')
      assert.deepEqual(await snapshotOf(storage, outcome), before)
    },
  },
]
