// Fedify's KvStore over a StorageKvStore.

import type { KvKey, KvStore, KvStoreListEntry, KvStoreSetOptions } from '@fedify/fedify'
import type { Storage } from 'holdfast'
import { StorageKvStore, type StorageKvStoreOptions } from 'holdfast/tasks'

/** The options of StorageKvStore, with face 'fedify' as the default. */
export type HoldfastKvStoreOptions = StorageKvStoreOptions

/**
 * Values come back as they went in: JSON, and also Date, Map, Set, bigint, bytes and URL. What would be lost is refused with its
 * path (SERIALIZATION_ERROR): functions, class instances, objects with toJSON, members that are undefined. `cas` compares structure.
 * An expired entry is absent at once, by the storage's clock.
 */
export class HoldfastKvStore implements KvStore, AsyncDisposable {
  readonly #store: StorageKvStore

  /** @throws TypeError INVALID_ARGUMENT */
  constructor(storage: Storage, options?: HoldfastKvStoreOptions) {
    this.#store = new StorageKvStore(storage, { ...options, face: options?.face ?? 'fedify' })
  }

  get<T = unknown>(key: KvKey): Promise<T | undefined> {
    return this.#store.get<T>(key)
  }

  set(key: KvKey, value: unknown, options?: KvStoreSetOptions): Promise<void> {
    return this.#store.set(key, value, { ttl: options?.ttl })
  }

  delete(key: KvKey): Promise<void> {
    return this.#store.delete(key)
  }

  /** Writes the value if the key is absent. @returns whether it did */
  setIfAbsent(key: KvKey, value: unknown, options?: KvStoreSetOptions): Promise<boolean> {
    return this.#store.setIfAbsent(key, value, { ttl: options?.ttl })
  }

  /** Writes the new value if the current one equals the expected. `undefined` is absence. @returns whether it did */
  cas(key: KvKey, expectedValue: unknown, newValue: unknown, options?: KvStoreSetOptions): Promise<boolean> {
    return this.#store.cas(key, expectedValue, newValue, { ttl: options?.ttl })
  }

  list(prefix?: KvKey): AsyncIterable<KvStoreListEntry> {
    return this.#store.list(prefix)
  }

  /** Disconnects. A storage that others use stays connected. Never rejects. */
  close(): Promise<void> {
    return this.#store.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
