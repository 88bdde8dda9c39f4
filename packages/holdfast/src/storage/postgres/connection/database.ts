// The interface between this driver and the client libraries. Statements go in as text and rows come back as text, whichever
// library, pooler or user's transaction is in between. Every call has a timeout, and every failure is a StorageError.
//
// Rules for statements, so that every library reads and writes the same:
// - Each parameter is cast to text before anything else: `($1::text)::bigint`, `($2::text)::bytea[]`. A library may format a
//   value by the type that it is cast to first.
// - Each selected column is cast to text, and named c0, c1, … in order.

import type { Clock } from '../../../clock.ts'
import type { PostgresClient } from './client.ts'
import { ClientDatabase } from './client-database.ts'
import type { Libraries } from './libraries.ts'
import type { JoinedConnection } from './joined-connection.ts'
import { openConnector } from './open-connector.ts'

/** Sent as text. An array is one text, `{…}`. */
export type Value = string | number | null

export type Row = readonly (string | null)[]

export interface Statement {
  /** Name of the prepared statement: unique per text and schema, at most 63 bytes. Empty: not prepared. */
  readonly name: string
  readonly text: string
}

/** Runs one statement at a time. */
export interface Connection {
  query(statement: Statement, values: readonly Value[]): Promise<Row[]>
}

/** A transaction that this driver commits or rolls back. */
export interface OpenTransaction extends Connection {
  /** The library's own object for the connection: a client of pg, or a sql of postgres.js. */
  readonly client: object
  /**
   * Sets the lock timeout, where the statements do not set it themselves. Call it before the first statement, or after its
   * answer. The SET is sent at once, so that it precedes what the user sends through the client.
   */
  limitLocks(): void
  /**
   * Sends a statement whose rows are not needed. COMMIT need not wait for its answer, which saves a round trip. Its error ends the
   * transaction as if it had been awaited.
   */
  send(statement: Statement, values: readonly Value[]): void
}

export interface TransactionOptions {
  /** The statements of `run` set the lock timeout themselves, which saves a statement. @default false */
  readonly limitsLocks?: boolean
  /**
   * Plans no sequential scan. For transactions without statements of the user. A plan that was made by statistics of few jobs scanned
   * all of them in each call once there were many, until the next ANALYZE. @default false
   */
  readonly usesIndexes?: boolean
}

export interface Database {
  /** Connections that were lost so far. The server may have come back with other data, such as a restored backup. */
  readonly losses: number
  /** Runs a statement on any connection of the pool, in a transaction of its own. */
  query(statement: Statement, values: readonly Value[]): Promise<Row[]>
  /**
   * Runs BEGIN, `run` and COMMIT; ROLLBACK if `run` rejects. The isolation level is READ COMMITTED, and a lock is waited for at
   * most `lockTimeoutMs`. After an error of a statement or of `run` nothing was applied; after one of COMMIT that is unknown.
   */
  transaction<T>(run: (transaction: OpenTransaction) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** How long a transaction of this driver waits for a lock, in ms. */
  readonly lockTimeoutMs: number
  /** A connection outside the pool, for calls that must not wait for it. Opened on first use, reopened after a loss. */
  readonly reserved: Connection
  /**
   * The transaction that the caller has open: a client of pg, the `sql` of postgres.js's begin, or an adapter with
   * `query(text, values)`. It is never begun or ended here. @throws TypeError INVALID_ARGUMENT
   */
  joined(tx: unknown): JoinedConnection
  /**
   * Listens on a channel. All listeners share one connection, which is reopened after a loss; `onGap` then says that messages may
   * have been missed. Resolves when the channel is listened to, with a function that ends it.
   */
  listen(channel: string, onMessage: (payload: string) => void, onGap: () => void): Promise<() => Promise<void>>
  /** Closes all connections. A pool that was passed in stays open. */
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** Address of the database; the library is imported when it is opened. Give this or `client`. */
  readonly url?: string | undefined
  readonly client?: PostgresClient | undefined
  /** Another address of the same database, for LISTEN alone: a pooler in transaction mode does not support LISTEN. */
  readonly listenUrl?: string | undefined
  /** False: listen() does nothing. */
  readonly listen: boolean
  /** Whether statements are prepared. Some poolers in transaction mode do not support it. */
  readonly prepare: boolean
  /** Timeout of each statement, and of waiting for a free connection, in ms. */
  readonly callTimeoutMs: number
  /** Connections of a pool made from `url`. */
  readonly poolSize: number
  readonly clock: Clock
}

/** Rejects with a StorageError that says what to do, or MISSING_DEPENDENCY. @param libraries for tests */
export async function openDatabase(options: DatabaseOptions, libraries?: Libraries): Promise<Database> {
  const database = new ClientDatabase(await openConnector(options, libraries), options)
  await database.open()
  return database
}
