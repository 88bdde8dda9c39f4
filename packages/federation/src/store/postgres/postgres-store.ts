// postgresStore(): the tables on Postgres, by URL, with a client of the app, or in the database of the jobs.

import { HoldfastError } from 'holdfast'
import type { PostgresDatabaseOptions, PostgresStorage } from 'holdfast/postgres'
import { SqlStore } from '../sql-store.ts'
import type { Store } from '../store.ts'
import { clientDatabase, storageDatabase } from './postgres-database.ts'

/** Exactly one of `url`, `client` and `storage` is required. */
export interface PostgresStoreOptions {
  /** `postgres://user:password@host:5432/database`. Needs pg or postgres to be installed. */
  readonly url?: string | undefined
  /** A Pool of pg, or a Sql of postgres.js. The store does not close it. */
  readonly client?: PostgresDatabaseOptions['client']
  /** The storage of the jobs. Rows and jobs can be committed together. */
  readonly storage?: PostgresStorage
  /** Prefix of the table names. The tables are in the first schema of the connection's search path. @default 'fed_' */
  readonly prefix?: string
  /** Whether connect() migrates the tables. If not, it refuses outdated tables. @default false */
  readonly migrate?: boolean
}

/** Makes a store on Postgres. Opens no connection. @throws INVALID_ARGUMENT */
export function postgresStore(options: PostgresStoreOptions): Store {
  const { url, client, storage, prefix = 'fed_', migrate = false } = options
  if ([url, client, storage].filter((given) => given !== undefined).length !== 1) {
    const hint = 'url' in options && url === undefined ? '. url is undefined: is its environment variable set?' : ''
    throw new HoldfastError('INVALID_ARGUMENT', `postgresStore: expected exactly one of url, client and storage${hint}`)
  }
  const database = storage ? storageDatabase(storage) : clientDatabase({ url, client })
  return new SqlStore(database, { prefix, migrates: migrate })
}
