// Keyrings: their input, their functions, and that private bytes stay inside.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { generateKeyring, generateKeyText, keyringFromBase64, type KeyringText } from '../src/keyring.ts'
import { decryptPayload, encryptPayload } from '../src/wire/v1/envelope.ts'
import { signText, verify } from '../src/wire/v1/signature.ts'

test('new keys sign and decrypt', async () => {
  const keyring = await generateKeyring()
  const publicKey = Buffer.from(keyring.current('sig').publicKey).toString('base64')
  assert.equal(verify('hello', await signText('hello', keyring), publicKey), true)
  assert.equal(await decryptPayload(encryptPayload('hello', keyring.current('enc').publicKey), keyring), 'hello')
})

test('new keys differ each time', async () => {
  const kids = await Promise.all([1, 2, 3].map(async () => (await generateKeyring()).current('sig').kid))
  assert.equal(new Set(kids).size, 3)
})

test('keys that were stored as text are the same keys', async () => {
  const text = generateKeyText()
  const [first, second] = [keyringFromBase64(text), keyringFromBase64({ ...text })]
  for (const use of ['sig', 'enc'] as const) {
    assert.deepEqual(first.current(use), second.current(use))
    assert.equal(first.byKid(first.current(use).kid), first.current(use))
    assert.equal(first.current(use).use, use)
    assert.match(first.current(use).kid, /^[\w-]{16}$/)
  }
  assert.equal(first.byKid('another'), undefined)
  assert.equal(await signText('hello', first), await signText('hello', second))
  assert.equal(Buffer.from(first.current('sig').publicKey).toString('base64'), text.publicKey)
  assert.equal(Buffer.from(first.current('enc').publicKey).toString('base64'), text.encryptionPublicKey)
})

test('a key serves its own use only', async () => {
  const keyring = await generateKeyring()
  const [sig, enc] = [keyring.current('sig'), keyring.current('enc')]
  await assert.rejects(keyring.sign(enc.kid, Buffer.from('x')), { code: 'KEY_INVALID' })
  await assert.rejects(keyring.agree(sig.kid, enc.publicKey), { code: 'KEY_INVALID' })
  await assert.rejects(keyring.sign('another', Buffer.from('x')), { code: 'KEY_INVALID' })
})

const good = generateKeyText()
const other = generateKeyText()
const half = (text: string, from: number, to: number) => Buffer.from(text, 'base64').subarray(from, to)
const faults: readonly (readonly [name: string, fault: Partial<KeyringText>, code: string, field: string])[] = [
  ['publicKey is missing', { publicKey: undefined }, 'CONFIG_MISSING', 'publicKey'],
  ['privateKey is missing', { privateKey: undefined }, 'CONFIG_MISSING', 'privateKey'],
  ['encryptionPublicKey is missing', { encryptionPublicKey: '' }, 'CONFIG_MISSING', 'encryptionPublicKey'],
  ['encryptionPrivateKey is missing', { encryptionPrivateKey: undefined }, 'CONFIG_MISSING', 'encryptionPrivateKey'],
  [
    'privateKey is the seed alone',
    { privateKey: half(good.privateKey, 0, 32).toString('base64') },
    'KEY_INVALID',
    'privateKey',
  ],
  [
    'the halves of privateKey differ',
    { privateKey: Buffer.concat([half(good.privateKey, 0, 32), half(other.privateKey, 32, 64)]).toString('base64') },
    'KEY_INVALID',
    'privateKey',
  ],
  ['publicKey is that of another server', { publicKey: other.publicKey }, 'KEY_INVALID', 'publicKey'],
  [
    'encryptionPublicKey is that of another server',
    { encryptionPublicKey: other.encryptionPublicKey },
    'KEY_INVALID',
    'encryptionPublicKey',
  ],
  [
    'encryptionPrivateKey is that of another server',
    { encryptionPrivateKey: other.encryptionPrivateKey },
    'KEY_INVALID',
    'encryptionPublicKey',
  ],
  ['a key without its padding', { publicKey: good.publicKey.replace(/=+$/, '') }, 'KEY_INVALID', 'publicKey'],
  [
    'a key that is not base64',
    { encryptionPrivateKey: `${good.encryptionPrivateKey.slice(0, -2)}*=` },
    'KEY_INVALID',
    'encryptionPrivateKey',
  ],
]

for (const [name, fault, code, field] of faults) {
  test(`refused: ${name}`, () => {
    assert.throws(
      () => keyringFromBase64({ ...good, ...fault } as KeyringText),
      (error: Error & { code: string }) => {
        assert.equal(error.code, code)
        assert.ok(error.message.startsWith(`keyring: ${field}: `), error.message)
        for (const secret of secretsOf(good)) assert.ok(!inspect(error, { depth: 9 }).includes(secret))
        return true
      },
    )
  })
}

test('[S21] a keyring shows no private bytes: not to inspect, JSON, spreading or a walk over its fields', async () => {
  const keyring = keyringFromBase64(good)
  await signText('hello', keyring)
  const shown = [
    inspect(keyring, { depth: 9, showHidden: true, getters: true }),
    inspect({ nested: [keyring] }, { depth: 9, showHidden: true }),
    JSON.stringify({ keyring }),
    JSON.stringify({ ...keyring }),
    String(keyring),
    JSON.stringify(Object.getOwnPropertyDescriptors(keyring)),
    await keyring.agree('another', Buffer.alloc(32)).catch((error: unknown) => inspect(error, { depth: 9 })),
  ]
  for (const text of shown) for (const secret of secretsOf(good)) assert.ok(!String(text).includes(secret))
  assert.match(JSON.stringify(keyring), new RegExp(keyring.current('sig').kid))
  assert.match(inspect(keyring), new RegExp(keyring.current('enc').kid))
})

// The usual text forms of bytes.
function secretsOf({ privateKey, encryptionPrivateKey }: KeyringText): string[] {
  return [half(privateKey, 0, 32), half(encryptionPrivateKey, 0, 32)].flatMap((secret) => [
    secret.toString('base64').replace(/=+$/, ''),
    secret.toString('base64url'),
    secret.toString('hex'),
    secret.toString('hex').replaceAll(/(..)(?!$)/g, '$1 '),
    [...secret].join(','),
    [...secret].join(', '),
  ])
}
