// The seam between this driver and the client libraries: statements go in as text, rows come back as text, whichever
// library, pooler or user's transaction is in between. What is asked here is bounded in time, and what goes wrong comes
// back as a StorageError.
//
// Rules for statements, so that every library reads and writes the same: each parameter is cast to text before anything
// else, `($1::text)::bigint`, `($2::text)::bytea[]` (a library may format a value by the type that it is cast to first);
// each selected column is cast to text and named c0, c1, … in order.

import type { Clock } from '../../../clock.ts'
import type { Libraries, PostgresClient } from './client.ts'
import { ClientDatabase } from './client-database.ts'
import { openWires } from './open-wires.ts'

/** Sent as text. An array is one text, `{…}`. */
export type Value = string | number | null

export type Row = readonly (string | null)[]

export interface Statement {
  /** Of the prepared statement: unique per text and schema, and at most 63 bytes. */
  readonly name: string
  readonly text: string
}

/** One statement at a time. */
export interface Connection {
  query(statement: Statement, values: readonly Value[]): Promise<Row[]>
}

/** One whose transaction is ours. */
export interface OpenTransaction extends Connection {
  /** What the library has for the connection: a client of pg, or a sql of postgres.js. */
  readonly client: object
  /**
   * Limits how long a lock is waited for, where its statements do not see to that. Before the first of them, or when it was
   * answered; it is sent at once, so that what the user asks by the client comes after it.
   */
  limitLocks(): void
}

export interface Database {
  /** On any connection of the pool, committed by itself. */
  query(statement: Statement, values: readonly Value[]): Promise<Row[]>
  /**
   * BEGIN, what `run` does, COMMIT; ROLLBACK if it rejects. READ COMMITTED, and no lock is waited for longer than a call
   * may take. An error of a statement or of `run` says that nothing was applied; one of COMMIT may not know.
   */
  transaction<T>(
    run: (connection: OpenTransaction) => Promise<T>,
    options?: {
      /** Its first statement, and whoever else waits for locks in it, sees to that limit: a statement is saved. */
      readonly limitsLocks?: boolean
    },
  ): Promise<T>
  /** That limit. */
  readonly lockTimeoutMs: number
  /** Beside the pool, so that it is there when the pool is used up. Opened on first use, and again when it was lost. */
  readonly reserved: Connection
  /**
   * The transaction that the caller has open: a client of pg, the `sql` of postgres.js's begin, or an adapter with
   * `query(text, values)`. Nothing here begins or ends it. Throws INVALID_ARGUMENT.
   */
  joined(tx: unknown): Connection
  /**
   * All who listen share one connection; it comes back by itself, and `onGap` says each time that something may have been
   * missed. Resolves when the channel is heard.
   */
  listen(channel: string, onMessage: (payload: string) => void, onGap: () => void): Promise<() => Promise<void>>
  /** A pool that was passed in stays open. */
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** Of a database; the library is imported when it is opened. Or: */
  readonly url?: string
  readonly client?: PostgresClient
  /** Another way to the same database, for LISTEN alone: a pooler in transaction mode cannot do it. */
  readonly listenUrl?: string
  /** Whether listen() listens at all. */
  readonly listen: boolean
  /** Whether statements are prepared, which a pooler in transaction mode may not be able to do. */
  readonly prepare: boolean
  /** For each statement, and for a connection to become free, in ms. */
  readonly callTimeoutMs: number
  /** Connections of a pool made from `url`. */
  readonly poolSize: number
  readonly clock: Clock
}

/** Rejects with a StorageError that says what to do, or MISSING_DEPENDENCY. @param libraries for tests */
export async function openDatabase(options: DatabaseOptions, libraries?: Libraries): Promise<Database> {
  const database = new ClientDatabase(await openWires(options, libraries), options)
  await database.open()
  return database
}
