// The store on SQLite or Postgres.

import { HoldfastError, type Storage } from 'holdfast'
import { RefCounted } from 'holdfast/storage'
import { blacklistTable } from './blacklist.ts'
import type { Database, OpenDatabase, OpenTransaction } from './database.ts'
import { deliveryTable } from './deliveries.ts'
import { followTable } from './follows.ts'
import { inboxTable } from './inbox.ts'
import { checkMigrated, migrate, migrationPlan } from './migrations.ts'
import { peerTable } from './peers.ts'
import { peerStateTable } from './peer-states.ts'
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
  readonly inbox
  readonly peerStates
  readonly #database: Database
  readonly #prefix: string
  /** Reference counts: of the connection alone, and of the connection with checked tables. */
  readonly #opened: RefCounted<OpenDatabase>
  readonly #ready: RefCounted<OpenDatabase>

  constructor(database: Database, { prefix, migrates }: SqlStoreOptions) {
    this.#database = database
    this.#prefix = checkPrefix(prefix)
    const name = 'federation store'
    this.#opened = new RefCounted({ name, open: () => database.open(), close: (opened) => opened.close() })
    this.#ready = new RefCounted({
      name,
      open: () => this.#open(migrates),
      close: () => this.#opened.disconnect(),
    })
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
    this.inbox = inboxTable(tables)
    this.peerStates = peerStateTable(tables)
  }

  connect(): Promise<void> {
    return this.#ready.connect()
  }

  disconnect(): Promise<void> {
    return this.#ready.disconnect()
  }

  async #open(migrates: boolean): Promise<OpenDatabase> {
    await this.#opened.connect()
    try {
      const opened = this.#opened.use()
      await (migrates ? migrate : checkMigrated)(opened, this.#database.dialect, this.#prefix)
      return opened
    } catch (error) {
      await this.#opened.disconnect()
      throw error
    }
  }

  #connected(): OpenDatabase {
    const { opened } = this.#ready
    if (opened) return opened
    const message = 'The federation store is not connected. Call store.connect(), or start the federation that uses it.'
    throw new HoldfastError('STORAGE_CLOSED', message)
  }

  /** Works before connect(), which refuses outdated tables. */
  async migrate(): Promise<void> {
    const { dialect } = this.#database
    await this.#opened.whileConnected(() => migrate(this.#opened.use(), dialect, this.#prefix))
  }

  migrationSql(): string {
    return `${migrationPlan(this.#prefix, this.#database.dialect).join(';\n')};\n`
  }

  async transaction<T>(run: (tx: StoreTransaction) => Promise<T>): Promise<T> {
    return this.#connected().transaction((open) => this.#joined(open, run))
  }

  async shared<T>(run: (tx: StoreTransaction) => Promise<T>): Promise<T> {
    return this.#connected().shared((open) => this.#joined(open, run))
  }

  async #joined<T>(open: OpenTransaction, run: (tx: StoreTransaction) => Promise<T>): Promise<T> {
    const tx = new JoinedTransaction(open, this)
    try {
      return await run(tx)
    } finally {
      JoinedTransaction.end(tx)
    }
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
