// backlog: waiting jobs must not make other calls slower. Measured on the storage contract, without a queue above:
// one claim, its settle and one add at a time, at a constant backlog.

import type { Storage } from 'holdfast'
import type { LeaseRef, Limits as TypeLimits, NewJob } from 'holdfast/storage'
import type { Case, Measure, Variant } from '../case.ts'
import type { Contender } from '../contender.ts'
import type { Limits } from '../load.ts'
import { newPlace } from '../place.ts'
import { percentile } from '../statistics.ts'

const batch = 100
/** Warm-up cycles, if time allows: the code is compiled and its garbage collected. */
const warmCycles = 1_000
const cycles = 2_000
const leaseMs = 3_600_000
const type = 'mail'
const retention = { completedMs: 0, failedMs: 0, cancelledMs: 0 }
/** One payload for all jobs, so that a million jobs do not measure payloads. */
const payload = Buffer.alloc(100, 'x')

/** The fields of job n. */
type Fields = (n: number) => Partial<NewJob>

/** What is stored while calls are measured, and with which limits they claim. */
interface Load {
  /** Due jobs, which are claimed and added. */
  readonly due: number
  readonly dueFields?: Fields
  /** Jobs beside them. What can be claimed of them before the due jobs are added runs until the end. */
  readonly hidden?: number
  readonly hiddenFields?: Fields
  readonly limits?: TypeLimits
}

const delayed: Fields = () => ({ delayMs: 3_600_000 })
const twoOrderedGroups: Fields = (n) => ({ group: { key: `group-${n % 2}`, ordered: true } })
const groups =
  (name: string, count: number): Fields =>
  (n) => ({ group: { key: `${name}-${n % count}`, ordered: false } })

/** Every group can run one job: the hidden ones do, and their other jobs wait for it. */
const onePerGroup: TypeLimits = { group: { limit: 1 } }
/** The due jobs of a claim of 100 are in different groups. */
const dueInGroups = groups('due', 200)
/** Limits that are far, so that each claim counts and none waits. */
const farLimits: TypeLimits = { concurrency: 1_000, rate: { limit: 100_000_000, perMs: 60_000 } }

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
    'Cost of a claim and of an add through the storage contract, by backlog: the tenth percentile (before 2026-11-17: the median). Ratios are to the smallest backlog. ' +
    'Delayed jobs and groups are measured beside the baseline number of due jobs; added jobs are then delayed or join a group. ' +
    'Group limit: every claim has a limit of one job per group. The jobs of full groups wait for the one that runs; the claims take ' +
    'others, without group or in 200 other groups, and their ratio is to the same claims without the full groups. ' +
    'Concurrency and rate: every claim has both, and 500 jobs run.',
  variants: [
    waiting('1k waiting', 1_000, databases),
    waiting('100k waiting', 100_000, databases),
    waiting('1M waiting', 1_000_000, databases),
    beside('1M delayed', 1_000_000, delayed, databases),
    beside('100k in two busy groups', 100_000, twoOrderedGroups, databases),
    waiting('500 waiting', 500, files),
    waiting('50k waiting', 50_000, files),
    beside('50k delayed', 50_000, delayed, files),
    beside('50k in two busy groups', 50_000, twoOrderedGroups, files),
    ...[databases, files].flatMap(limited),
  ],
}

function waiting(name: string, due: number, scale: Scale): Variant {
  return variant(name, scale, { due })
}

function beside(name: string, hidden: number, hiddenFields: Fields, scale: Scale): Variant {
  return variant(name, scale, { due: scale.due, hidden, hiddenFields })
}

/** The variants of a scale whose claims have limits. */
function limited(scale: Scale): Variant[] {
  const { due, baseline } = scale
  const farFields = { due, hidden: 500, hiddenFields: () => ({}), limits: farLimits }
  return [
    variant(`${baseline}, concurrency and rate`, scale, farFields),
    ...besideFullGroups(`${baseline}, group limit`, scale, { due, limits: onePerGroup }),
    ...besideFullGroups(`${baseline} in groups, group limit`, scale, {
      due,
      dueFields: dueInGroups,
      limits: onePerGroup,
    }),
  ]
}

