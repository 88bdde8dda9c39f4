// Figures of the storage, for scrapes. Invariant: at most one count per 5 s, however many ask; one that is under way is shared.

import type { Admin } from '../../admin/admin.ts'
import type { Clock } from '../../clock.ts'
import { storedType } from '../../storage/stored-type.ts'
import { gauges, type Instrument } from './instruments.ts'
import type { TypeLabels } from './type-labels.ts'

/** One figure, with its labels in the order of the instrument. */
export interface Sample {
  readonly instrument: Instrument
  readonly labels: readonly string[]
  readonly value: number
}

/** Shortest time between two counts, in ms. */
const keptMs = 5_000
/** A storage that does not answer within this time is reported as down. Scrapes end after 10 s by default. */
const waitMs = 4_000

export class StorageGauges {
  readonly #admin: Pick<Admin, 'types' | 'workers'>
  readonly #types: TypeLabels
  readonly #clock: Clock
  #read: Promise<readonly Sample[] | undefined> | undefined
  #readAt = 0

  constructor(admin: Pick<Admin, 'types' | 'workers'>, types: TypeLabels, clock: Clock) {
    this.#admin = admin
    this.#types = types
    this.#clock = clock
  }

  /** Never rejects: without an answer of the storage there is `up` alone, with 0. */
  async samples(): Promise<readonly Sample[]> {
    const now = this.#clock.monotonic()
    if (!this.#read || now - this.#readAt >= keptMs) {
      this.#readAt = now
      this.#read = this.#count().catch(() => undefined)
    }
    const samples = await this.#withinTime(this.#read)
    return [{ instrument: gauges.up, labels: [], value: samples ? 1 : 0 }, ...(samples ?? [])]
  }

  async #withinTime<T>(read: Promise<T>): Promise<T | undefined> {
    const late = Promise.withResolvers<undefined>()
    const timer = this.#clock.after(waitMs, () => late.resolve(undefined))
    try {
      return await Promise.race([read, late.promise])
    } finally {
      timer.cancel()
    }
  }

  async #count(): Promise<Sample[]> {
    const [summaries, workers] = await Promise.all([this.#admin.types(), this.#admin.workers()])
    const sums = new Sums()
    for (const { face, name, states, due, delayed, oldestDueMs = 0, paused, slowedUntil } of summaries) {
      const label = this.#types.of(face === '' ? name : storedType(face, name))
      for (const [state, count] of Object.entries(states)) sums.add(gauges.jobs, [...label, state], count)
      sums.add(gauges.due, label, due)
      sums.add(gauges.delayed, label, delayed)
      sums.raise(gauges.oldestDue, label, oldestDueMs / 1_000)
      sums.raise(gauges.paused, label, paused ? 1 : 0)
      sums.raise(gauges.slowed, label, slowedUntil === undefined ? 0 : 1)
    }
    sums.add(gauges.workers, [], workers.length)
    sums.add(gauges.slots, [], 0)
    sums.add(gauges.slotsUsed, [], 0)
    for (const { concurrency, slotsUsed, loopDelayMs } of workers) {
      sums.add(gauges.slots, [], concurrency)
      sums.add(gauges.slotsUsed, [], slotsUsed)
      sums.raise(gauges.loopDelay, [], loopDelayMs / 1_000)
    }
    return sums.samples()
  }
}

/** Types that share the label `other` share its figures, too. */
class Sums {
  readonly #samples = new Map<string, { -readonly [K in keyof Sample]: Sample[K] }>()

  add(instrument: Instrument, labels: readonly string[], value: number): void {
    this.#of(instrument, labels).value += value
  }

  raise(instrument: Instrument, labels: readonly string[], value: number): void {
    const sample = this.#of(instrument, labels)
    sample.value = Math.max(sample.value, value)
  }

  samples(): Sample[] {
    return [...this.#samples.values()]
  }

  #of(instrument: Instrument, labels: readonly string[]) {
    const key = JSON.stringify([instrument.name, ...labels])
    const known = this.#samples.get(key)
    if (known) return known
    const made = { instrument, labels, value: 0 }
    this.#samples.set(key, made)
    return made
  }
}
