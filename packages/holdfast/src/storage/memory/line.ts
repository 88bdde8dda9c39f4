// Jobs that stand in line. Nearly all of them come in their order, so the line is a plain row that grows at its end and is
// eaten from its start; the few that come out of order wait in a heap beside it. Taking the first costs the same at any length.

import type { Job } from './data.ts'
import { Heap } from './heap.ts'

/** Where the row of a line is cut, so that what was eaten is given back. */
const chunk = 1_024

export class Line {
  readonly #before: (a: Job, b: Job) => boolean
  readonly #others: Heap<Job>
  /** Those that left from the middle leave a hole. */
  #row: (Job | undefined)[] = []
  #start = 0
  /** How many were cut off before the row: places are counted from the first job ever. */
  #cut = 0
  #last: Job | undefined

  constructor(before: (a: Job, b: Job) => boolean) {
    this.#before = before
    this.#others = new Heap(before)
  }

  push(job: Job): void {
    // The last one may have left since; it still says where the end of the row is.
    if (this.#last && this.#before(job, this.#last)) {
      job.inRow = false
      this.#others.push(job)
      return
    }
    job.inRow = true
    job.heapIndex = this.#cut + this.#row.length
    this.#row.push(job)
    this.#last = job
  }

  peek(): Job | undefined {
    const first = this.#first()
    const other = this.#others.peek()
    if (!first || !other) return first ?? other
    return this.#before(other, first) ? other : first
  }

  remove(job: Job): void {
    if (!job.inRow) return this.#others.remove(job)
    this.#row[job.heapIndex - this.#cut] = undefined
    job.heapIndex = -1
  }

  #first(): Job | undefined {
    const row = this.#row
    while (this.#start < row.length && row[this.#start] === undefined) this.#start++
    if (this.#start === row.length) {
      if (this.#start > 0) this.#cutOff(this.#start)
      this.#last = undefined
      return undefined
    }
    if (this.#start >= chunk && this.#start * 2 > row.length) this.#cutOff(this.#start)
    return this.#row[this.#start]
  }

  #cutOff(count: number): void {
    this.#row = this.#row.slice(count)
    this.#cut += count
    this.#start = 0
  }
}
