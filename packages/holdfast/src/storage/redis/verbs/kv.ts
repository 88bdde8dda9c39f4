// The key-value contract: an entry under a key of its own, and indexes for list and sweep (lua/kv.ts).

import { checkKvLimit, checkKvWrite } from '../../check.ts'
import { decodeKvKey, encodeKvKey, type KeyValue, type KvKey, type KvPage, type KvWrite } from '../../kv.ts'
import { decodeKvCursor, encodeKvCursor } from '../../rules/kv-cursor.ts'
import type { Bytes } from '../../storage.ts'
import { packed } from '../codec/requests.ts'
import { durable, type ScriptRunner } from './script-runner.ts'

export class RedisKv implements KeyValue {
  readonly #scripts: ScriptRunner
  readonly #newId: () => string

  /** @param newId for tokens of calls, by which a repeat is recognised */
  constructor(scripts: ScriptRunner, newId: () => string) {
    this.#scripts = scripts
    this.#newId = newId
  }

  async get(key: KvKey): Promise<Bytes | undefined> {
    return (await this.#scripts.run('kvGet', [encodeKvKey(key)])) ?? undefined
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
    checkKvLimit(limit)
    const [newest, after] = cursor === undefined ? [undefined, ''] : decodeKvCursor(cursor)
    const asked = packed([encodeKvKey(prefix), after, newest, Math.min(limit, 2 ** 31)])
    const answer = await this.#scripts.ask('kvList', [asked])
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
    options: KvWrite = {},
  ): Promise<{ applied: boolean; existed: boolean }> {
    checkKvWrite(options)
    const asked = packed([
      encodeKvKey(key),
      compare,
      expected,
      value,
      options.ttlMs,
      compare && value !== undefined && this.#newId(),
    ])
    // A delete may run when memory is full.
    const [, applied, existed] = await this.#scripts.ask(value ? 'kvWrite' : 'kvDelete', [asked], durable)
    return { applied: applied as boolean, existed: existed as boolean }
  }
}
