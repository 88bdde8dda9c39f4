// A queue's share in its storage: at most one count, taken by start() or by the first call before it, given back by stop().

import { HoldfastError, isHoldfastError } from '../errors.ts'
import type { GuardedStorage } from './guard.ts'

export class Connection {
  readonly #storage: Pick<GuardedStorage, 'connect' | 'disconnect'>
  readonly #name: string
  #opening: Promise<void> | undefined
  #open = false
  #stopped = false
  #starts = 0

  constructor(storage: Pick<GuardedStorage, 'connect' | 'disconnect'>, name: string) {
    this.#storage = storage
    this.#name = name
  }

  get isOpen(): boolean {
    return this.#open
  }

  /** Of start(): also after a stop. A failed one leaves nothing behind. @returns whether it took the count */
  async start(): Promise<boolean> {
    // What is still being opened for a stopped start is this one's from now on.
    const takes = this.#stopped || !(this.#open || this.#opening)
    this.#stopped = false
    this.#starts++
    await this.#connect()
    return takes
  }

  /**
   * Of any other call: opens what was never started, and leaves a stopped queue alone: that one works while somebody else
   * keeps the storage open, which of a MemoryStorage is always so.
   */
  async use(): Promise<void> {
    if (!this.#open && !this.#stopped) await this.#connect()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.close()
  }

  /** Gives the count back. The next call takes another, unless it was stopped. */
  async close(): Promise<void> {
    const starts = this.#starts
    await this.#opening?.catch(() => {})
    // A stop does not wait for ever, so a start may have come meanwhile: the count is that one's.
    if (!this.#open || this.#starts !== starts) return
    this.#open = false
    await this.#storage.disconnect()
  }

  /** A stopped queue says so, where its storage only knows that it is closed. */
  explain(error: unknown): unknown {
    return this.#stopped && isHoldfastError(error, 'STORAGE_CLOSED') ? this.stoppedError() : error
  }

  stoppedError(): HoldfastError {
    return new HoldfastError('QUEUE_STOPPED', `the queue '${this.#name}' was stopped`, { queue: this.#name })
  }

  #connect(): Promise<void> {
    if (this.#open) return Promise.resolve()
    this.#opening ??= this.#storage
      .connect()
      .then(() => void (this.#open = true))
      .finally(() => (this.#opening = undefined))
    return this.#opening
  }
}
