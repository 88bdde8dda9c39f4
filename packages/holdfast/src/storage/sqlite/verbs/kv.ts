// Key-value entries in a table of their own. A list passes over entries that were created after it began: by `created`.

import { checkKvLimit, checkKvWrite } from '../../check.ts'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Bytes } from '../../storage.ts'
import {
  decodeKvKey,
  encodeKvKey,
  isSameValue,
  type KeyValue,
  type KvKey,
  type KvPage,
  type KvWrite,
} from '../../kv.ts'
import { decodeKvCursor, encodeKvCursor } from '../../rules/kv-cursor.ts'

/** How SqliteKv reaches the database. */
export interface KvAccess {
  /** Runs in a transaction, on the connection that writes. */
  write<T>(run: (table: KvTable, now: number) => T): Promise<T>
  read<T>(run: (table: KvTable, now: number) => T): Promise<T>
}

/** The statements of one connection. */
export class KvTable {
  readonly #get: StatementSync
  readonly #set: StatementSync
  readonly #delete: StatementSync
  readonly #list: StatementSync
  readonly #newest: StatementSync
  readonly #created: StatementSync
  readonly #expired: StatementSync
  readonly #sweep: StatementSync

  constructor(db: DatabaseSync) {
    this.#get = db.prepare('SELECT value, created FROM holdfast_kv WHERE key = ? AND (until IS NULL OR until > ?)')
    this.#set = db.prepare('INSERT OR REPLACE INTO holdfast_kv (key, value, until, created) VALUES (?, ?, ?, ?)')
    this.#delete = db.prepare('DELETE FROM holdfast_kv WHERE key = ?')
    this.#list = db.prepare(
      `SELECT key, value FROM holdfast_kv WHERE key >= ? AND (? = '' OR key < ?) AND key > ? AND created <= ?
       AND (until IS NULL OR until > ?) ORDER BY key LIMIT ? + 0`,
    )
    this.#newest = db.prepare("SELECT value FROM holdfast_numbers WHERE name = 'kv'")
    this.#created = db.prepare("UPDATE holdfast_numbers SET value = value + 1 WHERE name = 'kv' RETURNING value")
    this.#expired = db.prepare('SELECT 1 FROM holdfast_kv WHERE until <= ? LIMIT 1')
    this.#sweep = db.prepare(
      'DELETE FROM holdfast_kv WHERE key IN (SELECT key FROM holdfast_kv WHERE until <= ? ORDER BY until LIMIT ? + 0)',
    )
  }

  get(key: string, now: number): { value: Bytes; created: number } | undefined {
    return this.#get.get(key, now) as { value: Bytes; created: number } | undefined
  }

  set(key: string, value: Bytes, now: number, { ttlMs }: KvWrite = {}): void {
    const created = this.get(key, now)?.created ?? (this.#created.get() as { value: number }).value
    this.#set.run(key, value, ttlMs === undefined ? null : now + ttlMs, created)
  }

  delete(key: string, now: number): boolean {
    const existed = this.get(key, now) !== undefined
    this.#delete.run(key)
    return existed
  }

  newest(): number {
    return (this.#newest.get() as { value: number }).value
  }

  list(prefix: string, after: string, newest: number, now: number, limit: number): { key: string; value: Bytes }[] {
    // A prefix ends in '/', and the character after '/' is '0'.
    const end = prefix.slice(0, -1) + (prefix && '0')
    return this.#list.all(prefix, end, end, after, newest, now, limit) as unknown as { key: string; value: Bytes }[]
  }

  hasExpired(now: number): boolean {
    return this.#expired.get(now) !== undefined
  }

  sweep(now: number, limit: number): number {
    return Number(this.#sweep.run(now, limit).changes)
  }
}

export class SqliteKv implements KeyValue {
  readonly #access: KvAccess

  constructor(access: KvAccess) {
    this.#access = access
  }

  async get(key: KvKey): Promise<Bytes | undefined> {
    return this.#access.read((table, now) => table.get(encodeKvKey(key), now)?.value)
  }

  async set(key: KvKey, value: Bytes, options?: KvWrite): Promise<void> {
    checkKvWrite(options)
    await this.#access.write((table, now) => table.set(encodeKvKey(key), value, now, options))
  }

  async setIfAbsent(key: KvKey, value: Bytes, options?: KvWrite): Promise<boolean> {
    return this.cas(key, undefined, value, options)
  }

  async cas(key: KvKey, expected: Bytes | undefined, next: Bytes | undefined, options?: KvWrite): Promise<boolean> {
    checkKvWrite(options)
    return this.#access.write((table, now) => {
      const encoded = encodeKvKey(key)
      if (!isSameValue(table.get(encoded, now)?.value, expected)) return false
      if (next) table.set(encoded, next, now, options)
      else table.delete(encoded, now)
      return true
    })
  }

  async delete(key: KvKey): Promise<boolean> {
    return this.#access.write((table, now) => table.delete(encodeKvKey(key), now))
  }

  async list(prefix: KvKey, { limit, cursor }: { limit: number; cursor?: string }): Promise<KvPage> {
    checkKvLimit(limit)
    const from = cursor === undefined ? undefined : decodeKvCursor(cursor)
    return this.#access.read((table, now) => {
      const [newest, after] = from ?? [table.newest(), '']
      const found = table.list(encodeKvKey(prefix), after, newest, now, Math.min(limit, 2 ** 31) + 1)
      const items = found.slice(0, limit).map(({ key, value }) => ({ key: decodeKvKey(key), value }))
      if (found.length <= limit) return { items }
      return { items, nextCursor: encodeKvCursor(newest, found[limit - 1]!.key) }
    })
  }
}
