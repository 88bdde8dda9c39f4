// The reference that a queue holds on its storage: at most one, taken by start() or by an earlier call, given back by stop().

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

  /** Opens the storage for start(), also after a stop. A failure leaves nothing behind. @returns whether it took the reference */
  async start(): Promise<boolean> {
    // A connect that is under way for a stopped start now belongs to this one.
    const takes = this.#stopped || !(this.#open || this.#opening)
    this.#stopped = false
    this.#starts++
    await this.#connect()
    return takes
  }

  /**
   * Opens the storage for any other call, unless the queue was stopped. A stopped queue works while another user keeps the
   * storage open; a MemoryStorage is always open.
   */
  async use(): Promise<void> {
    if (!this.#open && !this.#stopped) await this.#connect()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.close()
  }

  /** Gives the reference back. The next call takes a new one, unless the queue was stopped. */
  async close(): Promise<void> {
    const starts = this.#starts
    await this.#opening?.catch(() => {})
    // A stop waits for a limited time. A start that came meanwhile owns the reference now.
    if (!this.#open || this.#starts !== starts) return
    this.#open = false
    await this.#storage.disconnect()
  }

  /** Turns STORAGE_CLOSED into QUEUE_STOPPED, if the reason is that the queue was stopped. */
  explain(error: unknown): unknown {
    return this.#stopped && isHoldfastError(error, 'STORAGE_CLOSED') ? this.stoppedError() : error
  }

  stoppedError(): HoldfastError {
    const message = `queue '${this.#name}': it was stopped, and the call ended without an answer. Jobs that were enqueued stay in the storage. Call start() first.`
    return new HoldfastError('QUEUE_STOPPED', message, { queue: this.#name })
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
