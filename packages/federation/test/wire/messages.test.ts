// Every v1 message: a valid one passes unchanged, and each fault is found and named.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKeyring } from '../../src/keyring.ts'
import { FollowEnvelopeSchema, OtherAckSchema, PostAckSchema } from '../../src/wire/v1/acks.ts'
import { FollowBodySchema, InsertBodySchema, PostBodySchema, UnfollowBodySchema } from '../../src/wire/v1/bodies.ts'
import { encryptPayload } from '../../src/wire/v1/envelope.ts'
import { instantOf } from '../../src/wire/v1/instant.ts'
import { AckPayloadSchema, DeliveryMessageSchema, RelayedAckSchema } from '../../src/wire/v1/messages.ts'
import type { Schema } from '../../src/wire/v1/schema.ts'

const keyring = await generateKeyring()
const envelope = encryptPayload('{}', keyring.current('enc').publicKey)
const signature = Buffer.alloc(64, 1).toString('base64')
const at = '2026-01-01T00:00:00.000Z'
const federationUrl = 'https://a.example'
const ack = { method: 'PROXY_RESPONSE', status: 'acknowledged', data: envelope, signature }
const following = { id: 'f1', createdAt: at, followerId: 'alice', followingId: 'bob' }
const post = {
  id: 'p1',
  content: [
    { type: 'text', value: 'hello' },
    { type: 'image', url: 'https://a.example/1.png', index: 0, size: 10 },
    { type: 'video', url: 'https://a.example/1.mp4', index: 1, size: 10 },
    { type: 'audio', url: 'https://a.example/1.ogg', size: 10 },
    { type: 'link', url: 'https://b.example/' },
  ],
  authorId: 'alice',
  published: at,
  isPrivate: false,
}

interface Shape {
  readonly name: string
  readonly schema: Schema<unknown>
  readonly whole: object
  /** Paths that may be absent. */
  readonly optional?: readonly string[]
  /** Paths that may be null. */
  readonly nullable?: readonly string[]
  /** Paths whose content is not checked. */
  readonly free?: readonly string[]
}

const shapes: readonly Shape[] = [
  { name: 'a delivery', schema: DeliveryMessageSchema, whole: { method: 'FEDERATE', payload: envelope, signature } },
  { name: 'an ack', schema: AckPayloadSchema, whole: ack },
  { name: 'a relayed ack', schema: RelayedAckSchema, whole: { method: 'PROXY_RESPONSE', payload: ack } },
  {
    name: 'FEDERATE',
    schema: FollowBodySchema,
    whole: {
      following: { ...following, accepted: false, followerServerUrl: 'https://c.example' },
      federationUrl,
      method: 'FEDERATE',
    },
    nullable: ['following.followerServerUrl'],
  },
  { name: 'FEDERATE_POST', schema: PostBodySchema, whole: { method: 'FEDERATE_POST', federationUrl, post } },
  { name: 'UNFOLLOW', schema: UnfollowBodySchema, whole: { method: 'UNFOLLOW', federationUrl, following } },
  {
    name: 'INSERT',
    schema: InsertBodySchema,
    whole: { method: 'INSERT', federationUrl, id: 'i1', createdAt: at, data: { any: ['thing', 1, null] } },
    nullable: ['data'],
    free: ['data'],
  },
  {
    name: 'the ack of a follow',
    schema: FollowEnvelopeSchema,
    whole: {
      following: { ...following, accepted: true, followerServerUrl: 'https://c.example', acknowledged: true },
      federationUrl,
      method: 'FEDERATE',
    },
    optional: ['following.accepted'],
    nullable: ['following.accepted', 'following.followerServerUrl'],
  },
  {
    name: 'the ack of a post',
    schema: PostAckSchema,
    whole: { post: { id: 'p2', federationPostId: 'p1' }, federationUrl, method: 'FEDERATE_POST' },
  },
  { name: 'another ack', schema: OtherAckSchema, whole: { method: 'INSERT', federationUrl, id: 'i1' } },
]

// Every path in a message: [['following', 'id'], …], list items as ['post', 'content', '0', 'type'].
function places(value: unknown, free: readonly string[], path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null || free.includes(path.join('.'))) return []
  return Object.entries(value).flatMap(([name, child]) => [[...path, name], ...places(child, free, [...path, name])])
}

function changed(
  whole: object,
  path: readonly string[],
  change: (parent: Record<string, unknown>, name: string) => void,
) {
  const copy = structuredClone(whole)
  let parent = copy as Record<string, unknown>
  for (const name of path.slice(0, -1)) parent = parent[name] as Record<string, unknown>
  change(parent, path.at(-1) ?? '')
  return copy
}

