// Detached Ed25519 signatures over the UTF-8 bytes of a text, as it was received: never over JSON that was written again.

import { verify as verifyBytes } from 'node:crypto'
import type { Keyring } from '../../keyring.ts'
import { importPublicKey } from '../../raw-keys.ts'
import { decodeBase64, encodeBase64 } from './base64.ts'
import { readPublicKey } from './public-key.ts'

export const signatureBytes = 64

/** Base64, by the current signing key. */
export async function signText(text: string, keyring: Keyring): Promise<string> {
  return encodeBase64(await keyring.sign(keyring.current('sig').kid, Buffer.from(text)))
}

/** `signature` and `publicKey` as base64. False for whatever is not a signature of this key over this text; never throws. */
export function verify(text: string, signature: unknown, publicKey: unknown): boolean {
  const signed = decodeBase64(signature, signatureBytes)
  const key = readPublicKey('sig', publicKey)
  if (!signed || !key) return false
  // That S is below the order of the group is checked by node:crypto; a test holds it to that.
  try {
    return verifyBytes(null, Buffer.from(text), importPublicKey('sig', key), signed)
  } catch {
    // Bytes that are no point of the curve.
    return false
  }
}
