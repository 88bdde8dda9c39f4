// Guards the fence of settle: nothing is written unless (type, id, worker, attempt) still match, and a late sole holder is accepted.

import assert from 'node:assert/strict'
import type { Case } from '../case.ts'
import { bringing, fence, kinds, look, outcomeOf, settled, states, whole } from '../look.ts'
import { staleFences } from '../upkeep/stale.ts'

const staleCases: readonly Case[] = staleFences.flatMap(({ when, told, arrange }) =>
  kinds.map((kind): Case => ({
    name: `${kind} of a holder whose ${when} is told ${told}, and changes nothing`,
    proves: ['S6', 'S7', 'S8', 'S9', 'queue trap 6', 'W6', 'chains trap 7'],
    run: async (context) => {
      const { storage, job } = context
      const { lease, untouched } = await arrange(context)
      const before = await whole(storage, ...untouched)
      const next = job()
      const verdicts = await storage.settle([outcomeOf(kind, lease, next)])
      assert.deepEqual(
        verdicts.map(({ verdict }) => verdict),
        [told],
      )
      assert.deepEqual(await whole(storage, ...untouched), before)
      assert.deepEqual(await states(storage, next), [undefined])
    },
  })),
)

const lateCases: readonly Case[] = kinds.map((kind) => ({
  name: `${kind} of a holder whose lease ran out, and whose job nobody took, is accepted`,
  proves: ['S10', 'F13', 'hole: sole holder refused after its lease'],
  run: async ({ storage, added, job, claimOne, advance, unit }) => {
    await added()
    const lease = fence(await claimOne({ types: [{ type: 'mail', leaseMs: unit }] }))
    await advance(3 * unit)
    const verdict = await settled(storage, outcomeOf(kind, lease, job({ type: 'other' })))
    const record = await look(storage, lease)
    assert.equal(record.state, verdict.state)
    assert.equal(record.failures, kind === 'retry' || kind === 'failed' ? 1 : 0)
  },
}))

const addedCases: readonly Case[] = (['completed', 'failed', 'continued'] as const).map((kind) => ({
  name: `the jobs that a refused outcome of kind ${kind} carries are not added`,
  proves: ['S6', 'S13', 'chains trap 11'],
  run: async ({ storage, added, job, claimOne }) => {
    await added()
    const lease = { ...fence(await claimOne()), worker: 'somebody else' }
    const [next, more] = [job(), job({ deduplication: { key: 'k', mode: 'simple' } })]
    await storage.settle([bringing(kind, lease, next, [more])])
    assert.deepEqual(await states(storage, next, more), [undefined, undefined])
    await added({ deduplication: { key: 'k', mode: 'simple' } })
  },
}))

export const settleFenceCases: readonly Case[] = [...lateCases, ...staleCases, ...addedCases]
