// The fence of settle: nothing is written unless (type, id, worker, attempt) match; a late holder is accepted if no other took the job.

import assert from 'node:assert/strict'
import type { Case } from '../case.ts'
import { outcomeAdding, outcomeKinds, sampleOutcome, settleOutcome } from '../outcomes.ts'
import { fenceOf, recordOf, snapshotOf, statesOf } from '../records.ts'
import { staleFences } from '../lease/stale-fences.ts'

const staleCases: readonly Case[] = staleFences.flatMap(({ when, answer, arrange }) =>
  outcomeKinds.map((kind): Case => ({
    name: `${kind} by a holder whose ${when} answers ${answer} and changes nothing`,
    proves: ['S6', 'S7', 'S8', 'S9', 'trap 6', 'W6', 'chains trap 7'],
    run: async (context) => {
      const { storage, job } = context
      const { lease, untouched } = await arrange(context)
      const before = await snapshotOf(storage, ...untouched)
      const next = job()
      const verdicts = await storage.settle([sampleOutcome(kind, lease, next)])
      assert.deepEqual(
        verdicts.map(({ verdict }) => verdict),
        [answer],
      )
      assert.deepEqual(await snapshotOf(storage, ...untouched), before)
      assert.deepEqual(await statesOf(storage, next), [undefined])
    },
  })),
)

const lateCases: readonly Case[] = outcomeKinds.map((kind) => ({
  name: `${kind} by a holder whose lease ended is accepted if the job was not taken back`,
  // Seen in other queues: sole holder refused after its lease.
  proves: ['S10', 'F13'],
  run: async ({ storage, added, job, claimOne, advance, unit }) => {
    await added()
    const lease = fenceOf(await claimOne({ types: [{ type: 'mail', leaseMs: unit }] }))
    await advance(3 * unit)
    const verdict = await settleOutcome(storage, sampleOutcome(kind, lease, job({ type: 'other' })))
    const record = await recordOf(storage, lease)
    assert.equal(record.state, verdict.state)
    assert.equal(record.failures, kind === 'retry' || kind === 'failed' ? 1 : 0)
  },
}))

const addedCases: readonly Case[] = (['completed', 'failed', 'continued'] as const).map((kind) => ({
  name: `a refused outcome of kind ${kind} adds no jobs`,
  proves: ['S6', 'S13', 'chains trap 11'],
  run: async ({ storage, added, job, claimOne }) => {
    await added()
    const lease = { ...fenceOf(await claimOne()), worker: 'another worker' }
    const [next, more] = [job(), job({ deduplication: { key: 'k', mode: 'simple' } })]
    await storage.settle([outcomeAdding(kind, lease, next, [more])])
    assert.deepEqual(await statesOf(storage, next, more), [undefined, undefined])
    await added({ deduplication: { key: 'k', mode: 'simple' } })
  },
}))

export const settleFenceCases: readonly Case[] = [...lateCases, ...staleCases, ...addedCases]
