// [S10] Points of low order and second encodings of signatures are refused.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKeyring } from '../../src/keyring.ts'
import { encodeBase64 } from '../../src/wire/v1/base64.ts'
import { decryptPayload, encryptPayload } from '../../src/wire/v1/envelope.ts'
import { readPublicKey } from '../../src/wire/v1/public-key.ts'
import { signText, verify } from '../../src/wire/v1/signature.ts'

const keyring = await generateKeyring()
const p = 2n ** 255n - 19n
const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n

const littleEndian = (value: bigint, length = 32) =>
  Buffer.from(Buffer.from(value.toString(16).padStart(2 * length, '0'), 'hex').toReversed())
const toInteger = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes.toReversed()).toString('hex')}`)

// Points whose order divides 8, of the curve and of its twist; each also plus p, plus 2 p, and with the ignored bit set.
const order8 = [
  325606250916557431795983626356110631294008115727848805560023387167927233504n,
  39382357235489614581723060781553021112529911719440698176882885853963445705823n,
]
const lowOrder = [0n, 1n, ...order8, p - 1n]
const writings = new Map<string, Buffer>()
for (const u of lowOrder) {
  for (const value of [u, u + p, u + 2n * p, u + 2n ** 255n, u + p + 2n ** 255n]) {
    if (value < 2n ** 256n) writings.set(value.toString(16), littleEndian(value))
  }
}

test('[S10] there are at least the twelve known encodings of low-order points', () => {
  assert.ok(writings.size >= 12, String(writings.size))
})

for (const [name, point] of writings) {
  test(`[S10] refused, X25519: 0x${name}`, async () => {
    const envelope = encryptPayload('hello', keyring.current('enc').publicKey)
    const forged = { ...envelope, ephemeralPublicKey: encodeBase64(point) }
    await assert.rejects(decryptPayload(forged, keyring), { code: 'DECRYPT_FAILED' })
    await assert.rejects(keyring.agree(keyring.current('enc').kid, point), { code: 'DECRYPT_FAILED' })
    assert.throws(() => encryptPayload('hello', point), { code: 'KEY_INVALID' })
    assert.equal(readPublicKey('enc', encodeBase64(point)), undefined)
  })
}

test('[S10] refused: a valid key with the bit that X25519 ignores, or plus p', async () => {
  const envelope = encryptPayload('hello', keyring.current('enc').publicKey)
  const bytes = Buffer.from(envelope.ephemeralPublicKey, 'base64')
  bytes.writeUInt8(bytes.readUInt8(31) | 0x80, 31)
  await assert.rejects(decryptPayload({ ...envelope, ephemeralPublicKey: encodeBase64(bytes) }, keyring), {
    code: 'DECRYPT_FAILED',
  })
  // 9, the base point, is small enough to add p.
  assert.notEqual(readPublicKey('enc', encodeBase64(littleEndian(9n))), undefined)
  assert.equal(readPublicKey('enc', encodeBase64(littleEndian(9n + p))), undefined)
  assert.equal(readPublicKey('enc', encodeBase64(littleEndian(p - 2n)))?.length, 32)
})

test('[S10] refused: S + L, and S plus multiples of L', async () => {
  const publicKey = encodeBase64(keyring.current('sig').publicKey)
  for (let n = 0; n < 20; n += 1) {
    const text = `message ${n}`
    const signature = Buffer.from(await signText(text, keyring), 'base64')
    assert.equal(verify(text, encodeBase64(signature), publicKey), true)
    const s = toInteger(signature.subarray(32))
    for (let value = s + groupOrder; value < 2n ** 256n; value += groupOrder) {
      const other = encodeBase64(Buffer.concat([signature.subarray(0, 32), littleEndian(value)]))
      assert.equal(verify(text, other, publicKey), false)
    }
  }
})

// Under a key of small order a signature can be made without a secret: R = the neutral point, S = 0 fits every eighth text or more.
const signBit = 2n ** 255n
const smallOrderY = [
  0n,
  1n,
  p - 1n,
  2707385501144840649318225287225658788936804267575313519463743609750303402022n,
  55188659117513257062467267217118295137698188065244968500265048394206261417927n,
]
const forgery = encodeBase64(Buffer.concat([littleEndian(1n), littleEndian(0n)]))
for (const y of smallOrderY) {
  test(`[S10] refused, Ed25519: keys of small order, y = 0x${y.toString(16)}`, () => {
    // With both signs of x; and plus p, where the sum fits into 255 bits.
    for (const value of [y, y + p]
      .filter((writing) => writing < signBit)
      .flatMap((writing) => [writing, writing + signBit])) {
      const key = encodeBase64(littleEndian(value))
      assert.equal(readPublicKey('sig', key), undefined)
      for (let n = 0; n < 32; n += 1) assert.equal(verify(`message ${n}`, forgery, key), false)
    }
  })
}

test('[S10] bytes that are not a point of the curve verify nothing, without an exception', () => {
  // About every second y belongs to no point of the curve.
  for (let y = 2n; y < 40n; y += 1n) assert.equal(verify('hello', forgery, encodeBase64(littleEndian(y))), false)
})
