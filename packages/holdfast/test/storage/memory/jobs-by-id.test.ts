import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MemoryJob } from '../../../src/storage/memory/data.ts'
import { JobsById } from '../../../src/storage/memory/jobs-by-id.ts'

/** The field of a job that is read here. */
const jobOf = (id: string): MemoryJob => ({ id }) as MemoryJob

/** A seeded generator: the same numbers in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

test('answers as a Map after any sequence of adds, replacements and removals', () => {
  const next = numbers(11)
  const jobs = new JobsById()
  const expected = new Map<string, MemoryJob>()
  for (let step = 0; step < 40_000; step++) {
    // It grows to hundreds of jobs, and shrinks to a few, again and again.
    const isGrowing = step % 4_000 < 2_000
    const job = jobOf(`job-${next(1_000)}`)
    const choice = next(10)
    if (choice < (isGrowing ? 6 : 1)) {
      assert.equal(jobs.add(job), !expected.has(job.id))
      if (!expected.has(job.id)) expected.set(job.id, job)
    } else if (choice < (isGrowing ? 7 : 2)) {
      jobs.set(job)
      expected.set(job.id, job)
    } else {
      jobs.delete(job.id)
      expected.delete(job.id)
    }
    const asked = `job-${next(1_000)}`
    assert.equal(jobs.get(asked), expected.get(asked))
    assert.equal(jobs.size, expected.size)
    if (step % 100 === 0) assert.deepEqual([...jobs.values()], [...expected.values()])
  }
})

test('finds jobs in the order in which they were added, while others are removed and replaced', () => {
  const jobs = new JobsById()
  const added = Array.from({ length: 2_000 }, (_, n) => jobOf(`job-${n}`))
  for (const job of added) jobs.add(job)
  for (let n = 0; n < added.length; n++) {
    const { id } = added[n]!
    assert.equal(jobs.get(id), added[n])
    const next = added[n + 1]
    if (n % 3 === 0 && next) jobs.set((added[n + 1] = jobOf(next.id)))
    // The table shrinks on the way: positions change.
    jobs.delete(id)
    assert.equal(jobs.get(id), undefined)
  }
  assert.equal(jobs.size, 0)
})

test('tells ids apart that differ in little, in length, or beyond one byte', () => {
  const ids = ['a', 'b', 'aa', 'ab', 'ba', '\u{1f600}', '\u{1f601}', 'é', 'e\u0301', '', '0', '00', 'ａ']
  for (let length = 1; length <= 512; length++) ids.push('x'.repeat(length))
  const jobs = new JobsById()
  for (const id of ids) assert.equal(jobs.add(jobOf(id)), true, JSON.stringify(id))
  for (const id of ids) assert.equal(jobs.get(id)?.id, id)
  assert.equal(jobs.size, ids.length)
})

test('an id that is added and removed again and again takes no room', () => {
  const jobs = new JobsById()
  jobs.add(jobOf('stays'))
  for (let round = 0; round < 100_000; round++) {
    jobs.add(jobOf('comes'))
    jobs.delete('comes')
    // A search for an absent id ends: not all slots are in use.
    if (round % 1_000 === 0) assert.equal(jobs.get('absent'), undefined)
  }
  assert.deepEqual(
    [...jobs.values()].map(({ id }) => id),
    ['stays'],
  )
})
