// How often each of many may come. Bounded: of more keys than it holds, it forgets those that were quiet the longest.

import type { Clock } from 'holdfast'

interface Window {
  readonly endsAt: number
  taken: number
}

const mostKeys = 10_000

export class Limiter {
  readonly #clock: Clock
  readonly #most: number
  readonly #windowMs: number
  /** The one that came last is last. */
  readonly #windows = new Map<string, Window>()
  /** All before it are gone. One that is made anew for each call walks over those, and takes 20 times as long. */
  readonly #fromOldest = this.#windows.keys()

  constructor(clock: Clock, most: number, windowMs: number) {
    this.#clock = clock
    this.#most = most
    this.#windowMs = windowMs
  }

  get size(): number {
    return this.#windows.size
  }

  /** Undefined: go ahead. Else it is too often, for so many ms. */
  take(key: string): number | undefined {
    const now = this.#clock.monotonic()
    const known = this.#windows.get(key)
    const window = known && known.endsAt > now ? known : { endsAt: now + this.#windowMs, taken: 0 }
    this.#windows.delete(key)
    this.#windows.set(key, window)
    if (this.#windows.size > mostKeys) this.#windows.delete(this.#fromOldest.next().value!)
    if (window.taken >= this.#most) return window.endsAt - now
    window.taken++
    return undefined
  }
}
