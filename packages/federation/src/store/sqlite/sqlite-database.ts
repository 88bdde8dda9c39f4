// The tables on SQLite. Group commit: statements that wait for the connection share the next transaction, and so one sync of the
// disk; where it is the connection of the jobs, with calls to these. Short works share one, too. Reads of a file use a connection of their own and never wait for a writer.

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { HoldfastError } from 'holdfast'
import {
  type Database,
  type Dialect,
  type OpenDatabase,
  type OpenTransaction,
  type Row,
  textOf,
  type Value,
} from '../database.ts'
import type { OpenWriter, Writer, WriteTransaction } from './connections.ts'

const dialect: Dialect = {
  text: 'text',
  findTable: `SELECT name AS c0 FROM sqlite_schema WHERE type = 'table' AND name = $1`,
  // BEGIN IMMEDIATE excludes other writers.
  lock: undefined,
}

interface Call {
  readonly text: string
  readonly values: readonly Value[]
  resolve(rows: Row[]): void
  reject(error: unknown): void
}

/** A work of shared(). */
interface SharedWork {
  /** Returns how to answer it. */
  run(tx: OpenTransaction): Promise<() => void>
  reject(error: unknown): void
}

/** @param storage the storage that shares the connection of the writer */
export function sqliteDatabase(openWriter: OpenWriter, storage: object | undefined): Database {
  return {
    dialect,
    storage,
    open: async () => {
      const writer = await openWriter()
      try {
        return new OpenSqliteDatabase(writer, await readerBeside(writer))
      } catch (error) {
        await writer.close()
        throw error
      }
    },
    join: (tx) => joinTransaction(tx, storage !== undefined),
  }
}

interface Reader {
  readonly database: DatabaseSync
  /** False for the connection of the writer. */
  readonly isOwn: boolean
}

function readerBeside(writer: Writer): Promise<Reader> {
  return writer.transaction(async ({ database }) => {
    // Empty or null for a database in memory, which a second connection cannot open.
    const path = database.location()
    if (!path) return { database, isOwn: false }
    const { DatabaseSync } = await import('node:sqlite')
    return { database: new DatabaseSync(path, { readOnly: true, timeout: 1_000 }), isOwn: true }
  })
}

class OpenSqliteDatabase implements OpenDatabase {
  readonly #writer: Writer
  readonly #reader: Reader
  /** Calls that wait for the same transaction. */
  #batch: Call[] | undefined
  /** Works that wait for the same transaction. */
  #shared: SharedWork[] | undefined

  constructor(writer: Writer, reader: Reader) {
    this.#writer = writer
    this.#reader = reader
  }

  async close(): Promise<void> {
    await this.#writer.close()
    if (this.#reader.isOwn) this.#reader.database.close()
  }

  async read(text: string, values: readonly Value[]): Promise<Row[]> {
    return run(this.#reader.database, text, values)
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
    let answers: readonly (() => void)[] = []
    try {
      await this.#writer.write((database) => {
        // Later calls wait for the next transaction.
        if (this.#batch === batch) this.#batch = undefined
        answers = batch.map((call) => runCall(database, call))
      })
    } finally {
      if (this.#batch === batch) this.#batch = undefined
    }
    for (const answer of answers) answer()
  }

  transaction<T>(work: (tx: OpenTransaction) => Promise<T>): Promise<T> {
    return this.#writer.transaction((tx) => work(openTransaction(tx)))
  }

  shared<T>(work: (tx: OpenTransaction) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const call: SharedWork = {
        run: async (tx) => {
          const answer = await work(tx)
          return () => resolve(answer)
        },
        reject,
      }
      if (this.#shared) return void this.#shared.push(call)
      const batch = (this.#shared = [call])
      this.#commitShared(batch).catch((error: unknown) => {
        // Of those that failed by themselves this is too late, and does nothing.
        for (const waiter of batch) waiter.reject(error)
      })
    })
  }

  async #commitShared(batch: SharedWork[]): Promise<void> {
    const answers: (() => void)[] = []
    try {
      await this.#writer.transaction(async (tx) => {
        this.#shared = undefined
        for (const call of batch) answers.push(await runInSavepoint(tx, call))
      })
    } finally {
      if (this.#shared === batch) this.#shared = undefined
    }
    for (const answer of answers) answer()
  }
}

/** Returns how to answer the call after the commit. */
function runCall(database: DatabaseSync, { text, values, resolve, reject }: Call): () => void {
  try {
    const rows = run(database, text, values)
    return () => resolve(rows)
  } catch (error) {
    // A failed statement changes nothing by itself. On a full disk SQLite rolls back the whole transaction.
    if (!database.isTransaction) throw error
    return () => reject(error)
  }
}

/** Runs a work so that its failure rolls back what it wrote, and nothing of the others. Returns how to answer it after the commit. */
async function runInSavepoint(tx: WriteTransaction, { run: work, reject }: SharedWork): Promise<() => void> {
  const { database } = tx
  database.exec('SAVEPOINT shared')
  try {
    const answer = await work(openTransaction(tx))
    database.exec('RELEASE shared')
    return answer
  } catch (error) {
    if (!database.isTransaction) throw error
    database.exec('ROLLBACK TO shared; RELEASE shared')
    return () => reject(error)
  }
}

/** @throws HoldfastError INVALID_ARGUMENT */
function joinTransaction(tx: unknown, sharesStorage: boolean): OpenTransaction {
  const { database } = (tx ?? {}) as { database?: unknown }
  if (sharesStorage && isDatabase(database)) {
    return openTransaction({ database, storageTx: tx as WriteTransaction['storageTx'] })
  }
  if (isDatabase(tx) && tx.isTransaction) return openTransaction({ database: tx, storageTx: undefined })
  const expected = 'the tx of SqliteStorage.transaction(), or a DatabaseSync in a transaction'
  throw new HoldfastError('INVALID_ARGUMENT', `tx: expected ${expected}`)
}

function openTransaction({ database, storageTx }: WriteTransaction): OpenTransaction {
  return {
    handle: database,
    storageTx,
    query: async (text, values = []) => {
      // A full disk or the app may have ended the transaction. A statement after that would commit by itself.
      if (!database.isTransaction) {
        throw new HoldfastError('INVALID_ARGUMENT', 'tx: the transaction has ended. The statement was not run.')
      }
      return run(database, text, values)
    },
  }
}

const isDatabase = (value: unknown): value is DatabaseSync =>
  typeof value === 'object' && value !== null && 'isTransaction' in value && 'prepare' in value

interface Prepared {
  readonly statement: StatementSync
  /** The values that its parameters take, by number from 0. */
  readonly order: readonly number[]
}

const prepared = new WeakMap<DatabaseSync, Map<string, Prepared>>()

function run(database: DatabaseSync, text: string, values: readonly Value[]): Row[] {
  const { statement, order } = prepare(database, text)
  return statement.all(...order.map((index) => textOf(values[index]))) as unknown as Row[]
}

/** Prepares each text once per connection. There are a few dozen texts. */
function prepare(database: DatabaseSync, text: string): Prepared {
  let statements = prepared.get(database)
  if (!statements) prepared.set(database, (statements = new Map()))
  let known = statements.get(text)
  if (!known) {
    // By position, and rows as arrays: names and objects would double the time of a read.
    const order: number[] = []
    const byPosition = text.replace(/\$(\d+)/g, (_, number: string) => (order.push(Number(number) - 1), '?'))
    const statement = database.prepare(byPosition) as StatementSync & { setReturnArrays(on: boolean): void }
    statement.setReturnArrays(true)
    statements.set(text, (known = { statement, order }))
  }
  return known
}
