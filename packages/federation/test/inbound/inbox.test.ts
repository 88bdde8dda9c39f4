// Direct deliveries over real HTTP: their effects and their acks.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { StoreTransaction } from '../../src/store/store.ts'
import { FollowEnvelopeSchema, OtherAckSchema, PostAckSchema } from '../../src/wire/v1/acks.ts'
import { AckPayloadSchema } from '../../src/wire/v1/messages.ts'
import { verify } from '../../src/wire/v1/signature.ts'
import { assertRefused, followOf, pair } from './pair.ts'
import { deliver, followBody, headersOf, iso, openedAck, postBody, sealed } from './server.ts'

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
    assert.equal((await deliver(alpha, beta, postBody(alpha, { id: path }), path)).status, 200, path)
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
  const ackOf = async (post: object): Promise<any> =>
    (await openedAck((await deliver(alpha, beta, postBody(alpha, post))).body, alpha.keyring)).value
  const first = await ackOf({})
  PostAckSchema.parse(first)
  assert.deepEqual(first, {
    post: { id: 'ours-7', federationPostId: 'post-1' },
    federationUrl: beta.origin,
    method: 'FEDERATE_POST',
  })
  id = undefined
  assert.equal((await ackOf({ id: 'post-2' })).post.id, keys[1])
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

test('writes of apply() commit, unless it throws; it may return the id', async (t) => {
  let fails = false
  const write = async (body: any, tx: StoreTransaction): Promise<{ id: string }> => {
    const other = { id: `n-${body.post.id}`, followerId: 'x', followingId: body.post.id, followerServerUrl: undefined }
    await beta.store.follows.insert(
      { ...other, followingServerUrl: undefined, accepted: false, acknowledged: false, createdAt: 1 },
      tx,
    )
    if (fails) throw new Error('no')
    return { id: `row of ${body.post.id}` }
  }
  const { alpha, beta } = await pair(t, {
    FEDERATE_POST: ({ body }) => ({ id: 'unused', apply: (tx) => write(body, tx) }),
  })
  const reply = await deliver(alpha, beta, postBody(alpha, { id: 'p1' }))
  assert.equal((await openedAck(reply.body, alpha.keyring)).value.post.id, 'row of p1')
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
