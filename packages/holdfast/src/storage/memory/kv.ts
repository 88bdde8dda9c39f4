import { type Bytes } from '../storage.ts'
import { decodeKvKey, encodeKvKey, type KeyValue, type KvKey, type KvPage, type KvWrite } from '../kv.ts'
import { decodeKvCursor, encodeKvCursor } from '../moves/kv-cursor.ts'
import { Heap, type HeapSlot } from './heap.ts'

interface Entry extends HeapSlot {
  readonly key: string
  readonly value: Bytes
  readonly until: number
  /** Its place among all that were ever created: a list passes over what came after it began. */
  readonly created: number
}

export class MemoryKv implements KeyValue {
  readonly #entries = new Map<string, Entry>()
  readonly #expiring = new Heap<Entry>((a, b) => a.until < b.until)
  readonly #now: () => number
  #created = 0

  constructor(now: () => number) {
    this.#now = now
  }

  async get(key: KvKey): Promise<Bytes | undefined> {
    return this.#read(encodeKvKey(key))?.value
  }

  async set(key: KvKey, value: Bytes, options?: KvWrite): Promise<void> {
    this.#write(encodeKvKey(key), value, options)
  }

  async setIfAbsent(key: KvKey, value: Bytes, options?: KvWrite): Promise<boolean> {
    const encoded = encodeKvKey(key)
    if (this.#read(encoded)) return false
    this.#write(encoded, value, options)
    return true
  }

  async cas(key: KvKey, expected: Bytes | undefined, next: Bytes | undefined, options?: KvWrite): Promise<boolean> {
    const encoded = encodeKvKey(key)
    const current = this.#read(encoded)?.value
    if (!equal(current, expected)) return false
    if (next) this.#write(encoded, next, options)
    else this.#drop(encoded)
    return true
  }

  async delete(key: KvKey): Promise<boolean> {
    const encoded = encodeKvKey(key)
    const existed = this.#read(encoded) !== undefined
    this.#drop(encoded)
    return existed
  }

  async list(prefix: KvKey, { limit, cursor }: { limit: number; cursor?: string }): Promise<KvPage> {
    const start = encodeKvKey(prefix)
    const [newest, after] = cursor === undefined ? [this.#created, ''] : decodeKvCursor(cursor)
    const found = [...this.#entries.values()]
      .filter(({ key, created }) => key.startsWith(start) && key > after && created <= newest && this.#read(key))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    const items = found.slice(0, limit).map(({ key, value }) => ({ key: decodeKvKey(key), value }))
    if (found.length <= limit) return { items }
    return { items, nextCursor: encodeKvCursor(newest, found[limit - 1]!.key) }
  }

  get hasExpired(): boolean {
    return (this.#expiring.peek()?.until ?? Infinity) <= this.#now()
  }

  /** Answers with how many went. */
  sweep(limit: number): number {
    const now = this.#now()
    let count = 0
    for (let entry = this.#expiring.peek(); entry && entry.until <= now && count < limit; count++) {
      this.#drop(entry.key)
      entry = this.#expiring.peek()
    }
    return count
  }

  clear(): void {
    for (const key of this.#entries.keys()) this.#drop(key)
  }

  #read(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    return entry && entry.until > this.#now() ? entry : undefined
  }

  #write(key: string, value: Bytes, options: KvWrite = {}): void {
    const created = this.#read(key)?.created ?? ++this.#created
    this.#drop(key)
    const until = options.ttlMs === undefined ? Infinity : this.#now() + options.ttlMs
    const entry: Entry = { key, value, until, created, heapIndex: -1 }
    this.#entries.set(key, entry)
    if (until !== Infinity) this.#expiring.push(entry)
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    this.#entries.delete(key)
    if (entry.heapIndex >= 0) this.#expiring.remove(entry)
  }
}

function equal(a: Bytes | undefined, b: Bytes | undefined): boolean {
  return a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0
}
