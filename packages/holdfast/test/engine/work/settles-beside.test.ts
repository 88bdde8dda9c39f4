// Outcomes that are settled beside claims, where a storage asks for it and many jobs are held ahead.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Outcome } from 'holdfast/storage'
import { engineDefaults } from '../../../src/engine/defaults.ts'
import type { Verb } from '../../queue/faulty-storage.ts'
import { completed, ids, workBench } from './bench.ts'

/** Each claim and settle takes 5 ms. Counts those in flight, and the attempts that ended and are not recorded. */
function slowBench(t: TestContext, concurrency: number) {
  const bench = workBench(t, { claimsInFlight: 2, settlesBeside: true })
  const inFlight = { claim: 0, settle: 0 }
  const seen = { claims: 0, settles: 0, both: 0, unrecorded: 0 }
  let recorded = 0
  const slow = (verb: 'claim' | 'settle'): void =>
    bench.line.on(verb, async (apply, { args }) => {
      inFlight[verb]++
      seen.claims = Math.max(seen.claims, inFlight.claim)
      seen.settles = Math.max(seen.settles, inFlight.settle)
      if (inFlight.claim > 0 && inFlight.settle > 0) seen.both++
      await new Promise<void>((resolve) => bench.clock.after(5, resolve))
      const answer = await apply()
      inFlight[verb]--
      recorded += outcomesOf(verb, args).length
      return answer
    })
  slow('claim')
  slow('settle')
  const worker = bench.worker({
    prefetchMs: 20,
    concurrency,
    run: async () => {
      seen.unrecorded = Math.max(seen.unrecorded, bench.started.length - recorded)
      return completed
    },
  })
  return { ...bench, worker, seen, slow }
}

const outcomesOf = (verb: Verb, [first]: readonly unknown[]): readonly Outcome[] =>
  verb === 'settle' ? (first as readonly Outcome[]) : (first as { outcomes: readonly Outcome[] }).outcomes

for (const concurrency of [1, 10]) {
  test(`[P4] ${concurrency} slots: one claim and one settle are in flight at most, and jobs start once, in their order`, async (t) => {
    const { add, clock, worker, started, seen, stateOf } = slowBench(t, concurrency)
    const all = ids(10_000)
    for (let start = 0; start < all.length; start += 1_000) await add(all.slice(start, start + 1_000))
    await Promise.all([worker.start(), clock.advance(10)])
    for (let ms = 0; ms < 2_000 && started.length < all.length; ms += 10) await clock.advance(10)
    await clock.advance(100)
    assert.deepEqual(
      started.map(({ job }) => job.id),
      all,
    )
    for (const id of all) assert.equal(await stateOf(id), 'completed')
    assert.ok(seen.both > 5, `${seen.both} calls were sent beside another`)
    assert.equal(seen.settles, 1)
    // Before many jobs are held, a claim may go beside another for its share of the slots.
    assert.ok(seen.claims <= (concurrency === 1 ? 1 : 2), `${seen.claims} claims at once`)
    // Those of the call under way, and those that ended meanwhile.
    assert.ok(seen.unrecorded <= 2 * engineDefaults.batch, `${seen.unrecorded} outcomes were not recorded`)
  })
}

test('[P5] while a settle is not answered, claims end soon: outcomes do not gather without a bound', async (t) => {
  const { add, clock, worker, started, line, slow } = slowBench(t, 10)
  const all = ids(20_000)
  for (let start = 0; start < all.length; start += 1_000) await add(all.slice(start, start + 1_000))
  await Promise.all([worker.start(), clock.advance(10)])
  for (let ms = 0; ms < 2_000 && started.length < 5_000; ms += 10) await clock.advance(10)
  line.on('settle', (apply) => new Promise((resolve) => clock.after(1_000, () => resolve(apply()))))
  await clock.advance(500)
  const startedMeanwhile = started.length
  // In the call, waiting for the next one, and held when claims ended.
  assert.ok(startedMeanwhile <= 5_000 + 4 * engineDefaults.batch, `${startedMeanwhile} jobs started`)
  await clock.advance(400)
  assert.equal(started.length, startedMeanwhile)
  slow('settle')
  for (let ms = 0; ms < 5_000 && started.length < all.length; ms += 10) await clock.advance(10)
  assert.equal(new Set(started.map(({ job }) => job.id)).size, all.length)
})
