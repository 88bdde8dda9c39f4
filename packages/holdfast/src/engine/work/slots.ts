// The slots of a worker: each holds one attempt. The free ones are how many jobs the next claim may ask for.

import type { Clock, Timer } from '../../clock.ts'

/** With fewer slots each, concurrent claims would be too small. */
const minSlotsPerClaim = 5

export interface SlotsOptions {
  readonly clock: Clock
  readonly concurrency: number
  /** Number of claims in flight that the storage asks for. */
  readonly claimsInFlight: number
  /** How long a slot stays empty after an attempt, in ms. 0: not at all. */
  readonly pauseMs: number
  /** Attempts that run now. */
  readonly running: { readonly size: number }
  /** Called when a pause is over. */
  readonly onFree: () => void
}

export class Slots {
  /** Claims that may be in flight at once, each for its share of the slots. */
  readonly maxClaims: number
  readonly #options: SlotsOptions
  /** Slots that one claim may fill. */
  readonly #share: number
  readonly #pauses = new Set<Timer>()
  #reserved = 0
  #held = 0

  constructor(options: SlotsOptions) {
    const { claimsInFlight, concurrency } = options
    this.#options = options
    this.maxClaims = Math.max(1, Math.min(claimsInFlight, Math.floor(concurrency / minSlotsPerClaim)))
    this.#share = Math.ceil(concurrency / this.maxClaims)
  }

  /** Slots that the next claim may fill. */
  get free(): number {
    const { concurrency, running } = this.#options
    const taken = running.size + this.#reserved + this.#held + this.#pauses.size
    return Math.min(concurrency - taken, this.#share)
  }

  get hasClaimsInFlight(): boolean {
    return this.#reserved > 0
  }

  /** Slots are held after attempts. */
  get areHeld(): boolean {
    return this.#held > 0
  }

  /** No attempt runs, and no slot is held after one. */
  get areIdle(): boolean {
    return this.#options.running.size === 0 && this.#held === 0
  }

  /** Takes slots for a claim until it is answered. */
  reserve(count: number): void {
    this.#reserved += count
  }

  unreserve(count: number): void {
    this.#reserved -= count
  }

  /** Chains only: keeps the slot of an ended attempt until what follows its record has ended. */
  hold(): void {
    this.#held++
  }

  unhold(): void {
    this.#held--
  }

  /** Keeps the slot of an ended attempt empty for `pauseMs`. */
  pause(): void {
    const { clock, pauseMs, onFree } = this.#options
    if (pauseMs === 0) return
    const pause = clock.after(pauseMs, () => {
      this.#pauses.delete(pause)
      onFree()
    })
    this.#pauses.add(pause)
  }

  stop(): void {
    for (const pause of this.#pauses) pause.cancel()
  }
}
