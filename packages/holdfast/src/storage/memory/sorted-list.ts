// A sorted list of jobs. Nearly all jobs arrive in order, so the list is an array that grows at its end and shrinks from its
// start. The few that arrive out of order are in a heap beside it. Adding, removing and taking the first one cost the same at
// any length.

import type { MemoryJob } from './data.ts'
import { Heap } from './heap.ts'

/** Number of removed jobs at the start from which the array is cut, so that their memory is freed. */
const chunk = 1_024

export class SortedList {
  readonly #before: (a: MemoryJob, b: MemoryJob) => boolean
  readonly #unordered: Heap<MemoryJob>
  /** A job that was removed from the middle leaves a hole. The last element is never a hole. */
  #array: (MemoryJob | undefined)[] = []
  #start = 0
  /** Number of elements that were cut off: indexes are counted from the first job ever. */
  #cut = 0
  /** Number of holes after the start. */
  #holes = 0

  constructor(before: (a: MemoryJob, b: MemoryJob) => boolean) {
    this.#before = before
    this.#unordered = new Heap(before)
  }

  get size(): number {
    return this.#array.length - this.#start - this.#holes + this.#unordered.size
  }

  push(job: MemoryJob): void {
    const last = this.#array.at(-1)
    if (last && this.#before(job, last)) return this.#unordered.push(job)
    job.heapIndex = -2 - (this.#cut + this.#array.length)
    this.#array.push(job)
  }

  peek(): MemoryJob | undefined {
    const first = this.#first()
    const other = this.#unordered.peek()
    if (!first || !other) return first ?? other
    return this.#before(other, first) ? other : first
  }

  remove(job: MemoryJob): void {
    if (job.heapIndex >= 0) return this.#unordered.remove(job)
    const array = this.#array
    array[-2 - job.heapIndex - this.#cut] = undefined
    job.heapIndex = -1
    this.#holes++
    // The last element must be a job, because push() compares with it.
    for (; array.length > this.#start && array.at(-1) === undefined; this.#holes--) array.pop()
    if (this.#holes > chunk && this.#holes * 2 > array.length - this.#start) this.#compact()
  }

  /** The jobs that match, in no order. `matches` must be monotonic: after a job that does not match, none does. */
  *prefix(matches: (job: MemoryJob) => boolean): Generator<MemoryJob> {
    for (let index = this.#start; index < this.#array.length; index++) {
      const job = this.#array[index]
      if (job && !matches(job)) break
      if (job) yield job
    }
    yield* this.#unordered.prefix(matches)
  }

  /** All jobs, in no order. */
  [Symbol.iterator](): Iterator<MemoryJob> {
    return this.prefix(() => true)
  }

  #first(): MemoryJob | undefined {
    const array = this.#array
    for (; this.#start < array.length && array[this.#start] === undefined; this.#holes--) this.#start++
    if (this.#start === array.length) {
      if (this.#start > 0) this.#cutOff(this.#start)
      return undefined
    }
    if (this.#start >= chunk && this.#start * 2 > array.length) this.#cutOff(this.#start)
    return this.#array[this.#start]
  }

  /** Removes the holes. A job that stays at the front for long must not make the array grow without end. */
  #compact(): void {
    this.#array = this.#array.filter((job) => job !== undefined)
    this.#array.forEach((job, index) => (job!.heapIndex = -2 - (this.#cut + index)))
    this.#start = 0
    this.#holes = 0
  }

  #cutOff(count: number): void {
    this.#array = this.#array.slice(count)
    this.#cut += count
    this.#start = 0
  }
}
