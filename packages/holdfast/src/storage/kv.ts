// The key-value contract: bytes under keys of parts, each call one atomic move.
// An expired entry is absent at once for every verb, swept or not, by the storage's clock.

import type { Bytes } from './storage.ts'

/** Parts of any content: empty ones, NUL and lone surrogates too. Encode them with `encodeKvKey`. */
export type KvKey = readonly string[]

export interface KvWrite {
  /** 0: absent at once. Absent: kept; a write without it clears an earlier one. */
  readonly ttlMs?: number
}

export interface KvEntry {
  readonly key: KvKey
  readonly value: Bytes
}

export interface KvPage {
  readonly items: readonly KvEntry[]
  /** Absent: this was the last page. */
  readonly nextCursor?: string
}

export interface KeyValue {
  get(key: KvKey): Promise<Bytes | undefined>
  set(key: KvKey, value: Bytes, options?: KvWrite): Promise<void>
  /** True if it was absent and is written now. */
  setIfAbsent(key: KvKey, value: Bytes, options?: KvWrite): Promise<boolean>
  /** Writes `next` if the value is `expected`, byte for byte. `undefined` is absence: it creates, or deletes. */
  cas(key: KvKey, expected: Bytes | undefined, next: Bytes | undefined, options?: KvWrite): Promise<boolean>
  /** True if there was one. */
  delete(key: KvKey): Promise<boolean>
  /** Keys that begin with these whole parts, ordered by their encoding. Ends, whatever others write meanwhile. */
  list(prefix: KvKey, options: { readonly limit: number; readonly cursor?: string }): Promise<KvPage>
}

// Well-formed text without NUL, so that every backend can hold it; injective, and prefix by prefix: the encoding of a
// prefix is a prefix of the encoding of its keys. Each part ends in '/', and '/', '%', NUL and lone surrogates are escaped.
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

/** For `cas`: byte for byte, and absence only equals absence. */
export function isSameValue(a: Bytes | undefined, b: Bytes | undefined): boolean {
  return a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0
}

const unsafe = /[/%\0]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g
const escape = (char: string): string => '%' + char.charCodeAt(0).toString(16).padStart(4, '0')
