// What a PostgresStorage is given, and the complete record that the code inside receives.

import { type Clock, systemClock } from '../../clock.ts'
import { invalidArgument } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { postgresOptions } from '../options.ts'
import type { PostgresClient } from './connection/client.ts'

export interface PostgresStorageOptions {
  /** `postgres://user:password@host:5432/database`. Needs pg or postgres to be installed. Or: */
  readonly url?: string
  /** A Pool of pg, or the sql of postgres.js. It stays open when the storage disconnects. */
  readonly client?: PostgresClient
  /** Where the tables are: made if it is not there. Storages with different ones share nothing. @default 'holdfast' */
  readonly schema?: string
  /** Another way to the same database, for LISTEN alone: a pooler in transaction mode cannot do it. */
  readonly listenUrl?: string
  /** Whether hints are listened for; without them there is only polling. @default true */
  readonly listen?: boolean
  /** Whether statements are prepared, which a pooler in transaction mode may not be able to do. @default true */
  readonly prepare?: boolean
  /** Connections of the pool that is made from `url`. @default 10 */
  readonly poolSize?: number
  /** Whether connect() brings the schema up to date. If not, one that is not is refused. @default true */
  readonly migrate?: boolean
  /** How long one call may take, in ms. @default 5_000 */
  readonly callTimeoutMs?: number
  /** Where timers and chance come from. Jobs are timed by the server. @default the system's */
  readonly clock?: Clock
}

type Given = 'url' | 'client' | 'listenUrl'

export type ResolvedPostgresOptions = Omit<Required<PostgresStorageOptions>, Given> &
  Pick<PostgresStorageOptions, Given>

/** @throws TypeError INVALID_ARGUMENT */
export function resolvePostgresOptions(given: PostgresStorageOptions): ResolvedPostgresOptions {
  const resolved = resolveOptions('PostgresStorage', given, postgresOptions)
  if ((resolved.url === undefined) === (resolved.client === undefined)) {
    const got = resolved.url === undefined ? 'neither' : 'both'
    throw invalidArgument('PostgresStorage options', 'either url or client', got)
  }
  return { clock: systemClock, ...resolved }
}
