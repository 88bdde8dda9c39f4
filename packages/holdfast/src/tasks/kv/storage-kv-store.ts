// A key-value store over any Holdfast storage: values as canonical JSON, so that `cas` compares structure.

import { systemClock } from '../../clock.ts'
import type { Clock } from '../../clock.ts'
import { Connection } from '../../engine/connection.ts'
import { HoldfastError, printable, usageError } from '../../errors.ts'
import { type Tell, teller } from '../../engine/events.ts'
import { sharedOptions } from '../../engine/options.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { type GuardedStorage, guardStorage } from '../../engine/guard.ts'
import type { KvWrite } from '../../storage/kv.ts'
import type { Bytes, Storage } from '../../storage/storage.ts'
import { canonicalJson } from './canonical-json.ts'
import { toMs } from '../duration.ts'
import type { KvStore, StoreEntry, StoreKey, StoreWrite } from './kv-store.ts'
import { kvStoreOptions, writeOptions } from '../options.ts'

export interface StorageKvStoreOptions {
  /** Stores of different names share nothing. @default 'default' */
  readonly name?: string
  /** @default the system's */
  readonly clock?: Clock
}

const largestKey = 8 * 1024
const pageSize = 100

export class StorageKvStore implements KvStore, AsyncDisposable {
  readonly name: string
  readonly #storage: GuardedStorage
  readonly #connection: Connection
  readonly #base: readonly string[]
  readonly #tell: Tell = teller(() => {})
  #closed = false

  /** @throws TypeError INVALID_ARGUMENT */
  constructor(storage: Storage, options?: StorageKvStoreOptions) {
    sharedOptions.storage.check('storage', storage)
    const { name, clock = systemClock } = resolveOptions('StorageKvStore', options, kvStoreOptions)
    this.name = name
    this.#base = ['store', name]
    this.#storage = guardStorage(storage, clock, this.#tell)
    this.#connection = new Connection(this.#storage, name)
  }

  async get<T>(key: StoreKey): Promise<T | undefined> {
    const at = this.#at(key)
    await this.#open()
    return valueOf(await this.#storage.kv.get(at)) as T | undefined
  }

  /** `undefined` deletes. Without a TTL an earlier one is cleared. */
  async set(key: StoreKey, value: unknown, options?: StoreWrite): Promise<void> {
    const [at, bytes, write] = [this.#at(key), bytesOf(value), writeOf(options)]
    await this.#open()
    if (bytes === undefined) await this.#storage.kv.delete(at)
    else await this.#storage.kv.set(at, bytes, write)
  }

  async delete(key: StoreKey): Promise<void> {
    const at = this.#at(key)
    await this.#open()
    await this.#storage.kv.delete(at)
  }

  async setIfAbsent(key: StoreKey, value: unknown, options?: StoreWrite): Promise<boolean> {
    const [at, bytes, write] = [this.#at(key), bytesOf(value), writeOf(options)]
    await this.#open()
    if (bytes === undefined) return this.#storage.kv.cas(at, undefined, undefined)
    return this.#storage.kv.setIfAbsent(at, bytes, write)
  }

  /** `null` is a value, `undefined` absence: it creates, deletes, or says whether the key is absent. */
  async cas(key: StoreKey, expected: unknown, next: unknown, options?: StoreWrite): Promise<boolean> {
    const [at, from, to, write] = [this.#at(key), bytesOf(expected), bytesOf(next), writeOf(options)]
    await this.#open()
    return this.#storage.kv.cas(at, from, to, write)
  }

  /** Keys that begin with these whole parts; all without. Ends, whatever others write meanwhile. */
  async *list(prefix?: StoreKey): AsyncGenerator<StoreEntry> {
    const at = prefix === undefined ? this.#base : this.#at(prefix)
    await this.#open()
    for (let cursor: string | undefined; ;) {
      const { items, nextCursor } = await this.#storage.kv.list(at, { limit: pageSize, cursor })
      for (const { key, value } of items) {
        yield { key: key.slice(this.#base.length) as unknown as StoreKey, value: valueOf(value) }
      }
      if (nextCursor === undefined) return
      cursor = nextCursor
    }
  }

  /** Gives its count of the storage back. Never rejects: what goes wrong is told on the channel. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#connection.stop().catch((error: Error) => this.#tell({ name: 'error', error }))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #open(): Promise<void> {
    if (this.#closed) throw new HoldfastError('CLOSED', `the store '${this.name}' was closed`, { store: this.name })
    if (!this.#connection.isOpen) await this.#connection.use()
  }

  #at(key: StoreKey): string[] {
    const isKey = Array.isArray(key) && key.length > 0 && key.every((part) => typeof part === 'string')
    const size = isKey ? key.reduce((sum, part) => sum + Buffer.byteLength(part), 0) : 0
    if (!isKey || size > largestKey) {
      const got = isKey ? `${size} bytes` : printable(key)
      throw usageError(
        'INVALID_KEY',
        `key: expected an array of strings, at most ${largestKey} bytes in all, got ${got}`,
      )
    }
    return [...this.#base, ...key]
  }
}

function bytesOf(value: unknown): Bytes | undefined {
  const json = canonicalJson(value)
  return json === undefined ? undefined : Buffer.from(json)
}

function valueOf(bytes: Bytes | undefined): unknown {
  return bytes === undefined ? undefined : JSON.parse(Buffer.from(bytes).toString())
}

function writeOf(options: StoreWrite | undefined): KvWrite | undefined {
  const { ttl } = resolveOptions('write', options, writeOptions)
  return ttl === undefined ? undefined : { ttlMs: toMs(ttl) }
}
