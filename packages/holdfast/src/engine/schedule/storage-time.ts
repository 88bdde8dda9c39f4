// The storage's time, as this process knows it: asked once a minute, and counted on by the local monotonic clock. A local wall clock
// that is wrong or jumps changes nothing.

import type { Clock } from '../../clock.ts'
import type { GuardedStorage } from '../guard.ts'

const askAgainMs = 60_000

export class StorageTime {
  readonly #storage: Pick<GuardedStorage, 'count'>
  readonly #clock: Clock
  #offset: number | undefined
  #askedAt = 0

  constructor(storage: Pick<GuardedStorage, 'count'>, clock: Clock) {
    this.#storage = storage
    this.#clock = clock
  }

  /** Epoch ms. */
  async now(): Promise<number> {
    const before = this.#clock.monotonic()
    if (this.#offset === undefined || before - this.#askedAt >= askAgainMs) {
      const { now } = await this.#storage.count({ types: [] })
      // Not ahead: the storage read its clock after the call began.
      this.#offset = now - this.#clock.monotonic()
      this.#askedAt = before
    }
    return Math.floor(this.#offset + this.#clock.monotonic())
  }
}
