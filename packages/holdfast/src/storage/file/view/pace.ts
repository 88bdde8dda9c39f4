// When the view is written: at once when nothing else happens; while there are commits only what has waited for long, and
// only for a part of the time; and as fast as it goes when it has fallen far behind, or somebody waits for it.

import type { Clock } from '../../../clock.ts'

/** Ms without a commit: nothing else happens. */
const quietMs = 30
/** Ms that a job waits to be shown, at least, while there are commits. */
const patienceMs = 500
/** Ms of writing at a stretch, and then of leaving others alone. */
const writeMs = 2
const restMs = 6
/** Ms for which a group of calls waits for the view, at most. */
const pressMs = 200

export class Pace {
  /** Jobs that may wait, before those who commit have to. */
  readonly most = 50_000
  readonly #clock: Clock
  #markedAt = 0
  #hurry = false
  #closing = false
  #pressedAt = 0
  #writingSince = 0
  #wake: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get now(): number {
    return this.#clock.monotonic()
  }

  /** What has waited since then, or longer, is to be written. */
  get takesUntil(): number {
    return this.#isUrgent ? Infinity : this.now - patienceMs
  }

  /** Those who commit have not waited for long. */
  get mayPress(): boolean {
    return this.now - this.#pressedAt < pressMs
  }

  marked(): void {
    this.#markedAt = this.now
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
    return this.now - this.#writingSince < writeMs ? undefined : this.#rest()
  }

  /** @param oldest when what waits longest was marked */
  async due(oldest: number): Promise<void> {
    while (!this.#isUrgent && this.now - oldest < patienceMs) {
      await this.#wait(Math.min(this.#markedAt + quietMs, oldest + patienceMs) - this.now)
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
    return this.#hurry || this.#closing || this.now - this.#markedAt >= quietMs
  }
}
