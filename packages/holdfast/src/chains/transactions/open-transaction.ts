// The transaction of an attempt: it stays open between calls of the handler, until it is committed or rolled back.

import type { Clock, Timer } from '../../clock.ts'
import type { GuardedStorage } from '../../engine/guard.ts'
import { HoldfastError } from '../../errors.ts'
import { ownTransaction } from './own-transaction.ts'
import type { TransactionSlots } from './transaction-slots.ts'

interface OpenOptions {
  readonly storage: Pick<GuardedStorage, 'transaction' | 'settings'>
  readonly clock: Clock
  readonly slots: TransactionSlots
  /** Rejects when the attempt is over. */
  readonly over: Promise<never>
  /** How long it may keep all others from writing, on a storage where it does. */
  readonly longestMs: number
  onTooLong(error: HoldfastError): void
}

export class OpenTransaction {
  readonly tx: unknown
  readonly #slots: TransactionSlots
  readonly #end: PromiseWithResolvers<void>
  readonly #ended: Promise<void>
  readonly #timer: Timer | undefined
  #isOver = false

  private constructor(tx: unknown, end: PromiseWithResolvers<void>, ended: Promise<void>, options: OpenOptions) {
    this.tx = tx
    this.#end = end
    this.#ended = ended
    this.#slots = options.slots
    const { storage, clock, longestMs, onTooLong } = options
    if (!storage.settings.exclusiveTransactions) return
    this.#timer = clock.after(longestMs, () => {
      const error = tooLong(longestMs)
      void this.rollBack(error)
      onTooLong(error)
    })
  }

  /** @throws StorageError if it cannot begin, or what `over` rejects with */
  static async open(options: OpenOptions): Promise<OpenTransaction> {
    const { storage, slots, over } = options
    await slots.take(over)
    const begun = Promise.withResolvers<unknown>()
    const end = Promise.withResolvers<void>()
    // If the transaction never begins, its end is not awaited.
    end.promise.catch(() => {})
    const ended = ownTransaction(storage, (tx) => {
      begun.resolve(tx)
      return end.promise
    })
    ended.catch(begun.reject)
    try {
      const tx = await Promise.race([begun.promise, over])
      return new OpenTransaction(tx, end, ended, options)
    } catch (error) {
      end.reject(error)
      // Begun or not, it has no use any more: the slot is free once it has ended.
      void ended.catch(() => {}).then(() => slots.release())
      throw error
    }
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** @throws StorageError: then it is not known whether it was committed */
  async commit(): Promise<void> {
    if (this.#isOver)
      throw new HoldfastError('TRANSACTION_TOO_LONG', 'the transaction was rolled back before its commit')
    this.#end.resolve()
    await this.#close()
  }

  /** Never rejects. */
  async rollBack(reason: unknown): Promise<void> {
    if (this.#isOver) return
    this.#end.reject(reason)
    await this.#close().catch(() => {})
  }

  async #close(): Promise<void> {
    this.#isOver = true
    this.#timer?.cancel()
    try {
      await this.#ended
    } finally {
      this.#slots.release()
    }
  }
}

function tooLong(longestMs: number): HoldfastError {
  const message =
    `the transaction was open for ${longestMs} ms, a quarter of the lease, and was rolled back: meanwhile no other call could ` +
    'write. Keep it short, or use prepare() in mode staged.'
  return new HoldfastError('TRANSACTION_TOO_LONG', message, { longestMs })
}
