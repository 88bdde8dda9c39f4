// Keys and values, each under a key of its own, with an index beside them for lists.

import type { Bytes } from '../../storage.ts'
import { decodeKvKey, encodeKvKey, type KeyValue, type KvKey, type KvPage, type KvWrite } from '../../kv.ts'
import { decodeKvCursor, encodeKvCursor } from '../../rules/kv-cursor.ts'
import { packed } from '../codec/requests.ts'
import type { Script, Scripts } from '../scripts.ts'
import { type Unpacked, unpack } from '../codec/unpack.ts'

/** Runs a script, and has it repeated by nobody. */
export type Run = (script: Script, arg: Buffer | string) => Promise<Buffer | null>

export class RedisKv implements KeyValue {
  readonly #scripts: Scripts
  readonly #run: Run

  constructor(scripts: Scripts, run: Run) {
    this.#scripts = scripts
    this.#run = run
  }

  async get(key: KvKey): Promise<Bytes | undefined> {
    return (await this.#run(this.#scripts.kvGet, encodeKvKey(key))) ?? undefined
  }

  async set(key: KvKey, value: Bytes, options?: KvWrite): Promise<void> {
    await this.#write(key, false, undefined, value, options)
  }

  async setIfAbsent(key: KvKey, value: Bytes, options?: KvWrite): Promise<boolean> {
    return this.cas(key, undefined, value, options)
  }

  async cas(key: KvKey, expected: Bytes | undefined, next: Bytes | undefined, options?: KvWrite): Promise<boolean> {
    return (await this.#write(key, true, expected, next, options)).applied
  }

  async delete(key: KvKey): Promise<boolean> {
    return (await this.#write(key, false, undefined, undefined)).existed
  }

  async list(prefix: KvKey, { limit, cursor }: { limit: number; cursor?: string }): Promise<KvPage> {
    const [newest, after] = cursor === undefined ? [undefined, ''] : decodeKvCursor(cursor)
    const asked = packed([encodeKvKey(prefix), after, newest, Math.min(limit, 2 ** 31)])
    const answer = unpack((await this.#run(this.#scripts.kvList, asked))!) as Unpacked[]
    const found = (answer[2] as [Buffer, Buffer][]).map(([key, value]) => ({ key: key.toString(), value }))
    const items = found.slice(0, limit).map(({ key, value }) => ({ key: decodeKvKey(key), value }))
    if (found.length <= limit) return { items }
    return { items, nextCursor: encodeKvCursor(answer[1] as number, found[limit - 1]!.key) }
  }

  async #write(
    key: KvKey,
    compare: boolean,
    expected: Bytes | undefined,
    value: Bytes | undefined,
    { ttlMs }: KvWrite = {},
  ): Promise<{ applied: boolean; existed: boolean }> {
    const { kvWrite, kvDelete } = this.#scripts
    const arg = packed([encodeKvKey(key), compare, expected, value, ttlMs])
    const answer = unpack((await this.#run(value ? kvWrite : kvDelete, arg))!) as [number, boolean, boolean]
    return { applied: answer[1], existed: answer[2] }
  }
}
