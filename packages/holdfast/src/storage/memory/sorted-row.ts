// Jobs that stand in line. Nearly all of them come in their order, so the line is a plain row that grows at its end and is
// eaten from its start; the few that come out of order wait in a heap beside it. Coming, leaving and taking the first cost
// the same at any length.

import type { MemoryJob } from './data.ts'
import { Heap } from './heap.ts'

/** Where the row of a line is cut, so that what was eaten is given back. */
const chunk = 1_024

export class SortedRow {
  readonly #before: (a: MemoryJob, b: MemoryJob) => boolean
  readonly #others: Heap<MemoryJob>
  /** Those that left from the middle leave a hole; the last is none. */
  #row: (MemoryJob | undefined)[] = []
  #start = 0
  /** How many were cut off before the row: places are counted from the first job ever. */
  #cut = 0
  /** In the row, behind its start. */
  #holes = 0

  constructor(before: (a: MemoryJob, b: MemoryJob) => boolean) {
    this.#before = before
    this.#others = new Heap(before)
  }

  get size(): number {
    return this.#row.length - this.#start - this.#holes + this.#others.size
  }

  push(job: MemoryJob): void {
    const last = this.#row.at(-1)
    if (last && this.#before(job, last)) return this.#others.push(job)
    job.heapIndex = -2 - (this.#cut + this.#row.length)
    this.#row.push(job)
  }

  peek(): MemoryJob | undefined {
    const first = this.#first()
    const other = this.#others.peek()
    if (!first || !other) return first ?? other
    return this.#before(other, first) ? other : first
  }

  remove(job: MemoryJob): void {
    if (job.heapIndex >= 0) return this.#others.remove(job)
    const row = this.#row
    row[-2 - job.heapIndex - this.#cut] = undefined
    job.heapIndex = -1
    this.#holes++
    // So that the last is one who stands here, with the place that it has now.
    for (; row.length > this.#start && row.at(-1) === undefined; this.#holes--) row.pop()
    if (this.#holes > chunk && this.#holes * 2 > row.length - this.#start) this.#closeUp()
  }

  /** Those at the front for which `matches` holds, in no order; behind one that does not match there is none. */
  *prefix(matches: (job: MemoryJob) => boolean): Generator<MemoryJob> {
    for (let index = this.#start; index < this.#row.length; index++) {
      const job = this.#row[index]
      if (job && !matches(job)) break
      if (job) yield job
    }
    yield* this.#others.prefix(matches)
  }

  /** All of them, in no order. */
  [Symbol.iterator](): Iterator<MemoryJob> {
    return this.prefix(() => true)
  }

  #first(): MemoryJob | undefined {
    const row = this.#row
    for (; this.#start < row.length && row[this.#start] === undefined; this.#holes--) this.#start++
    if (this.#start === row.length) {
      if (this.#start > 0) this.#cutOff(this.#start)
      return undefined
    }
    if (this.#start >= chunk && this.#start * 2 > row.length) this.#cutOff(this.#start)
    return this.#row[this.#start]
  }

  /** One that stays at the front for long must not make the row grow with all that came and went behind it. */
  #closeUp(): void {
    this.#row = this.#row.filter((job) => job !== undefined)
    this.#row.forEach((job, index) => (job!.heapIndex = -2 - (this.#cut + index)))
    this.#start = 0
    this.#holes = 0
  }

  #cutOff(count: number): void {
    this.#row = this.#row.slice(count)
    this.#cut += count
    this.#start = 0
  }
}
