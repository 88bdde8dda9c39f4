// Sender and target: the sender is the origin that signed, the target is this server.

import assert from 'node:assert/strict'
import { createCipheriv } from 'node:crypto'
import { test } from 'node:test'
import { agreeRaw, generateKeyPair } from '../../src/raw-keys.ts'
import { encodeBase64 } from '../../src/wire/v1/base64.ts'
import type { EncryptedEnvelope } from '../../src/wire/v1/messages.ts'
import { aesKey, encryptPayload } from '../../src/wire/v1/envelope.ts'
import {
  followBody,
  headersOf,
  introduce,
  postBody,
  type Reply,
  sealed,
  startServer,
  targetedAt,
  type TestServer,
} from '../inbound/server.ts'

/** Flips one bit. */
function turned(text: string): string {
  const bytes = Buffer.from(text, 'base64')
  bytes[0]! ^= 1
  return bytes.toString('base64')
}

/** A valid envelope of bytes that are not text. */
function invalidUtf8(publicKey: Uint8Array): EncryptedEnvelope {
  const ephemeral = generateKeyPair('enc')
  const iv = Buffer.alloc(12, 7)
  const aes = createCipheriv('aes-256-gcm', aesKey(agreeRaw(ephemeral.privateKey, publicKey)!), iv, {
    authTagLength: 16,
  })
  const ciphertext = Buffer.concat([aes.update(Buffer.from([0x7b, 0xff, 0x7d])), aes.final()])
  const parts = { ephemeralPublicKey: ephemeral.publicKey, iv, ciphertext, authTag: aes.getAuthTag() }
  return Object.fromEntries(
    Object.entries(parts).map(([name, bytes]) => [name, encodeBase64(bytes)]),
  ) as unknown as EncryptedEnvelope
}

const codeOf = ({ status, body }: Reply): unknown => [status, body.code]
const roomy = { inbound: { perIpPerMinute: 1e6 } }

function counting() {
  let effects = 0
  const count = (): void => void effects++
  return { handlers: { FEDERATE: count, FEDERATE_POST: count, UNFOLLOW: count, INSERT: count }, effects: () => effects }
}

test('[S5] the sender is the authenticated origin: X cannot speak as Y, directly or by a relay', async (t) => {
  const { handlers, effects } = counting()
  const [x, y, beta] = await Promise.all([startServer(t), startServer(t), startServer(t, { handlers })])
  await introduce(x, beta)
  await introduce(y, beta)
  for (const body of [postBody(y), followBody(y)]) {
    // Signed by X in the name of Y.
    const message = await sealed(x, beta, body)
    assert.deepEqual(codeOf(await beta.post('/inbox', message, headersOf(x))), [403, 'ORIGIN_MISMATCH'])
    assert.deepEqual(codeOf(await beta.post('/inbox', message, headersOf(y))), [403, 'INVALID_SIGNATURE'])
    const byX = await targetedAt(x, beta, body)
    assert.deepEqual(codeOf(await beta.post('/proxy', byX)), [403, 'ORIGIN_MISMATCH'])
    const asY = await targetedAt(x, beta, body, { headers: headersOf(y, beta) })
    assert.deepEqual(codeOf(await beta.post('/proxy', asY)), [403, 'INVALID_SIGNATURE'])
    // The headers of the relay do not name the sender.
    assert.deepEqual(codeOf(await beta.post('/proxy', byX, headersOf(y))), [403, 'ORIGIN_MISMATCH'])
  }
  assert.equal(effects(), 0)
})

test('[S6] [S14] TARGETED for another origin or another path: 400, and no request', async (t) => {
  const { handlers, effects } = counting()
  const [alpha, gamma, beta] = await Promise.all([
    startServer(t),
    startServer(t),
    startServer(t, { handlers, policies: roomy }),
  ])
  await introduce(alpha, beta)
  await introduce(gamma, beta)
  for (const targetUrl of [
    `${gamma.origin}/inbox`,
    `${beta.origin}/discover`,
    `${beta.origin}/proxy`,
    `${beta.origin}.evil.example/inbox`,
    `${beta.origin.replace('http:', 'https:')}/inbox`,
    `http://127.0.0.1/inbox`,
    '/inbox',
    '',
  ]) {
    const sent = await targetedAt(alpha, beta, postBody(alpha), { targetUrl })
    assert.deepEqual(codeOf(await beta.post('/proxy', sent)), [400, 'INVALID_TARGETED_DATA'], targetUrl)
    const headers = { ...headersOf(alpha, beta), 'X-Federation-Target': targetUrl }
    const said = await targetedAt(alpha, beta, postBody(alpha), { headers })
    assert.deepEqual(codeOf(await beta.post('/proxy', said)), [400, 'INVALID_TARGETED_DATA'], targetUrl)
  }
  assert.equal(effects(), 0)
  assert.deepEqual(gamma.requests, [])
})

test('[S14] a relay contacts only the /proxy of a known server', async (t) => {
  const policies = { relay: { serve: true } }
  const [alpha, gamma, relay] = await Promise.all([startServer(t), startServer(t), startServer(t, { policies })])
  await introduce(alpha, relay)
  await introduce(gamma, relay)
  const { publicKey, encryptionPublicKey } = alpha.keys
  const message = {
    ...(await sealed(alpha, gamma, '{}', 'PROXY')),
    publicSigningKey: publicKey,
    publicEncryptionKey: encryptionPublicKey,
  }
  for (const targetUrl of [`${gamma.origin}/inbox`, `${gamma.origin}/proxy/../discover`, `${gamma.origin}/proxy?x=1`]) {
    assert.deepEqual(codeOf(await relay.post('/proxy', { ...message, targetUrl }, headersOf(alpha))), [
      400,
      'INVALID_PROXY_DATA',
    ])
  }
  assert.deepEqual(gamma.requests, [])
})

