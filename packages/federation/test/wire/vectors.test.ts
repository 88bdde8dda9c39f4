// The v1 vectors, bit by bit: every intermediate value, not only a round trip.

import assert from 'node:assert/strict'
import { diffieHellman } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { keyringFromBase64 } from '../../src/keyring.ts'
import { healthCheckId } from '../../src/peers/health-check-id.ts'
import { importKeyPair, importPublicKey } from '../../src/raw-keys.ts'
import { aesKey, decryptPayload, seal } from '../../src/wire/v1/envelope.ts'
import { hsalsa20 } from '../../src/wire/v1/hsalsa20.ts'
import { signText, verify } from '../../src/wire/v1/signature.ts'

const vectors = JSON.parse(readFileSync(new URL('federation-v1-vectors.json', import.meta.url), 'utf8'))
const bytes = (base64: string) => Buffer.from(base64, 'base64')

const keyring = keyringFromBase64({
  publicKey: vectors.senderSigningPublicKey,
  privateKey: vectors.senderSigningSecretKey64,
  encryptionPublicKey: vectors.recipientPublicKey,
  encryptionPrivateKey: vectors.recipientSecretKey,
})

test('public keys are derived from their secrets', () => {
  assert.deepEqual(importKeyPair('enc', bytes(vectors.recipientSecretKey)).publicKey, bytes(vectors.recipientPublicKey))
  assert.deepEqual(
    importKeyPair('sig', bytes(vectors.senderSigningSeed)).publicKey,
    bytes(vectors.senderSigningPublicKey),
  )
  assert.deepEqual(
    importKeyPair('enc', bytes(vectors.ephemeralSecretKey)).publicKey,
    bytes(vectors.envelope.ephemeralPublicKey),
  )
})

test('raw X25519, from both sides', async () => {
  const sent = diffieHellman({
    privateKey: importKeyPair('enc', bytes(vectors.ephemeralSecretKey)).privateKey,
    publicKey: importPublicKey('enc', bytes(vectors.recipientPublicKey)),
  })
  assert.deepEqual(sent, bytes(vectors.x25519Raw))
  const received = await keyring.agree(keyring.current('enc').kid, bytes(vectors.envelope.ephemeralPublicKey))
  assert.deepEqual(received, bytes(vectors.x25519Raw))
})

test('HSalsa20, then HKDF', () => {
  assert.deepEqual(Buffer.from(hsalsa20(bytes(vectors.x25519Raw))), bytes(vectors.hsalsa20SharedKey))
  assert.deepEqual(Buffer.from(aesKey(bytes(vectors.x25519Raw))), bytes(vectors.aesKey))
})

test('the envelope, encrypted and decrypted', async () => {
  const ephemeral = importKeyPair('enc', bytes(vectors.ephemeralSecretKey))
  const sealed = seal(vectors.plaintext, bytes(vectors.recipientPublicKey), ephemeral, bytes(vectors.envelope.iv))
  assert.deepEqual(sealed, vectors.envelope)
  assert.equal(await decryptPayload(vectors.envelope, keyring), vectors.plaintext)
})

test('the signature, made and verified', async () => {
  assert.equal(await signText(vectors.plaintext, keyring), vectors.signature)
  assert.equal(verify(vectors.plaintext, vectors.signature, vectors.senderSigningPublicKey), true)
})

test('the id of a health check', () => {
  const { serverUrl, attempt, id } = vectors.healthCheckJobId
  assert.equal(healthCheckId(serverUrl, attempt), id)
})
