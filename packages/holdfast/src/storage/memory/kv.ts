import { type Bytes } from '../storage.ts'
import { decodeKvKey, encodeKvKey, type KeyValue, type KvKey, type KvPage, type KvWrite } from '../kv.ts'
import { Heap, type HeapSlot } from './heap.ts'

interface Entry extends HeapSlot {
  readonly key: string
  readonly value: Bytes
  readonly until: number
}

export class MemoryKv implements KeyValue {
  readonly #entries = new Map<string, Entry>()
  readonly #expiring = new Heap<Entry>((a, b) => a.until < b.until)
  readonly #now: () => number

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

  async list(prefix: KvKey, { limit, cursor = '' }: { limit: number; cursor?: string }): Promise<KvPage> {
    const start = encodeKvKey(prefix)
    const keys = [...this.#entries.keys()]
      .filter((key) => key.startsWith(start) && key > cursor && this.#read(key))
      .sort((a, b) => (a < b ? -1 : 1))
    const items = keys.slice(0, limit).map((key) => ({ key: decodeKvKey(key), value: this.#read(key)!.value }))
    return keys.length > limit ? { items, nextCursor: keys[limit - 1] } : { items }
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
    for (const key of [...this.#entries.keys()]) this.#drop(key)
  }

  #read(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    return entry && entry.until > this.#now() ? entry : undefined
  }

  #write(key: string, value: Bytes, options: KvWrite = {}): void {
    this.#drop(key)
    const until = options.ttlMs === undefined ? Infinity : this.#now() + options.ttlMs
    const entry: Entry = { key, value, until, heapIndex: -1 }
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
