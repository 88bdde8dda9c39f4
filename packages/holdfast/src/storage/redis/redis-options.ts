// The options of a RedisStorage, and the complete record that the code inside receives.

import { type Clock, systemClock } from '../../clock.ts'
import { invalidArgument, usageError } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { redisOptions } from '../options.ts'
import type { RedisClient } from './connection/client.ts'

/** What an acknowledged job survives: what the server gives, a power cut, or the loss of the primary. */
export type RedisDurability = 'relaxed' | 'full' | 'replicated'

/** Options of a RedisStorage. Give `url`, `client`, or `host` and `port`. */
export interface RedisStorageOptions {
  /**
   * A Redis or Cluster of iovalkey or ioredis, without a keyPrefix, instead of a url. The storage uses it as it is and leaves
   * it open at disconnect(). Subscriptions, and calls that wait for replicas, run on duplicates of it.
   *
   * Give it to this storage alone: a blocking command of yours would delay the jobs. Make it with `{ enableOfflineQueue:
   * false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 }`, so that calls learn at once when the
   * connection is lost.
   */
  readonly client?: RedisClient | undefined
  /**
   * `redis://user:password@host:6379/0`, with `rediss:` for TLS. Needs iovalkey or ioredis to be installed. A url that is
   * given as undefined is refused: it often comes from an environment variable that is not set.
   */
  readonly url?: string | undefined
  /** Host name, instead of a url. @default 'localhost' */
  readonly host?: string | undefined
  /** Port, instead of a url. @default 6379 */
  readonly port?: number | undefined
  /**
   * What every key and channel begins with, 1 to 128 bytes without braces. Storages with different prefixes share nothing.
   * @default 'jq'
   */
  readonly prefix?: string | undefined
  /** Longest idle wait without a hint, in ms, for workers that set none. Infinity: hints alone. @default 5_000 */
  readonly pollMs?: number | undefined
  /** Alias of pollMs, in **seconds**, below 1000. */
  readonly blockTimeout?: number | undefined
  /** Accepted and ignored: no trace of a dead worker is kept, and so none expires. */
  readonly processingQueueTTL?: number | undefined
  /**
   * What an acknowledged job survives. `relaxed`: what the server's own settings give. `full`: a power cut; the server needs
   * an append-only file with appendfsync always, or everysec and WAITAOF (Redis 7.2, Valkey 8). `replicated`: the loss of the
   * primary, if a replica that acknowledged the write is promoted. connect() refuses a server that cannot give it.
   * @default 'relaxed'
   */
  readonly durability?: RedisDurability | undefined
  /** How many replicas must acknowledge a write, with durability `replicated`. @default 1 */
  readonly replicas?: number | undefined
  /** How long the replicas may take, in ms; two seconds more if they sync to disk. @default 1_000 */
  readonly replicaTimeoutMs?: number | undefined
  /** Accept a server that may evict keys, and so lose jobs, when its memory is full. @default false */
  readonly allowEviction?: boolean | undefined
  /** How long one call may take, repeats included, in ms. @default 5_000 */
  readonly callTimeoutMs?: number | undefined
  /** Source of timers and randomness. The server's clock times the jobs. @default the system's */
  readonly clock?: Clock | undefined
}

/** Complete: nothing inside asks for a default. */
export type ResolvedRedisOptions = ReturnType<typeof resolveRedisOptions>

/** @throws TypeError INVALID_ARGUMENT */
export function resolveRedisOptions(given: RedisStorageOptions = {}) {
  const resolved = resolveOptions('RedisStorage', given, redisOptions)
  const ways = [
    given.client !== undefined && 'client',
    given.url !== undefined && 'url',
    (given.host !== undefined || given.port !== undefined) && 'host/port',
  ].filter((way) => way !== false)
  if (ways.length > 1) {
    throw invalidArgument('RedisStorage options', 'one of client, url, host/port', ways.join(' and '))
  }
  if (ways.length === 0 && Object.hasOwn(given, 'url')) throw undefinedUrl()
  return { ...resolved, clock: resolved.clock ?? systemClock }
}

function undefinedUrl(): TypeError {
  const message =
    'RedisStorage: url is undefined. The setting or environment variable it comes from may be missing. ' +
    'Set it, or leave url out to connect to localhost:6379.'
  return usageError('INVALID_ARGUMENT', message)
}
