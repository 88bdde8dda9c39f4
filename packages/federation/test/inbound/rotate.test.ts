// POST /discover/rotate/init and /confirm over real HTTP.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { generateKeyring, type Keyring } from '../../src/keyring.ts'
import { encodeBase64 } from '../../src/wire/v1/base64.ts'
import { decryptPayload, encryptPayload } from '../../src/wire/v1/envelope.ts'
import { signText } from '../../src/wire/v1/signature.ts'
import { assertRefused } from './pair.ts'
import { introduce, type Reply, startServer, type TestServer } from './server.ts'

interface Scene {
  readonly alpha: TestServer
  readonly beta: TestServer
  readonly renewed: Keyring
  readonly clock: ReturnType<typeof fakeClock>
  init(given?: object): Promise<Reply>
  confirm(challenges: any, change?: object): Promise<Reply>
}

const keyOf = (keyring: Keyring, use: 'sig' | 'enc'): string => encodeBase64(keyring.current(use).publicKey)

async function scene(t: TestContext, acceptRotation = true): Promise<Scene> {
  const clock = fakeClock()
  const [alpha, beta, renewed] = await Promise.all([
    startServer(t),
    startServer(t, { clock, policies: { inbound: { acceptRotation } } }),
    generateKeyring(),
  ])
  await introduce(alpha, beta)
  const init = (given: object = {}): Promise<Reply> =>
    beta.post('/discover/rotate/init', {
      url: alpha.origin,
      newSigningPublicKey: keyOf(renewed, 'sig'),
      newEncryptionPublicKey: keyOf(renewed, 'enc'),
      ...given,
    })
  const confirm = async (challenges: any, change: object = {}): Promise<Reply> => {
    const proof = {
      signingOldSignature: await signText(challenges.signingOldChallenge, alpha.keyring),
      signingNewSignature: await signText(challenges.signingNewChallenge, renewed),
      encryptionOldPlaintext: await decryptPayload(challenges.encryptionOldChallenge, alpha.keyring),
      encryptionNewPlaintext: await decryptPayload(challenges.encryptionNewChallenge, renewed),
      ...change,
    }
    const envelope = encryptPayload(JSON.stringify(proof), beta.keyring.current('enc').publicKey)
    return beta.post('/discover/rotate/confirm', { serverUrl: alpha.origin, envelope })
  }
  return { alpha, beta, renewed, clock, init, confirm }
}

const pinned = async ({ beta, alpha }: Scene): Promise<string[]> => {
  const { publicKey, encryptionPublicKey } = (await beta.store.peers.get(alpha.origin))!
  return [publicKey, encryptionPublicKey]
}

test('a peer that proves its old and new keys replaces its pin, once', async (t) => {
  const it = await scene(t)
  const { body } = await it.init()
  for (const name of ['signingOldChallenge', 'signingNewChallenge']) {
    assert.match(body[name], /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  }
  assert.equal((await it.confirm(body)).status, 200)
  assert.deepEqual(await pinned(it), [keyOf(it.renewed, 'sig'), keyOf(it.renewed, 'enc')])
  assert.deepEqual(it.beta.events.at(-1), ['pin_rotated', { origin: it.alpha.origin }])
  assertRefused(await it.confirm(body), 403, 'INVALID_SIGNATURE')
})

test('[S3] all four proofs or nothing, and three tries', async (t) => {
  const it = await scene(t)
  const before = await pinned(it)
  const other = await generateKeyring()
  const forged = async (challenges: any): Promise<object[]> => [
    { signingOldSignature: await signText(challenges.signingOldChallenge, it.renewed) },
    { signingNewSignature: await signText(challenges.signingNewChallenge, other) },
    { encryptionOldPlaintext: await decryptPayload(challenges.encryptionNewChallenge, it.renewed) },
  ]
  const { body } = await it.init()
  for (const change of await forged(body)) assertRefused(await it.confirm(body, change), 403, 'INVALID_SIGNATURE')
  assertRefused(await it.confirm(body), 403, 'INVALID_SIGNATURE')
  const again = (await it.init()).body
  assertRefused(await it.confirm(again, { encryptionNewPlaintext: 'x' }), 403, 'INVALID_SIGNATURE')
  assertRefused(await it.confirm(again, { encryptionNewPlaintext: 7 }), 400, 'INVALID_PAYLOAD')
  assert.deepEqual(await pinned(it), before)
})

test('one rotation per peer at a time, for five minutes', async (t) => {
  const it = await scene(t)
  const { body } = await it.init()
  const second = await it.init()
  assertRefused(second, 429, 'RATE_LIMITED')
  assert.equal(second.headers['retry-after'], '300')
  await it.clock.advance(300_000)
  assertRefused(await it.confirm(body), 403, 'INVALID_SIGNATURE')
  assert.equal((await it.confirm((await it.init()).body)).status, 200)
})

test('a pin that the operator changed meanwhile stays', async (t) => {
  const it = await scene(t)
  const { body } = await it.init()
  await it.beta.store.peers.repin({ ...it.beta.keys, url: it.alpha.origin }, 5)
  assertRefused(await it.confirm(body), 400, 'PIN_MISMATCH')
  assert.deepEqual(await pinned(it), [it.beta.keys.publicKey, it.beta.keys.encryptionPublicKey])
})

test('refused: switched off, an unknown server, a blocked one, keys that are none', async (t) => {
  const off = await scene(t, false)
  assertRefused(await off.init(), 403, 'ROTATION_DISABLED')
  assertRefused(await off.beta.post('/discover/rotate/confirm', {}), 403, 'ROTATION_DISABLED')
  const it = await scene(t)
  assertRefused(await it.init({ url: 'https://other.example' }), 403, 'UNKNOWN_FEDERATION_SERVER_INTERACTION')
  assertRefused(await it.init({ url: 'no url' }), 400, 'ORIGIN_INVALID')
  assertRefused(await it.init({ newSigningPublicKey: 'x' }), 400, 'INVALID_PAYLOAD')
  assertRefused(await it.beta.post('/discover/rotate/confirm', { serverUrl: 7 }), 400, 'INVALID_PAYLOAD')
  await it.beta.store.blacklist.add({ serverUrl: it.alpha.origin, match: 'origin', reason: '', createdAt: 1 })
  assertRefused(await it.init(), 403, 'BLACKLISTED_FEDERATION_SERVER')
})
