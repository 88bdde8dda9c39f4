// The sender's cryptography of one delivery: encrypt and sign the payload, decrypt and verify the acknowledgement. Once with
// node:crypto, as shipped, and once with the curves of tweetnacl. AES, HKDF, base64 and the bytes on the wire are the same, so each
// path decrypts what the other one has encrypted.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import {
  decryptPayload,
  encryptPayload,
  type EncryptedEnvelope,
  keyringFromBase64,
  type KeyringText,
} from '@holdfast/federation'
import nacl from 'tweetnacl'
import { signText, verify } from '../../packages/federation/src/wire/v1/signature.ts'

export interface Sealed {
  readonly payload: EncryptedEnvelope
  readonly signature: string
}

export interface CryptoPath {
  readonly name: string
  /** Encrypts for `to`, and signs as `from`. */
  seal(text: string, from: KeyringText, to: KeyringText): Promise<Sealed>
  /** @throws Error if it cannot be decrypted, or is not signed by `from` */
  open(sealed: Sealed, from: KeyringText, to: KeyringText): Promise<string>
}

const bytes = (text: string): Buffer => Buffer.from(text, 'base64')
const base64 = (raw: Uint8Array): string => Buffer.from(raw).toString('base64')

export function ours(keys: KeyringText): CryptoPath {
  const keyring = keyringFromBase64(keys)
  return {
    name: 'node:crypto, as shipped',
    async seal(text, _, to) {
      const payload = encryptPayload(text, bytes(to.encryptionPublicKey))
      return { payload, signature: await signText(text, keyring) }
    },
    async open({ payload, signature }, from) {
      const text = await decryptPayload(payload, keyring)
      if (!verify(text, signature, from.publicKey)) throw new Error('the signature is not that of the sender')
      return text
    },
  }
}

export const tweetnacl: CryptoPath = {
  name: 'tweetnacl',
  async seal(text, from, to) {
    const ephemeral = nacl.box.keyPair()
    const iv = randomBytes(12)
    const key = aesKey(nacl.box.before(bytes(to.encryptionPublicKey), ephemeral.secretKey))
    const aes = createCipheriv('aes-256-gcm', key, iv, { authTagLength: 16 })
    const ciphertext = Buffer.concat([aes.update(text, 'utf8'), aes.final()])
    return {
      payload: {
        ephemeralPublicKey: base64(ephemeral.publicKey),
        iv: base64(iv),
        ciphertext: base64(ciphertext),
        authTag: base64(aes.getAuthTag()),
      },
      signature: base64(nacl.sign.detached(Buffer.from(text), bytes(from.privateKey))),
    }
  },
  async open({ payload, signature }, from, to) {
    const key = aesKey(nacl.box.before(bytes(payload.ephemeralPublicKey), bytes(to.encryptionPrivateKey)))
    const aes = createDecipheriv('aes-256-gcm', key, bytes(payload.iv), { authTagLength: 16 })
    aes.setAuthTag(bytes(payload.authTag))
    const opened = Buffer.concat([aes.update(bytes(payload.ciphertext)), aes.final()])
    if (!nacl.sign.detached.verify(opened, bytes(signature), bytes(from.publicKey))) {
      throw new Error('the signature is not that of the sender')
    }
    return opened.toString()
  },
}

function aesKey(shared: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', shared, 'sipher-federation-v1-salt', 'sipher-federation-v1-aes', 32))
}
