// sqliteStore(): the tables in a file of their own, on a connection of the app, or in the database of the jobs.

import type { DatabaseSync } from 'node:sqlite'
import { type Clock, HoldfastError } from 'holdfast'
import { systemClock } from 'holdfast/storage'
import type { SqliteStorage } from 'holdfast/sqlite'
import { SqlStore } from '../sql-store.ts'
import type { Store } from '../store.ts'
import { ownWriter, storageWriter } from './connections.ts'
import { sqliteDatabase } from './sqlite-database.ts'

/** Exactly one of `path`, `database` and `storage` is required. */
export interface SqliteStoreOptions {
  /** Path of a file, which is created if it does not exist; or ':memory:', for tests. */
  readonly path?: string | undefined
  /** A connection of the app. Only this store may begin transactions on it. The store does not close it. */
  readonly database?: DatabaseSync
  /** The storage of the jobs. Rows and jobs can be committed together. */
  readonly storage?: SqliteStorage
  /** Prefix of the table names. @default 'fed_' */
  readonly prefix?: string
  /** Source of local time for waits: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock
}

/** Makes a store on SQLite. It migrates its tables when it is opened. @throws HoldfastError INVALID_ARGUMENT */
export function sqliteStore(options: SqliteStoreOptions): Store {
  const { path, database, storage, prefix = 'fed_', clock = systemClock } = options
  const source = path ?? database
  if ([path, database, storage].filter((given) => given !== undefined).length !== 1) {
    const hint = 'path' in options && path === undefined ? '. path is undefined: is its environment variable set?' : ''
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      `sqliteStore: expected exactly one of path, database and storage${hint}`,
    )
  }
  const writer = storage ? storageWriter(storage) : ownWriter(source!, clock)
  return new SqlStore(sqliteDatabase(writer, storage), { prefix, migrates: true })
}
