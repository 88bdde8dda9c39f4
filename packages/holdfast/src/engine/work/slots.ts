// The slots of a worker: each holds one attempt, and how many are free is how much the next claim may ask for.

import type { Clock, Timer } from '../../clock.ts'

/** With fewer slots for each, claims at once would be too small. */
const fewestSlots = 5

export interface SlotsOptions {
  readonly clock: Clock
  readonly concurrency: number
  /** Claims that the storage would like to have under way at once. */
  readonly claimsInFlight: number
  /** A slot that has run a job stays empty for so long, in ms. */
  readonly pauseMs: number
  /** Attempts that run now. */
  readonly running: { readonly size: number }
  /** A pause is over. */
  readonly onFree: () => void
}

export class Slots {
  /** Claims that may be under way at once, each for its share of the slots. */
  readonly lanes: number
  readonly #options: SlotsOptions
  readonly #pauses = new Set<Timer>()
  #asked = 0
  #trailing = 0

  constructor(options: SlotsOptions) {
    const { claimsInFlight, concurrency } = options
    this.#options = options
    this.lanes = Math.max(1, Math.min(claimsInFlight, Math.floor(concurrency / fewestSlots)))
  }

  /** For the next claim. */
  get free(): number {
    const { concurrency, running } = this.#options
    const taken = running.size + this.#asked + this.#trailing + this.#pauses.size
    return Math.min(concurrency - taken, Math.ceil(concurrency / this.lanes))
  }

  /** Claims are under way. */
  get areAsked(): boolean {
    return this.#asked > 0
  }

  /** Nothing runs, and nothing is to follow what has run. */
  get areQuiet(): boolean {
    return this.#options.running.size === 0 && this.#trailing === 0
  }

  /** They are taken until the claim that asks for them is answered. */
  ask(count: number): void {
    this.#asked += count
  }

  answered(count: number): void {
    this.#asked -= count
  }

  /** Of chains alone: the slot of an ended attempt is kept until what follows its record has ended. */
  trail(): void {
    this.#trailing++
  }

  trailed(): void {
    this.#trailing--
  }

  /** An attempt has ended: its slot stays empty for a while, where that is asked for. */
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
