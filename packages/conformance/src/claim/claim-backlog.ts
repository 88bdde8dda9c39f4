// The cost of a claim: it does not grow with the backlog. Only a gross excess is caught here, by the shortest of several
// tries, so that a busy machine does not fail the case; a benchmark measures the exact cost.

import assert from 'node:assert/strict'
import { systemClock } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { fenceOf } from '../records.ts'

const types = Array.from({ length: 10 }, (_, index) => `type-${index}`)
/** Jobs of each type: first `few`, then `many`. The same number is added with a far runAt. */
const [few, many] = [10, 300]
const [tries, rounds] = [15, 5]
/** The largest accepted ratio. A scan of the backlog would cost far more. */
const mostTimes = 4

async function fill({ storage, job, unit }: CaseContext, count: number): Promise<void> {
  for (const type of types) {
    const due = Array.from({ length: count }, (_, index) => job({ type, priority: (index % 21) - 10 }))
    const later = Array.from({ length: count }, (_, index) =>
      job({ type, priority: (index % 21) - 10, delayMs: 100_000 * unit + index }),
    )
    await storage.add([...due, ...later])
  }
}

/** The shortest of several tries, in ms. Claimed jobs are released to their place. */
async function costs({ storage, claimRequest }: CaseContext): Promise<{ claim: number; nextDueAt: number }> {
  const wanted = types.map((type) => ({ type, leaseMs: 60_000 }))
  const best = { claim: Infinity, nextDueAt: Infinity }
  for (let count = 0; count < tries; count++) {
    const request = claimRequest({ types: wanted, slots: 1 })
    const begun = systemClock.monotonic()
    const { jobs } = await storage.claim(request)
    const claimed = systemClock.monotonic()
    assert.equal(jobs.length, 1)
    await storage.settle(jobs.map((lease) => ({ ...fenceOf(lease), kind: 'released' })))
    const asked = systemClock.monotonic()
    await storage.nextDueAt(wanted)
    best.claim = Math.min(best.claim, claimed - begun)
    best.nextDueAt = Math.min(best.nextDueAt, systemClock.monotonic() - asked)
  }
  return best
}

export const claimBacklogCases: readonly Case[] = [
  {
    name: 'the cost of a claim and of nextDueAt does not grow with the backlog, over many types, priorities and run times',
    proves: ['chains trap 4'],
    run: async (context) => {
      await fill(context, few)
      // The first calls are slower: code is compiled and query plans are made.
      await costs(context)
      const before = await costs(context)
      await fill(context, many - few)
      for (let round = 1; ; round++) {
        const after = await costs(context)
        const times = [after.claim / before.claim, after.nextDueAt / before.nextDueAt]
        if (times.every((each) => each <= mostTimes)) return
        const said = times.map((each) => each.toFixed(1)).join(' and ')
        assert.ok(round < rounds, `claim and nextDueAt take ${said} times as long with ${many / few} times as much`)
      }
    },
  },
]
