// When a failed attempt is tried again.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Backoff } from 'holdfast'
import { clockBench } from './clock-bench.ts'

/** The delays between the attempts of a job that always fails. */
async function delays(t: TestContext, backoff: Backoff | undefined, attempts: number, seed = 1): Promise<number[]> {
  const { clock, queue: newQueue, now } = clockBench(t, seed)
  const queue = newQueue({ backoff, visibilityTimeout: 86_400_000, blockTimeout: 600 })
  const startedAt: number[] = []
  queue.execute(() => {
    startedAt.push(now())
    throw new Error('again')
  })
  await queue.start()
  await queue.enqueue('a', 1, { maxAttempts: attempts })
  for (let step = 0; step < 200 && startedAt.length < attempts; step++) await clock.advance(30_000)
  assert.equal(startedAt.length, attempts)
  return startedAt.slice(1).map((at, index) => at - startedAt[index]!)
}

describe('backoff', () => {
  test('[Q4.30] [trap 21] exponential by default: 1 s, doubled up to 5 min, a fifth of it left to chance', async (t) => {
    const bases = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000]
    const all: number[] = []
    for (const backoff of ['exponential', { type: 'exponential' }] as const) {
      for (const seed of [1, 2, 3]) {
        const found = await delays(t, backoff, 12, seed)
        found.forEach((delay, index) => {
          const base = bases[index]!
          assert.ok(delay >= 0.8 * base && delay <= base, `${delay} after attempt ${index + 1}`)
          all.push(delay / base)
        })
      }
    }
    assert.ok(Math.max(...all) - Math.min(...all) > 0.1, 'nothing was left to chance')
  })

  const exact: [what: string, backoff: Backoff, expected: number[]][] = [
    ["'none'", 'none', [0, 0, 0]],
    ['fixed', { type: 'fixed', delayMs: 250 }, [250, 250, 250]],
    ['fixed 0', { type: 'fixed', delayMs: 0 }, [0, 0, 0]],
    ['exponential without jitter', { type: 'exponential', jitter: 0 }, [1_000, 2_000, 4_000]],
    ['with a factor', { type: 'exponential', delayMs: 10, factor: 3, jitter: 0 }, [10, 30, 90]],
    ['with factor 1', { type: 'exponential', delayMs: 10, factor: 1, jitter: 0 }, [10, 10, 10]],
    ['with a maximum', { type: 'exponential', delayMs: 100, maxDelayMs: 250, jitter: 0 }, [100, 200, 250]],
    ['of its own', (attempt) => 100 * attempt, [100, 200, 300]],
    ['of its own, with a fraction', () => 1.2, [2, 2, 2]],
  ]
  for (const [what, backoff, expected] of exact) {
    test(`[Q4.30] ${what}: after ${expected.join(', ')} ms`, async (t) => {
      assert.deepEqual(await delays(t, backoff, 4), expected)
    })
  }

  test('[Q4.30] with jitter 1: anything up to the base', async (t) => {
    const found = (await delays(t, { type: 'exponential', delayMs: 1_000, factor: 1, jitter: 1 }, 30)).toSorted(
      (a, b) => a - b,
    )
    assert.ok(found[0]! < 300 && found.at(-1)! <= 1_000 && found.at(-1)! > 700, found.join())
  })

  test('[Q4.30] a huge number of attempts stays at the maximum', async (t) => {
    const backoff = { type: 'exponential', delayMs: 1, factor: 1_000, maxDelayMs: 10, jitter: 0 } as const
    const found = await delays(t, backoff, 150)
    assert.deepEqual([found[0], ...new Set(found.slice(1))], [1, 10])
  })

  test('[Q4.30] a backoff of its own is given the attempt that failed, and its error', async (t) => {
    const seen: unknown[] = []
    await delays(t, (attempt, error) => (seen.push([attempt, error.message]), 1), 3)
    assert.deepEqual(seen, [
      [1, 'again'],
      [2, 'again'],
    ])
  })

  test('[Q4.34] one that misbehaves: the default for that attempt, an error event each time', async (t) => {
    const { clock, queue: newQueue } = clockBench(t)
    const answers = [NaN, 5, -1]
    const queue = newQueue({ backoff: (attempt) => answers[attempt - 1]! })
    const errors: Error[] = []
    queue.on('error', (error) => errors.push(error))
    queue.execute(() => assert.fail('again'))
    await queue.start()
    await queue.enqueue('a', 1, { maxAttempts: 9 })
    await clock.settle()
    const wait = async (): Promise<number> => (await queue.getStatus('a'))!.runAt! - clock.now()
    const first = await wait()
    assert.ok(first >= 800 && first <= 1_000, `${first}`)
    await clock.advance(first)
    assert.equal(await wait(), 5)
    await clock.advance(5)
    const third = await wait()
    assert.ok(third >= 3_200 && third <= 4_000, `${third}`)
    assert.equal(errors.length, 2)
  })
})
