// When the view is written: at once when nothing else happens, else what has waited for long; and how far it may fall behind,
// so that a disconnect, which waits for it, is over in time.

import type { Clock } from '../../../clock.ts'

/** Ms without a commit: nothing else happens. */
const quietMs = 30
/** Ms that a job waits to be shown, at most, while there is time to write at all. */
const latestMs = 500
/** Ms that it would take to show all that waits. */
const farthestMs = 2_000

/** Ms for which a group waits for the view, at most. */
const pressMs = 200
/** Ms of writing at a stretch. */
const breathMs = 2

export class Pace {
  readonly #clock: Clock
  #markedAt = 0
  /** Jobs per ms; how it goes on this disk is learnt. */
  #rate = 2
  #hurry = false
  #pressedAt = 0
  #closing = false
  #wake: (() => void) | undefined
  #breathedAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get now(): number {
    return this.#clock.monotonic()
  }

  /** Jobs that may wait, before those who commit have to. */
  get most(): number {
    return Math.min(Math.max(this.#rate * farthestMs, 1_000), 50_000)
  }

  /** What has waited since then, or longer, is to be written. */
  get takesUntil(): number {
    return this.#hurry || this.#closing || this.#isQuiet ? Infinity : this.now - latestMs
  }

  marked(): void {
    this.#markedAt = this.now
  }

  /** Those who commit have not waited for long. */
  get mayPress(): boolean {
    return this.now - this.#pressedAt < pressMs
  }

  wrote(jobs: number, ms: number): void {
    if (jobs >= 50) this.#rate = 0.8 * this.#rate + 0.2 * (jobs / Math.max(ms, 1))
  }

  relax(): void {
    this.#hurry = false
  }

  /** @param closing and stay so */
  hurry(closing = false): void {
    if (!this.#hurry) this.#pressedAt = this.now
    this.#hurry = true
    this.#closing ||= closing
    this.#wake?.()
  }

  /** Lets others work, now and then: what is written here is small, and quicker written at once than in turns of the pool. */
  breath(): Promise<void> | undefined {
    if (this.now - this.#breathedAt < breathMs) return undefined
    return new Promise((resolve) => {
      this.#clock.soon(() => {
        this.#breathedAt = this.now
        resolve()
      })
    })
  }

  /** @param oldest when what waits longest was marked */
  async due(oldest: number): Promise<void> {
    while (!this.#hurry && !this.#closing && !this.#isQuiet && this.now - oldest < latestMs) {
      const waitMs = Math.min(this.#markedAt + quietMs, oldest + latestMs) - this.now
      await new Promise<void>((resolve) => {
        const timer = this.#clock.after(waitMs, resolve)
        this.#wake = () => {
          timer.cancel()
          resolve()
        }
      })
      this.#wake = undefined
    }
  }

  get #isQuiet(): boolean {
    return this.now - this.#markedAt >= quietMs
  }
}
