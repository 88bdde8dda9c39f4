// The jobs, how they are added, and the proof that each ran once.

import type { Measure } from './case.ts'
import type { Session, Watch } from './contender.ts'

/** About 100 bytes of JSON. */
export interface Payload {
  readonly n: number
  /** When it was added, epoch ms with fractions: comparable between processes of one machine. */
  readonly at: number
  readonly to: string
  readonly template: string
}

export function payloadOf(n: number): Payload {
  return { n, at: epochNow(), to: `user-${n}@example.com`, template: 'welcome-with-a-longer-name' }
}

export const idOf = (n: number): string => `job-${n}`

export const epochNow = (): number => performance.timeOrigin + performance.now()

export interface Limits {
  readonly jobs: number
  /** Whatever comes first. */
  readonly seconds: number
}

/** So many jobs, in so much time of the clock and of the processors. */
export interface Pace {
  readonly jobs: number
  readonly ms: number
  readonly cpuMs: number
}

/** Call it with the jobs done since. */
export function startClock(): (jobs: number) => Pace {
  const begun = performance.now()
  const cpuBegun = process.cpuUsage()
  return (jobs) => {
    const ms = performance.now() - begun
    const { user, system } = process.cpuUsage(cpuBegun)
    return { jobs, ms, cpuMs: (user + system) / 1_000 }
  }
}

/** Throughput needs an idle machine; processor time, all threads of the process counted, hardly minds a busy one. */
export function paceMeasures(name: string, { jobs, ms, cpuMs }: Pace): readonly Measure[] {
  return [
    { name, unit: 'jobs/s', value: (jobs * 1_000) / ms },
    { name: 'CPU', unit: 'µs CPU/job', value: (cpuMs * 1_000) / jobs },
  ]
}

/** Adds jobs 0, 1, 2, … with so many calls under way at any time. */
export async function addInFlight(session: Session, inFlight: number, { jobs, seconds }: Limits): Promise<Pace> {
  const stop = startClock()
  const deadline = performance.now() + seconds * 1_000
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < jobs && performance.now() < deadline) {
      const n = next++
      await session.add(idOf(n), payloadOf(n))
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  return stop(next)
}

/** Counts what runs and what completes, and knows when it is over: all are done, or the time is. */
export class Tally {
  readonly #runs: Uint8Array
  readonly #deadline: number
  readonly #over = Promise.withResolvers<void>()
  readonly #onCompleted: (() => void) | undefined
  #expected: number
  #begun = 0
  #repeated = 0
  #isLate = false
  completed = 0

  constructor({ jobs, seconds }: Limits, onCompleted?: () => void) {
    this.#runs = new Uint8Array(jobs)
    this.#expected = jobs
    this.#deadline = performance.now() + seconds * 1_000
    this.#onCompleted = onCompleted
  }

  /** Fewer than thought: the time for adding was over first. */
  expect(jobs: number): void {
    this.#expected = jobs
    if (this.completed >= jobs) this.#over.resolve()
  }

  // Arrow functions: they are handed out.
  readonly onStart = ({ n }: Payload): void => {
    this.#begun++
    if (++this.#runs[n]! > 1) this.#repeated++
  }

  readonly onCompleted = (): void => {
    this.completed++
    // Looking at the clock for each would be measured too.
    if (this.completed % 16 === 0 && performance.now() > this.#deadline) this.#isLate = true
    if (this.completed === this.#expected || this.#isLate) this.#over.resolve()
    this.#onCompleted?.()
  }

  /** Resolves with the completions so far. */
  async over(): Promise<number> {
    await this.#over.promise
    return this.completed
  }

  /** To be asked after the workers have stopped. @throws unless each job ran exactly once; at most, if time ran out */
  verify(): void {
    if (this.#repeated > 0) throw new Error(`${this.#repeated} jobs ran more than once`)
    if (this.completed > this.#begun) throw new Error(`${this.completed} completions of ${this.#begun} runs`)
    if (this.#isLate) return
    const isComplete = this.#begun === this.#expected && this.completed === this.#expected
    if (!isComplete) throw new Error(`${this.#begun} of ${this.#expected} jobs ran, ${this.completed} completed`)
  }
}

/** More say nothing new, and would have to go from process to process. */
const mostLatencies = 100_000

/** What a worker does in one run, seen from its handler. */
export class Work implements Watch {
  readonly tally: Tally
  /** From the call of add to the start of the handler, in ms. */
  readonly latencies: number[] = []

  constructor(limits: Limits, onCompleted?: () => void) {
    this.tally = new Tally(limits, onCompleted)
  }

  // Arrow functions: they are handed out.
  readonly onStart = (payload: Payload): void => {
    if (this.latencies.length < mostLatencies) this.latencies.push(epochNow() - payload.at)
    this.tally.onStart(payload)
  }

  readonly onCompleted = (): void => this.tally.onCompleted()
}
