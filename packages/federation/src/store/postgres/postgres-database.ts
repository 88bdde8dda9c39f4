// The tables on Postgres, over the connections of holdfast/postgres: those of a client or a URL, or those of a PostgresStorage. In
// the second case jobs can be part of the same transaction.

import { joinPostgres, postgresAccess, type PostgresDatabaseOptions, type PostgresStorage } from 'holdfast/postgres'
import {
  type Database,
  type Dialect,
  type OpenDatabase,
  type OpenTransaction,
  type Row,
  textOf,
  type Value,
} from '../database.ts'

const dialect: Dialect = {
  text: 'text COLLATE "C"',
  // Read from the catalogue itself: the name cache of a session may be older than the lock that it waited for.
  findTable: `SELECT CAST(c.relname AS text) AS c0
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY (current_schemas(false)) AND c.relname = CAST(CAST($1 AS text) AS name)`,
  lock: 'SELECT CAST(pg_advisory_xact_lock(CAST(CAST($1 AS text) AS bigint)) AS text) AS c0',
}

/** Uses the connections of the storage. Each statement is a transaction of its own; one that writes has the lock timeout of the storage. */
export function storageDatabase(storage: PostgresStorage): Database {
  return {
    dialect,
    storage,
    open: async () => {
      await storage.connect()
      const transaction: OpenDatabase['transaction'] = (run) => storage.transaction((tx) => run(joined(tx, tx)))
      return {
        read: (text, values) => storage.query(text, values.map(textOf)),
        write: (text, values) => storage.transaction((tx) => tx.query(text, values.map(textOf))),
        transaction,
        shared: transaction,
        close: () => storage.disconnect(),
      }
    },
    join: (tx) => joined(tx, tx),
  }
}

/** Uses a URL, or a client of the app, which stays open. @throws TypeError INVALID_ARGUMENT */
export function clientDatabase(options: PostgresDatabaseOptions): Database {
  const access = postgresAccess(options)
  return {
    dialect,
    storage: undefined,
    open: async () => {
      const database = await access.open()
      const query = (text: string, values: readonly Value[]): Promise<Row[]> => database.query(text, values.map(textOf))
      const transaction: OpenDatabase['transaction'] = (run) =>
        database.transaction((tx) =>
          run({
            handle: tx.client,
            storageTx: undefined,
            query: (text, values = []) => tx.query(text, values.map(textOf)),
          }),
        )
      return {
        read: query,
        write: query,
        transaction,
        // Transactions of several connections run at a time, and Postgres lets them share a sync of the disk.
        shared: transaction,
        close: () => database.close(),
      }
    },
    join: (tx) => joined(tx, undefined),
  }
}

/** @throws TypeError INVALID_ARGUMENT */
function joined(tx: unknown, storageTx: unknown): OpenTransaction {
  const queries = joinPostgres(tx)
  return {
    // A transaction of a PostgresStorage has the library's own in `client`.
    handle: (tx as { readonly client?: object }).client ?? tx,
    storageTx,
    query: (text, values = []) => queries.query(text, values.map(textOf)),
  }
}