test('[S11] one decryption error: the same response for every reason, on every route', async (t) => {
  const { handlers } = counting()
  const [alpha, beta] = await Promise.all([startServer(t), startServer(t, { handlers, policies: roomy })])
  await introduce(alpha, beta)
  const key = beta.keyring.current('enc').publicKey
  const good = encryptPayload('{}', key)
  const lowOrder = Buffer.alloc(32)
  lowOrder[0] = 1
  const envelopes: EncryptedEnvelope[] = [
    { ...good, authTag: turned(good.authTag) },
    { ...good, ciphertext: turned(good.ciphertext) },
    { ...good, iv: turned(good.iv) },
    { ...good, ephemeralPublicKey: Buffer.alloc(32).toString('base64') },
    { ...good, ephemeralPublicKey: lowOrder.toString('base64') },
    encryptPayload('{}', alpha.keyring.current('enc').publicKey),
    invalidUtf8(key),
  ]
  const { signature } = await sealed(alpha, beta, postBody(alpha))
  const { publicKey, encryptionPublicKey } = alpha.keys
  for (const [path, messageOf] of [
    ['/inbox', (payload: object) => ({ method: 'FEDERATE_POST', payload, signature })],
    ['/proxy', (payload: object) => ({ method: 'TARGETED', payload })],
    ['/discover', (envelope: object) => ({ method: 'DISCOVER', publicKey, encryptionPublicKey, envelope })],
  ] as const) {
    const answers = new Set<string>()
    for (const envelope of envelopes) {
      const { status, headers, body } = await beta.post(path, messageOf(envelope), headersOf(alpha))
      const { date: _, ...others } = headers
      answers.add(JSON.stringify([status, others, body]))
    }
    assert.equal(answers.size, 1, path)
    assert.match([...answers][0]!, /^\[400,.*DECRYPT_FAILED/)
  }
})

test('[S18] the block applies to the canonical, authenticated origin', async (t) => {
  const { handlers, effects } = counting()
  const [keys, beta] = await Promise.all([startServer(t), startServer(t, { handlers, policies: roomy })])
  const evil = 'https://evil.example'
  const names = [
    evil,
    'https://evil.example:8443',
    'https://a.bad.example',
    'https://a.b.bad.example:444',
    'https://bad.example',
  ]
  for (const url of names) await beta.store.peers.pin({ ...keys.keys, url }, 1)
  await beta.store.blacklist.add({ serverUrl: evil, match: 'origin', reason: 'spam', createdAt: 1 })
  await beta.store.blacklist.add({ serverUrl: 'https://bad.example', match: 'domain', reason: 'spam', createdAt: 1 })
  const send = async (federationUrl: string, origin = federationUrl): Promise<Reply> => {
    const from = { origin, keyring: keys.keyring }
    return beta.post('/inbox', await sealed(from, beta, { ...postBody(from), federationUrl }), headersOf(from))
  }
  const blacklisted = [403, 'BLACKLISTED_FEDERATION_SERVER']
  for (const written of [
    evil,
    'https://EVIL.example',
    'https://evil.example:443',
    'https://evil.example/',
    'HTTPS://Evil.Example:443/',
    'https://bad.example',
    'https://BAD.example:443/',
    'https://a.bad.example',
    'https://a.B.bad.example:444/',
  ]) {
    assert.deepEqual(codeOf(await send(written)), blacklisted, written)
    assert.deepEqual(codeOf(await send(written.toLowerCase(), written)), blacklisted, written)
  }
  // Text that has no canonical form, or claims another origin.
  for (const [federationUrl, header] of [
    ['https://evil.example.', 'https://evil.example.'],
    ['https://evil.example./', 'https://evil.example'],
    ['https://x@evil.example', 'https://x@evil.example'],
    [evil, beta.origin],
    [beta.origin, beta.origin],
    [beta.origin, evil],
    [evil, `${evil}, ${beta.origin}`],
  ] as const) {
    assert.equal((await send(federationUrl, header)).status, 403, federationUrl)
  }
  assert.equal(effects(), 0)
  // The port that was not blocked is another server.
  assert.equal((await send('https://evil.example:8443')).status, 200)
})

test('[S18] a blocked server registers under no spelling of its name, and is not contacted', async (t) => {
  const [alpha, beta] = await Promise.all([startServer(t), startServer(t)])
  await beta.store.blacklist.add({ serverUrl: alpha.origin, match: 'origin', reason: 'spam', createdAt: 1 })
  for (const url of [
    alpha.origin,
    `${alpha.origin}/`,
    alpha.origin.replace('127.0.0.1', '127.1'),
    alpha.origin.toUpperCase(),
  ]) {
    const reply = await beta.post('/discover', { method: 'REGISTER', ...alpha.keys, url })
    assert.deepEqual(codeOf(reply), [403, 'BLACKLISTED_FEDERATION_SERVER'], url)
  }
  assert.deepEqual([await rowsOf(beta), alpha.requests], [[], []])
})

const rowsOf = ({ store }: TestServer) => store.peers.list({ limit: 9 })
