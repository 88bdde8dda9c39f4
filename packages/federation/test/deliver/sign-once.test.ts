// A text is signed once for all of its recipients.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signOnce } from '../../src/deliver/sign-once.ts'
import { generateKeyring, type Keyring } from '../../src/keyring.ts'
import { encodeBase64 } from '../../src/wire/v1/base64.ts'
import { verify } from '../../src/wire/v1/signature.ts'

async function counting(fails = 0): Promise<{ readonly keyring: Keyring; readonly signed: () => number }> {
  const first = await generateKeyring()
  let signed = 0
  const keyring: Keyring = {
    current: (use) => first.current(use),
    byKid: (kid) => first.byKid(kid),
    agree: (...args) => first.agree(...args),
    sign: async (...args) => {
      if (++signed <= fails) throw new Error('unavailable')
      return first.sign(...args)
    },
  }
  return { keyring, signed: () => signed }
}

const keyOf = (keyring: Keyring): string => encodeBase64(keyring.current('sig').publicKey)

test('the same text is signed once, another text anew, and each signature is that of its text', async () => {
  const { keyring, signed } = await counting()
  const texts = ['a', 'a', 'b', 'a', 'b']
  const signatures = await Promise.all(texts.map((text) => signOnce(text, keyring)))
  assert.equal(signed(), 2)
  for (const [index, text] of texts.entries()) assert.ok(verify(text, signatures[index], keyOf(keyring)))
})

test('a new key signs anew, and keyrings share nothing', async () => {
  const [first, second] = [await generateKeyring(), await generateKeyring()]
  let current = first
  const rotating: Keyring = {
    current: (use) => current.current(use),
    byKid: (kid) => current.byKid(kid),
    agree: (...args) => current.agree(...args),
    sign: (...args) => current.sign(...args),
  }
  assert.ok(verify('a', await signOnce('a', rotating), keyOf(first)))
  current = second
  assert.ok(verify('a', await signOnce('a', rotating), keyOf(second)))
  assert.ok(verify('a', await signOnce('a', first), keyOf(first)))
})

test('a failure is not kept, and few texts are', async () => {
  const { keyring, signed } = await counting(1)
  await assert.rejects(signOnce('a', keyring), /unavailable/)
  assert.ok(verify('a', await signOnce('a', keyring), keyOf(keyring)))
  for (let n = 0; n < 8; n++) await signOnce(`t${n}`, keyring)
  assert.equal(signed(), 10)
  await signOnce('a', keyring)
  assert.equal(signed(), 11)
})
