// A key-value store over any Holdfast storage. Values are canonical text of the value codec, so that `cas` compares structure.
// Invariant: two faces never share an entry, whatever the names of their stores.

import { readable } from '../../copy-option.ts'
import { type Clock, systemClock } from '../../clock.ts'
import { Connection } from '../../engine/connection.ts'
import type { Logger } from '../../engine/emit.ts'
import { type PublishEvent, eventPublisher } from '../../engine/events.ts'
import { type GuardedStorage, guardStorage } from '../../engine/guard.ts'
import { decodeValue } from '../../engine/job/values.ts'
import { eventLog } from '../../engine/log-events.ts'
import { sharedOptions } from '../../engine/options.ts'
import { HoldfastError, printable, usageError } from '../../errors.ts'
import { resolveOptions } from '../../resolve-options.ts'
import type { KvWrite } from '../../storage/kv.ts'
import type { Bytes, Storage } from '../../storage/storage.ts'
import { toMs } from '../duration.ts'
import { kvStoreOptions, writeOptions } from '../options.ts'
import { eventSink, logTo } from '../telemetry/log.ts'
import { canonicalText, writtenText } from './canonical-value.ts'
import type { KvStore, StoreEntry, StoreKey, StoreWrite } from './kv-store.ts'

/** Options of a StorageKvStore. */
export interface StorageKvStoreOptions {
  /** Stores of one name on one storage share their entries. @default 'default' */
  readonly name?: string | undefined
  /** The face that the entries are stored under: for packages that build on this store. Other faces never see them. @default 'task' */
  readonly face?: string | undefined
  /** Receives lost connections and errors, each at its level. @default NODE_DEBUG=holdfast */
  readonly logger?: Logger | undefined
  /** Source of local time: a `fakeClock()` in tests. @default the system's */
  readonly clock?: Clock | undefined
}

/** Largest key, in bytes of UTF-8. */
const largestKey = 8 * 1024
const pageSize = 100

/** A key-value store over a storage. */
export class StorageKvStore implements KvStore, AsyncDisposable {
  readonly name: string
  readonly #storage: GuardedStorage
  readonly #connection: Connection
  readonly #base: readonly string[]
  readonly #publishEvent: PublishEvent
  #closed = false

  /** @throws TypeError INVALID_ARGUMENT */
  constructor(storage: Storage, options?: StorageKvStoreOptions) {
    sharedOptions.storage.check('storage', storage)
    const { name, face, logger, clock = systemClock } = resolveOptions('StorageKvStore', options, kvStoreOptions)
    this.name = name
    this.#base = ['store', face, name]
    const log = logTo(logger)
    const logEvent = eventLog(eventSink(logger), `store '${name}'`)
    this.#publishEvent = eventPublisher((event) => {
      logEvent?.(event)
      if (event.name === 'error')
        log.error({ err: event.error, store: name }, `store '${name}': ${event.error.message}`)
    })
    this.#storage = guardStorage(storage, clock, this.#publishEvent)
    this.#connection = new Connection(this.#storage, name)
  }

  async get<T>(key: StoreKey): Promise<T | undefined> {
    const at = this.#at(key)
    await this.#open()
    return valueOf(await this.#storage.kv.get(at)) as T | undefined
  }

  /**
   * Writes the value; `undefined` deletes. A write without a TTL clears an earlier TTL.
   * @throws SERIALIZATION_ERROR with the `path` of what would not come back equal: a function, a class instance, a member that is
   * undefined, an object with a toJSON method
   */
  async set(key: StoreKey, value: unknown, options?: StoreWrite): Promise<void> {
    const [at, bytes, write] = [this.#at(key), bytesOf(writtenText(value)), writeOf(options)]
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
    const [at, bytes, write] = [this.#at(key), bytesOf(writtenText(value)), writeOf(options)]
    await this.#open()
    if (bytes === undefined) return this.#storage.kv.cas(at, undefined, undefined)
    return this.#storage.kv.setIfAbsent(at, bytes, write)
  }

  /** `null` is a value, `undefined` is absence: with it, cas creates, deletes, or checks that the key is absent. */
  async cas(key: StoreKey, expected: unknown, next: unknown, options?: StoreWrite): Promise<boolean> {
    const at = this.#at(key)
    const [from, to, write] = [bytesOf(canonicalText(expected)), bytesOf(writtenText(next)), writeOf(options)]
    await this.#open()
    return this.#storage.kv.cas(at, from, to, write)
  }

  /** Lists the entries whose key begins with these whole parts; without a prefix, all. Ends, also while others write. */
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

  /** Disconnects. A storage that others use stays connected. Never rejects: a failure is logged. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#connection.stop().catch((error: Error) => this.#publishEvent({ name: 'error', error }))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #open(): Promise<void> {
    if (this.#closed) {
      throw new HoldfastError('CLOSED', `store '${this.name}': it was closed. Make another one.`, { store: this.name })
    }
    if (!this.#connection.isOpen) await this.#connection.use()
  }

  #at(given: StoreKey): string[] {
    // A copy: what is checked is what is used. It has no holes.
    const key = readable('key', () => (Array.isArray(given) ? Array.from(given as readonly string[]) : []))
    const isKey = key.length > 0 && key.every((part) => typeof part === 'string')
    const size = isKey ? key.reduce((sum, part) => sum + Buffer.byteLength(part), 0) : 0
    if (!isKey || size > largestKey) {
      const got = isKey ? `${size} bytes` : printable(given)
      const expected = `an array of strings, at most ${largestKey} bytes in all`
      throw usageError('INVALID_KEY', `key: expected ${expected}, got ${got}`)
    }
    return [...this.#base, ...key]
  }
}

const bytesOf = (text: string | undefined): Bytes | undefined => (text === undefined ? undefined : Buffer.from(text))

const valueOf = (bytes: Bytes | undefined): unknown => (bytes === undefined ? undefined : decodeValue(bytes))

function writeOf(options: StoreWrite | undefined): KvWrite | undefined {
  const { ttl } = resolveOptions('write', options, writeOptions)
  return ttl === undefined ? undefined : { ttlMs: toMs(ttl) }
}
