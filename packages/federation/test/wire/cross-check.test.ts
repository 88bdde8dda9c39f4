// This implementation of v1 against another one, in both directions.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import nacl from 'tweetnacl'
import { generateKeyText, keyringFromBase64 } from '../../src/keyring.ts'
import { decryptPayload, encryptPayload } from '../../src/wire/v1/envelope.ts'
import { fingerprint } from '../../src/wire/v1/fingerprint.ts'
import { hsalsa20 } from '../../src/wire/v1/hsalsa20.ts'
import { signText, verify } from '../../src/wire/v1/signature.ts'
import { sized } from '../../../holdfast/test/full-size.ts'
import * as theirs from './independent.ts'

const keys = generateKeyText()
const keyring = keyringFromBase64(keys)
const secret = Buffer.from(keys.encryptionPrivateKey, 'base64')
const signingSecret = Buffer.from(keys.privateKey, 'base64')
// Text of every plane, empty, with a byte order mark, with characters that JSON escapes.
const few = { numRuns: sized(40, 15) }
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constantFrom('', '\uFEFF{}', '\0', '"\\'),
  fc.json(),
)

test('what we encrypt, they decrypt', async () => {
  await fc.assert(
    fc.asyncProperty(text, async (plain) => {
      const envelope = encryptPayload(plain, keyring.current('enc').publicKey)
      assert.equal(await theirs.open(envelope, secret), plain)
    }),
    few,
  )
})

test('what they encrypt, we decrypt', async () => {
  await fc.assert(
    fc.asyncProperty(text, async (plain) => {
      assert.equal(await decryptPayload(await theirs.seal(plain, keyring.current('enc').publicKey), keyring), plain)
    }),
    few,
  )
})

test('what we sign, they verify, and the other way; the bytes are the same', async () => {
  await fc.assert(
    fc.asyncProperty(text, async (plain) => {
      const ours = await signText(plain, keyring)
      assert.equal(ours, theirs.sign(plain, signingSecret))
      assert.ok(theirs.verify(plain, ours, keys.publicKey))
      assert.ok(verify(plain, ours, keys.publicKey))
      assert.ok(!verify(`${plain}x`, ours, keys.publicKey))
    }),
    few,
  )
})

test('keys of theirs work with ours', async () => {
  const box = theirs.newBoxKeys()
  assert.equal(await theirs.open(encryptPayload('hello', box.publicKey), box.secretKey), 'hello')
  const signer = theirs.newSignKeys()
  const publicKey = Buffer.from(signer.publicKey).toString('base64')
  assert.ok(verify('hello', theirs.sign('hello', signer.secretKey), publicKey))
})

test('HSalsa20 of any X25519 value', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (scalar) => {
      const { publicKey } = nacl.box.keyPair()
      assert.deepEqual(hsalsa20(nacl.scalarMult(scalar, publicKey)), nacl.box.before(publicKey, scalar))
    }),
    few,
  )
})

test('the same text is encrypted differently each time', () => {
  const seen = new Set<string>()
  for (let n = 0; n < 100; n += 1) {
    const { ephemeralPublicKey, iv } = encryptPayload('hello', keyring.current('enc').publicKey)
    seen.add(ephemeralPublicKey).add(iv)
  }
  assert.equal(seen.size, 200)
})

test('the fingerprint of a key', () => {
  // SHA-256 of 32 zero bytes.
  const zeros = '66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925'
  assert.equal(fingerprint(new Uint8Array(32)), zeros)
})
