// [S11] The error is the same for every fault of an envelope.

import assert from 'node:assert/strict'
import { createCipheriv } from 'node:crypto'
import { test } from 'node:test'
import { generateKeyring } from '../../src/keyring.ts'
import { agreeRaw, generateKeyPair } from '../../src/raw-keys.ts'
import { encodeBase64 } from '../../src/wire/v1/base64.ts'
import { aesKey, decryptPayload, encryptPayload } from '../../src/wire/v1/envelope.ts'

const keyring = await generateKeyring()
const stranger = await generateKeyring()
const { publicKey } = keyring.current('enc')
const good = encryptPayload('hello', publicKey)

// A valid envelope of bytes that are not text.
function sealBytes(bytes: Uint8Array) {
  const ephemeral = generateKeyPair('enc')
  const raw = agreeRaw(ephemeral.privateKey, publicKey)
  assert.ok(raw)
  const iv = Buffer.alloc(12, 7)
  const aes = createCipheriv('aes-256-gcm', aesKey(raw), iv, { authTagLength: 16 })
  const ciphertext = Buffer.concat([aes.update(bytes), aes.final()])
  return {
    ephemeralPublicKey: encodeBase64(ephemeral.publicKey),
    iv: encodeBase64(iv),
    ciphertext: encodeBase64(ciphertext),
    authTag: encodeBase64(aes.getAuthTag()),
  }
}

const faults: Readonly<Record<string, unknown>> = {
  'a bad tag': { ...good, authTag: encodeBase64(Buffer.alloc(16)) },
  'a bad point': { ...good, ephemeralPublicKey: encodeBase64(Buffer.alloc(32)) },
  'another point': { ...good, ephemeralPublicKey: encodeBase64(stranger.current('enc').publicKey) },
  'another iv': { ...good, iv: encodeBase64(Buffer.alloc(12)) },
  'a changed ciphertext': { ...good, ciphertext: encodeBase64(Buffer.from('hellx')) },
  'no ciphertext': { ...good, ciphertext: '' },
  'a bad length': { ...good, iv: encodeBase64(Buffer.alloc(16)) },
  'no envelope': 'hello',
  'sealed for another server': encryptPayload('hello', stranger.current('enc').publicKey),
  'bad UTF-8: a byte that never occurs': sealBytes(Buffer.from([0x7b, 0xff, 0x7d])),
  'bad UTF-8: half a letter': sealBytes(Buffer.from([0xc3])),
  'bad UTF-8: a letter in two bytes that needs one': sealBytes(Buffer.from([0xc0, 0xaf])),
  'bad UTF-8: half of a surrogate pair': sealBytes(Buffer.from([0xed, 0xa0, 0x80])),
}

test('[S11] an envelope of text decrypts', async () => {
  assert.equal(await decryptPayload(sealBytes(Buffer.from('grüße')), keyring), 'grüße')
})

for (const [name, envelope] of Object.entries(faults)) {
  test(`[S11] the one error: ${name}`, async () => {
    const error = await decryptPayload(envelope, keyring).then(
      () => assert.fail('opened'),
      (reason: unknown) => reason as Error,
    )
    assert.deepEqual(
      { ...error, name: error.name, message: error.message, cause: error.cause },
      {
        name: 'FederationError',
        code: 'DECRYPT_FAILED',
        message: 'The envelope could not be decrypted.',
        cause: undefined,
      },
    )
  })
}

test('[S11] an error of the keyring is not reported as a fault of the envelope', async () => {
  const broken = { ...bound(), agree: () => Promise.reject(new Error('the module does not answer')) }
  await assert.rejects(decryptPayload(good, broken), { message: 'the module does not answer' })
})

function bound() {
  return {
    current: keyring.current.bind(keyring),
    byKid: keyring.byKid.bind(keyring),
    sign: keyring.sign.bind(keyring),
  }
}
