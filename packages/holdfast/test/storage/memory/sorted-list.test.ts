import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MemoryJob } from '../../../src/storage/memory/data.ts'
import { SortedList } from '../../../src/storage/memory/sorted-list.ts'

/** The fields of a job that a sorted list reads. */
const standing = (runAt: number): MemoryJob => ({ runAt, heapIndex: -1 }) as MemoryJob

/** A seeded generator: the same numbers in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

test('peek() returns the first job after any sequence of pushes and removes', () => {
  const next = numbers(7)
  const line = new SortedList((a, b) => a.runAt < b.runAt)
  const present = new Set<MemoryJob>()
  let clock = 0
  for (let step = 0; step < 30_000; step++) {
    const choice = next(10)
    const some = [...present].at(next(Math.max(1, Math.min(present.size, 50))))
    if (choice < 5 || !some) {
      const job = standing(choice === 0 ? next(clock + 1) : clock++)
      present.add(job)
      line.push(job)
    } else if (choice < 8) {
      const first = line.peek()!
      assert.equal(first.runAt, Math.min(...[...present].map(({ runAt }) => runAt)))
      line.remove(first)
      present.delete(first)
    } else {
      line.remove(some)
      some.runAt = choice === 8 ? clock++ : next(clock + 1)
      line.push(some)
    }
  }
  assert.deepEqual(new Set(line), present)
})

test('a job that stays at the front does not make the list grow with every job that is added and removed after it', () => {
  const line = new SortedList((a, b) => a.runAt < b.runAt)
  const first = standing(0)
  line.push(first)
  let last = standing(1)
  line.push(last)
  let highest = 0
  for (let step = 2; step < 100_000; step++) {
    const job = standing(step)
    line.push(job)
    line.remove(last)
    highest = Math.max(highest, job.heapIndex)
    last = job
  }
  assert.equal(line.peek(), first)
  assert.ok(highest < 5_000, `${highest}`)
})
