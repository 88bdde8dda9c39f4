// Direct deliveries over real HTTP: their effects, their acks, and each refusal.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import type { InboundHandlers, InboundMessage } from '../../src/inbound/handlers.ts'
import { FollowEnvelopeSchema, OtherAckSchema, PostAckSchema } from '../../src/wire/v1/acks.ts'
import { AckPayloadSchema } from '../../src/wire/v1/messages.ts'
import { verify } from '../../src/wire/v1/signature.ts'
import {
  deliver,
  followBody,
  headersOf,
  introduce,
  iso,
  openedAck,
  postBody,
  type Reply,
  sealed,
  type ServerOptions,
  startServer,
  type TestServer,
} from './server.ts'

const day = 24 * 3_600_000

interface Pair {
  readonly alpha: TestServer
  readonly beta: TestServer
  /** Messages that the handlers of beta received. */
  readonly seen: InboundMessage<any>[]
}

/** Alpha sends to beta; both know each other. */
async function pair(t: TestContext, handlers: InboundHandlers = {}, options: ServerOptions = {}): Promise<Pair> {
  const seen: InboundMessage<any>[] = []
  const keep = (message: InboundMessage<any>): void => void seen.push(message)
  const all = { FEDERATE: keep, FEDERATE_POST: keep, UNFOLLOW: keep, INSERT: keep, OWN_METHOD: keep, ...handlers }
  const [alpha, beta] = await Promise.all([startServer(t), startServer(t, { handlers: all, ...options })])
  await introduce(alpha, beta)
  return { alpha, beta, seen }
}

function assertRefused(reply: Reply, status: number, code: string): void {
  assert.deepEqual([reply.status, reply.body.code], [status, code])
  assert.deepEqual(Object.keys(reply.body), ['error', 'code'])
}

const followOf = (beta: TestServer, alpha: TestServer) => beta.store.follows.find('alice', 'bob', alpha.origin)

test('a follow writes its row; its ack is encrypted for the sender and signed', async (t) => {
  const { alpha, beta, seen } = await pair(t)
  const body = followBody(alpha)
  const reply = await deliver(alpha, beta, body)
  assert.equal(reply.status, 200)
  assert.equal(reply.headers['content-type'], 'application/json')
  AckPayloadSchema.parse(reply.body)
  const ack = await openedAck(reply.body, alpha.keyring)
  assert.ok(verify(ack.text, reply.body.signature, beta.keys.publicKey))
  FollowEnvelopeSchema.parse(ack.value)
  const row = (await followOf(beta, alpha))!
  assert.deepEqual(row, {
    id: row.id,
    followerId: 'alice',
    followingId: 'bob',
    followerServerUrl: alpha.origin,
    followingServerUrl: beta.origin,
    accepted: false,
    acknowledged: true,
    createdAt: row.createdAt,
  })
  assert.deepEqual(ack.value, {
    following: {
      id: row.id,
      createdAt: iso(row.createdAt),
      followerId: 'alice',
      followingId: 'bob',
      accepted: false,
      followerServerUrl: alpha.origin,
      acknowledged: true,
    },
    federationUrl: alpha.origin,
    method: 'FEDERATE',
  })
  assert.deepEqual([seen[0]!.from, seen[0]!.method, seen[0]!.body], [alpha.origin, 'FEDERATE', body])
  assert.deepEqual(beta.events, [['received', { from: alpha.origin, method: 'FEDERATE' }]])
})

test('the message key is the SHA-256 of the text', async (t) => {
  const { alpha, beta, seen } = await pair(t)
  const text = JSON.stringify(postBody(alpha))
  await beta.post('/inbox', await sealed(alpha, beta, text, 'FEDERATE_POST'), headersOf(alpha))
  assert.equal(seen[0]!.messageKey, createHash('sha256').update(text).digest('hex'))
})

test('an accepted follow is marked in its row and its ack, and in the ack of a repeat', async (t) => {
  let asked = 0
  const { alpha, beta } = await pair(t, { FEDERATE: () => (asked++, { accepted: true }) })
  const acks: any[] = []
  for (let n = 0; n < 3; n++) {
    const reply = await deliver(alpha, beta, followBody(alpha))
    assert.equal(reply.status, 200)
    acks.push((await openedAck(reply.body, alpha.keyring)).value)
  }
  assert.equal(asked, 1)
  assert.equal(acks[0].following.accepted, true)
  assert.deepEqual(acks[1], acks[0])
  assert.deepEqual(acks[2], acks[0])
  assert.equal((await followOf(beta, alpha))!.accepted, true)
})

test('ten concurrent copies of a follow make one row', async (t) => {
  let asked = 0
  const { alpha, beta } = await pair(t, { FEDERATE: async () => void asked++ })
  const replies = await Promise.all(Array.from({ length: 10 }, () => deliver(alpha, beta, followBody(alpha))))
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200])
  const acks = await Promise.all(replies.map(({ body }) => openedAck(body, alpha.keyring)))
  assert.equal(new Set(acks.map(({ text }) => text)).size, 1)
  assert.equal(asked, 1)
})

test('every inbox path accepts a delivery', async (t) => {
  const { alpha, beta, seen } = await pair(t)
  for (const path of ['/inbox', '/api/auth/social/follows', '/api/auth/social/posts']) {
    assert.equal((await deliver(alpha, beta, postBody(alpha), path)).status, 200, path)
  }
  assert.equal(seen.length, 3)
})

