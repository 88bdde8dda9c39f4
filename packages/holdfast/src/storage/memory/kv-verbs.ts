// The verbs of the key-value contract on entries in memory, each at one instant.

import { checkKvLimit, checkKvWrite } from '../check.ts'
import { encodeKvKey, isSameValue, type KvKey, type KvPage, type KvWrite } from '../kv.ts'
import type { Bytes } from '../storage.ts'
import type { KvData } from './kv-data.ts'

export function set(kv: KvData, now: number, key: KvKey, value: Bytes, options: KvWrite = {}): void {
  checkKvWrite(options)
  kv.write(encodeKvKey(key), value, options.ttlMs, now)
}

export function setIfAbsent(kv: KvData, now: number, key: KvKey, value: Bytes, options: KvWrite = {}): boolean {
  checkKvWrite(options)
  const encoded = encodeKvKey(key)
  if (kv.read(encoded, now)) return false
  kv.write(encoded, value, options.ttlMs, now)
  return true
}

export function cas(
  kv: KvData,
  now: number,
  key: KvKey,
  expected: Bytes | undefined,
  next: Bytes | undefined,
  options: KvWrite = {},
): boolean {
  checkKvWrite(options)
  const encoded = encodeKvKey(key)
  if (!isSameValue(kv.read(encoded, now), expected)) return false
  if (next) kv.write(encoded, next, options.ttlMs, now)
  else kv.drop(encoded)
  return true
}

export function remove(kv: KvData, now: number, key: KvKey): boolean {
  const encoded = encodeKvKey(key)
  const existed = kv.read(encoded, now) !== undefined
  kv.drop(encoded)
  return existed
}

export function list(kv: KvData, now: number, prefix: KvKey, options: { limit: number; cursor?: string }): KvPage {
  checkKvLimit(options.limit)
  return kv.list(encodeKvKey(prefix), options.limit, options.cursor, now)
}
