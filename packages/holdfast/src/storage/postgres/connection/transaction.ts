// A transaction of the storage's own making, with rows of the user's own.

import { invalidArgument } from '../../../errors.ts'
import type { OpenTransaction, Row, Value } from './database.ts'
import type { Locked } from '../rules/loaded.ts'
import type { PostgresMove } from '../rules/move.ts'
import type { Joined, OwnTransaction } from '../rules/mover.ts'

export class PostgresTransaction {
  #connection: OpenTransaction | undefined
  readonly #owner: object
  readonly #moves: PostgresMove[] = []
  #locked: Locked | undefined
  #limitsLocks = false

  /** @param connection the transaction's, in which nothing limits yet how long a lock is waited for */
  constructor(connection: OpenTransaction, owner: object) {
    this.#connection = connection
    this.#owner = owner
  }

  /**
   * What the client library has for this connection: a client of pg, or a sql of postgres.js. What is done with it belongs
   * to the transaction, until its function has ended; only Holdfast commits or rolls back.
   */
  get client(): object {
    return this.#limited().client
  }

  /** Runs a statement of the user's. Each selected column must be text, and comes back so. */
  async query(text: string, values: readonly Value[] = []): Promise<Row[]> {
    return this.#limited().query({ name: '', text }, values)
  }

  /** @internal @throws INVALID_ARGUMENT if it has ended, or is of another storage */
  static join(tx: PostgresTransaction, owner: object): Joined {
    if (tx.#owner !== owner) throw invalidArgument('tx', 'a transaction of this storage', tx)
    const own: OwnTransaction = {
      moved(move) {
        tx.#moves.push(move)
        // Its first statement did.
        tx.#limitsLocks = true
      },
      keepLocked: (locked) => void (tx.#locked = locked),
      takeLocked() {
        const locked = tx.#locked
        tx.#locked = undefined
        return locked
      },
    }
    return { connection: tx.#open(), own }
  }

  /** @internal After it, nothing more can be done with it. */
  static end(tx: PostgresTransaction): readonly PostgresMove[] {
    tx.#connection = undefined
    return tx.#moves
  }

  /** For statements of the user's. */
  #limited(): OpenTransaction {
    const connection = this.#open()
    if (!this.#limitsLocks) {
      this.#limitsLocks = true
      connection.limitLocks()
    }
    return connection
  }

  #open(): OpenTransaction {
    if (this.#connection) return this.#connection
    throw invalidArgument('tx', 'a transaction whose function has not ended yet', this)
  }
}
