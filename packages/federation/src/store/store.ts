// The store interface: the tables of a federation as methods. Each method is one statement; those with `tx` can be part of a
// transaction. Origins must be canonical (origin.ts). Instants are epoch ms, keys base64 text.

import type { Storage } from 'holdfast'
import type { UnhealthyReason } from '../peers/threats.ts'
import type { PeerStateStore } from './peer-state-store.ts'

export type { PeerStateStore } from './peer-state-store.ts'

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
  /** Id of the stored body. In a list, the payload of such a row is empty. */
  readonly bodyId: string | undefined
  /** Deliveries to one server with the same key are sent one at a time, in the order of their inserts. */
  readonly orderKey: string | undefined
}

/** Deliveries of one stored body. */
export interface FanOut {
  readonly name: string
  readonly bodyId: string
  readonly payload: string
  readonly orderKey?: string | undefined
  readonly createdAt: number
  readonly deliveries: readonly Pick<DeliveryRow, 'id' | 'targetUrl' | 'serverUrl'>[]
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
  /** Its registrable domain or, for an address, the range of it. */
  readonly site: string | undefined
  /** Range of the address that its keys were last fetched from. */
  readonly addressRange: string | undefined
  /** When it last sent an authenticated message, by the hour. */
  readonly usedAt: number | undefined
  /** When this server last reached it for a delivery of its own, by the hour: it acknowledged one, or was discovered for one. */
  readonly reachedAt: number | undefined
}

export interface PinOptions {
  /** Range of the address that the keys were fetched from. */
  readonly addressRange?: string | undefined
  /** True if this server contacted the peer for a delivery of its own. False if the peer registered itself. @default false */
  readonly isReached?: boolean
}

