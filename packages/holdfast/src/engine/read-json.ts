// Entries of the key-value store that hold JSON: another version, another program or a bad disk may have written anything.

import type { Bytes } from '../storage/storage.ts'

/** @returns undefined for what is no JSON, or no object */
export function readJson(bytes: Bytes, reviver?: (key: string, value: unknown) => unknown): object | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString(), reviver)
    return value !== null && typeof value === 'object' ? value : undefined
  } catch {
    return undefined
  }
}

/** Whether a check passes. */
export function isValid(check: () => void): boolean {
  try {
    check()
    return true
  } catch {
    return false
  }
}
