// A transaction of the storage's own making, with rows of the user's own.

import { invalidArgument } from '../../errors.ts'
import type { Connection, OpenTransaction, Row, Value } from './database.ts'
import type { PostgresMove } from './move.ts'

export class PostgresTransaction {
  #connection: OpenTransaction | undefined
  readonly #owner: object
  readonly #moves: PostgresMove[] = []

  constructor(connection: OpenTransaction, owner: object) {
    this.#connection = connection
    this.#owner = owner
  }

  /**
   * What the client library has for this connection: a client of pg, or a sql of postgres.js. What is done with it belongs
   * to the transaction, until its function has ended; only Holdfast commits or rolls back.
   */
  get client(): object {
    return this.#open().client
  }

  /** Runs a statement of the user's. Each selected column must be text, and comes back so. */
  async query(text: string, values: readonly Value[] = []): Promise<Row[]> {
    return this.#open().query({ name: '', text }, values)
  }

  /** @internal @throws INVALID_ARGUMENT if it has ended, or is of another storage */
  static join(tx: PostgresTransaction, owner: object): { connection: Connection; onMove(move: PostgresMove): void } {
    if (tx.#owner !== owner) throw invalidArgument('tx', 'a transaction of this storage', tx)
    return { connection: tx.#open(), onMove: (move) => void tx.#moves.push(move) }
  }

  /** @internal After it, nothing more can be done with it. */
  static end(tx: PostgresTransaction): readonly PostgresMove[] {
    tx.#connection = undefined
    return tx.#moves
  }

  #open(): OpenTransaction {
    if (this.#connection) return this.#connection
    throw invalidArgument('tx', 'a transaction whose function has not ended yet', this)
  }
}
