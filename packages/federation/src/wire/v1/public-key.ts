// Public keys of the wire.

import type { KeyUse } from '../../keyring.ts'
import { isSafePublicKey, keyBytes } from '../../raw-keys.ts'
import { decodeBase64 } from './base64.ts'

/** Returns the raw key; undefined if the value is not strict base64 of 32 bytes, or not a safe key. */
export function readPublicKey(use: KeyUse, text: unknown): Uint8Array | undefined {
  const key = decodeBase64(text, keyBytes)
  return key && isSafePublicKey(use, key) ? key : undefined
}