test('a post is acknowledged with the app’s id for it, or the message key', async (t) => {
  let id: string | undefined = 'ours-7'
  const keys: string[] = []
  const { alpha, beta } = await pair(t, {
    FEDERATE_POST({ messageKey }) {
      keys.push(messageKey)
      return id === undefined ? {} : { id }
    },
  })
  const ackOf = async (): Promise<any> =>
    (await openedAck((await deliver(alpha, beta, postBody(alpha))).body, alpha.keyring)).value
  const first = await ackOf()
  PostAckSchema.parse(first)
  assert.deepEqual(first, {
    post: { id: 'ours-7', federationPostId: 'post-1' },
    federationUrl: beta.origin,
    method: 'FEDERATE_POST',
  })
  id = undefined
  assert.equal((await ackOf()).post.id, keys[1])
})

test('other methods, and the app’s own, are acknowledged with the id that was sent', async (t) => {
  const { alpha, beta, seen } = await pair(t)
  const createdAt = iso(Date.now())
  const following = { id: 'f-1', createdAt, followerId: 'alice', followingId: 'bob' }
  for (const [body, id] of [
    [{ method: 'UNFOLLOW', federationUrl: alpha.origin, following }, 'f-1'],
    [{ method: 'INSERT', federationUrl: alpha.origin, id: 'i-1', createdAt, data: { any: [1, null] } }, 'i-1'],
    [{ method: 'OWN_METHOD', federationUrl: alpha.origin, id: 'o-1', createdAt, more: { deep: true } }, 'o-1'],
  ] as const) {
    const reply = await deliver(alpha, beta, body)
    assert.equal(reply.status, 200)
    const { value } = await openedAck(reply.body, alpha.keyring)
    OtherAckSchema.parse(value)
    assert.deepEqual(value, { federationUrl: beta.origin, method: body.method, id })
    assert.deepEqual(seen.at(-1)!.body, body)
  }
})

test('writes of a handler commit, unless it throws or rejects', async (t) => {
  let fails = false
  const write = async (message: InboundMessage<any>): Promise<void> => {
    const { body, tx } = message
    const other = { id: `n-${body.post.id}`, followerId: 'x', followingId: body.post.id, followerServerUrl: undefined }
    await beta.store.follows.insert(
      { ...other, followingServerUrl: undefined, accepted: false, acknowledged: false, createdAt: 1 },
      tx,
    )
    if (fails) throw new Error('no')
  }
  const { alpha, beta } = await pair(t, { FEDERATE_POST: write })
  assert.equal((await deliver(alpha, beta, postBody(alpha, { id: 'p1' }))).status, 200)
  assert.ok(await beta.store.follows.find('x', 'p1', undefined))
  fails = true
  assertRefused(await deliver(alpha, beta, postBody(alpha, { id: 'p2' })), 500, 'INTERNAL_ERROR')
  assert.equal(await beta.store.follows.find('x', 'p2', undefined), undefined)
  assert.equal(beta.lines.length, 1)
})

for (const [reject, status] of [
  ['USER_NOT_FOUND', 404],
  ['USER_BLOCKED', 403],
  ['NOT_TODAY', 422],
  ['__proto__', 422],
] as const) {
  test(`rejected as ${reject}: ${status}, and no row`, async (t) => {
    const { alpha, beta } = await pair(t, { FEDERATE: () => ({ reject }), FEDERATE_POST: () => ({ reject }) })
    assertRefused(await deliver(alpha, beta, followBody(alpha)), status, reject)
    assertRefused(await deliver(alpha, beta, postBody(alpha)), status, reject)
    assert.equal(await followOf(beta, alpha), undefined)
    assert.deepEqual(beta.events[0], ['refused', { code: reject, status, from: alpha.origin }])
  })
}

test('a handler that throws rolls the follow back, and a repeat succeeds', async (t) => {
  let asked = 0
  const { alpha, beta } = await pair(t, {
    FEDERATE() {
      if (++asked === 1) throw new Error('no')
    },
  })
  assertRefused(await deliver(alpha, beta, followBody(alpha)), 500, 'INTERNAL_ERROR')
  assert.equal(await followOf(beta, alpha), undefined)
  assert.equal((await deliver(alpha, beta, followBody(alpha))).status, 200)
  assert.ok(await followOf(beta, alpha))
})

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
    for (const body of [followBody(alpha, {}, at), postBody(alpha, {}, at)]) {
      const reply = await deliver(alpha, beta, body)
      assert.equal(reply.status, status)
      if (status === 400) assertRefused(reply, 400, 'STALE_MESSAGE')
    }
  }
})

test('rate limits by address and by peer: 429 with Retry-After', async (t) => {
  const clock = fakeClock()
  const at = clock.now()
  const policies = { inbound: { perPeerPerMinute: 2, perIpPerMinute: 4, discoverPerIpPerHour: 10 } }
  const { alpha, beta, seen } = await pair(t, {}, { clock, policies })
  const send = (): Promise<Reply> => deliver(alpha, beta, postBody(alpha, {}, at))
  assert.deepEqual([(await send()).status, (await send()).status], [200, 200])
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
