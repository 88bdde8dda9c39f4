// The keys of this server. Private bytes never leave a keyring, so it can be one of a security module.

import { createHash, type KeyObject, sign } from 'node:crypto'
import { inspect } from 'node:util'
import { FederationError } from './errors.ts'
import { agreeRaw, generateKeyPair, importKeyPair, keyBytes, type KeyPair, rawPrivateKey } from './raw-keys.ts'
import { decodeBase64, encodeBase64 } from './wire/v1/base64.ts'

/** `sig`: Ed25519, `enc`: X25519. */
export type KeyUse = 'sig' | 'enc'

export interface PublicKey {
  readonly kid: string
  readonly use: KeyUse
  /** 32 bytes. */
  readonly publicKey: Uint8Array
}

export interface Keyring {
  current(use: KeyUse): PublicKey
  byKid(kid: string): PublicKey | undefined
  /** Ed25519, 64 bytes. */
  sign(kid: string, bytes: Uint8Array): Promise<Uint8Array>
  /** Raw X25519, 32 bytes. @throws FederationError DECRYPT_FAILED for a point of low order */
  agree(kid: string, publicKey: Uint8Array): Promise<Uint8Array>
}

/** Base64, padded: what the four FEDERATION_…_KEY variables hold. */
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

/** @throws FederationError CONFIG_MISSING, KEY_INVALID: both name the field, neither shows what is in it */
export function keyringFromBase64(text: KeyringText): Keyring {
  const publicKey = read(text, 'publicKey', keyBytes)
  const privateKey = read(text, 'privateKey', 2 * keyBytes)
  const encryptionPublicKey = read(text, 'encryptionPublicKey', keyBytes)
  const encryptionPrivateKey = read(text, 'encryptionPrivateKey', keyBytes)
  const sig = importKeyPair('sig', privateKey.subarray(0, keyBytes))
  const enc = importKeyPair('enc', encryptionPrivateKey)
  const halves = Buffer.from(privateKey.subarray(keyBytes))
  if (!halves.equals(sig.publicKey)) throw invalid('privateKey', 'its two halves do not belong together')
  if (!halves.equals(publicKey)) throw invalid('publicKey', 'it does not belong to privateKey')
  if (!Buffer.from(encryptionPublicKey).equals(enc.publicKey)) {
    throw invalid('encryptionPublicKey', 'it does not belong to encryptionPrivateKey')
  }
  return new LocalKeyring(sig, enc)
}

/** Fresh keys that live as long as this process. To keep them, make them with generateKeyText(). */
export async function generateKeyring(): Promise<Keyring> {
  return new LocalKeyring(generateKeyPair('sig'), generateKeyPair('enc'))
}

/** Fresh keys as text for keyringFromBase64(): the one place where private bytes are shown. Keep it where secrets are kept. */
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
    if (!raw) throw new FederationError('DECRYPT_FAILED', 'The envelope could not be opened.')
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
    if (key?.shown.use !== use) throw new FederationError('KEY_INVALID', `This keyring has no key ${kid} for ${use}.`)
    return key.privateKey
  }
}

const algorithm = { sig: 'ed25519', enc: 'x25519' } as const

function shown(use: KeyUse, publicKey: Uint8Array): PublicKey {
  const digest = createHash('sha256').update(`${algorithm[use]}\0`).update(publicKey).digest('base64url')
  return { kid: digest.slice(0, 16), use, publicKey }
}

function read(text: KeyringText, field: keyof KeyringText, length: number): Uint8Array {
  if (!text[field]) throw new FederationError('CONFIG_MISSING', `${field}: a key is needed.`)
  const bytes = decodeBase64(text[field], length)
  if (!bytes) throw invalid(field, `expected the base64 of ${length} bytes`)
  return bytes
}

function invalid(field: keyof KeyringText, why: string): FederationError {
  return new FederationError('KEY_INVALID', `${field}: ${why}.`)
}
