// The store interface: the tables of a federation as methods. Each method is one statement; those with `tx` can be part of a
// transaction. Origins must be canonical (origin.ts). Instants are epoch ms, keys base64 text.

import type { Storage } from 'holdfast'
import type { UnhealthyReason } from '../peers/threats.ts'

/** A transaction of the store. */
export interface StoreTransaction {
  /** For the app's own SQL: a DatabaseSync, a client of pg, or a sql of postgres.js. */
  readonly handle: unknown
}

/** A delivery that is open or failed. */
export interface DeliveryRow {
  readonly id: string
  readonly name: string
  readonly targetUrl: string
  readonly serverUrl: string
  readonly payload: string
  /** Requests so far, with those that the peer asked to repeat later. */
  readonly attempts: number
  readonly lastAttemptedAt: number | undefined
  readonly nextAttemptAt: number | undefined
  readonly createdAt: number
  readonly status: 'open' | 'failed'
  /** Code of the last failure. */
  readonly lastError: string | undefined
  readonly settledAt: number | undefined
}

/** A known server and its pinned keys. */
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
  /** `origin`: this server alone. `domain`: the host and its subdomains. */
  readonly match: 'origin' | 'domain'
  readonly reason: string
  readonly createdAt: number
}

export interface FollowRow {
  readonly id: string
  readonly followerId: string
  readonly followingId: string
  /** Origin of the remote party, on both sides. */
  readonly followerServerUrl: string | undefined
  /** Origin of the followed user's server. Tells a follow of this server's user from one by this server's user. */
  readonly followingServerUrl: string | undefined
  readonly accepted: boolean
  readonly acknowledged: boolean
  readonly createdAt: number
}

export interface DeliveryStore {
  /** Inserts a row. A repeat with the same id changes nothing. */
  insert(
    row: Pick<DeliveryRow, 'id' | 'name' | 'targetUrl' | 'serverUrl' | 'payload' | 'createdAt'>,
    tx?: StoreTransaction,
  ): Promise<void>
  get(id: string): Promise<DeliveryRow | undefined>
  /** Counts an attempt. */
  attempted(id: string, now: number): Promise<void>
  /** Records a failure that is retried. */
  retried(id: string, nextAttemptAt: number, code: string): Promise<void>
  /** Records the final failure. */
  failed(id: string, code: string, now: number): Promise<void>
  remove(id: string, tx?: StoreTransaction): Promise<void>
  /** Removes failed rows that ended before this instant. Returns their number. */
  sweep(before: number, limit: number): Promise<number>
  /** Returns matching rows, oldest first. */
  list(filter: {
    readonly serverUrl?: string
    readonly status?: DeliveryRow['status']
    readonly limit: number
  }): Promise<DeliveryRow[]>
}

export interface PeerStore {
  get(url: string): Promise<PeerRow | undefined>
  /** Inserts a row, or updates `lastSeen` of one with the same keys. If other keys are pinned, nothing is written. */
  pin(keys: PeerKeys, now: number): Promise<'inserted' | 'touched' | 'pinned_otherwise'>
  /** Marks a peer healthy and resets its checks. */
  healthy(url: string, now: number): Promise<void>
  /**
   * Marks a peer unhealthy. Its checks restart at 0 if it was healthy or had used them all. Returns their number; undefined if
   * there is no row.
   */
  unhealthy(url: string, reason: UnhealthyReason, maxAttempts: number, now: number): Promise<number | undefined>
  /** Counts a failed check. Returns the new number; undefined if there is no row. */
  checked(url: string, now: number): Promise<number | undefined>
  /** Returns healthy peers, the most recently seen first. */
  listHealthy(limit: number): Promise<PeerRow[]>
  listUnhealthy(filter: {
    readonly reasons: readonly UnhealthyReason[]
    readonly attemptsBelow?: number
    readonly limit: number
  }): Promise<PeerRow[]>
  /** Returns rows in the order of their origins. */
  list(filter: { readonly after?: string; readonly limit: number }): Promise<PeerRow[]>
  /** Replaces the keys of a row. For the operator only. */
  repin(keys: PeerKeys, now: number): Promise<boolean>
  remove(url: string): Promise<boolean>
}

export interface BlacklistStore {
  /** Returns the row that blocks this origin, by origin or by domain. */
  matching(origin: string): Promise<BlacklistRow | undefined>
  add(row: BlacklistRow): Promise<void>
  remove(serverUrl: string): Promise<boolean>
  list(): Promise<BlacklistRow[]>
}

export interface FollowStore {
  /** Inserts a row unless one with the same parties exists. Returns the row that exists then. */
  insert(row: FollowRow, tx?: StoreTransaction): Promise<{ readonly row: FollowRow; readonly isNew: boolean }>
  /**
   * Returns the row of these parties.
   * @param followingServerUrl without it, any server; a row that has none matches every one
   */
  find(
    followerId: string,
    followingId: string,
    followerServerUrl: string | undefined,
    followingServerUrl?: string | undefined,
    tx?: StoreTransaction,
  ): Promise<FollowRow | undefined>
  /** Sets `acknowledged`, and `accepted` if it is true here. */
  acknowledge(id: string, accepted: boolean, tx?: StoreTransaction): Promise<void>
  remove(id: string, tx?: StoreTransaction): Promise<boolean>
}

export interface Store {
  readonly deliveries: DeliveryStore
  readonly peers: PeerStore
  readonly blacklist: BlacklistStore
  readonly follows: FollowStore
  /** Opens the database and checks the tables. Reference-counted, like Storage.connect(). @throws FederationError MIGRATION_PENDING */
  connect(): Promise<void>
  /** Closes the database with the last reference. */
  disconnect(): Promise<void>
  /** Runs pending migrations. */
  migrate(): Promise<void>
  /** Returns the SQL that migrate() runs on an empty database. */
  migrationSql(): string
  /** Commits when `run` resolves, rolls back when it rejects. */
  transaction<T>(run: (tx: StoreTransaction) => Promise<T>): Promise<T>
  /** Makes a transaction of the app usable for methods of this store: that of the storage, or of the client library. */
  join(tx: unknown): StoreTransaction
  /** Returns the `tx` for `storage.add(jobs, tx)` if this storage shares the database; else undefined. */
  storageTransaction(storage: Storage, tx: StoreTransaction): unknown
}
