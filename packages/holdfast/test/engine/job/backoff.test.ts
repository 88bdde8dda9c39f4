import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Backoff, delayAfter } from '../../../src/engine/job/backoff.ts'

const problem = new Error('the attempt failed')
const noMisfit = (misfit: Error): never => assert.fail(misfit)

/** The shortest and the longest that it can be. */
function rangeOf(backoff: Backoff, attempt: number): [number, number] {
  const delay = (chance: number): number => delayAfter(backoff, attempt, problem, { random: () => chance }, noMisfit)
  return [delay(1 - Number.EPSILON / 2), delay(0)]
}

test('[F11] none is none, and fixed is fixed', () => {
  for (const attempt of [1, 2, 100]) {
    assert.deepEqual(rangeOf('none', attempt), [0, 0])
    assert.deepEqual(rangeOf({ type: 'fixed', delayMs: 250 }, attempt), [250, 250])
  }
})

test('[F11] exponential: base = min(delayMs · factor^(n−1), maxDelayMs), within [base · (1 − jitter), base]', () => {
  for (const [attempt, base] of [
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [9, 256_000],
    [10, 300_000],
    [2_000, 300_000],
  ] as const) {
    for (const backoff of ['exponential', { type: 'exponential' }] as const) {
      assert.deepEqual(rangeOf(backoff, attempt), [base * 0.8, base])
    }
  }
  const own = { type: 'exponential', delayMs: 10, factor: 3, maxDelayMs: 200, jitter: 0.5 } as const
  assert.deepEqual(
    [1, 2, 3, 4].map((attempt) => rangeOf(own, attempt)),
    [
      [5, 10],
      [15, 30],
      [45, 90],
      [100, 200],
    ],
  )
  assert.deepEqual(rangeOf({ ...own, jitter: 0 }, 2), [30, 30])
  assert.deepEqual(rangeOf({ ...own, jitter: 1 }, 2), [1, 30])
  assert.deepEqual(rangeOf({ ...own, factor: 1 }, 50), [5, 10])
})

test('a delay is a whole number of ms, and never NaN or endless', () => {
  assert.deepEqual(rangeOf({ type: 'fixed', delayMs: 0.2 }, 1), [1, 1])
  assert.deepEqual(rangeOf({ type: 'exponential', delayMs: 0.5, jitter: 0 }, 1), [1, 1])
  assert.deepEqual(rangeOf({ type: 'exponential', delayMs: 0 }, 5_000), [0, 0])
  const century = 100 * 365 * 86_400_000
  assert.deepEqual(rangeOf({ type: 'fixed', delayMs: 1e300 }, 1), [century, century])
  assert.deepEqual(rangeOf({ type: 'exponential', delayMs: 1e300, maxDelayMs: 1e308, jitter: 0 }, 9), [
    century,
    century,
  ])
  assert.deepEqual(
    rangeOf(() => Number.MAX_VALUE, 1),
    [century, century],
  )
})

test('[F11] a function is given the attempt and the error', () => {
  const calls: unknown[][] = []
  const backoff = (...args: unknown[]): number => calls.push(args) * 10.5
  assert.deepEqual(rangeOf(backoff, 4), [11, 21])
  assert.deepEqual(calls, [
    [4, problem],
    [4, problem],
  ])
})

test('[F11] [Q4.34] one that throws, or gives no finite number >= 0, is told of, and the default used', () => {
  const bad = [NaN, -1, Infinity, -Infinity, '5', null, undefined, 5n, {}, Promise.resolve(5)]
  const functions: (() => unknown)[] = bad.map((value) => () => value)
  functions.push(() => {
    throw problem
  })
  for (const backoff of functions) {
    const misfits: Error[] = []
    const delay = delayAfter(backoff as () => number, 3, problem, { random: () => 0 }, (misfit) => misfits.push(misfit))
    assert.equal(delay, 4_000)
    assert.equal(misfits.length, 1)
    assert.match(
      misfits[0]!.message,
      /^backoff: (expected a finite number >= 0, got .+|the function threw: .+)\. The default is used\.$/,
    )
  }
})
