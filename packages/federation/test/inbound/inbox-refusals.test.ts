// Direct deliveries over real HTTP: each refusal.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { assertRefused, followOf, pair } from './pair.ts'
import { deliver, followBody, headersOf, iso, postBody, type Reply, sealed, startServer, targetedAt } from './server.ts'

const day = 24 * 3_600_000

test('a message of the wrong shape: 400 INVALID_PAYLOAD', async (t) => {
  const { alpha, beta } = await pair(t)
  const good = await sealed(alpha, beta, followBody(alpha))
  for (const bad of [
    null,
    [],
    'text',
    7,
    {},
    { ...good, method: undefined },
    { ...good, method: 1 },
    { ...good, method: '' },
    { ...good, payload: 'text' },
    { ...good, payload: { ...(good.payload as object), iv: 'AAAA' } },
    { ...good, payload: { ...(good.payload as object), authTag: undefined } },
    { ...good, signature: undefined },
    { ...good, signature: good.signature.slice(0, -4) },
    { ...good, signature: `${good.signature.slice(0, -2)}` },
  ]) {
    assertRefused(await beta.post('/inbox', JSON.stringify(bad), headersOf(alpha)), 400, 'INVALID_PAYLOAD')
  }
})

test('a method without a handler: 501 METHOD_NOT_SUPPORTED, before any decryption', async (t) => {
  const { alpha, beta } = await pair(t, { FEDERATE: undefined as never })
  for (const method of ['FEDERATE', 'NO_SUCH', 'toString', 'constructor', '__proto__']) {
    const message = await sealed(alpha, beta, followBody(alpha), method)
    assertRefused(await beta.post('/inbox', message, headersOf(alpha)), 501, 'METHOD_NOT_SUPPORTED')
  }
})

test('a message for another server: 400 DECRYPT_FAILED', async (t) => {
  const { alpha, beta } = await pair(t)
  const message = await sealed(alpha, alpha, followBody(alpha))
  assertRefused(await beta.post('/inbox', message, headersOf(alpha)), 400, 'DECRYPT_FAILED')
})

test('a decrypted body of another shape or method: 400', async (t) => {
  const { alpha, beta, seen } = await pair(t)
  const post = postBody(alpha)
  for (const [method, inner, code] of [
    ['FEDERATE', 'no json', 'INVALID_PAYLOAD'],
    ['FEDERATE', 'null', 'INVALID_PAYLOAD'],
    ['FEDERATE', post, 'INVALID_PAYLOAD'],
    ['FEDERATE', followBody(alpha, { accepted: 'yes' }), 'INVALID_PAYLOAD'],
    ['FEDERATE', followBody(alpha, { createdAt: 'yesterday' }), 'INVALID_PAYLOAD'],
    ['FEDERATE_POST', followBody(alpha), 'INVALID_FEDERATED_POST_PAYLOAD'],
    ['FEDERATE_POST', postBody(alpha, { content: [] }), 'INVALID_FEDERATED_POST_PAYLOAD'],
    ['FEDERATE_POST', { ...post, method: 'FEDERATE' }, 'INVALID_FEDERATED_POST_PAYLOAD'],
    ['UNFOLLOW', { method: 'UNFOLLOW', federationUrl: alpha.origin }, 'INVALID_PAYLOAD'],
    ['INSERT', { method: 'INSERT', federationUrl: alpha.origin, id: 'i', createdAt: iso(0) }, 'INVALID_PAYLOAD'],
    ['OWN_METHOD', { ...post, id: 'o', createdAt: iso(0) }, 'INVALID_PAYLOAD'],
    ['OWN_METHOD', { method: 'OWN_METHOD', federationUrl: alpha.origin, createdAt: iso(0) }, 'INVALID_PAYLOAD'],
  ] as const) {
    const reply = await beta.post('/inbox', await sealed(alpha, beta, inner, method), headersOf(alpha))
    assertRefused(reply, 400, code)
  }
  assert.deepEqual(seen, [])
})

test('a follow whose signed followerServerUrl is not the sender: 403 ORIGIN_MISMATCH', async (t) => {
  const { alpha, beta } = await pair(t)
  for (const followerServerUrl of ['https://other.example', beta.origin, `${alpha.origin}/path`]) {
    assertRefused(await deliver(alpha, beta, followBody(alpha, { followerServerUrl })), 403, 'ORIGIN_MISMATCH')
  }
  assert.equal(await followOf(beta, alpha), undefined)
  for (const followerServerUrl of [alpha.origin, `${alpha.origin}/`, null]) {
    assert.equal((await deliver(alpha, beta, followBody(alpha, { followerServerUrl }))).status, 200)
  }
})

test('a sender with another origin than it claims: 403 ORIGIN_MISMATCH', async (t) => {
  const { alpha, beta } = await pair(t)
  const send = async (federationUrl: string, headers: Record<string, string>): Promise<Reply> =>
    beta.post('/inbox', await sealed(alpha, beta, { ...followBody(alpha), federationUrl }), headers)
  const own = headersOf(alpha)
  const { 'X-Federation-Origin': _, ...without } = own
  assertRefused(await send(alpha.origin, without), 403, 'ORIGIN_MISMATCH')
  assertRefused(await send('https://other.example', own), 403, 'ORIGIN_MISMATCH')
  assertRefused(
    await send(alpha.origin, { ...own, 'X-Federation-Origin': 'https://other.example' }),
    403,
    'ORIGIN_MISMATCH',
  )
  assertRefused(await send(alpha.origin, { ...own, 'X-Federation-Origin': 'no url' }), 403, 'ORIGIN_MISMATCH')
  assertRefused(await send(beta.origin, { ...own, 'X-Federation-Origin': beta.origin }), 403, 'ORIGIN_MISMATCH')
  assertRefused(await send(`${alpha.origin}/path`, own), 403, 'ORIGIN_MISMATCH')
  // Another spelling of the same server.
  assert.equal((await send(`${alpha.origin}/`, own)).status, 200)
})

