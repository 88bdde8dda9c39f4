// When an idle worker claims: at once by a hint, by the fallback poll when hints are lost, and no more often than that.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clockBench } from './clock-bench.ts'
import { gate } from './driver.ts'

describe('wake', () => {
  test('[Q4.36] [trap 29] a hint that comes while a claim is under way is not lost', async (t) => {
    const { queue: newQueue, clock, line, storage } = clockBench(t)
    const [asked, answered] = [gate(), gate()]
    line.on('claim', async (apply, { number }) => {
      const claim = await apply()
      if (number === 2) {
        asked.resolve()
        await answered.promise
      }
      return claim
    })
    const queue = newQueue({ blockTimeout: 60, concurrency: 3 })
    const seen: string[] = []
    queue.execute((job) => {
      seen.push(job.id)
      return new Promise(() => {})
    })
    await queue.start()
    const other = newQueue({ storage })
    await other.enqueue('first', 1)
    await asked.promise
    // The claim has been made, its answer is on the way, and it does not have this one.
    await other.enqueue('second', 1)
    await clock.settle()
    answered.resolve()
    await clock.settle()
    assert.deepEqual(seen, ['first', 'second'])
  })

  test('[Q4.28] with hints, a job starts without any time passing', async (t) => {
    const { queue: newQueue, clock, now } = clockBench(t)
    const queue = newQueue({ blockTimeout: 60 })
    const seen: unknown[] = []
    queue.execute((job) => seen.push([job.id, now()]))
    await queue.start()
    await clock.advance(7)
    await queue.enqueue('a', 1)
    await clock.settle()
    assert.deepEqual(seen, [['a', 7]])
  })

  for (const [what, blockTimeout, leaseMs, latest] of [
    ['blockTimeout', 2, 30_000, 2_000],
    ['the default of 5 s', undefined, 30_000, 5_000],
    ['the lease, where that is shorter', 60, 1_000, 1_000],
  ] as const) {
    test(`[Q4.38] [trap 29] without hints, it is found within ${what}`, async (t) => {
      const { queue: newQueue, line, storage, now, to } = clockBench(t)
      line.lose(() => true)
      const queue = newQueue({ blockTimeout, leaseMs })
      const seen: number[] = []
      queue.execute(() => seen.push(now()))
      await queue.start()
      await to(10_000)
      await newQueue({ storage }).enqueue('a', 1)
      await to(10_000 + latest)
      assert.equal(seen.length, 1)
      const asked = line.calls.filter(({ verb }) => verb === 'claim').length
      assert.ok(asked <= 1 + 10_000 / (0.9 * latest) + 2, `${asked} claims`)
    })
  }

  for (const [own, ofStorage, expected] of [
    [1_000, 30_000, 1_000],
    [undefined, 2_000, 2_000],
    [undefined, undefined, 5_000],
  ] as const) {
    test(`[trap 51] pollMs ${own} of the queue, ${ofStorage} of the storage: a claim every ${expected} ms`, async (t) => {
      const { queue: newQueue, storage, line, to } = clockBench(t)
      Object.assign(storage.settings, { pollMs: ofStorage })
      const queue = newQueue({ pollMs: own })
      queue.execute(() => 1)
      await queue.start()
      await to(100_000)
      const claims = line.count('claim') - 1
      const expectedClaims = 100_000 / expected
      assert.ok(claims >= expectedClaims && claims <= expectedClaims / 0.9, `${claims} claims in 100 s`)
    })
  }

  test('[Q4.28] an idle worker asks little: a claim and a question for each poll, a look at the limits per 5 s', async (t) => {
    const { queue: newQueue, line, to } = clockBench(t)
    const queue = newQueue()
    queue.execute(() => 1)
    await queue.start()
    const before = line.count()
    await to(60_000)
    const calls = line.count() - before
    assert.ok(calls <= 36, `${calls} calls in a minute`)
    assert.ok(line.count('kv.get') <= 12, `${line.count('kv.get')} looks at the limits in a minute`)
  })
})
