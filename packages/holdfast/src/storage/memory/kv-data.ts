// The entries of a key-value store, by their encoded keys. An expired entry is absent at once, swept or not.

import { decodeKvKey, type KvPage } from '../kv.ts'
import { decodeKvCursor, encodeKvCursor } from '../rules/kv-cursor.ts'
import { type Bytes } from '../storage.ts'
import { Heap, type HeapSlot } from './heap.ts'

export interface KvEntry extends HeapSlot {
  readonly key: string
  readonly value: Bytes
  readonly until: number
  /** Its number among all entries ever created: a list passes over entries that are newer than its start. */
  readonly created: number
}

export class KvData {
  readonly entries = new Map<string, KvEntry>()
  readonly #expiring = new Heap<KvEntry>((a, b) => a.until < b.until)
  /** Called with a key before its entry changes. */
  readonly #onChange: ((key: string) => void) | undefined
  created = 0

  constructor(onChange?: (key: string) => void) {
    this.#onChange = onChange
  }

  read(key: string, now: number): Bytes | undefined {
    return this.#alive(key, now)?.value
  }

  write(key: string, value: Bytes, ttlMs: number | undefined, now: number): void {
    const created = this.#alive(key, now)?.created ?? ++this.created
    this.put({ key, value, until: ttlMs === undefined ? Infinity : now + ttlMs, created, heapIndex: -1 })
  }

  /** Stores an entry as it is, with its `created`. */
  put(entry: KvEntry): void {
    this.drop(entry.key)
    this.#onChange?.(entry.key)
    this.entries.set(entry.key, entry)
    this.created = Math.max(this.created, entry.created)
    if (entry.until !== Infinity) this.#expiring.push(entry)
  }

  drop(key: string): void {
    const entry = this.entries.get(key)
    if (!entry) return
    this.#onChange?.(key)
    this.entries.delete(key)
    if (entry.heapIndex >= 0) this.#expiring.remove(entry)
  }

  list(start: string, limit: number, cursor: string | undefined, now: number): KvPage {
    const [newest, after] = cursor === undefined ? [this.created, ''] : decodeKvCursor(cursor)
    const found = [...this.entries.values()]
      .filter(({ key, created }) => key.startsWith(start) && key > after && created <= newest && this.#alive(key, now))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    const items = found.slice(0, limit).map(({ key, value }) => ({ key: decodeKvKey(key), value }))
    if (found.length <= limit) return { items }
    return { items, nextCursor: encodeKvCursor(newest, found[limit - 1]!.key) }
  }

  hasExpired(now: number): boolean {
    return (this.#expiring.peek()?.until ?? Infinity) <= now
  }

  /** Returns the number of deleted entries. */
  sweep(limit: number, now: number): number {
    let count = 0
    for (let entry = this.#expiring.peek(); entry && entry.until <= now && count < limit; count++) {
      this.drop(entry.key)
      entry = this.#expiring.peek()
    }
    return count
  }

  clear(): void {
    for (const key of this.entries.keys()) this.drop(key)
  }

  #alive(key: string, now: number): KvEntry | undefined {
    const entry = this.entries.get(key)
    return entry && entry.until > now ? entry : undefined
  }
}
