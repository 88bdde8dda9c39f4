import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { generateKeyPair, importedKeys, importPeerKey, importPublicKey } from '../src/raw-keys.ts'

test('a key of a peer is imported once, and the same bytes are another key for another use', () => {
  const { publicKey } = generateKeyPair('enc')
  const key = importPeerKey('enc', publicKey)
  assert.equal(importPeerKey('enc', new Uint8Array(publicKey)), key)
  assert.ok(key.equals(importPublicKey('enc', publicKey)))
  assert.equal(key.asymmetricKeyType, 'x25519')
  assert.equal(importPeerKey('sig', publicKey).asymmetricKeyType, 'ed25519')
})

test('the keys of strangers that are kept are bounded, and those in use stay', () => {
  const { publicKey } = generateKeyPair('enc')
  const key = importPeerKey('enc', publicKey)
  for (let n = 0; n < 5_000; n++) {
    importPeerKey('enc', randomBytes(32))
    if (n % 1_000 === 0) assert.equal(importPeerKey('enc', publicKey), key)
  }
  assert.equal(importedKeys(), 4_096)
})
