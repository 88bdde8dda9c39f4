// [S23] Hostile JSON and text is data: refused, or read unchanged. Nothing breaks, and no prototype changes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FollowBodySchema, InsertBodySchema, PostBodySchema } from '../../src/wire/v1/bodies.ts'
import { parseJson } from '../../src/wire/v1/json.ts'
import { DeliveryMessageSchema } from '../../src/wire/v1/messages.ts'

const follow = {
  following: {
    id: 'f1',
    createdAt: '2026-01-01T00:00:00.000Z',
    followerId: 'alice',
    followingId: 'bob',
    accepted: false,
    followerServerUrl: null,
  },
  federationUrl: 'https://a.example',
  method: 'FEDERATE',
}
const nested = (depth: number, open: string, close: string) => `${open.repeat(depth)}1${close.repeat(depth)}`
const withId = (followerId: unknown) => ({ ...follow, following: { ...follow.following, followerId } })

const withSize = (size: string) =>
  PostBodySchema.safeParse(
    parseJson(
      `{"method":"FEDERATE_POST","federationUrl":"https://a.example","post":{"id":"p","authorId":"a","isPrivate":false,
        "published":"2026-01-01T00:00:00Z","content":[{"type":"audio","url":"https://a.example/a","size":${size}}]}}`,
    )?.value,
  ).success

test('[S23] text that is not JSON is refused', () => {
  for (const text of ['', '{', 'undefined', '{"a":}', "{'a':1}", '[1,]', 'NaN', '\uFEFF{}', '{}{}', '{"a":1}\0']) {
    assert.equal(parseJson(text), undefined, JSON.stringify(text))
  }
  assert.deepEqual(parseJson('null'), { value: null })
  assert.deepEqual(parseJson('{"a":[1,{"b":"c"}]}'), { value: { a: [1, { b: 'c' }] } })
})

test('[S23] deep nesting is refused, a million levels too', () => {
  assert.notEqual(parseJson(nested(32, '[', ']')), undefined)
  assert.notEqual(parseJson(nested(32, '{"a":', '}')), undefined)
  for (const depth of [34, 1000, 100_000, 1_000_000]) {
    assert.equal(parseJson(nested(depth, '[', ']')), undefined)
    assert.equal(parseJson(nested(depth, '{"a":', '}')), undefined)
    assert.equal(parseJson(`{"data":${nested(depth, '[{"x":', '}]')}}`), undefined)
  }
})

test('[S23] a wide message is read', () => {
  const wide = Array.from({ length: 50_000 }, () => ({}))
  assert.deepEqual(parseJson(JSON.stringify(wide)), { value: wide })
})

test('[S23] `__proto__` is refused at every depth', () => {
  for (const text of [
    '{"__proto__":{"polluted":true}}',
    '{"__proto__":1}',
    '{"a":[{"b":{"__proto__":{"polluted":true}}}]}',
    '{"\\u005f_proto__":{"polluted":true}}',
    '[[{"__proto__":null}]]',
  ]) {
    assert.equal(parseJson(text), undefined, text)
  }
  assert.equal(({} as { polluted?: boolean }).polluted, undefined)
})

test('[S23] fields of a prototype do not count', () => {
  const message: unknown = { ...follow, following: Object.create(follow.following) }
  assert.equal(FollowBodySchema.safeParse(message).success, false)
  assert.equal(FollowBodySchema.safeParse(Object.create(follow)).success, false)
  assert.equal(DeliveryMessageSchema.safeParse(JSON.parse('{"constructor":{},"hasOwnProperty":1}')).success, false)
})

test('[S23] a parsed message has own fields only, and an ordinary prototype', () => {
  const hostile = JSON.parse(`{"__proto__":{"polluted":true},"hasOwnProperty":1,${JSON.stringify(follow).slice(1)}`)
  const read = FollowBodySchema.parse(hostile)
  assert.deepEqual(read, follow)
  assert.equal(Object.getPrototypeOf(read), Object.prototype)
  assert.deepEqual(Object.keys(read).toSorted(), ['federationUrl', 'following', 'method'])
})

test('[S23] the last one of duplicate fields counts, for all readers', () => {
  const twice = `{"method":"UNFOLLOW",${JSON.stringify(follow).slice(1)}`
  assert.equal(FollowBodySchema.parse(parseJson(twice)?.value).method, 'FEDERATE')
})

test('[S23] ids: quotes and code are text; NUL, lone surrogates and great length are refused', () => {
  for (const id of [
    `'; DROP TABLE follows; --`,
    '"',
    '\\',
    '{{x}}',
    '\u202E',
    '🦊',
    'constructor',
    '__proto__',
    'x'.repeat(512),
  ]) {
    assert.equal(FollowBodySchema.parse(withId(id)).following.followerId, id)
  }
  for (const id of [
    '',
    'a\0b',
    '\uD800',
    'x\uDC00y',
    'x'.repeat(513),
    'x'.repeat(1_000_000),
    ['a'],
    { id: 'a' },
    1,
    true,
    null,
  ]) {
    assert.equal(FollowBodySchema.safeParse(withId(id)).success, false)
  }
})

test('[S23] huge numbers are refused as sizes', () => {
  for (const size of ['0', '1e3', '9007199254740991']) assert.equal(withSize(size), true, size)
  for (const size of [
    '1e999',
    '-1',
    '-1e999',
    '0.5',
    '9007199254740993',
    '"1"',
    'null',
    '[1]',
    `1${'0'.repeat(10_000)}`,
  ]) {
    assert.equal(withSize(size), false, size)
  }
})

test('[S23] the data of INSERT is passed on unchanged', () => {
  const data = { toString: 1, valueOf: null, deep: [[[[{}]]]] }
  const message = {
    method: 'INSERT',
    federationUrl: 'https://a.example',
    id: 'i',
    createdAt: '2026-01-01T00:00:00Z',
    data,
  }
  assert.deepEqual(InsertBodySchema.parse(parseJson(JSON.stringify(message))?.value).data, data)
})
