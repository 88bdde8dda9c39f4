// A second implementation of the v1 wire, on tweetnacl and Web Crypto and without code of this package, for cross-checks.

import { webcrypto } from 'node:crypto'
import nacl from 'tweetnacl'
import type { EncryptedEnvelope } from '../../src/wire/v1/messages.ts'

const { subtle } = webcrypto
const utf8 = new TextEncoder()
const base64 = (bytes: Uint8Array | ArrayBuffer) => Buffer.from(bytes as Uint8Array).toString('base64')
const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64'))

export const newBoxKeys = (): nacl.BoxKeyPair => nacl.box.keyPair()
export const newSignKeys = (): nacl.SignKeyPair => nacl.sign.keyPair()

export async function seal(text: string, publicKey: Uint8Array): Promise<EncryptedEnvelope> {
  const ephemeral = nacl.box.keyPair()
  const iv = nacl.randomBytes(12)
  const key = await aesKey(nacl.box.before(publicKey, ephemeral.secretKey))
  const sealed = new Uint8Array(await subtle.encrypt({ name: 'AES-GCM', iv, tagLength: 128 }, key, utf8.encode(text)))
  return {
    ephemeralPublicKey: base64(ephemeral.publicKey),
    iv: base64(iv),
    ciphertext: base64(sealed.subarray(0, -16)),
    authTag: base64(sealed.subarray(-16)),
  }
}

export async function open(envelope: EncryptedEnvelope, secretKey: Uint8Array): Promise<string> {
  const key = await aesKey(nacl.box.before(bytes(envelope.ephemeralPublicKey), secretKey))
  const sealed = new Uint8Array([...bytes(envelope.ciphertext), ...bytes(envelope.authTag)])
  const opened = await subtle.decrypt({ name: 'AES-GCM', iv: bytes(envelope.iv), tagLength: 128 }, key, sealed)
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(opened)
}

export function sign(text: string, secretKey: Uint8Array): string {
  return base64(nacl.sign.detached(utf8.encode(text), secretKey))
}

export function verify(text: string, signature: string, publicKey: string): boolean {
  return nacl.sign.detached.verify(utf8.encode(text), bytes(signature), bytes(publicKey))
}

async function aesKey(shared: Uint8Array): Promise<webcrypto.CryptoKey> {
  const ikm = await subtle.importKey('raw', new Uint8Array(shared), 'HKDF', false, ['deriveKey'])
  const salt = utf8.encode('sipher-federation-v1-salt')
  const info = utf8.encode('sipher-federation-v1-aes')
  const aes = { name: 'AES-GCM', length: 256 }
  return subtle.deriveKey({ name: 'HKDF', hash: 'SHA-256', salt, info }, ikm, aes, false, ['encrypt', 'decrypt'])
}
