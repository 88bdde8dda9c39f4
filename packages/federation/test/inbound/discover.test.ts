// GET and POST /discover over real HTTP: own keys, REGISTER and DISCOVER.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encryptPayload } from '../../src/wire/v1/envelope.ts'
import { fingerprint } from '../../src/wire/v1/fingerprint.ts'
import { type Reply, startServer, type TestServer } from './server.ts'

function assertRefused(reply: Reply, status: number, code: string): void {
  assert.deepEqual([reply.status, reply.body.code], [status, code])
}

const registering = ({ keys }: TestServer, given: object = {}) => ({ method: 'REGISTER', ...keys, ...given })

test('own origin and keys, and the healthy peers, the most recently seen first', async (t) => {
  const beta = await startServer(t, { policies: { discover: { maxPeers: 2 } } })
  for (const [n, name] of ['a', 'b', 'c', 'd'].entries()) {
    await beta.store.peers.pin({ url: `https://${name}.example`, publicKey: 'k', encryptionPublicKey: 'e' }, n)
  }
  await beta.store.peers.unhealthy('https://d.example', 'TIMEOUT', 5, 9)
  const reply = await beta.get('/discover')
  assert.equal(reply.status, 200)
  assert.deepEqual(reply.body, {
    ...beta.keys,
    peers: [
      { url: 'https://c.example', isHealthy: true },
      { url: 'https://b.example', isHealthy: true },
    ],
  })
  const shy = await startServer(t, { store: beta.store, policies: { discover: { publishPeers: false } } })
  assert.deepEqual((await shy.get('/discover')).body.peers, [])
})

test('REGISTER: the keys are fetched and pinned, and the own keys returned', async (t) => {
  const [alpha, beta] = await Promise.all([startServer(t), startServer(t)])
  const reply = await beta.post('/discover', registering(alpha))
  assert.equal(reply.status, 200)
  assert.deepEqual(reply.body, { message: 'registered', echo: beta.keys })
  const peer = (await beta.store.peers.get(alpha.origin))!
  assert.deepEqual([peer.publicKey, peer.encryptionPublicKey], [alpha.keys.publicKey, alpha.keys.encryptionPublicKey])
  assert.deepEqual(
    alpha.requests.map(({ method, url }) => [method, url]),
    [['GET', '/discover']],
  )
})

test('a repeated REGISTER marks the peer healthy and changes nothing else', async (t) => {
  const [alpha, beta] = await Promise.all([startServer(t), startServer(t)])
  await beta.store.peers.pin(alpha.keys, 5)
  await beta.store.peers.unhealthy(alpha.origin, 'DNS_BLOCKED', 5, 6)
  assert.equal((await beta.post('/discover', registering(alpha, { url: `${alpha.origin}/` }))).status, 200)
  const peer = (await beta.store.peers.get(alpha.origin))!
  assert.deepEqual([peer.isHealthy, peer.createdAt, peer.publicKey], [true, 5, alpha.keys.publicKey])
  assert.ok(peer.lastSeen > 6)
  assert.deepEqual(beta.events, [['peer_healthy', { origin: alpha.origin }]])
})

test('REGISTER refused: shape, keys, url, address, self, block', async (t) => {
  const [alpha, beta] = await Promise.all([
    startServer(t),
    startServer(t, { policies: { inbound: { perIpPerMinute: 1e6 } } }),
  ])
  const send = (given: object): Promise<Reply> => beta.post('/discover', registering(alpha, given))
  assertRefused(await beta.post('/discover', 'no json'), 400, 'INVALID_JSON')
  assertRefused(await beta.post('/discover', ''), 400, 'INVALID_JSON')
  assertRefused(await send({ method: 'OTHER' }), 400, 'INVALID_PAYLOAD')
  assertRefused(await beta.post('/discover', '[]'), 400, 'INVALID_PAYLOAD')
  assertRefused(await send({ url: 7 }), 400, 'INVALID_PAYLOAD')
  assertRefused(await send({ publicKey: undefined }), 400, 'INVALID_PAYLOAD')
  assertRefused(await send({ publicKey: Buffer.alloc(31).toString('base64') }), 400, 'INVALID_PAYLOAD')
  assertRefused(await send({ encryptionPublicKey: Buffer.alloc(32).toString('base64') }), 400, 'INVALID_PAYLOAD')
  assertRefused(await send({ url: 'no url' }), 400, 'ORIGIN_INVALID')
  assertRefused(await send({ url: `${alpha.origin}/path` }), 400, 'ORIGIN_INVALID')
  assertRefused(await send({ url: beta.origin }), 400, 'ORIGIN_INVALID')
  assertRefused(await send({ url: 'http://10.0.0.1' }), 400, 'ADDRESS_REFUSED')
  assertRefused(await send({ url: `http://user@127.0.0.1:${alpha.port}` }), 400, 'ORIGIN_INVALID')
  await beta.store.blacklist.add({ serverUrl: alpha.origin, match: 'origin', reason: 'spam', createdAt: 1 })
  assertRefused(await send({}), 403, 'BLACKLISTED_FEDERATION_SERVER')
  assert.deepEqual(await beta.store.peers.list({ limit: 9 }), [])
  assert.deepEqual(alpha.requests, [])
})

