// Transactions that Holdfast opens: short ones around a function, and those of attempts, which stay open between calls of
// a handler. At most as many of the latter are open as the storage can hold; who comes later waits, leased.

import type { Clock, Timer } from '../../clock.ts'
import { HoldfastError } from '../../errors.ts'
import type { GuardedStorage } from '../../engine/guard.ts'
import { beginOurs, dropOurs } from './commits.ts'

type Transactional = Pick<GuardedStorage, 'transaction' | 'settings'>

/** What hints and events there are in it is told after its commit. */
export async function ourTransaction<T>(storage: Transactional, run: (tx: unknown) => Promise<T>): Promise<T> {
  let opened: unknown
  let committed: (() => void) | undefined
  try {
    const answer = await storage.transaction!((tx) => {
      opened = tx
      committed = beginOurs(tx)
      return run(tx)
    })
    committed!()
    return answer
  } catch (error) {
    if (committed) dropOurs(opened)
    throw error
  }
}

/** How many may be open at once, for all workers of a process on one storage. */
export class TransactionTurns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#free = most
  }

  /** @param given up when this rejects */
  async take(over: Promise<never>): Promise<void> {
    if (this.#free > 0) return void this.#free--
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    try {
      await Promise.race([promise, over])
    } catch (error) {
      const index = this.#waiting.indexOf(resolve)
      // Too late to leave the line: the turn goes on to the next.
      if (index === -1) this.give()
      else this.#waiting.splice(index, 1)
      throw error
    }
  }

  give(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free++
  }
}

const turnsOf = new WeakMap<object, TransactionTurns>()

/** @param raw the storage as it was given, which guards and workers share */
export function transactionTurns(raw: { readonly settings: GuardedStorage['settings'] }): TransactionTurns {
  let turns = turnsOf.get(raw)
  if (!turns) turnsOf.set(raw, (turns = new TransactionTurns(raw.settings.openTransactions ?? 1)))
  return turns
}

interface OpenOptions {
  readonly storage: Transactional
  readonly clock: Clock
  readonly turns: TransactionTurns
  /** Rejects when nobody wants it any more. */
  readonly over: Promise<never>
  /** How long it may keep all others from writing, where it does. */
  readonly longestMs: number
  onTooLong(error: HoldfastError): void
}

/** One that stays open until it is committed or rolled back. */
export class OpenTransaction {
  readonly tx: unknown
  readonly #turns: TransactionTurns
  readonly #end: PromiseWithResolvers<void>
  readonly #ended: Promise<void>
  readonly #timer: Timer | undefined
  #isOver = false

  private constructor(tx: unknown, end: PromiseWithResolvers<void>, ended: Promise<void>, options: OpenOptions) {
    this.tx = tx
    this.#end = end
    this.#ended = ended
    this.#turns = options.turns
    if (options.storage.settings.exclusiveTransactions) {
      this.#timer = options.clock.after(options.longestMs, () => {
        const message = `the transaction was open for ${options.longestMs} ms, and nobody else could write meanwhile`
        const error = new HoldfastError('TRANSACTION_TOO_LONG', message, { longestMs: options.longestMs })
        void this.rollBack(error)
        options.onTooLong(error)
      })
    }
  }

  /** @throws StorageError if it cannot begin, or what `over` rejects with */
  static async open(options: OpenOptions): Promise<OpenTransaction> {
    const { storage, turns, over } = options
    await turns.take(over)
    const begun = Promise.withResolvers<unknown>()
    const end = Promise.withResolvers<void>()
    // If it never begins, nobody waits for its end.
    end.promise.catch(() => {})
    const ended = ourTransaction(storage, (tx) => {
      begun.resolve(tx)
      return end.promise
    })
    ended.catch(begun.reject)
    try {
      const tx = await Promise.race([begun.promise, over])
      return new OpenTransaction(tx, end, ended, options)
    } catch (error) {
      end.reject(error)
      // Begun or not, it is of no use: the turn is given back when it has ended.
      void ended.catch(() => {}).then(() => turns.give())
      throw error
    }
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** @throws StorageError: then nobody knows whether it was committed */
  async commit(): Promise<void> {
    if (this.#isOver) throw new HoldfastError('TRANSACTION_TOO_LONG', 'the transaction was rolled back before')
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
      this.#turns.give()
    }
  }
}
