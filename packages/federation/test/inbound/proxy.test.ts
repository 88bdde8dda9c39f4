// POST /proxy over real HTTP: messages that came by a relay, and messages to relay.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { encryptPayload } from '../../src/wire/v1/envelope.ts'
import { AckPayloadSchema, RelayedAckSchema } from '../../src/wire/v1/messages.ts'
import { proveRelayed, relayProofHeader } from '../../src/wire/v1/relay-proof.ts'
import { signText, verify } from '../../src/wire/v1/signature.ts'
import {
  followBody,
  headersOf,
  introduce,
  openedAck,
  type Reply,
  sealed,
  type ServerOptions,
  startServer,
  targetedAt,
  type TestServer,
} from './server.ts'

function assertRefused(reply: Reply, status: number, code: string): void {
  assert.deepEqual([reply.status, reply.body.code], [status, code])
}

const serving: ServerOptions = { policies: { relay: { serve: true }, inbound: { perIpPerMinute: 1e6 } } }
const accepting: ServerOptions = {
  handlers: { FEDERATE: () => ({ accepted: true }) },
  policies: { inbound: { perIpPerMinute: 1e6 } },
}

/** Alpha sends to beta by the relay; all three know each other. */
async function three(t: TestContext): Promise<{ alpha: TestServer; beta: TestServer; relay: TestServer }> {
  const [alpha, beta, relay] = await Promise.all([startServer(t), startServer(t, accepting), startServer(t, serving)])
  await introduce(alpha, beta)
  await introduce(alpha, relay)
  await introduce(beta, relay)
  return { alpha, beta, relay }
}

async function proxied(alpha: TestServer, beta: TestServer, given: object = {}): Promise<any> {
  const inner = JSON.stringify({
    targetUrl: `${beta.origin}/inbox`,
    method: 'POST',
    headers: headersOf(alpha, beta),
    body: JSON.stringify(await sealed(alpha, beta, followBody(alpha))),
  })
  return {
    method: 'PROXY',
    targetUrl: `${beta.origin}/proxy`,
    publicSigningKey: alpha.keys.publicKey,
    publicEncryptionKey: alpha.keys.encryptionPublicKey,
    payload: encryptPayload(inner, beta.keyring.current('enc').publicKey),
    signature: await signText(inner, alpha.keyring),
    ...given,
  }
}

/** Sends a message to the relay, with a proof unless the headers have one. */
async function throughRelay(
  alpha: TestServer,
  relay: TestServer,
  message: any,
  headers: Record<string, string> = headersOf(alpha),
): Promise<Reply> {
  const { targetUrl, payload } = message
  const parties = { from: alpha.origin, via: relay.origin, to: URL.parse(targetUrl)?.origin ?? '', payload }
  const proof = { [relayProofHeader]: await proveRelayed(parties, Date.now(), alpha.keyring) }
  return relay.post('/proxy', message, { ...proof, ...headers })
}

test('TARGETED: a relayed message has the same effect and ack as a direct one', async (t) => {
  const { alpha, beta } = await three(t)
  const reply = await beta.post('/proxy', await targetedAt(alpha, beta, followBody(alpha)))
  assert.equal(reply.status, 200)
  AckPayloadSchema.parse(reply.body)
  const { text, value } = await openedAck(reply.body, alpha.keyring)
  assert.ok(verify(text, reply.body.signature, beta.keys.publicKey))
  assert.equal(value.following.accepted, true)
  assert.equal((await beta.store.follows.find('alice', 'bob', alpha.origin))!.id, value.following.id)
})

