// The tables of a federation, as verbs. Every verb is one statement; those that take `tx` can be part of a transaction.
// Origins are canonical when they come here (origin.ts). Instants are epoch ms, keys base64 text.

import type { Storage } from 'holdfast'
import type { UnhealthyReason } from '../peers/threats.ts'

/** What transaction() hands out: `handle` is what the app runs its own SQL with. */
export interface StoreTransaction {
  readonly handle: unknown
}

export interface DeliveryRow {
  readonly id: string
  readonly name: string
  readonly targetUrl: string
  readonly serverUrl: string
  readonly payload: string
  readonly attempts: number
  readonly lastAttemptedAt: number | undefined
  readonly nextAttemptAt: number | undefined
  readonly createdAt: number
  readonly status: 'open' | 'failed'
  /** A code. */
  readonly lastError: string | undefined
  readonly settledAt: number | undefined
}

export interface PeerRow {
  readonly url: string
  readonly publicKey: string
  readonly encryptionPublicKey: string
  readonly lastSeen: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly isHealthy: boolean
  readonly unhealthyReason: UnhealthyReason | undefined
  readonly healthCheckAttempts: number
}

export type PeerKeys = Pick<PeerRow, 'url' | 'publicKey' | 'encryptionPublicKey'>

export interface BlacklistRow {
  readonly serverUrl: string
  /** `domain`: the host and all below it. */
  readonly match: 'origin' | 'domain'
  readonly reason: string
  readonly createdAt: number
}

export interface FollowRow {
  readonly id: string
  readonly followerId: string
  readonly followingId: string
  /** The remote party's origin, on both sides. */
  readonly followerServerUrl: string | undefined
  readonly followingServerUrl: string | undefined
  readonly accepted: boolean
  readonly acknowledged: boolean
  readonly createdAt: number
}

export interface DeliveryStore {
  /** The same id again changes nothing. */
  insert(
    row: Pick<DeliveryRow, 'id' | 'name' | 'targetUrl' | 'serverUrl' | 'payload' | 'createdAt'>,
    tx?: StoreTransaction,
  ): Promise<void>
  get(id: string): Promise<DeliveryRow | undefined>
  /** attempts + 1. */
  attempted(id: string, now: number): Promise<void>
  /** It will be tried again. */
  retried(id: string, nextAttemptAt: number, code: string): Promise<void>
  failed(id: string, code: string, now: number): Promise<void>
  remove(id: string, tx?: StoreTransaction): Promise<void>
  /** Failed ones that ended before. Answers how many went. */
  sweep(before: number, limit: number): Promise<number>
  list(filter: {
    readonly serverUrl?: string
    readonly status?: DeliveryRow['status']
    readonly limit: number
  }): Promise<DeliveryRow[]>
}

export interface PeerStore {
  get(url: string): Promise<PeerRow | undefined>
  /** Inserts, or touches one of the same keys (last_seen). Where others are pinned, nothing is written. */
  pin(keys: PeerKeys, now: number): Promise<'inserted' | 'touched' | 'pinned_otherwise'>
  healthy(url: string, now: number): Promise<void>
  /** Attempts become 0 if it was healthy or its checks were used up. Answers them; undefined: no such row. */
  unhealthy(url: string, reason: UnhealthyReason, maxAttempts: number, now: number): Promise<number | undefined>
  /** health_check_attempts + 1, and that. */
  checked(url: string, now: number): Promise<number | undefined>
  /** The latest seen first. */
  listHealthy(limit: number): Promise<PeerRow[]>
  listUnhealthy(filter: {
    readonly reasons: readonly UnhealthyReason[]
    readonly attemptsBelow?: number
    readonly limit: number
  }): Promise<PeerRow[]>
  list(filter: { readonly after?: string; readonly limit: number }): Promise<PeerRow[]>
  /** By the operator only. */
  repin(keys: PeerKeys, now: number): Promise<boolean>
  remove(url: string): Promise<boolean>
}

export interface BlacklistStore {
  /** The row that matches this origin, by itself or by a domain. */
  matching(origin: string): Promise<BlacklistRow | undefined>
  add(row: BlacklistRow): Promise<void>
  remove(serverUrl: string): Promise<boolean>
  list(): Promise<BlacklistRow[]>
}

export interface FollowStore {
  /** The row of these parties: the one that is there, or this one. */
  insert(row: FollowRow, tx?: StoreTransaction): Promise<{ readonly row: FollowRow; readonly isNew: boolean }>
  find(
    followerId: string,
    followingId: string,
    followerServerUrl: string | undefined,
    tx?: StoreTransaction,
  ): Promise<FollowRow | undefined>
  /** acknowledged; and accepted, if it was. */
  acknowledge(id: string, accepted: boolean, tx?: StoreTransaction): Promise<void>
  remove(id: string, tx?: StoreTransaction): Promise<boolean>
}

export interface Store {
  readonly deliveries: DeliveryStore
  readonly peers: PeerStore
  readonly blacklist: BlacklistStore
  readonly follows: FollowStore
  /** Opens, and looks at the tables. Counted, as a Storage's. @throws FederationError MIGRATION_PENDING */
  connect(): Promise<void>
  disconnect(): Promise<void>
  migrate(): Promise<void>
  /** What migrate() would run on an empty database. */
  migrationSql(): string
  transaction<T>(run: (tx: StoreTransaction) => Promise<T>): Promise<T>
  /** A transaction of the app's own (what the storage or the client library has for one), for verbs of this store. */
  join(tx: unknown): StoreTransaction
  /** For `storage.add(jobs, tx)`, where this storage lives in the same database; else undefined. */
  storageTransaction(storage: Storage, tx: StoreTransaction): unknown
}
