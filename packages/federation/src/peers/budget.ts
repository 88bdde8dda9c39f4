// So many in any window of so long.

import type { Clock } from 'holdfast'

export class Budget {
  readonly #clock: Clock
  readonly #most: number
  readonly #windowMs: number
  /** When those of the window were taken, the oldest first. */
  readonly #taken: number[] = []

  constructor(clock: Clock, most: number, windowMs: number) {
    this.#clock = clock
    this.#most = most
    this.#windowMs = windowMs
  }

  /** False: it is used up for now. */
  take(): boolean {
    const now = this.#clock.monotonic()
    while (this.#taken.length > 0 && this.#taken[0]! <= now - this.#windowMs) this.#taken.shift()
    if (this.#taken.length >= this.#most) return false
    this.#taken.push(now)
    return true
  }
}
