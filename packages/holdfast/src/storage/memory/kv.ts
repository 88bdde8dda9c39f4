// The key-value store of the memory driver.

import { encodeKvKey, type KeyValue, type KvKey, type KvPage, type KvWrite } from '../kv.ts'
import type { Bytes } from '../storage.ts'
import { KvData } from './kv-data.ts'
import * as verbs from './kv-verbs.ts'

export class MemoryKv implements KeyValue {
  readonly data = new KvData()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  async get(key: KvKey): Promise<Bytes | undefined> {
    return this.data.read(encodeKvKey(key), this.#now())
  }

  async set(key: KvKey, value: Bytes, options?: KvWrite): Promise<void> {
    verbs.set(this.data, this.#now(), key, value, options)
  }

  async setIfAbsent(key: KvKey, value: Bytes, options?: KvWrite): Promise<boolean> {
    return verbs.setIfAbsent(this.data, this.#now(), key, value, options)
  }

  async cas(key: KvKey, expected: Bytes | undefined, next: Bytes | undefined, options?: KvWrite): Promise<boolean> {
    return verbs.cas(this.data, this.#now(), key, expected, next, options)
  }

  async delete(key: KvKey): Promise<boolean> {
    return verbs.remove(this.data, this.#now(), key)
  }

  async list(prefix: KvKey, options: { limit: number; cursor?: string }): Promise<KvPage> {
    return verbs.list(this.data, this.#now(), prefix, options)
  }
}