/** How many peers that were never used may be stored. */
export interface UnusedBounds {
  readonly perSite: number
  readonly perRange: number
  readonly max: number
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

/** What waits for a server. */
export interface Backlog {
  readonly serverUrl: string
  readonly count: number
  /** When the oldest delivery was made, epoch ms. */
  readonly oldestAt: number
}

export interface DeliveryStore {
  /** Inserts a row. A repeat with the same id changes nothing. */
  insert(
    row: Pick<DeliveryRow, 'id' | 'name' | 'targetUrl' | 'serverUrl' | 'payload' | 'createdAt'> &
      Partial<Pick<DeliveryRow, 'orderKey'>>,
    tx?: StoreTransaction,
  ): Promise<void>
  /** Inserts one body, and a row per delivery. Rows whose id exists are left alone. */
  fanOut(fanOut: FanOut, tx: StoreTransaction): Promise<void>
  /** Removes bodies without a row that were made before this instant. Returns their number. */
  sweepBodies(before: number, limit: number): Promise<number>
  /** Returns the id of the open delivery to this server that comes first under this order key. */
  first(serverUrl: string, orderKey: string): Promise<string | undefined>
  /** Opens a failed delivery again, with all attempts. */
  reopen(id: string, now: number): Promise<void>
  /** Returns the row, with its payload. */
  get(id: string): Promise<DeliveryRow | undefined>
  /** Counts an attempt. */
  attempted(id: string, now: number): Promise<void>
  /** Records a failure that is retried. */
  retried(id: string, nextAttemptAt: number, code: string): Promise<void>
  /** Records the final failure. */
  failed(id: string, code: string, now: number): Promise<void>
  /** Counts an error of the server to this delivery. Returns their number, 0 without a row. */
  refused(id: string): Promise<number>
  /** Ends what waits for this server with BACKLOG_FULL, without its body, except the newest rows. Returns the ids. @param keep rows that stay */
  drop(serverUrl: string, keep: number, now: number, limit: number): Promise<string[]>
  /** Removes rows that drop() ended, except the newest. @param keep rows that stay */
  forgetDropped(serverUrl: string, keep: number): Promise<void>
  /** Returns servers with more than so many open rows, the largest number first. */
  backlogs(moreThan: number, limit: number): Promise<Backlog[]>
  /** Returns the number of open rows, and the instant of the oldest. */
  waiting(): Promise<Omit<Backlog, 'serverUrl' | 'oldestAt'> & { readonly oldestAt: number | undefined }>
  remove(id: string, tx?: StoreTransaction): Promise<void>
  /** Removes failed rows that ended before this instant. Returns their number. */
  sweep(before: number, limit: number): Promise<number>
  /** Returns matching rows, oldest first. */
  list(filter: {
    readonly serverUrl?: string | undefined
    readonly status?: DeliveryRow['status']
    readonly name?: string | undefined
    /** Code of the last failure. */
    readonly lastError?: string | undefined
    /** The last row of the previous page. */
    readonly after?: Pick<DeliveryRow, 'createdAt' | 'id'> | undefined
    readonly limit: number
  }): Promise<DeliveryRow[]>
}

export interface PeerStore {
  get(url: string): Promise<PeerRow | undefined>
  /** Inserts a row, or updates `lastSeen` of one with the same keys. If other keys are pinned, nothing is written. */
  pin(keys: PeerKeys, now: number, options?: PinOptions): Promise<'inserted' | 'touched' | 'pinned_otherwise'>
  /** Records an authenticated message of this peer. */
  used(url: string, now: number): Promise<void>
  /** Records that this server reached the peer for a delivery of its own. */
  reached(url: string, now: number): Promise<void>
  /** Removes unused peers beyond the bounds, the oldest first, and never this one. Each bound counts this peer, too. */
  evictUnused(peer: Pick<PeerRow, 'url' | 'site' | 'addressRange'>, bounds: UnusedBounds): Promise<void>
  /** Removes unused peers that were last seen before this instant. Returns their number. */
  expireUnused(before: number, limit: number): Promise<number>
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
  /** Returns healthy peers that this server has reached before, the most recently seen first. */
  listReached(limit: number): Promise<PeerRow[]>
  listUnhealthy(filter: {
    readonly reasons: readonly UnhealthyReason[]
    readonly attemptsBelow?: number
    readonly limit: number
  }): Promise<PeerRow[]>
  /** Returns rows in the order of their origins. */
  list(filter: { readonly after?: string; readonly limit: number }): Promise<PeerRow[]>
  /** Replaces the keys of a row that has the old ones. Returns false if it has not. For a proven rotation only. */
  rotate(from: PeerKeys, to: PeerKeys, now: number): Promise<boolean>
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

/** A message that has had its effect. */
export interface InboxRow {
  /** JSON text: what the acknowledgement is made of. */
  readonly outcome: string
  /** The reply as it was sent. Undefined: old, and to be made anew from the outcome. */
  readonly ack: string | undefined
  /** Names the keys that the reply was signed with and encrypted for. */
  readonly sealedWith: string | undefined
}

/** The messages that were received, so that each has one effect. The key is the origin of the sender and the id of the message. */
export interface InboxStore {
  get(origin: string, id: string, tx?: StoreTransaction): Promise<InboxRow | undefined>
  /**
   * Inserts the key of a message, before its effect. Waits for a concurrent transaction with the same key. Returns false if it exists.
   * @param message.expiresAt undefined: the row stays
   * @param message.decided its outcome, if that is known before the effect
   */
  insert(
    message: {
      readonly origin: string
      readonly id: string
      readonly receivedAt: number
      readonly expiresAt: number | undefined
      readonly decided?: InboxRow | undefined
    },
    tx: StoreTransaction,
  ): Promise<boolean>
  /** Writes the outcome and the reply of a message. */
  decide(origin: string, id: string, row: InboxRow, tx: StoreTransaction): Promise<void>
  /** Removes rows that have expired. Returns their number. */
  expire(now: number, limit: number): Promise<number>
  /** Removes the reply, but not the key, of rows that stay and were received before this instant. Returns their number. */
  compact(before: number, limit: number): Promise<number>
}

export interface Store {
  readonly peerStates: PeerStateStore
  readonly inbox: InboxStore
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
  /**
   * transaction() for a work that waits for nothing but methods of this store. On SQLite those that wait share one commit; the failure of one
   * rolls back its own writes.
   */
  shared<T>(run: (tx: StoreTransaction) => Promise<T>): Promise<T>
  /** Makes a transaction of the app usable for methods of this store: that of the storage, or of the client library. */
  join(tx: unknown): StoreTransaction
  /** Returns the `tx` for `storage.add(jobs, tx)` if this storage shares the database; else undefined. */
  storageTransaction(storage: Storage, tx: StoreTransaction): unknown
}
