// The store on SQLite or Postgres.

import { HoldfastError, type Storage } from 'holdfast'
import { blacklistTable } from './blacklist.ts'
import { Counted } from './counted.ts'
import type { Database } from './database.ts'
import { deliveryTable } from './deliveries.ts'
import { followTable } from './follows.ts'
import { checkMigrated, migrate, migrationPlan } from './migrations.ts'
import { peerTable } from './peers.ts'
import { makeStatements } from './statements.ts'
import type { Store, StoreTransaction } from './store.ts'
import type { Tables } from './tables.ts'
import { JoinedTransaction } from './joined-transaction.ts'

export interface SqlStoreOptions {
  readonly prefix: string
  /** Whether connect() migrates the tables. If not, it refuses outdated tables. */
  readonly migrates: boolean
}

export class SqlStore implements Store {
  readonly deliveries
  readonly peers
  readonly blacklist
  readonly follows
  readonly #database: Database
  readonly #prefix: string
  /** Reference counts: of the connection alone, and of the connection with checked tables. */
  readonly #opened: Counted
  readonly #ready: Counted

  constructor(database: Database, { prefix, migrates }: SqlStoreOptions) {
    this.#database = database
    this.#prefix = checkPrefix(prefix)
    this.#opened = new Counted(
      () => database.open(),
      () => database.close(),
    )
    this.#ready = new Counted(
      () => this.#open(migrates),
      () => this.#opened.disconnect(),
    )
    const tables: Tables = {
      statements: makeStatements(prefix),
      read: async (text, values, tx) =>
        tx ? JoinedTransaction.of(tx, this).query(text, values) : this.#connected().read(text, values),
      write: async (text, values, tx) =>
        tx ? JoinedTransaction.of(tx, this).query(text, values) : this.#connected().write(text, values),
    }
    this.deliveries = deliveryTable(tables)
    this.peers = peerTable(tables)
    this.blacklist = blacklistTable(tables)
    this.follows = followTable(tables)
  }

  connect(): Promise<void> {
    return this.#ready.connect()
  }

  disconnect(): Promise<void> {
    return this.#ready.disconnect()
  }

  async #open(migrates: boolean): Promise<void> {
    await this.#opened.connect()
    try {
      await (migrates ? migrate : checkMigrated)(this.#database, this.#prefix)
    } catch (error) {
      await this.#opened.disconnect()
      throw error
    }
  }

  #connected(): Database {
    if (this.#ready.isOpen) return this.#database
    const message = 'The federation store is not connected. Call store.connect(), or start the federation that uses it.'
    throw new HoldfastError('STORAGE_CLOSED', message)
  }

  /** Works before connect(), which refuses outdated tables. */
  async migrate(): Promise<void> {
    await this.#opened.connect()
    try {
      await migrate(this.#database, this.#prefix)
    } finally {
      await this.#opened.disconnect()
    }
  }

  migrationSql(): string {
    return `${migrationPlan(this.#prefix, this.#database.dialect).join(';\n')};\n`
  }

  async transaction<T>(run: (tx: StoreTransaction) => Promise<T>): Promise<T> {
    return this.#connected().transaction(async (open) => {
      const tx = new JoinedTransaction(open, this)
      try {
        return await run(tx)
      } finally {
        JoinedTransaction.end(tx)
      }
    })
  }

  join(tx: unknown): StoreTransaction {
    return new JoinedTransaction(this.#database.join(tx), this)
  }

  storageTransaction(storage: Storage, tx: StoreTransaction): unknown {
    return storage === this.#database.storage ? JoinedTransaction.of(tx, this).storageTx : undefined
  }
}

function checkPrefix(prefix: string): string {
  if (/^[a-z_][a-z0-9_]{0,29}$/.test(prefix)) return prefix
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    `prefix: expected 1 … 30 characters of a-z, 0-9 and _, not starting with a digit, got ${JSON.stringify(prefix)}`,
  )
}
