// What a RedisStorage is given, and the complete record that the code inside receives.

import { type Clock, systemClock } from '../../clock.ts'
import { invalidArgument } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { redisOptions } from '../options.ts'
import type { RedisClient } from './connection/client.ts'

export type RedisDurability = 'relaxed' | 'full' | 'replicated'

export interface RedisStorageOptions {
  /**
   * A Redis or Cluster of iovalkey or ioredis, without a keyPrefix. It is used as it is, and stays open when the storage
   * disconnects; what listens, or waits for replicas, runs on duplicates of it. Give it to this storage alone, and make it
   * with `{ enableOfflineQueue: false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 }`, so that a call
   * learns at once that its connection was lost. A command of yours that blocks would hold up the jobs.
   */
  readonly client?: RedisClient
  /** `redis://user:password@host:6379/0`; `rediss:` for TLS. Needs iovalkey or ioredis to be installed. */
  readonly url?: string
  /** Instead of a url. @default 'localhost' */
  readonly host?: string
  /** Instead of a url. @default 6379 */
  readonly port?: number
  /** What every key and channel begins with: storages with different ones share nothing. No braces. @default 'jq' */
  readonly prefix?: string
  /** Longest idle wait without a hint, in ms, for queues that set none. @default 5_000 */
  readonly pollMs?: number | undefined
  /** Alias of pollMs, in **seconds**, below 1000. */
  readonly blockTimeout?: number | undefined
  /** Accepted and ignored: no trace of a dead worker is kept, and so none expires. */
  readonly processingQueueTTL?: number | undefined
  /**
   * What an acknowledged job survives. `relaxed`: what the server's own settings make of it. `full`: a power cut; the
   * server needs its append-only file, synced always, or every second and WAITAOF (Redis 7.2, Valkey 8). `replicated`:
   * the loss of the primary, if one of the replicas that have it is promoted. A server that cannot give it is refused.
   * @default 'relaxed'
   */
  readonly durability?: RedisDurability
  /** How many replicas must have a write, with `replicated`. @default 1 */
  readonly replicas?: number
  /** How long they may take, in ms; where they sync to disk, two seconds more. @default 1_000 */
  readonly replicaTimeoutMs?: number
  /** Open a server that may evict keys when its memory is full, and so lose jobs. @default false */
  readonly allowEviction?: boolean
  /** How long one call may take, in ms. @default 5_000 */
  readonly callTimeoutMs?: number
  /** Where timers and chance come from. Jobs are timed by the server. @default the system's */
  readonly clock?: Clock
}

export type ResolvedRedisOptions = Omit<
  Required<RedisStorageOptions>,
  'client' | 'url' | 'blockTimeout' | 'processingQueueTTL' | 'pollMs'
> & { readonly pollMs: number } & Pick<RedisStorageOptions, 'client' | 'url'>

/** @throws TypeError INVALID_ARGUMENT */
export function resolveRedisOptions(given: RedisStorageOptions = {}): ResolvedRedisOptions {
  const resolved = resolveOptions('RedisStorage', given, redisOptions)
  const ways = [
    given.client !== undefined && 'client',
    given.url !== undefined && 'url',
    (given.host !== undefined || given.port !== undefined) && 'host/port',
  ].filter((way) => way !== false)
  if (ways.length > 1)
    throw invalidArgument('RedisStorage options', 'one of client, url, host/port', ways.join(' and '))
  return { clock: systemClock, ...resolved }
}
