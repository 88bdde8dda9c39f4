// Jobs that are due and that no worker takes: of a queue without a handler, or of another queue. drain() would wait for them for ever.

import { systemClock } from '../clock.ts'
import { listWorkers } from '../engine/operate/list-workers.ts'
import type { Storage } from '../storage/storage.ts'
import { parseType } from '../storage/stored-type.ts'

/** A worker that writes no entry (`presenceMs: false`) may be unknown: for this time nothing must start, in ms of the system's clock. */
const patienceMs = 1_000

/** Each look reads the storage: one in so many turns of drain(). */
const turnsPerLook = 20

export class UnservedJobs {
  readonly #storage: Storage
  readonly #isIncluded: (type: string) => boolean
  readonly #startedSoFar: () => number
  /** Types of the workers that began while this listens. */
  readonly #served = new Set<string>()
  #turns = 0
  #idle: { readonly since: number; readonly started: number } | undefined

  /** @param startedSoFar number of attempts whose start was observed */
  constructor(storage: Storage, isIncluded: (type: string) => boolean, startedSoFar: () => number) {
    this.#storage = storage
    this.#isIncluded = isIncluded
    this.#startedSoFar = startedSoFar
  }

  /** A worker has begun. */
  serve(types: readonly string[]): void {
    for (const type of types) this.#served.add(type)
  }

  /** Types with such jobs, once nothing has run or started for a second. To be called again and again. */
  async find(): Promise<readonly string[]> {
    if (++this.#turns % turnsPerLook !== 0) return []
    const { types } = await this.#storage.count({})
    const included = types.filter(({ type }) => this.#isIncluded(type))
    const isRunning = included.some(({ states }) => states.processing > 0)
    const due = included.filter((counts) => counts.due > 0).map(({ type }) => type)
    const unserved = due.filter((type) => !this.#served.has(type))
    const unknown = isRunning || unserved.length === 0 ? [] : await this.#withoutWorker(unserved)
    if (unknown.length === 0) {
      this.#idle = undefined
      return []
    }
    const [now, started] = [systemClock.monotonic(), this.#startedSoFar()]
    if (this.#idle?.started !== started) this.#idle = { since: now, started }
    return now - this.#idle.since < patienceMs ? [] : unknown
  }

  /** Those of the types that no worker has written into its entry. */
  async #withoutWorker(due: readonly string[]): Promise<readonly string[]> {
    const workers = await listWorkers(this.#storage)
    return due.filter((type) => {
      const { face, name } = parseType(type)
      return !workers.some(({ types }) => types.some((one) => one.face === face && one.name === name))
    })
  }
}
