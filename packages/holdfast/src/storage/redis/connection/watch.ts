// Notices a half-open connection: something is asked, and for too long nothing comes back. Costs nothing while nothing is
// in flight.

import type { Clock, Timer } from '../../../clock.ts'

/** Silence that no healthy server keeps, and the time between two looks, in ms. */
const [silentMs, lookMs] = [2_000, 500]

interface Asked {
  readonly at: number
  /** How long the server may take by itself, in ms. */
  readonly allowMs: number
}

export class Watch {
  readonly #clock: Clock
  readonly #bytesRead: () => number | undefined
  readonly #onSilence: () => void
  /** Oldest first. */
  readonly #asked = new Set<Asked>()
  #timer: Timer | undefined
  #bytes: number | undefined
  #heardAt = -Infinity
  #lookAt = 0
  #quiet = Promise.withResolvers<void>()

  /** @param bytesRead a slow answer is none: as long as this grows, somebody is there. Undefined: not known. */
  constructor(clock: Clock, bytesRead: () => number | undefined, onSilence: () => void) {
    this.#clock = clock
    this.#bytesRead = bytesRead
    this.#onSilence = onSilence
  }

  async during<T>(answer: Promise<T>, allowMs = 0): Promise<T> {
    const asked = { at: this.#clock.monotonic(), allowMs }
    this.#asked.add(asked)
    if (!this.#timer) {
      this.#bytes = this.#bytesRead()
      this.#arm()
    }
    try {
      return await answer
    } finally {
      this.#asked.delete(asked)
      if (this.#asked.size === 0) this.#quiet.resolve()
    }
  }

  /** Resolves when nothing is in flight. */
  quiet(): Promise<void> {
    this.#quiet = Promise.withResolvers()
    if (this.#asked.size === 0) this.#quiet.resolve()
    return this.#quiet.promise
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#asked.clear()
  }

  #arm(): void {
    this.#lookAt = this.#clock.monotonic() + lookMs
    this.#timer = this.#clock.after(lookMs, () => this.#look(), { keepsAlive: false })
  }

  #look(): void {
    this.#timer = undefined
    const [oldest] = this.#asked
    if (!oldest) return
    const now = this.#clock.monotonic()
    const bytes = this.#bytesRead()
    // A look that comes late was held up by this process, and answers may wait to be read.
    if (bytes !== this.#bytes || now - this.#lookAt > lookMs) [this.#bytes, this.#heardAt] = [bytes, now]
    if (now - Math.max(oldest.at, this.#heardAt) >= silentMs + oldest.allowMs) {
      this.#heardAt = now
      this.#onSilence()
    }
    if (this.#asked.size > 0 && !this.#timer) this.#arm()
  }
}

/** What it may take to send this at a megabyte a second: no answer can come before. */
export function sendingMs(args: readonly { readonly length: number }[]): number {
  let size = 0
  for (const { length } of args) size += length
  return size / 1_000
}
