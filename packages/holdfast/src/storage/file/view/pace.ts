// The pace of the view. Without commits it is written at once. While there are commits it writes only what has been pending
// for long, and only part of the time. It writes as fast as it can when it is far behind, or when a call waits for it.

import type { Clock } from '../../../clock.ts'

/** Time without a commit, in ms, after which everything pending is written. */
const quietMs = 30
/** Shortest time, in ms, that a job is pending while there are commits. */
const pendingMs = 500
/** Longest time of writing in ms, and the pause for other work after it. */
const writeMs = 2
const restMs = 6
/** Longest time, in ms, that a group of calls waits for the view. */
const blockMs = 200

export class Pace {
  /** Jobs that may be pending before commits have to wait. */
  readonly mostPending = 50_000
  readonly #clock: Clock
  #changedAt = 0
  #isHurrying = false
  #isClosing = false
  #hurriedAt = 0
  #writingSince = 0
  #wake: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get now(): number {
    return this.#clock.monotonic()
  }

  /** What has been pending since this instant, or longer, is to be written. */
  get takesUntil(): number {
    return this.#isUrgent ? Infinity : this.now - pendingMs
  }

  /** Commits may wait for the view a little longer. */
  get mayBlock(): boolean {
    return this.now - this.#hurriedAt < blockMs
  }

  changed(): void {
    this.#changedAt = this.now
  }

  relax(): void {
    this.#isHurrying = false
  }

  /** @param isClosing hurries until the end: relax() has no effect */
  hurry(isClosing = false): void {
    if (!this.#isHurrying) this.#hurriedAt = this.now
    this.#isHurrying = true
    this.#isClosing ||= isClosing
    this.#wake?.()
  }

  /**
   * Yields to other work after every stretch of writing. The files are small: writing them at once is faster than a
   * round trip to the thread pool for each.
   */
  yield(): Promise<void> | undefined {
    return this.now - this.#writingSince < writeMs ? undefined : this.#rest()
  }

  /** Resolves when it is time to write. @param oldest instant since which the oldest pending job is pending */
  async due(oldest: number): Promise<void> {
    while (!this.#isUrgent && this.now - oldest < pendingMs) {
      await this.#wait(Math.min(this.#changedAt + quietMs, oldest + pendingMs) - this.now)
    }
  }

  async #rest(): Promise<void> {
    if (this.#isUrgent) await new Promise<void>((resolve) => this.#clock.soon(resolve))
    else await this.#wait(restMs)
    this.#writingSince = this.now
  }

  async #wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.#clock.after(ms, resolve)
      this.#wake = () => {
        timer.cancel()
        resolve()
      }
    })
    this.#wake = undefined
  }

  get #isUrgent(): boolean {
    return this.#isHurrying || this.#isClosing || this.now - this.#changedAt >= quietMs
  }
}
