// The key-value contract: bytes under keys that have several parts. Each call is atomic.
// An expired entry is absent at once for every verb, whether or not it was swept, by the storage's clock.

import type { Bytes } from './storage.ts'

/** Parts of any content, also empty, with NUL or with lone surrogates. `encodeKvKey` encodes them. */
export type KvKey = readonly string[]

export interface KvWrite {
  /** Time to live in ms. 0: absent at once. Absent: kept for ever; it clears the time of an earlier write. */
  readonly ttlMs?: number
}

export interface KvEntry {
  readonly key: KvKey
  readonly value: Bytes
}

export interface KvPage {
  readonly items: readonly KvEntry[]
  /** Absent on the last page. */
  readonly nextCursor?: string
}

export interface KeyValue {
  get(key: KvKey): Promise<Bytes | undefined>
  set(key: KvKey, value: Bytes, options?: KvWrite): Promise<void>
  /** True if the key was absent, and is written now. */
  setIfAbsent(key: KvKey, value: Bytes, options?: KvWrite): Promise<boolean>
  /** Writes `next` if the value equals `expected`, byte for byte. `undefined` is absence: as `expected` it creates, as `next` it deletes. */
  cas(key: KvKey, expected: Bytes | undefined, next: Bytes | undefined, options?: KvWrite): Promise<boolean>
  /** True if there was an entry. */
  delete(key: KvKey): Promise<boolean>
  /** Entries whose key begins with these parts, ordered by the encoded key. Paging ends even if others write meanwhile. */
  list(prefix: KvKey, options: { readonly limit: number; readonly cursor?: string }): Promise<KvPage>
}

/**
 * The encoding is well-formed text without NUL, so that every backend can store it. It is injective, and it keeps prefixes:
 * the encoding of a prefix is a prefix of the encoding of its keys. Each part ends in '/'; '/', '%', NUL and lone surrogates
 * are escaped.
 */
export function encodeKvKey(key: KvKey): string {
  let text = ''
  for (const part of key) text += part.replace(unsafe, escape) + '/'
  return text
}

export function decodeKvKey(text: string): string[] {
  const parts = text.split('/')
  parts.pop()
  return parts.map((part) =>
    part.replace(/%([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
  )
}

/** The comparison of `cas`: byte for byte; absence equals only absence. */
export function isSameValue(a: Bytes | undefined, b: Bytes | undefined): boolean {
  return a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0
}

const unsafe = /[/%\0]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g
const escape = (char: string): string => '%' + char.charCodeAt(0).toString(16).padStart(4, '0')
