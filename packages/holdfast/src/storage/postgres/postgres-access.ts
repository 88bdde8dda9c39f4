// Postgres for packages that have tables of their own: the connections, timeouts and errors of PostgresStorage, without its
// tables. @holdfast/federation stores its rows this way.
//
// Rules for statements, so that pg, postgres.js and adapters answer alike: cast each parameter to text first, `($1::text)::bigint`;
// cast each selected column to text, and name them c0, c1, … in order.

import { systemClock } from '../../clock.ts'
import { postgresOptions } from '../options.ts'
import { type Connection, openDatabase, type Row, type Value } from './connection/database.ts'
import { joinedConnection } from './connection/joined-connection.ts'
import { type PostgresStorageOptions, resolvePostgresOptions } from './postgres-options.ts'

/** Options of postgresAccess(), with the meaning and the defaults that PostgresStorage gives them. */
export type PostgresDatabaseOptions = Pick<
  PostgresStorageOptions,
  'url' | 'client' | 'prepare' | 'poolSize' | 'callTimeoutMs' | 'clock'
>

export interface PostgresQueries {
  /**
   * Runs one statement. Rows are arrays of text, null for NULL.
   * @throws StorageError with `maybeApplied` and `transient`; after `callTimeoutMs` (5 s) without an answer, too
   */
  query(text: string, values?: readonly Value[]): Promise<Row[]>
}

export interface PostgresDatabaseTransaction extends PostgresQueries {
  /** The library's own connection, for other statements of the transaction: a client of pg, or a sql of postgres.js. */
  readonly client: object
}

/** An open database. query() commits each statement by itself. */
export interface PostgresDatabase extends PostgresQueries {
  /**
   * Runs BEGIN, `run` and COMMIT; ROLLBACK if `run` rejects. READ COMMITTED; a lock is waited for at most 90 % of
   * `callTimeoutMs`. @throws StorageError: after an error of COMMIT, `maybeApplied` may be true
   */
  transaction<T>(run: (tx: PostgresDatabaseTransaction) => Promise<T>): Promise<T>
  /** Closes all connections. A pool that was passed in stays open. */
  close(): Promise<void>
}

export interface PostgresAccess {
  /** Connects, and checks that the database answers. @throws StorageError, HoldfastError MISSING_DEPENDENCY */
  open(): Promise<PostgresDatabase>
}

/** Checks the options of a database, given by `url` or `client`. Opens no connection. @throws TypeError INVALID_ARGUMENT */
export function postgresAccess(options: PostgresDatabaseOptions): PostgresAccess {
  const resolved = resolvePostgresOptions(options, 'postgresAccess')
  return {
    open: async () => {
      const database = await openDatabase({ ...resolved, listen: false })
      return {
        ...queriesOn(database),
        transaction: (run) =>
          database.transaction((transaction) => run({ ...queriesOn(transaction), client: transaction.client })),
        close: () => database.close(),
      }
    },
  }
}

/**
 * Runs statements in a transaction of the caller, who ends it: a client of pg, the `sql` of postgres.js's begin(), the `tx` of
 * PostgresStorage.transaction(), or an adapter with query(). @throws TypeError INVALID_ARGUMENT
 */
export function joinPostgres(tx: unknown): PostgresQueries {
  const { callTimeoutMs, prepare } = postgresOptions
  return queriesOn(
    joinedConnection(tx, { callTimeoutMs: callTimeoutMs.default, prepare: prepare.default, clock: systemClock }),
  )
}

/** Statements without a name are not prepared: their number is not bounded here. */
const queriesOn = (connection: Connection): PostgresQueries => ({
  query: (text, values = []) => connection.query({ name: '', text }, values),
})
