// What tasks ask of a key-value store: the contract, which foreign stores fit too.

import type { Duration } from '../duration.ts'

export type StoreKey = readonly [string, ...string[]]

export interface StoreWrite {
  /** Then the entry is absent. @default kept */
  readonly ttl?: Duration
}

export interface StoreEntry {
  readonly key: StoreKey
  readonly value: unknown
}

export interface KvStore {
  get<T>(key: StoreKey): Promise<T | undefined>
  set(key: StoreKey, value: unknown, options?: StoreWrite): Promise<void>
  delete(key: StoreKey): Promise<void>
  /** True if it was absent and is written now: one atomic move. */
  setIfAbsent?(key: StoreKey, value: unknown, options?: StoreWrite): Promise<boolean>
  /** Writes `next` if the value equals `expected`, in one atomic move. `undefined` is absence. */
  cas?(key: StoreKey, expected: unknown, next: unknown, options?: StoreWrite): Promise<boolean>
  list(prefix?: StoreKey): AsyncIterable<StoreEntry>
}