for (const { name, schema, whole, optional = [], nullable = [], free = [] } of shapes) {
  test(`${name}: a valid message passes`, () => {
    assert.deepEqual(schema.parse(whole), whole)
    assert.deepEqual(schema.safeParse(whole), { success: true, data: whole })
  })

  test(`${name}: unknown fields are left out`, () => {
    assert.deepEqual(schema.parse({ ...whole, unknown: 1, constructor: 2, toString: 3 }), whole)
    for (const path of places(whole, free)) {
      const more = changed(whole, path, (parent) => (parent['unknown'] = 1))
      // A list has no fields.
      if (path.at(-1) !== '0') assert.deepEqual(schema.parse(more), whole)
    }
  })

  test(`${name}: every field is required, with its type`, () => {
    let seen = 0
    const refused = (message: unknown, what: string) => {
      seen += 1
      const result = schema.safeParse(message)
      assert.equal(result.success, false, what)
      assert.equal(result.error.code, 'MESSAGE_INVALID')
      assert.throws(() => schema.parse(message), { code: 'MESSAGE_INVALID' }, what)
    }
    for (const path of places(whole, free)) {
      const place = path.join('.')
      const isItem = path.at(-1) === '0' || Number(path.at(-1)) > 0
      // A list without an item is a shorter list.
      if (!optional.includes(place) && !isItem) {
        refused(
          changed(whole, path, (parent, key) => delete parent[key]),
          `${place} is absent`,
        )
        refused(
          changed(whole, path, (parent, key) => {
            // An inherited field does not count.
            const value = parent[key]
            delete parent[key]
            Object.setPrototypeOf(parent, { [key]: value })
          }),
          `${place} is inherited`,
        )
      }
      if (!nullable.includes(place))
        refused(
          changed(whole, path, (parent, key) => (parent[key] = null)),
          `${place} is null`,
        )
      if (free.includes(place)) continue
      for (const other of [[], {}, 42.5, '', Number.POSITIVE_INFINITY, ['x'], { length: 1 }]) {
        // The text of a post may be empty, and so may a ciphertext.
        if (other === '' && ['value', 'ciphertext'].includes(path.at(-1) ?? '')) continue
        refused(
          changed(whole, path, (parent, key) => (parent[key] = other)),
          `${place} is ${JSON.stringify(other)}`,
        )
      }
    }
    assert.ok(seen >= 9 * 3)
  })

  test(`${name}: fields that may be null or absent`, () => {
    for (const place of nullable) {
      assert.ok(
        schema.safeParse(changed(whole, place.split('.'), (parent, key) => (parent[key] = null))).success,
        place,
      )
    }
    for (const place of optional) {
      assert.ok(schema.safeParse(changed(whole, place.split('.'), (parent, key) => delete parent[key])).success, place)
    }
  })

  test(`${name}: any other value is refused`, () => {
    for (const other of [undefined, null, 'text', 1, true, [], [whole], () => whole, JSON.stringify(whole)]) {
      assert.equal(schema.safeParse(other).success, false)
    }
  })
}

test('the error names the path, and not the value', () => {
  const result = PostBodySchema.safeParse({
    method: 'FEDERATE_POST',
    federationUrl,
    post: { ...post, content: [post.content[0], { type: 'canary' }] },
  })
  assert.equal(result.success, false)
  assert.match(result.error.message, /^post\.content\[1\]: expected a block/)
  assert.doesNotMatch(result.error.message, /canary/)
})

const withBlocks = (count: number) => ({
  method: 'FEDERATE_POST',
  federationUrl,
  post: { ...post, content: Array.from({ length: count }, () => ({ type: 'text', value: '' })) },
})

test('a post has 1 to 1,000 blocks', () => {
  assert.equal(PostBodySchema.safeParse(withBlocks(0)).success, false)
  assert.equal(PostBodySchema.safeParse(withBlocks(1000)).success, true)
  assert.equal(PostBodySchema.safeParse(withBlocks(1001)).success, false)
})

test('an ack of a follow says accepted: true, false, null or nothing', () => {
  for (const accepted of [true, false, null, undefined]) {
    const whole = {
      following: { ...following, followerServerUrl: null, acknowledged: true, accepted },
      federationUrl,
      method: 'FEDERATE',
    }
    assert.equal(FollowEnvelopeSchema.parse(whole).following.accepted, accepted)
  }
  for (const accepted of [0, 1, 'true', 'false', [], {}]) {
    const whole = {
      following: { ...following, followerServerUrl: null, acknowledged: true, accepted },
      federationUrl,
      method: 'FEDERATE',
    }
    assert.equal(FollowEnvelopeSchema.safeParse(whole).success, false)
  }
})

test('instants', () => {
  const good: Readonly<Record<string, number>> = {
    '1970-01-01T00:00:00Z': 0,
    '1970-01-01T00:00:00.001Z': 1,
    '1970-01-01T01:00:00+01:00': 0,
    '2026-01-01T00:00:00.000Z': 1_767_225_600_000,
  }
  for (const [text, value] of Object.entries(good)) assert.equal(instantOf(text), value)
  const bad = [
    '',
    '2026',
    '2026-01-01',
    '2026-01-01T00:00:00',
    '2026-13-01T00:00:00Z',
    '2026-01-32T00:00:00Z',
    '2026-01-01T25:00:00Z',
    '1 January 2026',
    '2026-01-01 00:00:00Z',
    ' 2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z\n',
    0,
    null,
    undefined,
    [at],
  ]
  for (const text of bad) assert.equal(instantOf(text), undefined, String(text))
})