test('a sender that is blocked, not registered, or did not sign: 403', async (t) => {
  const { alpha, beta } = await pair(t)
  const stranger = await startServer(t)
  assertRefused(await deliver(stranger, beta, followBody(stranger)), 403, 'UNKNOWN_FEDERATION_SERVER_INTERACTION')
  const message = await sealed({ origin: alpha.origin, keyring: stranger.keyring }, beta, followBody(alpha))
  assertRefused(await beta.post('/inbox', message, headersOf(alpha)), 403, 'INVALID_SIGNATURE')
  await beta.store.blacklist.add({ serverUrl: alpha.origin, match: 'origin', reason: 'spam', createdAt: 1 })
  assertRefused(await deliver(alpha, beta, followBody(alpha)), 403, 'BLACKLISTED_FEDERATION_SERVER')
  assert.equal(await followOf(beta, alpha), undefined)
})

test('the signature is over the decrypted text, not over re-serialised JSON', async (t) => {
  const { alpha, beta } = await pair(t)
  const text = JSON.stringify(followBody(alpha), undefined, 3)
  const message = await sealed(alpha, beta, text, 'FEDERATE')
  assert.equal((await beta.post('/inbox', message, headersOf(alpha))).status, 200)
  const { signature } = await sealed(alpha, beta, JSON.stringify(JSON.parse(text)), 'FEDERATE')
  assertRefused(await beta.post('/inbox', { ...message, signature }, headersOf(alpha)), 403, 'INVALID_SIGNATURE')
})

test('older than 30 days, or more than an hour ahead: 400 STALE_MESSAGE', async (t) => {
  const clock = fakeClock()
  const { alpha, beta } = await pair(t, {}, { clock })
  for (const [at, status] of [
    [clock.now() - 30 * day, 200],
    [clock.now() - 30 * day - 1, 400],
    [clock.now() + 3_600_000, 200],
    [clock.now() + 3_600_001, 400],
  ] as const) {
    const following = { id: 'f-1', createdAt: iso(at), followerId: 'alice', followingId: 'bob' }
    const unfollow = { method: 'UNFOLLOW', federationUrl: alpha.origin, following }
    // A post may be old, but not of the future.
    const posts = at > clock.now() ? [postBody(alpha, {}, at)] : []
    for (const body of [followBody(alpha, {}, at), unfollow, ...posts]) {
      const reply = await deliver(alpha, beta, body)
      assert.equal(reply.status, status)
      if (status === 400) assertRefused(reply, 400, 'STALE_MESSAGE')
    }
  }
})

test('rate limits by address and by peer: 429 with Retry-After', async (t) => {
  const clock = fakeClock()
  const at = clock.now()
  const policies = { inbound: { perPeerPerMinute: 2, perIpPerMinute: 2, discoverPerIpPerHour: 10 } }
  const { alpha, beta, seen } = await pair(t, {}, { clock, policies })
  let sent = 0
  const send = (): Promise<Reply> => deliver(alpha, beta, postBody(alpha, { id: `p${++sent}` }, at))
  assert.deepEqual([(await send()).status, (await send()).status], [200, 200])
  // What is within the budget of the peer is not counted on its address; what is beyond it is.
  const third = await send()
  assertRefused(third, 429, 'RATE_LIMITED')
  assert.equal(third.headers['retry-after'], '60')
  await clock.advance(15_500)
  assert.equal((await send()).headers['retry-after'], '45')
  // The address is refused before the body is read.
  const fifth = await beta.post('/inbox', 'no json')
  assertRefused(fifth, 429, 'RATE_LIMITED')
  await clock.advance(45_000)
  assert.equal((await send()).status, 200)
  assert.equal(seen.length, 3)
  // Only messages that the peer signed count against its limit.
  const forged = { ...headersOf(alpha) }
  await beta.post(
    '/inbox',
    { ...(await sealed(alpha, beta, postBody(alpha, {}, at))), signature: Buffer.alloc(64).toString('base64') },
    forged,
  )
  assert.equal((await send()).status, 200)
})

test('an authenticated peer is counted on its own budget only, direct and relayed; strangers by their address', async (t) => {
  const policies = { inbound: { perIpPerMinute: 5 } }
  const { alpha, beta, seen } = await pair(t, {}, { policies })
  const body = (n: number): object => postBody(alpha, { id: `post-${n}` })
  for (let n = 0; n < 20; n++) assert.equal((await deliver(alpha, beta, body(n))).status, 200)
  for (let n = 20; n < 40; n++) {
    assert.equal((await beta.post('/proxy', await targetedAt(alpha, beta, body(n)))).status, 200)
  }
  assert.equal(seen.length, 40)
  // Strangers at the same address: forged, malformed, and in the name of the peer.
  const forged = { ...(await sealed(alpha, beta, body(40))), signature: Buffer.alloc(64).toString('base64') }
  const strange = [forged, 'no json', {}, { ...forged, method: 'INSERT' }, forged]
  for (const message of strange) {
    assert.notEqual((await beta.post('/inbox', message, headersOf(alpha))).status, 429)
  }
  assertRefused(await beta.post('/inbox', forged, headersOf(alpha)), 429, 'RATE_LIMITED')
})
