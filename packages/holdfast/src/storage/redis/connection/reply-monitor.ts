// Detects a half-open connection: a command is in flight, and for too long no byte comes back. An idle connection costs
// nothing.

import type { Clock, Timer } from '../../../clock.ts'

/** Silence after which a connection is given up, and the time between two checks, in ms. */
const [silentMs, checkMs] = [2_000, 500]

interface Expected {
  readonly at: number
  /** How long the server may take for this reply beyond silentMs, in ms. */
  readonly allowMs: number
}

export class ReplyMonitor {
  readonly #clock: Clock
  readonly #bytesRead: () => number | undefined
  readonly #onSilence: () => void
  /** Oldest first. */
  readonly #expected = new Set<Expected>()
  #timer: Timer | undefined
  #bytes: number | undefined
  #heardAt = -Infinity
  #checkAt = 0
  #idle = Promise.withResolvers<void>()
  /** Called when a first reply is expected, and when none is any more. */
  onBusy: (isBusy: boolean) => void = () => {}

  /** @param bytesRead bytes read so far: while they grow, the server is alive, however slow the reply. Undefined: unknown. */
  constructor(clock: Clock, bytesRead: () => number | undefined, onSilence: () => void) {
    this.#clock = clock
    this.#bytesRead = bytesRead
    this.#onSilence = onSilence
  }

  /** Monitors the connection until the reply has come. Resolves and rejects as the reply does. */
  async expect<T>(reply: Promise<T>, allowMs = 0): Promise<T> {
    const expected = { at: this.#clock.monotonic(), allowMs }
    this.#expected.add(expected)
    if (this.#expected.size === 1) this.onBusy(true)
    if (!this.#timer) {
      this.#bytes = this.#bytesRead()
      this.#arm()
    }
    try {
      return await reply
    } finally {
      this.#expected.delete(expected)
      if (this.#expected.size === 0) {
        this.#idle.resolve()
        this.onBusy(false)
      }
    }
  }

  /** Whether a reply is expected. */
  get isBusy(): boolean {
    return this.#expected.size > 0
  }

  /** Resolves when no reply is expected. */
  idle(): Promise<void> {
    this.#idle = Promise.withResolvers()
    if (this.#expected.size === 0) this.#idle.resolve()
    return this.#idle.promise
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#expected.clear()
  }

  #arm(): void {
    this.#checkAt = this.#clock.monotonic() + checkMs
    this.#timer = this.#clock.after(checkMs, () => this.#check(), { keepsAlive: false })
  }

  #check(): void {
    this.#timer = undefined
    const [oldest] = this.#expected
    if (!oldest) return
    const now = this.#clock.monotonic()
    const bytes = this.#bytesRead()
    // This process held up a check that comes late, and replies may be there unread.
    if (bytes !== this.#bytes || now - this.#checkAt > checkMs) [this.#bytes, this.#heardAt] = [bytes, now]
    if (now - Math.max(oldest.at, this.#heardAt) >= silentMs + oldest.allowMs) {
      this.#heardAt = now
      this.#onSilence()
    }
    if (this.#expected.size > 0 && !this.#timer) this.#arm()
  }
}

/** The time to send these arguments at a megabyte a second, in ms: no reply can come before. */
export function sendingMs(args: readonly { readonly length: number }[]): number {
  let size = 0
  for (const { length } of args) size += length
  return size / 1_000
}
