// [S9] Exact lengths, a tag of 16 bytes, strict base64: refused before anything is decrypted.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKeyring, type Keyring } from '../../src/keyring.ts'
import { decodeBase64, encodeBase64 } from '../../src/wire/v1/base64.ts'
import { decryptPayload, encryptPayload, isEnvelope } from '../../src/wire/v1/envelope.ts'
import { DeliveryMessageSchema, type EncryptedEnvelope } from '../../src/wire/v1/messages.ts'
import { readPublicKey } from '../../src/wire/v1/public-key.ts'
import { signText, verify } from '../../src/wire/v1/signature.ts'

const real = await generateKeyring()
// Counts how often a reader used the secret key.
let agreements = 0
const keyring: Keyring = {
  current: (use) => real.current(use),
  byKid: (kid) => real.byKid(kid),
  sign: (kid, bytes) => real.sign(kid, bytes),
  agree: (kid, publicKey) => {
    agreements += 1
    return real.agree(kid, publicKey)
  },
}
const publicKey = encodeBase64(real.current('sig').publicKey)
const good = encryptPayload('{"hello":"world"}', real.current('enc').publicKey)
const signature = await signText('{"hello":"world"}', real)
const raw = (text: string) => Buffer.from(text, 'base64')

test('[S9] an unchanged envelope decrypts', async () => {
  assert.ok(isEnvelope(good))
  assert.equal(await decryptPayload(good, keyring), '{"hello":"world"}')
  assert.equal(agreements, 1)
})

const resized = (field: keyof EncryptedEnvelope, length: number): EncryptedEnvelope => {
  const bytes = Buffer.alloc(length)
  raw(good[field]).copy(bytes)
  return { ...good, [field]: encodeBase64(bytes) }
}

const envelopes: readonly (readonly [name: string, envelope: unknown])[] = [
  ...[0, 4, 8, 12, 13, 14, 15, 17, 32].map((n) => [`a tag of ${n} bytes`, resized('authTag', n)] as const),
  ...[0, 8, 11, 13, 16].map((n) => [`an iv of ${n} bytes`, resized('iv', n)] as const),
  ...[0, 31, 33, 64].map((n) => [`a key of ${n} bytes`, resized('ephemeralPublicKey', n)] as const),
  ...(['ephemeralPublicKey', 'authTag'] as const).map(
    (field) => [`${field} without its padding`, { ...good, [field]: good[field].replace(/=+$/, '') }] as const,
  ),
  ...(['ephemeralPublicKey', 'iv', 'ciphertext', 'authTag'] as const).flatMap((field) => [
    [`${field} in the other alphabet`, { ...good, [field]: `-_${good[field].slice(2)}` }] as const,
    [`${field} with a letter of none`, { ...good, [field]: `*${good[field].slice(1)}` }] as const,
    [`${field} with white space`, { ...good, [field]: `${good[field]}\n` }] as const,
    [
      `${field} with a space in it`,
      { ...good, [field]: `${good[field].slice(0, 4)} ${good[field].slice(4)}` },
    ] as const,
    [`${field} with padding too much`, { ...good, [field]: `${good[field]}=` }] as const,
    [`${field} with text behind its end`, { ...good, [field]: `${good[field]}====AAAA` }] as const,
    [`${field} as bytes`, { ...good, [field]: [...raw(good[field])] }] as const,
    [`${field} as an object with a length`, { ...good, [field]: { length: 32 } }] as const,
    [`${field} absent`, { ...good, [field]: undefined }] as const,
    [`${field} null`, { ...good, [field]: null }] as const,
    [
      `${field} inherited`,
      Object.assign(Object.create({ [field]: good[field] }), { ...good, [field]: undefined }),
    ] as const,
  ]),
  ['trailing bits in the key', { ...good, ephemeralPublicKey: withTrailingBits(good.ephemeralPublicKey) }],
  ['trailing bits in the tag', { ...good, authTag: withTrailingBits(good.authTag) }],
  ['trailing bits in the ciphertext', { ...good, ciphertext: withTrailingBits(good.ciphertext) }],
  ['nothing', undefined],
  ['null', null],
  ['a text', JSON.stringify(good)],
  ['a list', Object.values(good)],
  ['a list with fields', Object.assign([], good)],
]

for (const [name, envelope] of envelopes) {
  test(`[S9] refused before decryption: ${name}`, async () => {
    agreements = 0
    assert.equal(isEnvelope(envelope), false)
    await assert.rejects(decryptPayload(envelope, keyring), { code: 'DECRYPT_FAILED' })
    assert.equal(DeliveryMessageSchema.safeParse({ method: 'FEDERATE', payload: envelope, signature }).success, false)
    assert.equal(agreements, 0)
  })
}

// The last character before the padding has unused bits: this sets one of them.
function withTrailingBits(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  assert.ok(text.endsWith('='), 'has padding')
  const at = text.indexOf('=') - 1
  const other = text.slice(0, at) + alphabet[alphabet.indexOf(text.charAt(at)) + 1] + text.slice(at + 1)
  assert.deepEqual(raw(other), raw(text), 'decodes to the same')
  assert.notEqual(other, text)
  return other
}

const signatures: readonly (readonly [name: string, signature: unknown])[] = [
  ['of 63 bytes', encodeBase64(raw(signature).subarray(1))],
  ['of 65 bytes', encodeBase64(Buffer.concat([raw(signature), Buffer.alloc(1)]))],
  ['without padding', signature.replace(/=+$/, '')],
  ['with trailing bits', withTrailingBits(signature)],
  ['in the other alphabet', `-_${signature.slice(2)}`],
  ['as hex', raw(signature).toString('hex')],
  ['empty', ''],
  ['absent', undefined],
  ['as bytes', raw(signature)],
]

for (const [name, text] of signatures) {
  test(`[S9] refused: a signature ${name}`, () => {
    assert.equal(verify('{"hello":"world"}', signature, publicKey), true)
    assert.equal(verify('{"hello":"world"}', text, publicKey), false)
    assert.equal(DeliveryMessageSchema.safeParse({ method: 'FEDERATE', payload: good, signature: text }).success, false)
  })
}

for (const use of ['sig', 'enc'] as const) {
  test(`[S9] refused: a public key (${use}) of 31 or 33 bytes, or in another encoding`, () => {
    const key = real.current(use).publicKey
    const text = encodeBase64(key)
    assert.deepEqual(readPublicKey(use, text), key)
    const others = [
      encodeBase64(key.subarray(1)),
      encodeBase64(Buffer.concat([key, Buffer.alloc(1)])),
      text.replace(/=+$/, ''),
      withTrailingBits(text),
      `${text} `,
      Buffer.from(key).toString('hex'),
      '',
      undefined,
      null,
      key,
    ]
    for (const other of others) assert.equal(readPublicKey(use, other), undefined)
    assert.throws(() => encryptPayload('x', key.subarray(1)), { code: 'KEY_INVALID' })
  })
}

test('[S9] decodable base64 has exactly one text', () => {
  assert.deepEqual(decodeBase64(''), Buffer.alloc(0))
  assert.deepEqual(decodeBase64('AA=='), Buffer.alloc(1))
  for (const text of ['A', 'AA', 'AA=', 'AAA', 'AB==', 'AA==AA==', ' AA==', 'AA==\0', 'AÀ==', '====', '=']) {
    assert.equal(decodeBase64(text), undefined, JSON.stringify(text))
  }
})
