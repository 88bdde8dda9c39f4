// A budget: at most so many uses in any window of time.

import type { Clock } from 'holdfast'

export class Budget {
  readonly #clock: Clock
  readonly #limit: number
  readonly #windowMs: number
  /** Instants of the uses in the current window, oldest first. */
  readonly #taken: number[] = []

  constructor(clock: Clock, limit: number, windowMs: number) {
    this.#clock = clock
    this.#limit = limit
    this.#windowMs = windowMs
  }

  /** Takes one use. Returns undefined if it is allowed, else the ms until one is free. */
  take(): number | undefined {
    const now = this.#clock.monotonic()
    while (this.#taken.length > 0 && this.#taken[0]! <= now - this.#windowMs) this.#taken.shift()
    if (this.#taken.length < this.#limit) {
      this.#taken.push(now)
      return undefined
    }
    const [oldest = now] = this.#taken
    return Math.max(1, Math.ceil(oldest + this.#windowMs - now))
  }
}
