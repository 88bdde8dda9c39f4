// What a handler reports, and how the record shows it: each line and each progress carries the fence of its run and a number.

import type { Job } from 'holdfast'

/** What a run reports at one step. The steps of a run are numbered from 1. */
export interface Reported {
  readonly fence: string
  readonly step: number
}

/** Log lines of one run: at its start, in the middle, and at its end. */
const steps = 3

/** Reports the steps of a run, one with each call. */
export class Reporter {
  readonly #job: Pick<Job<unknown>, 'progress' | 'log'>
  readonly #fence: string
  readonly #reports: boolean
  #step = 0

  constructor(job: Pick<Job<unknown>, 'progress' | 'log'>, fence: string, reports: boolean) {
    this.#job = job
    this.#fence = fence
    this.#reports = reports
  }

  /** Number of lines that were reported. */
  get lines(): number {
    return this.#step
  }

  next(): void {
    if (!this.#reports) return
    const reported: Reported = { fence: this.#fence, step: ++this.#step }
    this.#job.log(`step ${this.#step} of ${steps}`, { ...reported })
    this.#job.progress(reported)
  }
}
