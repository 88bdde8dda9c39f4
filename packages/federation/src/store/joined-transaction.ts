// A transaction that the store returns and accepts as `tx`.

import { HoldfastError } from 'holdfast'
import type { OpenTransaction } from './database.ts'
import type { StoreTransaction } from './store.ts'

export class JoinedTransaction implements StoreTransaction {
  readonly #owner: object
  #open: OpenTransaction | undefined

  constructor(open: OpenTransaction, owner: object) {
    this.#open = open
    this.#owner = owner
  }

  get handle(): unknown {
    return this.#running().handle
  }

  /** @throws HoldfastError INVALID_ARGUMENT if it has ended, or belongs to another store */
  static of(tx: StoreTransaction, owner: object): OpenTransaction {
    if (!(tx instanceof JoinedTransaction) || tx.#owner !== owner) {
      throw new HoldfastError(
        'INVALID_ARGUMENT',
        'tx: expected a transaction of this store, from transaction() or join()',
      )
    }
    return tx.#running()
  }

  static end(tx: JoinedTransaction): void {
    tx.#open = undefined
  }

  #running(): OpenTransaction {
    if (this.#open) return this.#open
    throw new HoldfastError('INVALID_ARGUMENT', 'tx: expected a transaction whose function has not ended yet')
  }
}
