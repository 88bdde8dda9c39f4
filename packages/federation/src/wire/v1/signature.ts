// Detached Ed25519 signatures over the UTF-8 bytes of a text as received, never over re-serialised JSON.

import { verify as verifyBytes } from 'node:crypto'
import type { Keyring } from '../../keyring.ts'
import { importPeerKey } from '../../raw-keys.ts'
import { decodeBase64, encodeBase64 } from './base64.ts'
import { readPublicKey } from './public-key.ts'

export const signatureBytes = 64

/** Signs with the current signing key. Returns base64. */
export async function signText(text: string, keyring: Keyring): Promise<string> {
  return encodeBase64(await keyring.sign(keyring.current('sig').kid, Buffer.from(text)))
}

/** Verifies a signature; both it and the key are base64. Returns false for any invalid input, and never throws. */
export function verify(text: string, signature: unknown, publicKey: unknown): boolean {
  const signed = decodeBase64(signature, signatureBytes)
  const key = readPublicKey('sig', publicKey)
  if (!signed || !key) return false
  // node:crypto checks that S is below the order of the group. A test proves it (S10).
  try {
    return verifyBytes(null, Buffer.from(text), importPeerKey('sig', key), signed)
  } catch {
    // The bytes are not a point of the curve.
    return false
  }
}
