// backlog: waiting jobs must not make other calls slower. Measured on the storage contract, without a queue above:
// one claim, its settle and one add at a time, at a constant backlog.

import type { Storage } from 'holdfast'
import type { LeaseRef, NewJob } from 'holdfast/storage'
import type { Case, Measure, Variant } from '../case.ts'
import type { Contender } from '../contender.ts'
import type { Limits } from '../load.ts'
import { newPlace } from '../place.ts'
import { median } from '../statistics.ts'

const batch = 100
/** Warm-up cycles, if time allows: the code is compiled and its garbage collected. */
const warmCycles = 1_000
const cycles = 2_000
const leaseMs = 3_600_000
const type = 'mail'
const retention = { completedMs: 0, failedMs: 0, cancelledMs: 0 }
/** One payload for all jobs, so that a million jobs do not measure payloads. */
const payload = Buffer.alloc(100, 'x')

/** The fields of job n of the background load. */
type Background = (n: number) => Partial<NewJob>

const twoGroups: Background = (n) => ({ group: { key: `group-${n % 2}`, ordered: true } })

/** The size of the backlog, by driver. */
interface Scale {
  isFor(driver: string): boolean
  /** Due jobs at the baseline. */
  readonly due: number
  readonly baseline: string
}

const databases: Scale = { isFor: (driver) => driver !== 'file', due: 1_000, baseline: '1k waiting' }
const files: Scale = { isFor: (driver) => driver === 'file', due: 500, baseline: '500 waiting' }

export const backlog: Case = {
  name: 'backlog',
  about:
    'Cost of a claim and of an add through the storage contract, by backlog. Ratios are to the smallest backlog. ' +
    'Delayed jobs and groups are measured beside the baseline number of due jobs; added jobs are then delayed or join a group.',
  variants: [
    waiting('1k waiting', 1_000, databases),
    waiting('100k waiting', 100_000, databases),
    waiting('1M waiting', 1_000_000, databases),
    beside('1M delayed', 1_000_000, () => ({ delayMs: 3_600_000 }), databases),
    beside('100k in two busy groups', 100_000, twoGroups, databases),
    waiting('500 waiting', 500, files),
    waiting('50k waiting', 50_000, files),
    beside('50k delayed', 50_000, () => ({ delayMs: 3_600_000 }), files),
    beside('50k in two busy groups', 50_000, twoGroups, files),
  ],
}

function waiting(name: string, due: number, scale: Scale): Variant {
  return variant(name, scale, (storage, limits) => measure(storage, limits, { due, hidden: 0 }))
}

function beside(name: string, hidden: number, background: Background, scale: Scale): Variant {
  return variant(name, scale, (storage, limits) => measure(storage, limits, { due: scale.due, hidden, background }))
}

function variant(
  name: string,
  { isFor, baseline }: Scale,
  run: (storage: Storage, limits: Limits) => Promise<readonly Measure[]>,
): Variant {
  return {
    name,
    isFor,
    baseline,
    execArgv: ['--max-old-space-size=8192'],
    run: async (contender: Contender, limits) => {
      const storage = await contender.openStorage?.(newPlace())
      if (!storage) return undefined
      await storage.connect()
      const measures = await run(storage, limits)
      await storage.disconnect()
      return measures
    },
  }
}

async function measure(
  storage: Storage,
  { seconds }: Limits,
  { due, hidden, background }: { due: number; hidden: number; background?: Background },
): Promise<readonly Measure[]> {
  const bench = new Bench(storage)
  if (background) await bench.fill(hidden, background)
  await bench.holdGroups()
  await bench.fill(due)
  await repeat(warmCycles, seconds, () => bench.cycle(background))
  bench.forget()
  await repeat(cycles, seconds, () => bench.cycle(background))
  await bench.verify(due, hidden)
  return [
    { name: 'claim of 1', unit: 'µs', value: median(bench.claimOne) },
    { name: `claim of ${batch}`, unit: 'µs', value: median(bench.claimBatch) },
    { name: `add of ${batch}`, unit: 'µs', value: median(bench.addBatch) },
  ]
}

/** Repeats the given number of times, or as often as time allows. */
async function repeat(times: number, seconds: number, run: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + seconds * 1_000
  for (let time = 0; time < times && performance.now() < deadline; time++) await run()
}

class Bench {
  /** Samples in µs. */
  claimOne: number[] = []
  claimBatch: number[] = []
  addBatch: number[] = []
  readonly #storage: Storage
  #added = 0
  #claims = 0
  #held = 0

  constructor(storage: Storage) {
    this.#storage = storage
  }

  async fill(count: number, background?: Background): Promise<void> {
    for (let left = count; left > 0; left -= 1_000) {
      await this.#storage.add(this.#jobs(Math.min(left, 1_000), background))
    }
  }

  /** Claims the head of each group and never settles it. */
  async holdGroups(): Promise<void> {
    this.#held = (await this.#claim(2)).length
  }

  async cycle(background: Background | undefined): Promise<void> {
    await this.#timeClaim(1, this.claimOne)
    await this.#timeClaim(batch, this.claimBatch)
    const fresh = this.#jobs(batch + 1)
    if (background) {
      await this.#storage.add(fresh)
      const hidden = this.#jobs(batch, background)
      await this.#timeAdd(hidden)
      await this.#storage.cancel(hidden)
    } else {
      await this.#timeAdd(fresh.slice(1))
      await this.#storage.add(fresh.slice(0, 1))
    }
    while ((await this.#storage.sweep({ limit: 1_000 })).more);
  }

  forget(): void {
    this.claimOne = []
    this.claimBatch = []
    this.addBatch = []
  }

  /** Checks that the backlog is unchanged. */
  async verify(due: number, hidden: number): Promise<void> {
    const { types } = await this.#storage.count({ types: [type] })
    const { queued, scheduled, processing } = types[0]!.states
    const all = queued + scheduled + processing
    if (all !== due + hidden || processing !== this.#held) {
      throw new Error(`${all} jobs of ${due + hidden} are left, ${processing} of ${this.#held} in processing`)
    }
  }

  async #timeClaim(slots: number, into: number[]): Promise<void> {
    const begun = performance.now()
    const jobs = await this.#claim(slots)
    into.push((performance.now() - begun) * 1_000)
    if (jobs.length !== slots) throw new Error(`a claim of ${slots} gave ${jobs.length}`)
    const verdicts = await this.#storage.settle(jobs.map((job) => ({ ...fenceOf(job), kind: 'completed' })))
    if (verdicts.some(({ verdict }) => verdict !== 'settled')) throw new Error('a settle was refused')
  }

  async #timeAdd(jobs: readonly NewJob[]): Promise<void> {
    const begun = performance.now()
    await this.#storage.add(jobs)
    this.addBatch.push((performance.now() - begun) * 1_000)
  }

  async #claim(slots: number) {
    const claim = await this.#storage.claim({ worker: `worker/${++this.#claims}`, slots, types: [{ type, leaseMs }] })
    return claim.jobs
  }

  #jobs(count: number, background?: Background): NewJob[] {
    return Array.from({ length: count }, () => {
      const n = this.#added++
      return { type, id: `job-${n}`, token: `token-${n}`, payload, retention, ...background?.(n) }
    })
  }
}

function fenceOf({ type: of, id, worker, attempt }: LeaseRef): LeaseRef {
  return { type: of, id, worker, attempt }
}