test('REGISTER of a server without a valid answer: 502, with other keys: 400', async (t) => {
  const [alpha, gamma, beta] = await Promise.all([startServer(t), startServer(t), startServer(t)])
  const silent = await startServer(t, { pretends: () => ({ nothing: true }) })
  assertRefused(await beta.post('/discover', registering(silent)), 502, 'DISCOVERY_FAILED')
  assertRefused(
    await beta.post('/discover', registering(alpha, { url: 'http://127.0.0.1:1024' })),
    502,
    'DISCOVERY_FAILED',
  )
  assertRefused(
    await beta.post('/discover', registering(alpha, { publicKey: gamma.keys.publicKey })),
    400,
    'KEYS_MISMATCH',
  )
  const { encryptionPublicKey } = gamma.keys
  assertRefused(await beta.post('/discover', registering(alpha, { encryptionPublicKey })), 400, 'KEYS_MISMATCH')
  assert.deepEqual(await beta.store.peers.list({ limit: 9 }), [])
})

function discovering(from: TestServer, to: TestServer, inner: object = {}, outer: object = {}): object {
  const { publicKey, encryptionPublicKey, url } = from.keys
  const text = JSON.stringify({
    publicKeyFingerprint: fingerprint(Buffer.from(publicKey, 'base64')),
    encryptionPublicKeyFingerprint: fingerprint(Buffer.from(encryptionPublicKey, 'base64')),
    url,
    ...inner,
  })
  const envelope = encryptPayload(text, to.keyring.current('enc').publicKey)
  return { method: 'DISCOVER', publicKey, encryptionPublicKey, envelope, ...outer }
}

test('DISCOVER compares the keys with the pinned ones, and with those that the server serves', async (t) => {
  const [alpha, beta, gamma] = await Promise.all([startServer(t), startServer(t), startServer(t)])
  await beta.store.peers.pin(alpha.keys, 1)
  const same = await beta.post('/discover', discovering(alpha, beta))
  assert.deepEqual([same.status, same.body], [200, { sameKeyOnServer: true, sameKeyOnFetch: true }])
  // It serves other keys now.
  const turned = await startServer(t, { pretends: (real) => ({ ...real, ...gamma.keys, url: turned.origin }) })
  await beta.store.peers.pin(turned.keys, 1)
  const fetched = await beta.post('/discover', discovering(turned, beta))
  assert.deepEqual(fetched.body, { sameKeyOnServer: true, sameKeyOnFetch: false })
  // Another encryption key is pinned.
  const other = await startServer(t)
  await beta.store.peers.pin({ ...other.keys, encryptionPublicKey: gamma.keys.encryptionPublicKey }, 1)
  const pinned = await beta.post('/discover', discovering(other, beta))
  assert.deepEqual(pinned.body, { sameKeyOnServer: false, sameKeyOnFetch: true })
})

test('DISCOVER refused: shape, envelope, fingerprints, url, block, unknown key, no answer', async (t) => {
  const policies = { inbound: { perIpPerMinute: 1e6 } }
  const [alpha, beta, gamma] = await Promise.all([startServer(t), startServer(t, { policies }), startServer(t)])
  const send = (inner: object, outer: object = {}): Promise<Reply> =>
    beta.post('/discover', discovering(alpha, beta, inner, outer))
  assertRefused(await send({}), 404, 'KEY_NOT_REGISTERED')
  await beta.store.peers.pin(gamma.keys, 1)
  assertRefused(await send({ url: gamma.origin }), 404, 'KEY_NOT_REGISTERED')
  await beta.store.peers.pin(alpha.keys, 1)
  assertRefused(await send({}, { envelope: 'text' }), 400, 'INVALID_PAYLOAD')
  assertRefused(await send({}, { publicKey: 'short' }), 400, 'INVALID_PAYLOAD')
  assertRefused(await beta.post('/discover', discovering(alpha, gamma)), 400, 'DECRYPT_FAILED')
  assertRefused(await send({ publicKeyFingerprint: 'other' }), 400, 'INVALID_PAYLOAD')
  assertRefused(await send({ encryptionPublicKeyFingerprint: 'other' }), 400, 'INVALID_PAYLOAD')
  assertRefused(await send({ url: 7 }), 400, 'INVALID_PAYLOAD')
  assertRefused(await send({ url: 'no url' }), 400, 'ORIGIN_INVALID')
  assert.deepEqual([alpha.requests, gamma.requests], [[], []])
  const silent = await startServer(t, { pretends: () => ({ nothing: true }) })
  await beta.store.peers.pin(silent.keys, 1)
  assertRefused(await beta.post('/discover', discovering(silent, beta)), 502, 'DISCOVERY_FAILED')
  await beta.store.blacklist.add({ serverUrl: alpha.origin, match: 'origin', reason: 'spam', createdAt: 1 })
  assertRefused(await send({}), 403, 'BLACKLISTED_FEDERATION_SERVER')
})
