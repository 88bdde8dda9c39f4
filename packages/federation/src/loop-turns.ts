// Shares the event loop: cryptography and reads of SQLite run on it, and a burst of deliveries would keep it busy for a second. Each delivery
// asks for a turn before such work. A pass of the event loop has a few turns; who comes later waits for the next pass, in order.

import type { Clock } from 'holdfast'

/** A turn takes up to a millisecond, and many times that on a busy machine. A pass itself costs a hundredth of a turn. */
const perPass = 2

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
