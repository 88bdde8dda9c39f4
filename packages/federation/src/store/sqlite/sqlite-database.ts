// SQLite under the tables. Statements that come while the connection is taken are committed together: one sync of the disk
// serves them all. Reads have a connection of their own where the database is a file, and wait for nobody.

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { HoldfastError } from 'holdfast'
import { type Database, type Dialect, type OpenTransaction, type Row, textOf, type Value } from '../database.ts'
import type { Writer, Writing } from './connections.ts'

const dialect: Dialect = {
  text: 'text',
  findTable: `SELECT name AS c0 FROM sqlite_schema WHERE type = 'table' AND name = $1`,
  // BEGIN IMMEDIATE is one.
  lock: undefined,
}

interface Call {
  readonly text: string
  readonly values: readonly Value[]
  resolve(rows: Row[]): void
  reject(error: unknown): void
}

export class SqliteDatabase implements Database {
  readonly dialect = dialect
  readonly storage: object | undefined
  readonly #writer: Writer
  #reader: DatabaseSync | undefined
  #isReaderOurs = false
  /** Those that wait for the same transaction. */
  #batch: Call[] | undefined

  constructor(writer: Writer, storage: object | undefined) {
    this.#writer = writer
    this.storage = storage
  }

  async open(): Promise<void> {
    await this.#writer.open()
    try {
      this.#reader = await this.#writer.transaction(async ({ database }) => {
        // Empty or null: it has no file, and nobody else can open it.
        const path = database.location()
        this.#isReaderOurs = Boolean(path)
        if (!path) return database
        const { DatabaseSync } = await import('node:sqlite')
        return new DatabaseSync(path, { readOnly: true, timeout: 1_000 })
      })
    } catch (error) {
      await this.#writer.close()
      throw error
    }
  }

  async close(): Promise<void> {
    const reader = this.#reader
    this.#reader = undefined
    await this.#writer.close()
    if (this.#isReaderOurs) reader?.close()
  }

  async read(text: string, values: readonly Value[]): Promise<Row[]> {
    return run(this.#reader!, text, values)
  }

  write(text: string, values: readonly Value[]): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const call = { text, values, resolve, reject }
      if (this.#batch) return void this.#batch.push(call)
      const batch = (this.#batch = [call])
      this.#commit(batch).catch((error: unknown) => {
        for (const waiter of batch) waiter.reject(error)
      })
    })
  }

  async #commit(batch: Call[]): Promise<void> {
    const answered: (() => void)[] = []
    try {
      await this.#writer.transaction(async ({ database }) => {
        // Who comes from now on waits for the next.
        this.#batch = undefined
        for (const { text, values, resolve, reject } of batch) {
          try {
            const rows = run(database, text, values)
            answered.push(() => resolve(rows))
          } catch (error) {
            // A statement that fails changes nothing; on a full disk all are undone with it.
            if (!database.isTransaction) throw error
            answered.push(() => reject(error))
          }
        }
      })
    } finally {
      if (this.#batch === batch) this.#batch = undefined
    }
    for (const answer of answered) answer()
  }

  transaction<T>(work: (tx: OpenTransaction) => Promise<T>): Promise<T> {
    return this.#writer.transaction((writing) => work(openTransaction(writing)))
  }

  join(tx: unknown): OpenTransaction {
    const { database } = (tx ?? {}) as { database?: unknown }
    if (this.storage !== undefined && isDatabase(database)) {
      return openTransaction({ database, storageTx: tx as Writing['storageTx'] })
    }
    if (isDatabase(tx) && tx.isTransaction) return openTransaction({ database: tx, storageTx: undefined })
    const expected = 'the tx of SqliteStorage.transaction(), or a DatabaseSync in a transaction'
    throw new HoldfastError('INVALID_ARGUMENT', `tx: expected ${expected}`)
  }
}

function openTransaction({ database, storageTx }: Writing): OpenTransaction {
  return {
    handle: database,
    storageTx,
    query: async (text, values = []) => {
      // A full disk, or the app, may have ended it: nothing may be written outside of it.
      if (!database.isTransaction) throw new HoldfastError('INVALID_ARGUMENT', 'tx: the transaction was ended')
      return run(database, text, values)
    },
  }
}

const isDatabase = (value: unknown): value is DatabaseSync =>
  typeof value === 'object' && value !== null && 'isTransaction' in value && 'prepare' in value

const prepared = new WeakMap<DatabaseSync, Map<string, StatementSync>>()

function run(database: DatabaseSync, text: string, values: readonly Value[]): Row[] {
  const statement = prepare(database, text)
  const named = Object.fromEntries(values.map((value, index) => [`$${index + 1}`, textOf(value)]))
  return statement.all(named).map((row) => Object.values(row) as Row)
}

/** Each text once per connection: there are a few dozen. */
function prepare(database: DatabaseSync, text: string): StatementSync {
  let statements = prepared.get(database)
  if (!statements) prepared.set(database, (statements = new Map()))
  let statement = statements.get(text)
  if (!statement) statements.set(text, (statement = database.prepare(text)))
  return statement
}
