// A rate limiter by key. It holds a bounded number of keys and evicts the least recently used one.

import type { Clock } from 'holdfast'

interface Window {
  readonly endsAt: number
  taken: number
}

const maxKeys = 10_000

export class Limiter {
  readonly #clock: Clock
  readonly #limit: number
  readonly #windowMs: number
  /** In order of use, the most recent last. */
  readonly #windows = new Map<string, Window>()
  /** Iterator over the keys, past all deleted ones. A new iterator per call walks over deleted entries: 20 times slower. */
  readonly #fromOldest = this.#windows.keys()

  constructor(clock: Clock, limit: number, windowMs: number) {
    this.#clock = clock
    this.#limit = limit
    this.#windowMs = windowMs
  }

  get size(): number {
    return this.#windows.size
  }

  /** Takes one use. Returns undefined if it is allowed, else the ms until the window ends. */
  take(key: string): number | undefined {
    const now = this.#clock.monotonic()
    const known = this.#windows.get(key)
    const window = known && known.endsAt > now ? known : { endsAt: now + this.#windowMs, taken: 0 }
    this.#windows.delete(key)
    this.#windows.set(key, window)
    if (this.#windows.size > maxKeys) this.#windows.delete(this.#fromOldest.next().value!)
    if (window.taken >= this.#limit) return window.endsAt - now
    window.taken++
    return undefined
  }

  /** Returns one use to the window that it was taken from, if that is still open. */
  giveBack(key: string): void {
    const window = this.#windows.get(key)
    if (window && window.taken > 0) window.taken--
  }
}
