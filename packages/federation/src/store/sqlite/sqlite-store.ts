// The tables on SQLite: a file of their own, the app's connection, or the database of the jobs.

import type { DatabaseSync } from 'node:sqlite'
import { type Clock, HoldfastError, systemClock } from 'holdfast'
import type { SqliteStorage } from 'holdfast/sqlite'
import { SqlStore } from '../sql-store.ts'
import type { Store } from '../store.ts'
import { ownWriter, storageWriter } from './connections.ts'
import { SqliteDatabase } from './sqlite-database.ts'

export interface SqliteStoreOptions {
  /** A file, made if it is not there; or ':memory:', for tests. Or: */
  readonly path?: string
  /** A connection of the app's, for nobody else's transactions; it stays open. Or: */
  readonly database?: DatabaseSync
  /** Where the jobs are: rows and jobs can then be committed together. */
  readonly storage?: SqliteStorage
  /** Of the names of the tables. @default 'fed_' */
  readonly prefix?: string
  /** For waiting in turn: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock
}

/** Brings its tables up to date when it is opened. @throws HoldfastError INVALID_ARGUMENT */
export function sqliteStore(options: SqliteStoreOptions): Store {
  const { path, database, storage, prefix = 'fed_', clock = systemClock } = options
  const source = path ?? database
  if ([path, database, storage].filter((given) => given !== undefined).length !== 1) {
    throw new HoldfastError('INVALID_ARGUMENT', 'sqliteStore: expected one of path, database and storage')
  }
  const writer = storage ? storageWriter(storage) : ownWriter(source!, clock)
  return new SqlStore(new SqliteDatabase(writer, storage), { prefix, migrates: true })
}
