// The jobs, the ways to add them, and the check that each ran once.

import type { Measure } from './case.ts'
import type { Session, Watch } from './contender.ts'

/** About 100 bytes of JSON. */
export interface Payload {
  readonly n: number
  /** When the job was added, epoch ms with fractions: comparable between processes of one machine. */
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
  /** Time limit. The first of both limits ends the measurement. */
  readonly seconds: number
  /** Records of the case operate. @default 1_000_000 */
  readonly records?: number
  /** Nothing of this run is measured. @default false */
  readonly isWarmUp?: boolean
}

/** A number of jobs with its wall-clock and CPU time. */
export interface Pace {
  readonly jobs: number
  readonly ms: number
  readonly cpuMs: number
}

/** Starts a clock. Call the result with the number of jobs done since. */
export function startClock(): (jobs: number) => Pace {
  const begun = performance.now()
  const cpuBegun = process.cpuUsage()
  return (jobs) => {
    const ms = performance.now() - begun
    const { user, system } = process.cpuUsage(cpuBegun)
    return { jobs, ms, cpuMs: (user + system) / 1_000 }
  }
}

/** Throughput needs an idle machine; the CPU time of all threads hardly depends on other load. */
export function paceMeasures(name: string, { jobs, ms, cpuMs }: Pace): readonly Measure[] {
  return [
    { name, unit: 'jobs/s', value: (jobs * 1_000) / ms },
    { name: 'CPU', unit: 'µs CPU/job', value: (cpuMs * 1_000) / jobs },
  ]
}

/** Adds jobs 0, 1, 2, … with `inFlight` concurrent calls. */
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

/** Counts runs and completions until all jobs are done or the time limit is reached. */
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

  /** Lowers the expected number: the time for adding ended first. */
  expect(jobs: number): void {
    this.#expected = jobs
    if (this.completed >= jobs) this.#over.resolve()
  }

  /** Ends the wait with what has completed. */
  end(): void {
    this.#isLate = true
    this.#over.resolve()
  }

  /** The numbers of the jobs that ran. */
  ran(): number[] {
    return [...this.#runs.keys()].filter((n) => this.#runs[n]! > 0)
  }

  // Arrow functions, because they are passed as callbacks.
  readonly onStart = ({ n }: Payload): void => {
    this.#begun++
    if (++this.#runs[n]! > 1) this.#repeated++
  }

  readonly onCompleted = (): void => {
    this.completed++
    // Reading the clock for each job would be measured too.
    if (this.completed % 16 === 0 && performance.now() > this.#deadline) this.#isLate = true
    if (this.completed === this.#expected || this.#isLate) this.#over.resolve()
    this.#onCompleted?.()
  }

  /** Resolves with the completions so far. */
  async over(): Promise<number> {
    await this.#over.promise
    return this.completed
  }

  /** Call after the workers have stopped. @throws unless each job ran exactly once, or at most once if time ran out */
  verify(): void {
    if (this.#repeated > 0) throw new Error(`${this.#repeated} jobs ran more than once`)
    if (this.completed > this.#begun) throw new Error(`${this.completed} completions of ${this.#begun} runs`)
    if (this.#isLate) return
    const isComplete = this.#begun === this.#expected && this.completed === this.#expected
    if (!isComplete) throw new Error(`${this.#begun} of ${this.#expected} jobs ran, ${this.completed} completed`)
  }
}

/** Largest number of samples: more add no information and would have to be sent between processes. */
const mostLatencies = 100_000

/** The runs of a worker, recorded by its handler. */
export class Work implements Watch {
  readonly tally: Tally
  /** Ms from the call of add to the start of the handler. */
  readonly latencies: number[] = []

  constructor(limits: Limits, onCompleted?: () => void) {
    this.tally = new Tally(limits, onCompleted)
  }

  // Arrow functions, because they are passed as callbacks.
  readonly onStart = (payload: Payload): void => {
    if (this.latencies.length < mostLatencies) this.latencies.push(epochNow() - payload.at)
    this.tally.onStart(payload)
  }

  readonly onCompleted = (): void => this.tally.onCompleted()
}
