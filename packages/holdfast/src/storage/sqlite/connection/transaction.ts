// The transaction of a user: rows of the user's own and moves of the storage, committed together.

import type { DatabaseSync } from 'node:sqlite'
import { invalidArgument } from '../../../errors.ts'
import type { SqliteMove } from '../rules/move.ts'
import type { Writer } from './writer.ts'

type RunMove = <T>(run: (move: SqliteMove) => T) => T

/** A transaction that `transaction()` has begun. It ends when its function has ended. */
export class SqliteTransaction {
  /** Connection of the transaction. Statements on it are part of the transaction. */
  readonly database: DatabaseSync
  readonly #owner: Writer
  #run: RunMove | undefined

  constructor(database: DatabaseSync, owner: Writer, run: RunMove) {
    this.database = database
    this.#owner = owner
    this.#run = run
  }

  /** @internal @throws TypeError INVALID_ARGUMENT if it has ended, or belongs to another storage */
  static run<T>(tx: SqliteTransaction, owner: Writer, run: (move: SqliteMove) => T): T {
    if (!tx.#run) throw invalidArgument('tx', 'a transaction whose function has not ended yet', tx)
    if (tx.#owner !== owner) throw invalidArgument('tx', 'a transaction of this storage', tx)
    return tx.#run(run)
  }

  /** @internal */
  static end(tx: SqliteTransaction): void {
    tx.#run = undefined
  }
}
