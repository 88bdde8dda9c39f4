// Shares the event loop: cryptography and reads of SQLite run on it, and a burst of deliveries would keep it busy for a second. Each delivery
// asks for a turn before such work. A pass of the event loop has a few turns; who comes later waits for the next pass, in order.
//
// What has begun comes before what begins: else the first reply of a burst would wait until every message of it was encrypted.

import type { Clock } from 'holdfast'

/** A turn takes up to a millisecond, and many times that on a busy machine. A pass itself costs a hundredth of a turn. */
const perPass = 2

export class LoopTurns {
  readonly #clock: Clock
  /** Those that have begun, and those that begin. */
  readonly #waiting: Readonly<Record<'begun' | 'new', (() => void)[]>> = { begun: [], new: [] }
  #taken = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves when the caller may work. @param work `begun`: it keeps something open, such as a slot or a transaction */
  take(work: 'begun' | 'new' = 'new'): Promise<void> {
    if (this.#taken === 0) this.#clock.soon(this.#nextPass)
    if (this.#taken < perPass) {
      this.#taken++
      return Promise.resolve()
    }
    return new Promise((resolve) => void this.#waiting[work].push(resolve))
  }

  readonly #nextPass = (): void => {
    const next = this.#waiting.begun.splice(0, perPass)
    next.push(...this.#waiting.new.splice(0, perPass - next.length))
    this.#taken = next.length
    if (this.#taken > 0) this.#clock.soon(this.#nextPass)
    for (const start of next) start()
  }
}
