// The keys of this server. Private bytes never leave a keyring, so an implementation may keep them in a hardware module.

import { createHash, type KeyObject, sign } from 'node:crypto'
import { inspect } from 'node:util'
import { FederationError } from './errors.ts'
import { agreeRaw, generateKeyPair, importKeyPair, keyBytes, type KeyPair, rawPrivateKey } from './raw-keys.ts'
import { decodeBase64, encodeBase64 } from './wire/v1/base64.ts'

/** Use of a key. `sig`: Ed25519 signatures, `enc`: X25519 key agreement. */
export type KeyUse = 'sig' | 'enc'

export interface PublicKey {
  /** Key id: derived from algorithm and key, so it names one key only. */
  readonly kid: string
  readonly use: KeyUse
  /** Raw key, 32 bytes. */
  readonly publicKey: Uint8Array
}

export interface Keyring {
  /** Returns the key that is in use now. */
  current(use: KeyUse): PublicKey
  byKid(kid: string): PublicKey | undefined
  /** Signs with Ed25519. Resolves to 64 bytes. */
  sign(kid: string, bytes: Uint8Array): Promise<Uint8Array>
  /** Computes the raw X25519 value. Resolves to 32 bytes. @throws FederationError DECRYPT_FAILED for a point of low order */
  agree(kid: string, publicKey: Uint8Array): Promise<Uint8Array>
}

/** Keys as padded base64, as in the four FEDERATION_…_KEY variables. */
export interface KeyringText {
  /** Ed25519, 32 bytes. */
  readonly publicKey: string
  /** Ed25519, 64 bytes: the seed, then the public key. */
  readonly privateKey: string
  /** X25519, 32 bytes. */
  readonly encryptionPublicKey: string
  /** X25519, 32 bytes. */
  readonly encryptionPrivateKey: string
}

/** Makes a keyring from text. @throws FederationError CONFIG_MISSING, KEY_INVALID: both name the field, not its value */
export function keyringFromBase64(text: KeyringText): Keyring {
  const publicKey = read(text, 'publicKey', keyBytes)
  const privateKey = read(text, 'privateKey', 2 * keyBytes)
  const encryptionPublicKey = read(text, 'encryptionPublicKey', keyBytes)
  const encryptionPrivateKey = read(text, 'encryptionPrivateKey', keyBytes)
  const sig = importKeyPair('sig', privateKey.subarray(0, keyBytes))
  const enc = importKeyPair('enc', encryptionPrivateKey)
  const halves = Buffer.from(privateKey.subarray(keyBytes))
  if (!halves.equals(sig.publicKey)) throw invalid('privateKey', 'its two halves do not match')
  if (!halves.equals(publicKey)) throw invalid('publicKey', 'it does not match privateKey')
  if (!Buffer.from(encryptionPublicKey).equals(enc.publicKey)) {
    throw invalid('encryptionPublicKey', 'it does not match encryptionPrivateKey')
  }
  return new LocalKeyring(sig, enc)
}

/** Makes a keyring with new keys that exist in this process only. To keep keys, use generateKeyText(). */
export async function generateKeyring(): Promise<Keyring> {
  return new LocalKeyring(generateKeyPair('sig'), generateKeyPair('enc'))
}

/** Makes new keys as text for keyringFromBase64(). No other function returns private keys. Store the text as a secret. */
export function generateKeyText(): KeyringText {
  const sig = generateKeyPair('sig')
  const enc = generateKeyPair('enc')
  return {
    publicKey: encodeBase64(sig.publicKey),
    privateKey: encodeBase64(Buffer.concat([rawPrivateKey(sig.privateKey), sig.publicKey])),
    encryptionPublicKey: encodeBase64(enc.publicKey),
    encryptionPrivateKey: encodeBase64(rawPrivateKey(enc.privateKey)),
  }
}

class LocalKeyring implements Keyring {
  readonly #keys: ReadonlyMap<string, { readonly shown: PublicKey; readonly privateKey: KeyObject }>
  readonly #current: Readonly<Record<KeyUse, PublicKey>>

  constructor(sig: KeyPair, enc: KeyPair) {
    const shownSig = shown('sig', sig.publicKey)
    const shownEnc = shown('enc', enc.publicKey)
    this.#current = { sig: shownSig, enc: shownEnc }
    this.#keys = new Map([
      [shownSig.kid, { shown: shownSig, privateKey: sig.privateKey }],
      [shownEnc.kid, { shown: shownEnc, privateKey: enc.privateKey }],
    ])
  }

  current(use: KeyUse): PublicKey {
    return this.#current[use]
  }

  byKid(kid: string): PublicKey | undefined {
    return this.#keys.get(kid)?.shown
  }

  async sign(kid: string, bytes: Uint8Array): Promise<Uint8Array> {
    return sign(null, bytes, this.#private('sig', kid))
  }

  async agree(kid: string, publicKey: Uint8Array): Promise<Uint8Array> {
    const raw = agreeRaw(this.#private('enc', kid), publicKey)
    if (!raw) throw new FederationError('DECRYPT_FAILED', 'The envelope could not be decrypted.')
    return raw
  }

  toJSON(): object {
    return { sig: this.#current.sig.kid, enc: this.#current.enc.kid }
  }

  [inspect.custom](): string {
    return `Keyring { sig: ${this.#current.sig.kid}, enc: ${this.#current.enc.kid} }`
  }

  #private(use: KeyUse, kid: string): KeyObject {
    const key = this.#keys.get(kid)
    if (key?.shown.use !== use) throw new FederationError('KEY_INVALID', `keyring: no key ${kid} for the use ${use}.`)
    return key.privateKey
  }
}

const algorithm = { sig: 'ed25519', enc: 'x25519' } as const

function shown(use: KeyUse, publicKey: Uint8Array): PublicKey {
  const digest = createHash('sha256').update(`${algorithm[use]}\0`).update(publicKey).digest('base64url')
  return { kid: digest.slice(0, 16), use, publicKey }
}

function read(text: KeyringText, field: keyof KeyringText, length: number): Uint8Array {
  if (!text[field])
    throw new FederationError(
      'CONFIG_MISSING',
      `keyring: ${field}: the key is missing. generateKeyText() makes all four.`,
    )
  const bytes = decodeBase64(text[field], length)
  if (!bytes) throw invalid(field, `expected base64 of ${length} bytes`)
  return bytes
}

function invalid(field: keyof KeyringText, why: string): FederationError {
  return new FederationError('KEY_INVALID', `keyring: ${field}: ${why}. Use all four keys of one generateKeyText().`)
}
