// The v1 envelope: text that is encrypted for one X25519 key with an ephemeral key.

import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import { FederationError } from '../../errors.ts'
import type { Keyring } from '../../keyring.ts'
import { agreeRaw, generateKeyPair, importPeerKey, isSafePublicKey, keyBytes, type KeyPair } from '../../raw-keys.ts'
import { secretBytes } from '../../secret-bytes.ts'
import { decodeBase64, encodeBase64 } from './base64.ts'
import { hsalsa20 } from './hsalsa20.ts'
import type { EncryptedEnvelope } from './messages.ts'

const cipher = 'aes-256-gcm'
const ivBytes = 12
const tagBytes = 16
const salt = Buffer.from('sipher-federation-v1-salt')
const info = Buffer.from('sipher-federation-v1-aes')
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Encrypts text. @param publicKey the recipient's X25519 key, 32 bytes @throws FederationError KEY_INVALID for an unsafe key */
export function encryptPayload(text: string, publicKey: Uint8Array): EncryptedEnvelope {
  return seal(text, publicKey, generateKeyPair('enc'), secretBytes(ivBytes))
}

/** encryptPayload() with a given ephemeral key and IV, for the test vectors. Neither may be used twice. */
export function seal(text: string, publicKey: Uint8Array, ephemeral: KeyPair, iv: Uint8Array): EncryptedEnvelope {
  const raw = agreeRaw(ephemeral.privateKey, publicKey, importPeerKey)
  if (!raw)
    throw new FederationError(
      'KEY_INVALID',
      'encryptPayload: the key of the recipient is not a safe X25519 key of 32 bytes.',
    )
  const aes = createCipheriv(cipher, aesKey(raw), iv, { authTagLength: tagBytes })
  const ciphertext = Buffer.concat([aes.update(text, 'utf8'), aes.final()])
  return {
    ephemeralPublicKey: encodeBase64(ephemeral.publicKey),
    iv: encodeBase64(iv),
    ciphertext: encodeBase64(ciphertext),
    authTag: encodeBase64(aes.getAuthTag()),
  }
}

/**
 * Decrypts an envelope. The UTF-8 bytes of the returned text are exactly those that were encrypted.
 * @throws FederationError DECRYPT_FAILED: the same for every reason, since the reason would help an attacker
 */
export async function decryptPayload(envelope: unknown, keyring: Keyring): Promise<string> {
  const parts = readEnvelope(envelope)
  // Checked here as well, because the keyring may be another implementation.
  if (!parts || !isSafePublicKey('enc', parts.ephemeralPublicKey)) throw failed()
  const raw = await keyring.agree(keyring.current('enc').kid, parts.ephemeralPublicKey)
  const aes = createDecipheriv(cipher, aesKey(raw), parts.iv, { authTagLength: tagBytes })
  aes.setAuthTag(parts.authTag)
  try {
    const bytes = Buffer.concat([aes.update(parts.ciphertext), aes.final()])
    return utf8.decode(bytes)
  } catch {
    throw failed()
  }
}

/** Whether the value has the shape of an envelope: four strict base64 texts of exact lengths. It may still fail to decrypt. */
export function isEnvelope(value: unknown): value is EncryptedEnvelope {
  return readEnvelope(value) !== undefined
}

function readEnvelope(value: unknown): Record<keyof EncryptedEnvelope, Uint8Array> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const field = (name: keyof EncryptedEnvelope, length?: number) =>
    Object.hasOwn(value, name) ? decodeBase64((value as EncryptedEnvelope)[name], length) : undefined
  const ephemeralPublicKey = field('ephemeralPublicKey', keyBytes)
  const iv = field('iv', ivBytes)
  const authTag = field('authTag', tagBytes)
  const ciphertext = field('ciphertext')
  if (!ephemeralPublicKey || !iv || !authTag || !ciphertext) return undefined
  return { ephemeralPublicKey, iv, ciphertext, authTag }
}

/** Derives the AES key from the raw X25519 value. */
export function aesKey(raw: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', hsalsa20(raw), salt, info, 32))
}

function failed(): FederationError {
  return new FederationError('DECRYPT_FAILED', 'The envelope could not be decrypted.')
}
