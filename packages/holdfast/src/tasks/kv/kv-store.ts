// The key-value contract of tasks. Stores of other libraries fit it too.

import type { Duration } from '../duration.ts'

export type StoreKey = readonly [string, ...string[]]

export interface StoreWrite {
  /** Time after which the entry is absent. @default kept */
  readonly ttl?: Duration | undefined
}

export interface StoreEntry {
  readonly key: StoreKey
  readonly value: unknown
}

/** A key-value store, for deduplication over queues that have none of their own. */
export interface KvStore {
  /**
   * The form in which the store takes `ttl`: a number of ms, or a Temporal.Duration.
   * @default 'temporal' for the stores of Fedify, recognised by their class names; 'ms' for others
   */
  readonly durations?: 'ms' | 'temporal' | undefined
  get<T>(key: StoreKey): Promise<T | undefined>
  set(key: StoreKey, value: unknown, options?: StoreWrite): Promise<void>
  delete(key: StoreKey): Promise<void>
  /** Writes the value if the key is absent, in one atomic move. @returns whether it did */
  setIfAbsent?(key: StoreKey, value: unknown, options?: StoreWrite): Promise<boolean>
  /** Writes `next` if the value equals `expected`, in one atomic move. `undefined` is absence. @returns whether it did */
  cas?(key: StoreKey, expected: unknown, next: unknown, options?: StoreWrite): Promise<boolean>
  /** Lists the entries whose key begins with these whole parts; without a prefix, all. */
  list(prefix?: StoreKey): AsyncIterable<StoreEntry>
}
