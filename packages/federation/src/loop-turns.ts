// Shares the event loop: cryptography and reads of SQLite run on it, and a burst of deliveries would keep it busy for a second. Each delivery
// asks for a turn before such work. A pass of the event loop has a few turns; who comes later waits for the next pass, in order.
//
// By number and not by time: a read of the clock would make no difference of more than a few milliseconds.

import type { Clock } from 'holdfast'

/** A turn takes up to a millisecond, so a pass takes less than 10. */
const perPass = 8

export class LoopTurns {
  readonly #clock: Clock
  readonly #waiting: (() => void)[] = []
  #taken = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves when the caller may work. */
  take(): Promise<void> {
    if (this.#taken === 0) this.#clock.soon(this.#nextPass)
    if (this.#taken < perPass) {
      this.#taken++
      return Promise.resolve()
    }
    return new Promise((resolve) => void this.#waiting.push(resolve))
  }

  readonly #nextPass = (): void => {
    const next = this.#waiting.splice(0, perPass)
    this.#taken = next.length
    if (this.#taken > 0) this.#clock.soon(this.#nextPass)
    for (const start of next) start()
  }
}