test('TARGETED: header names in any case, each at most once', async (t) => {
  const { alpha, beta } = await three(t)
  const { Origin, ...others } = headersOf(alpha, beta)
  const lower = Object.fromEntries(
    Object.entries(headersOf(alpha, beta)).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const send = async (headers: object): Promise<Reply> =>
    beta.post('/proxy', await targetedAt(alpha, beta, followBody(alpha), { headers }))
  assert.equal((await send(lower)).status, 200)
  assertRefused(await send({ ...others, Origin, origin: Origin }), 400, 'INVALID_TARGETED_DATA')
})

test('TARGETED refused: shape, envelope, target, headers, body', async (t) => {
  const { alpha, beta } = await three(t)
  const send = async (changed: object): Promise<Reply> =>
    beta.post('/proxy', await targetedAt(alpha, beta, followBody(alpha), changed))
  const own = headersOf(alpha, beta)
  assertRefused(await beta.post('/proxy', { method: 'TARGETED', payload: {} }), 400, 'INVALID_PAYLOAD')
  assertRefused(await beta.post('/proxy', { method: 'OTHER' }), 400, 'INVALID_PAYLOAD')
  assertRefused(await beta.post('/proxy', 'no json'), 400, 'INVALID_JSON')
  const elsewhere = encryptPayload('{}', alpha.keyring.current('enc').publicKey)
  assertRefused(await beta.post('/proxy', { method: 'TARGETED', payload: elsewhere }), 400, 'DECRYPT_FAILED')
  for (const changed of [
    { method: 'GET' },
    { body: 7 as never },
    { headers: [] },
    { headers: null as never },
    { targetUrl: 'no url' },
    { targetUrl: `${alpha.origin}/inbox` },
    { targetUrl: `${beta.origin}/discover` },
    { targetUrl: `${beta.origin}/inbox?x=1` },
    { targetUrl: `${beta.origin}/inbox#x` },
    { targetUrl: `${beta.origin.replace('://', '://x@')}/inbox` },
    { headers: { ...own, 'X-Federation-Target': `${alpha.origin}/inbox` } },
    { headers: { ...own, 'X-Federation-Target': undefined } },
    { headers: { ...own, 'X-Federation-Origin': undefined } },
    { headers: { ...own, 'X-Federation-Origin': ['a'] } },
    { headers: { ...own, Origin: 'https://other.example' } },
    { headers: { ...own, Origin: undefined } },
  ]) {
    const reply = await send(changed)
    assert.deepEqual([reply.status, reply.body.code], [400, 'INVALID_TARGETED_DATA'], JSON.stringify(changed))
  }
  assertRefused(await send({ body: 'no json' }), 400, 'INVALID_JSON')
  assertRefused(await send({ body: '{}' }), 400, 'INVALID_PAYLOAD')
  assert.equal(await beta.store.follows.find('alice', 'bob', alpha.origin), undefined)
})

test('PING is answered for registered servers only', async (t) => {
  const { alpha, beta } = await three(t)
  const stranger = await startServer(t)
  const ping = (inner: object, headers: Record<string, string>): Promise<Reply> => {
    const payload = encryptPayload(JSON.stringify({ method: 'PING', ...inner }), beta.keyring.current('enc').publicKey)
    return beta.post('/proxy', { method: 'TARGETED', payload }, headers)
  }
  const reply = await ping({ nonce: 'n'.repeat(64) }, headersOf(alpha))
  assert.deepEqual(reply.body, { method: 'PROXY_RESPONSE', status: 'pong', nonce: 'n'.repeat(64) })
  assertRefused(await ping({ nonce: 'n'.repeat(65) }, headersOf(alpha)), 400, 'INVALID_TARGETED_DATA')
  assertRefused(await ping({ nonce: 7 }, headersOf(alpha)), 400, 'INVALID_TARGETED_DATA')
  assertRefused(await ping({ nonce: 'n' }, {}), 403, 'UNKNOWN_FEDERATION_SERVER_INTERACTION')
  assertRefused(await ping({ nonce: 'n' }, headersOf(stranger)), 403, 'UNKNOWN_FEDERATION_SERVER_INTERACTION')
  await beta.store.blacklist.add({ serverUrl: alpha.origin, match: 'origin', reason: '', createdAt: 1 })
  assertRefused(await ping({ nonce: 'n' }, headersOf(alpha)), 403, 'BLACKLISTED_FEDERATION_SERVER')
})

test('PROXY: the relay forwards the encrypted message, and returns the ack', async (t) => {
  const { alpha, beta, relay } = await three(t)
  const reply = await throughRelay(alpha, relay, await proxied(alpha, beta))
  assert.equal(reply.status, 200)
  RelayedAckSchema.parse(reply.body)
  const { text, value } = await openedAck(reply.body.payload, alpha.keyring)
  assert.ok(verify(text, reply.body.payload.signature, beta.keys.publicKey))
  assert.equal((await beta.store.follows.find('alice', 'bob', alpha.origin))!.id, value.following.id)
  const [forwarded] = beta.requests
  assert.deepEqual(
    [forwarded!.url, forwarded!.headers['x-federation-sender'], forwarded!.headers['x-federation-origin']],
    ['/proxy', alpha.origin, relay.origin],
  )
})

test('PROXY refused: disabled, shape, target, sender, keys', async (t) => {
  const { alpha, beta, relay } = await three(t)
  const send = async (given: object, headers = headersOf(alpha)): Promise<Reply> =>
    throughRelay(alpha, relay, await proxied(alpha, beta, given), headers)
  assertRefused(await throughRelay(alpha, beta, await proxied(alpha, relay)), 403, 'RELAY_DISABLED')
  for (const given of [
    { targetUrl: 7 },
    { targetUrl: 'no url' },
    { targetUrl: `${beta.origin}/inbox` },
    { targetUrl: `${beta.origin}/proxy?x` },
    { targetUrl: `${beta.origin}/proxy#x` },
    { targetUrl: `${beta.origin}/proxy/` },
    { targetUrl: `${beta.origin}/./proxy/../inbox` },
    { payload: {} },
    { signature: 'short' },
    { publicSigningKey: undefined },
  ]) {
    assertRefused(await send(given), 400, 'INVALID_PROXY_DATA')
  }
  const unknown = 'UNKNOWN_FEDERATION_SERVER_INTERACTION'
  assertRefused(await send({}, {}), 403, unknown)
  const stranger = 'https://other.example'
  assertRefused(await send({}, headersOf({ origin: stranger, keyring: alpha.keyring })), 403, unknown)
  assertRefused(await send({}, headersOf(relay)), 403, unknown)
  assertRefused(await send({ targetUrl: `${relay.origin}/proxy` }), 403, unknown)
  assertRefused(await send({ targetUrl: `${stranger}/proxy` }), 403, unknown)
  assertRefused(await send({ publicSigningKey: beta.keys.publicKey }), 403, 'INCORRECT_KEYS')
  assertRefused(await send({ publicEncryptionKey: beta.keys.encryptionPublicKey }), 403, 'INCORRECT_KEYS')
  for (const url of [alpha.origin, beta.origin]) {
    await relay.store.peers.unhealthy(url, 'TIMEOUT', 5, 1)
    assertRefused(await send({}), 403, unknown)
    await relay.store.peers.healthy(url, 2)
    await relay.store.blacklist.add({ serverUrl: url, match: 'origin', reason: '', createdAt: 1 })
    assertRefused(await send({}), 403, unknown)
    await relay.store.blacklist.remove(url)
  }
  assert.deepEqual(beta.requests.filter(({ url }) => url === '/proxy').length, 1)
})

test('PROXY: a relay forwards nothing without a proof that the sender asked it to', async (t) => {
  const { alpha, beta, relay } = await three(t)
  const message = await proxied(alpha, beta)
  const parties = { from: alpha.origin, via: relay.origin, to: beta.origin, payload: message.payload }
  const minute = 60_000
  const prove = (change: object, at = Date.now(), keyring = alpha.keyring): Promise<string> =>
    proveRelayed({ ...parties, ...change }, at, keyring)
  const send = (proof: string | undefined): Promise<Reply> =>
    relay.post('/proxy', message, { ...headersOf(alpha), ...(proof !== undefined && { [relayProofHeader]: proof }) })
  const other = encryptPayload('{}', beta.keyring.current('enc').publicKey)
  const right = await prove({})
  for (const proof of [
    undefined,
    '',
    'now x',
    right.split(' ')[0],
    `${Number(right.split(' ')[0]) + 1} ${right.split(' ')[1]}`,
    await prove({}, Date.now(), beta.keyring),
    await prove({ via: beta.origin }),
    await prove({ to: relay.origin }),
    await prove({ from: relay.origin }),
    await prove({ payload: other }),
    await prove({}, Date.now() - 6 * minute),
    await prove({}, Date.now() + 6 * minute),
  ]) {
    assertRefused(await send(proof), 403, 'INVALID_SIGNATURE')
  }
  assert.deepEqual(beta.requests, [])
  assert.equal((await send(await prove({}, Date.now() - 4 * minute))).status, 200)
})

test('PROXY: the target refuses, or does not answer: 502', async (t) => {
  const { alpha, beta, relay } = await three(t)
  const nonsense = encryptPayload('{}', beta.keyring.current('enc').publicKey)
  const send = async (given: object): Promise<Reply> => throughRelay(alpha, relay, await proxied(alpha, beta, given))
  assertRefused(await send({ payload: nonsense }), 502, 'FAILED_TO_PROXY_REQUEST')
  const gone = 'http://127.0.0.1:1024'
  await relay.store.peers.pin({ ...beta.keys, url: gone }, 1)
  assertRefused(await send({ targetUrl: `${gone}/proxy` }), 502, 'FAILED_TO_PROXY_REQUEST')
  assert.equal((await relay.store.peers.get(gone))!.isHealthy, true)
})

test('PROXY: a hundred messages a minute per sender', async (t) => {
  const { alpha, beta, relay } = await three(t)
  const message = await proxied(alpha, beta)
  for (let n = 0; n < 99; n++) relay.inbound.limits.relay.take(alpha.origin)
  assert.equal((await throughRelay(alpha, relay, message)).status, 200)
  assertRefused(await throughRelay(alpha, relay, message), 429, 'RATE_LIMITED')
})
