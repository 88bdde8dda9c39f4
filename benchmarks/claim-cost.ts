// The cost of a claim and of an add through the storage contract, without a queue above: one claim, its settle and one add at a time,
// while the number of stored jobs stays the same.

import type { Storage } from 'holdfast'
import type { ClaimRequest, LeaseRef, Limits as TypeLimits, NewJob } from 'holdfast/storage'
import type { Measure, Variant } from './case.ts'
import type { Contender } from './contender.ts'
import type { Limits } from './load.ts'
import { newPlace } from './place.ts'
import { percentile } from './statistics.ts'

const batch = 100
/** Warm-up cycles, if time allows: the code is compiled and its garbage collected. */
const warmCycles = 1_000
const cycles = 2_000
const leaseMs = 3_600_000
const usualType = 'mail'
const retention = { completedMs: 0, failedMs: 0, cancelledMs: 0 }
/** One payload for all jobs, so that a million jobs do not measure payloads. */
const payload = Buffer.alloc(100, 'x')

/** The fields of job n. */
export type Fields = (n: number) => Partial<NewJob>

/** What is stored while calls are measured, and with which types and limits they claim. */
export interface Load {
  /** Due jobs, which are claimed and added. */
  readonly due: number
  readonly dueFields?: Fields
  /** Jobs beside them. What can be claimed of them before the due jobs are added runs until the end. */
  readonly hidden?: number
  readonly hiddenFields?: Fields
  readonly limits?: TypeLimits
  /** The types of every claim, in turn. @default the type of jobs without one */
  readonly types?: readonly string[]
}

/** For contenders with the storage contract. */
export function claimVariant(name: string, load: Load): Variant {
  return {
    name,
    isOf: ({ openStorage }) => openStorage !== undefined,
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
    // Not measured: the first claim pays for what adds and cancels of the last cycle have left behind, such as garbage of scripts.
    await this.#timeClaim(1, [])
    await this.#timeClaim(1, this.claimOne)
    await this.#timeClaim(batch, this.claimBatch)
    const fresh = this.#jobs(batch, dueFields)
    // The same batches in every variant: a driver may keep the jobs of one add together, and the next claim of 1 may part them.
    if (hiddenFields) {
      await this.#storage.add(fresh)
      const hidden = this.#jobs(batch, hiddenFields)
      await this.#timeAdd(hidden)
      await this.#storage.cancel(hidden)
    } else {
      await this.#timeAdd(fresh)
    }
    for (const job of this.#jobs(2, dueFields)) await this.#storage.add([job])
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
    const { types } = await this.#storage.count({})
    const sum = (state: 'queued' | 'scheduled' | 'processing'): number =>
      types.reduce((total, { states }) => total + states[state], 0)
    const processing = sum('processing')
    const all = sum('queued') + sum('scheduled') + processing
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
    for (let count = Infinity; count > 0; this.#held += count) count = await this.#claimed(1_000)
  }

  async #timeClaim(slots: number, into: number[]): Promise<void> {
    const request = this.#request(slots)
    const begun = performance.now()
    const { jobs } = await this.#storage.claim(request)
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

  async #claimed(slots: number): Promise<number> {
    return (await this.#storage.claim(this.#request(slots))).jobs.length
  }

  #request(slots: number): ClaimRequest {
    const { limits, types = [usualType] } = this.#load
    const worker = `worker/${++this.#claims}`
    // As a worker does: another type is the first each time.
    const first = this.#claims % types.length
    const inTurn = [...types.slice(first), ...types.slice(0, first)]
    return { worker, slots, types: inTurn.map((type) => ({ type, leaseMs, ...(limits && { limits }) })) }
  }

  #jobs(count: number, fields?: Fields): NewJob[] {
    return Array.from({ length: count }, () => {
      const n = this.#added++
      return { type: usualType, id: `job-${n}`, token: `token-${n}`, payload, retention, ...fields?.(n) }
    })
  }
}

function fenceOf({ type: of, id, worker, attempt }: LeaseRef): LeaseRef {
  return { type: of, id, worker, attempt }
}
