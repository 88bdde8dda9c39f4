// The key-value store of the file driver: the entries of the replica, through the journal.

import { encodeKvKey, type KeyValue, type KvKey, type KvPage, type KvWrite } from '../kv.ts'
import * as verbs from '../memory/kv-verbs.ts'
import type { Bytes } from '../storage.ts'
import type { CallOptions, Turn } from './journal.ts'

type CallOn = <T>(run: (turn: Turn) => T, options?: CallOptions) => Promise<T>

export class FileKv implements KeyValue {
  readonly #call: CallOn

  constructor(call: CallOn) {
    this.#call = call
  }

  get(key: KvKey): Promise<Bytes | undefined> {
    return this.#call(({ kv, now }) => kv.read(encodeKvKey(key), now), { reads: true })
  }

  set(key: KvKey, value: Bytes, options?: KvWrite): Promise<void> {
    return this.#call(({ kv, now }) => verbs.set(kv, now, key, value, options), { takesRoom: true })
  }

  setIfAbsent(key: KvKey, value: Bytes, options?: KvWrite): Promise<boolean> {
    return this.#call(({ kv, now }) => verbs.setIfAbsent(kv, now, key, value, options), { takesRoom: true })
  }

  cas(key: KvKey, expected: Bytes | undefined, next: Bytes | undefined, options?: KvWrite): Promise<boolean> {
    return this.#call(({ kv, now }) => verbs.cas(kv, now, key, expected, next, options))
  }

  delete(key: KvKey): Promise<boolean> {
    return this.#call(({ kv, now }) => verbs.remove(kv, now, key))
  }

  list(prefix: KvKey, options: { limit: number; cursor?: string }): Promise<KvPage> {
    return this.#call(({ kv, now }) => verbs.list(kv, now, prefix, options), { reads: true })
  }
}
