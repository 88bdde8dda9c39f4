// Converts raw 32-byte keys to and from node:crypto, and refuses unsafe ones: keys of small order, and second encodings of a key.

import { createPrivateKey, createPublicKey, diffieHellman, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { KeyUse } from './keyring.ts'

export const keyBytes = 32

// The last byte of the object identifier tells X25519 (110) from Ed25519 (112).
const oidEnd = { enc: 0x6e, sig: 0x70 } as const
const spki = (use: KeyUse) =>
  Buffer.from([0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, oidEnd[use], 0x03, 0x21, 0x00])
const pkcs8 = (use: KeyUse) =>
  Buffer.from([0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, oidEnd[use], 0x04, 0x22, 0x04, 0x20])
const publicPrefix = { enc: spki('enc'), sig: spki('sig') }
const privatePrefix = { enc: pkcs8('enc'), sig: pkcs8('sig') }

export function importPublicKey(use: KeyUse, raw: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([publicPrefix[use], raw]), format: 'der', type: 'spki' })
}

/** Most keys that are kept. An entry needs about 1 KB. */
const maxImported = 4_096
/** Keys by use and value, the latest last. */
const imported = new Map<string, KeyObject>()

/** importPublicKey() for keys that are used again and again: those of peers. An import costs a third of a key agreement. */
export function importPeerKey(use: KeyUse, raw: Uint8Array): KeyObject {
  const name = use + Buffer.from(raw.buffer, raw.byteOffset, raw.length).toString('latin1')
  const known = imported.get(name)
  const key = known ?? importPublicKey(use, raw)
  if (known) imported.delete(name)
  else if (imported.size >= maxImported) imported.delete(imported.keys().next().value!)
  imported.set(name, key)
  return key
}

/** Keys that are kept now. */
export const importedKeys = (): number => imported.size

function importPrivateKey(use: KeyUse, raw: Uint8Array): KeyObject {
  const der = Buffer.concat([privatePrefix[use], raw])
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  } finally {
    der.fill(0)
  }
}

/** By way of JWK: an export to DER takes ten times as long. */
function rawPublicKey(key: KeyObject): Uint8Array {
  return Buffer.from(key.export({ format: 'jwk' }).x!, 'base64url')
}

/** Returns the private bytes; of an Ed25519 key, its seed. */
export function rawPrivateKey(key: KeyObject): Uint8Array {
  return key.export({ format: 'der', type: 'pkcs8' }).subarray(-keyBytes)
}

export interface KeyPair {
  readonly privateKey: KeyObject
  /** Raw key, 32 bytes. */
  readonly publicKey: Uint8Array
}

export function generateKeyPair(use: KeyUse): KeyPair {
  const { privateKey, publicKey } = use === 'sig' ? generateKeyPairSync('ed25519') : generateKeyPairSync('x25519')
  return { privateKey, publicKey: rawPublicKey(publicKey) }
}

export function importKeyPair(use: KeyUse, rawPrivate: Uint8Array): KeyPair {
  const privateKey = importPrivateKey(use, rawPrivate)
  return { privateKey, publicKey: rawPublicKey(createPublicKey(privateKey)) }
}

/**
 * Computes the raw X25519 value. Undefined if isSafePublicKey() refuses `publicKey`.
 * @param importKey importPeerKey() for a key that is used again
 */
export function agreeRaw(
  privateKey: KeyObject,
  publicKey: Uint8Array,
  importKey: typeof importPublicKey = importPublicKey,
): Uint8Array | undefined {
  if (!isSafePublicKey('enc', publicKey)) return undefined
  return diffieHellman({ privateKey, publicKey: importKey('enc', publicKey) })
}

// Both curves compute modulo p = 2^255 - 19. In little-endian bytes p is ed ff … ff 7f.
const pMinus1 = `ec${'ff'.repeat(30)}7f`
const smallOrder = {
  // u of the points whose order divides 8, on the curve and on its twist: with any secret the result is zero.
  enc: new Set([
    '00'.repeat(32),
    `01${'00'.repeat(31)}`,
    'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
    '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
    pMinus1,
  ]),
  // y of such points: a signature under such a key can be made without a private key.
  sig: new Set([
    '00'.repeat(32),
    `01${'00'.repeat(31)}`,
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    pMinus1,
  ]),
}

/**
 * Whether the key has 32 bytes, is less than p and has large order. X25519 itself also accepts u + p, and u with its highest bit
 * set. These are second encodings of the same key: with them, a message changed in transit would still decrypt.
 */
export function isSafePublicKey(use: KeyUse, raw: Uint8Array): boolean {
  if (raw.length !== keyBytes) return false
  const value = Buffer.from(raw)
  // The highest bit of an Ed25519 key is the sign of x.
  if (use === 'sig') value[31] = (value[31] ?? 0) & 0x7f
  return isBelowP(value) && !smallOrder[use].has(value.toString('hex'))
}

function isBelowP(value: Uint8Array): boolean {
  if ((value[31] ?? 0) !== 0x7f) return (value[31] ?? 0) < 0x7f
  return (value[0] ?? 0) < 0xed || value.subarray(1, 31).some((byte) => byte !== 0xff)
}
