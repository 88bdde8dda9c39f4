// The tables on Postgres: by URL, by the app's client, or in the database of the jobs.

import { HoldfastError } from 'holdfast'
import type { PostgresStorage } from 'holdfast/postgres'
import { SqlStore } from '../sql-store.ts'
import type { Store } from '../store.ts'
import { isPgPool, isPostgresSql, type PostgresClient } from './clients.ts'
import { clientDatabase, storageDatabase } from './postgres-database.ts'

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:5432/database`. Needs pg or postgres to be installed. Or: */
  readonly url?: string
  /** A Pool of pg, or the sql of postgres.js; it stays open. Or: */
  readonly client?: PostgresClient
  /** Where the jobs are: rows and jobs can then be committed together. */
  readonly storage?: PostgresStorage
  /** Of the names of the tables, which are in the first schema of the connection's search path. @default 'fed_' */
  readonly prefix?: string
  /** Whether connect() brings the tables up to date. If not, those that are not are refused. @default false */
  readonly migrate?: boolean
}

/** @throws HoldfastError INVALID_ARGUMENT */
export function postgresStore(options: PostgresStoreOptions): Store {
  const { url, client, storage, prefix = 'fed_', migrate = false } = options
  if ([url, client, storage].filter((given) => given !== undefined).length !== 1) {
    throw new HoldfastError('INVALID_ARGUMENT', 'postgresStore: expected one of url, client and storage')
  }
  if (client && !isPgPool(client) && !isPostgresSql(client)) {
    throw new HoldfastError('INVALID_ARGUMENT', 'client: expected a Pool of pg, or a Sql of postgres.js')
  }
  const database = storage ? storageDatabase(storage) : clientDatabase((url ?? client)!)
  return new SqlStore(database, { prefix, migrates: migrate })
}
