// One read of the storage serves all viewers: an answer is kept for a short time, and a read under way is shared. Invariant: for one
// key, at most one read is begun per `maxAgeMs`, unless a write came between. A slow storage is asked less often: a read that took a
// second is kept for 20. No viewer waits for the next read of a slow one: the answer before is given, with its age, until it is there.

import type { Clock } from 'holdfast'

export interface TimedRead<T> {
  readonly value: T
  /** When the read began: epoch ms, by the clock of the server. */
  readonly at: number
  readonly costMs: number
}

interface Entry {
  readonly read: Promise<TimedRead<unknown>>
  readonly startedAt: number
  /** Infinity while it runs, so that others wait for it. */
  costMs: number
  /** Its answer, for those who come while the next read runs. */
  answer?: TimedRead<unknown>
}

/** Answers that are kept; the oldest go first. */
const mostEntries = 500
/** Of the time, at most one part in so many is spent on reads of one key. */
const keptPerCost = 20
/** A read that takes longer, in ms, is slow. Its answer is given instead of a wait up to this age. */
const [slowMs, mostStaleMs] = [50, 60_000]

export class SharedReads {
  readonly #clock: Clock
  readonly #entries = new Map<string, Entry>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  read<T>(key: string, maxAgeMs: number, run: () => Promise<T>): Promise<TimedRead<T>> {
    const now = this.#clock.monotonic()
    const known = this.#entries.get(key)
    if (known && now - known.startedAt < Math.max(maxAgeMs, keptPerCost * known.costMs)) {
      // The answer of a read before, while this one runs.
      if (known.costMs === Infinity && known.answer) return Promise.resolve(known.answer as TimedRead<T>)
      return known.read as Promise<TimedRead<T>>
    }
    const read = this.#time(run)
    const isStale = known?.answer !== undefined && known.costMs > slowMs && now - known.startedAt < mostStaleMs
    const entry: Entry = { read, startedAt: now, costMs: Infinity, ...(isStale && { answer: known.answer }) }
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    // A failure is not kept: the next viewer asks again.
    read.then(
      (answer) => Object.assign(entry, { answer, costMs: answer.costMs }),
      () => this.#entries.get(key) === entry && this.#entries.delete(key),
    )
    if (this.#entries.size > mostEntries) this.#entries.delete(this.#entries.keys().next().value!)
    return isStale ? Promise.resolve(known.answer as TimedRead<T>) : read
  }

  /** The answer if it is known, or there within a time; undefined if not: the read goes on, and the next call may have it. */
  soon<T>(key: string, maxAgeMs: number, waitMs: number, run: () => Promise<T>): Promise<TimedRead<T> | undefined> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(waitMs, () => resolve(undefined), { keepsAlive: false })
      this.read(key, maxAgeMs, run)
        .then(resolve, reject)
        .finally(() => timer.cancel())
    })
  }

  /** After a write: what was read before it is old. */
  clear(): void {
    this.#entries.clear()
  }

  async #time<T>(run: () => Promise<T>): Promise<TimedRead<T>> {
    const [at, startedAt] = [this.#clock.now(), this.#clock.monotonic()]
    const value = await run()
    return { value, at, costMs: Math.round((this.#clock.monotonic() - startedAt) * 10) / 10 }
  }
}