/** A variant with a group limit, and the same beside full groups. */
function besideFullGroups(name: string, scale: Scale, load: Load): Variant[] {
  const full = (count: number): Load => ({ ...load, hidden: 100_000, hiddenFields: groups('full', count) })
  return [
    variant(name, scale, load),
    variant(`${name}, 100k in 2 full groups`, { ...scale, baseline: name }, full(2)),
    variant(`${name}, 100k in 10k full groups`, { ...scale, baseline: name }, full(10_000)),
  ]
}

function variant(name: string, { isFor, baseline }: Omit<Scale, 'due'>, load: Load): Variant {
  return {
    name,
    isFor,
    baseline,
    execArgv: ['--max-old-space-size=8192'],
    run: async (contender: Contender, limits) => {
      const storage = await contender.openStorage?.(newPlace())
      if (!storage) return undefined
      await storage.connect()
      const measures = await measure(storage, limits, load)
      await storage.disconnect()
      return measures
    },
  }
}

async function measure(storage: Storage, { seconds }: Limits, load: Load): Promise<readonly Measure[]> {
  const bench = new Bench(storage, load)
  await bench.fill()
  await repeat(warmCycles, seconds, () => bench.cycle())
  bench.forget()
  await repeat(cycles, seconds, () => bench.cycle())
  await bench.verify()
  return [
    { name: 'claim of 1', unit: 'µs', value: undisturbed(bench.claimOne) },
    { name: `claim of ${batch}`, unit: 'µs', value: undisturbed(bench.claimBatch) },
    { name: `add of ${batch}`, unit: 'µs', value: undisturbed(bench.addBatch) },
  ]
}

/** The time of a call while nothing else had the processor: on a busy machine that is a few of them. */
const undisturbed = (samples: readonly number[]): number => percentile(samples, 0.1)

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
  readonly #load: Load
  #added = 0
  #claims = 0
  #held = 0

  constructor(storage: Storage, load: Load) {
    this.#storage = storage
    this.#load = load
  }

  async fill(): Promise<void> {
    const { due, dueFields, hidden = 0, hiddenFields } = this.#load
    await this.#fill(hidden, hiddenFields)
    await this.#hold()
    await this.#fill(due, dueFields)
  }

  async cycle(): Promise<void> {
    const { dueFields, hiddenFields } = this.#load
    await this.#timeClaim(1, this.claimOne)
    await this.#timeClaim(batch, this.claimBatch)
    const fresh = this.#jobs(batch + 1, dueFields)
    if (hiddenFields) {
      await this.#storage.add(fresh)
      const hidden = this.#jobs(batch, hiddenFields)
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
  async verify(): Promise<void> {
    const expected = this.#load.due + (this.#load.hidden ?? 0)
    const { types } = await this.#storage.count({ types: [type] })
    const { queued, scheduled, processing } = types[0]!.states
    const all = queued + scheduled + processing
    if (all !== expected || processing !== this.#held) {
      throw new Error(`${all} jobs of ${expected} are left, ${processing} of ${this.#held} in processing`)
    }
  }

  async #fill(count: number, fields?: Fields): Promise<void> {
    for (let left = count; left > 0; left -= 1_000) {
      await this.#storage.add(this.#jobs(Math.min(left, 1_000), fields))
    }
  }

  /** Claims what the limits allow, such as the head of each group, and never settles it. */
  async #hold(): Promise<void> {
    for (let count = Infinity; count > 0; this.#held += count) count = (await this.#claim(1_000)).length
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
    const { limits } = this.#load
    const worker = `worker/${++this.#claims}`
    const claim = await this.#storage.claim({ worker, slots, types: [{ type, leaseMs, ...(limits && { limits }) }] })
    return claim.jobs
  }

  #jobs(count: number, fields?: Fields): NewJob[] {
    return Array.from({ length: count }, () => {
      const n = this.#added++
      return { type, id: `job-${n}`, token: `token-${n}`, payload, retention, ...fields?.(n) }
    })
  }
}

function fenceOf({ type: of, id, worker, attempt }: LeaseRef): LeaseRef {
  return { type: of, id, worker, attempt }
}
