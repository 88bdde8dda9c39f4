// Public keys as they come over the wire.

import type { KeyUse } from '../../keyring.ts'
import { isSafePublicKey, keyBytes } from '../../raw-keys.ts'
import { decodeBase64 } from './base64.ts'

/** Undefined for what is not the strict base64 of 32 bytes, or no safe key. */
export function readPublicKey(use: KeyUse, text: unknown): Uint8Array | undefined {
  const key = decodeBase64(text, keyBytes)
  return key && isSafePublicKey(use, key) ? key : undefined
}
