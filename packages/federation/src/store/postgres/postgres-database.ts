// Postgres under the tables: by a client of the app's or of our own, or by the connections of a PostgresStorage, whose jobs
// can then be part of the same transaction.

import type { PostgresStorage } from 'holdfast/postgres'
import { type Database, type Dialect, type OpenTransaction, type Row, textOf, type Value } from '../database.ts'
import { askPg, isPgPool, openClient, type PostgresClient } from './clients.ts'
import { joinTransaction, pgTransaction, postgresJsTransaction } from './transactions.ts'

const dialect: Dialect = {
  text: 'text COLLATE "C"',
  // By the catalogue itself: what a session knows of names may be older than the lock that it waited for.
  findTable: `SELECT CAST(c.relname AS text) AS c0
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY (current_schemas(false)) AND c.relname = CAST(CAST($1 AS text) AS name)`,
  lock: 'SELECT CAST(pg_advisory_xact_lock(CAST(CAST($1 AS text) AS bigint)) AS text) AS c0',
}

/** Each statement in a transaction of the storage's. */
export function storageDatabase(storage: PostgresStorage): Database {
  const query = (text: string, values: readonly Value[]): Promise<Row[]> =>
    storage.transaction((tx) => tx.query(text, values.map(textOf)))
  return {
    dialect,
    storage,
    open: () => storage.connect(),
    close: () => storage.disconnect(),
    read: query,
    write: query,
    transaction: (run) => storage.transaction((tx) => run(joinTransaction(tx, true))),
    join: (tx) => joinTransaction(tx, true),
  }
}

/** @param source a URL, or a client that stays open */
export function clientDatabase(source: string | PostgresClient): Database {
  let client: PostgresClient | undefined
  const query = async (text: string, values: readonly Value[]): Promise<Row[]> => {
    const by = client!
    const texts = values.map(textOf)
    if (!isPgPool(by)) return (await by.unsafe(text, texts).values()) as Row[]
    return (await askPg(by as never, text, texts)).rows as unknown as Row[]
  }
  return {
    dialect,
    storage: undefined,
    async open() {
      client = typeof source === 'string' ? await openClient(source) : source
    },
    async close() {
      const last = client
      client = undefined
      if (typeof source === 'string') await last?.end()
    },
    read: query,
    write: query,
    async transaction<T>(run: (tx: OpenTransaction) => Promise<T>): Promise<T> {
      const by = client!
      return isPgPool(by) ? pgTransaction(by, run) : postgresJsTransaction(by, run)
    },
    join: (tx) => joinTransaction(tx),
  }
}
