// What a PostgresStorage is given, and the complete record that the code inside receives.

import { type Clock, systemClock } from '../../clock.ts'
import { usageError } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { postgresOptions } from '../options.ts'
import type { PostgresClient } from './connection/client.ts'

/** Options of a PostgresStorage. Give either `url` or `client`. */
export interface PostgresStorageOptions {
  /**
   * Address of the database: `postgres://user:password@host:5432/database`. The storage makes a pool of its own with `pg`, or with
   * `postgres` if `pg` is not installed. Give either `url` or `client`.
   */
  readonly url?: string | undefined
  /** A Pool of pg, or the sql of postgres.js. It stays open when the storage disconnects. */
  readonly client?: PostgresClient | undefined
  /** Schema of the tables, created if it does not exist. Storages with different schemas share nothing. @default 'holdfast' */
  readonly schema?: string | undefined
  /** Another address of the same database, for LISTEN alone: a pooler in transaction mode does not support LISTEN. */
  readonly listenUrl?: string | undefined
  /** Whether to receive hints by LISTEN. Without them, workers only poll. @default true */
  readonly listen?: boolean | undefined
  /** Whether to prepare statements. Some poolers in transaction mode do not support it. @default true */
  readonly prepare?: boolean | undefined
  /** Connections of the pool that is made from `url`. @default 10 */
  readonly poolSize?: number | undefined
  /** Whether connect() brings the schema up to date. If false, connect() rejects if it is not. @default true */
  readonly migrate?: boolean | undefined
  /** Timeout of one call, in ms. @default 5_000 */
  readonly callTimeoutMs?: number | undefined
  /** Source of timers and randomness. Jobs are timed by the server. @default the system's */
  readonly clock?: Clock | undefined
}

type WithoutDefault = 'url' | 'client' | 'listenUrl'

export type ResolvedPostgresOptions = {
  readonly [Name in Exclude<keyof PostgresStorageOptions, WithoutDefault>]-?: Exclude<
    PostgresStorageOptions[Name],
    undefined
  >
} & Pick<PostgresStorageOptions, WithoutDefault>

/** @param where for messages @throws TypeError INVALID_ARGUMENT */
export function resolvePostgresOptions(
  given: PostgresStorageOptions,
  where = 'PostgresStorage',
): ResolvedPostgresOptions {
  const refused = (problem: string): TypeError => usageError('INVALID_ARGUMENT', `${where}: ${problem}`)
  const { clock = systemClock, ...resolved } = resolveOptions(where, given, postgresOptions)
  if (resolved.url === undefined && resolved.client === undefined) {
    const isForgotten = given !== undefined && 'url' in given
    throw refused(
      isForgotten
        ? 'url is undefined. The setting or environment variable it comes from may be missing. Set it, or pass client.'
        : 'neither url nor client is given. Pass one of them.',
    )
  }
  if (resolved.url !== undefined && resolved.client !== undefined) {
    throw refused('both url and client are given. Pass one of them.')
  }
  return { clock, ...resolved }
}
