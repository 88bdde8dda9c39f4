// The two bounds of a rate: no window has more than the limit, and constant demand uses nearly all of it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freesAt, isWindowOver, type RateUse, usedOf, withStart } from '../../../src/storage/rules/job/rate.ts'

const rate = { limit: 10, perMs: 1_000 }

/** Starts jobs as soon as the rate allows, each weight in turn, until the end. Returns the starts and the most buckets kept. */
function run(
  { limit, perMs }: typeof rate,
  weights: readonly number[],
  endAt: number,
  arrival: (now: number) => number = (now) => now,
): { readonly starts: readonly (readonly [at: number, weight: number])[]; readonly buckets: number } {
  let use: RateUse | undefined
  let buckets = 0
  const starts: [number, number][] = []
  for (let now = 0, index = 0; ; index++) {
    const weight = weights[index % weights.length]!
    now = arrival(freesAt(use, { limit, perMs }, weight, now))
    if (now >= endAt) return { starts, buckets }
    use = withStart(use, { limit, perMs }, weight, now)
    buckets = Math.max(buckets, use.buckets.length)
    starts.push([now, Math.min(weight, limit)])
  }
}

/** The heaviest window. */
function heaviest(starts: readonly (readonly [at: number, weight: number])[], perMs: number): number {
  let most = 0
  for (const [from] of starts) {
    let weight = 0
    for (const [at, each] of starts) if (at >= from && at < from + perMs) weight += each
    most = Math.max(most, weight)
  }
  return most
}

/** A small generator, so that a failure repeats. */
function randoms(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}

test('[F22] no window has more than the limit, whatever the weights and arrivals', () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = randoms(seed)
    const limited = { limit: 1 + Math.floor(random() * 30), perMs: 1 + Math.floor(random() * 2_000) }
    const weights = Array.from({ length: 7 }, () => 1 + Math.floor(random() * limited.limit * 1.2))
    const { starts, buckets } = run(limited, weights, 5 * limited.perMs, (now) => now + Math.floor(random() * 3))
    assert.ok(heaviest(starts, limited.perMs) <= limited.limit, `seed ${seed}`)
    assert.ok(buckets <= 22, `seed ${seed}: ${buckets} buckets`)
  }
})

test('[F22] constant demand uses at least 95 % of the limit', () => {
  // One start a ms at the most, so that the starts are spread as widely as they can be.
  let last = -1
  const spread = (now: number): number => (last = Math.max(now, last + 1))
  const limited = { limit: 500, perMs: 1_000 }
  const { starts } = run(limited, [1], 100_000, spread)
  assert.ok(starts.length >= 0.95 * 100 * limited.limit, `${starts.length} starts`)
})

test('[F22] a start is possible exactly when the oldest buckets that are in its way have left the window', () => {
  let use: RateUse | undefined
  assert.equal(freesAt(use, rate, 10, 0), 0)
  use = withStart(use, rate, 6, 0)
  use = withStart(use, rate, 3, 500)
  assert.equal(freesAt(use, rate, 1, 600), 600)
  assert.equal(freesAt(use, rate, 2, 600), 1_000)
  assert.equal(freesAt(use, rate, 7, 600), 1_000)
  assert.equal(freesAt(use, rate, 8, 600), 1_500)
  assert.equal(freesAt(use, rate, 8, 1_500), 1_500)
})

test('[F22] starts within a 20th of the window share a bucket, which counts whole until its last one has left', () => {
  let use = withStart(undefined, rate, 5, 0)
  use = withStart(use, rate, 5, 49)
  assert.deepEqual(use.buckets, [[0, 49, 10]])
  assert.equal(freesAt(use, rate, 1, 60), 1_049)
  assert.deepEqual(withStart(use, { limit: 20, perMs: 1_000 }, 1, 50).buckets, [
    [0, 49, 10],
    [50, 50, 1],
  ])
})

test('[F22] a job that is heavier than the limit takes all of it', () => {
  const use = withStart(undefined, rate, 50, 0)
  assert.equal(usedOf(use, rate, 0), 10)
  assert.equal(freesAt(use, rate, 50, 1), 1_000)
  assert.equal(freesAt(use, rate, 50, 1_000), 1_000)
})

test('[F22] the use of a rate is the weight in its window, and the window is over when that is 0', () => {
  const use = withStart(withStart(undefined, rate, 2, 0), rate, 3, 900)
  assert.deepEqual(
    [0, 999, 1_000, 1_899, 1_900].map((now) => usedOf(use, rate, now)),
    [5, 5, 3, 3, 0],
  )
  assert.equal(isWindowOver(use, 1_899), false)
  assert.equal(isWindowOver(use, 1_900), true)
  assert.equal(isWindowOver(undefined, 0), true)
})

test('[F22] a limit that was lowered is waited for; one that was raised applies at once', () => {
  const use = withStart(undefined, rate, 10, 0)
  assert.equal(freesAt(use, { limit: 2, perMs: 1_000 }, 1, 10), 1_000)
  assert.equal(freesAt(use, { limit: 11, perMs: 1_000 }, 1, 10), 10)
})

test('[F22] after a step back of the clock, starts still count until they have left the window', () => {
  const use = withStart(withStart(undefined, rate, 5, 10_000), rate, 5, 9_000)
  assert.equal(freesAt(use, rate, 1, 9_000), 11_000)
})
