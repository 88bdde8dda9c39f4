// The options of a RedisStorage: what is refused, what is accepted, and under which word.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as iovalkey from 'iovalkey'
import { RedisStorage, type RedisStorageOptions } from 'holdfast/redis'
import { resolveRedisOptions } from '../../../src/storage/redis/redis-options.ts'

function refused(options: object, message: RegExp): void {
  assert.throws(() => resolveRedisOptions(options), { name: 'TypeError', code: 'INVALID_ARGUMENT', message })
}

test('[Q5.13] impossible options are refused before anything is connected', () => {
  const client = new iovalkey.Redis({ lazyConnect: true })
  const prefixed = new iovalkey.Redis({ lazyConnect: true, keyPrefix: 'mine:' })
  refused({ client, url: 'redis://localhost' }, /one of client, url, host\/port, got "client and url"/)
  refused({ url: 'redis://localhost', port: 1 }, /got "url and host\/port"/)
  refused({ client, host: 'localhost' }, /got "client and host\/port"/)
  refused({ client: prefixed }, /without keyPrefix/)
  refused({ client: {} }, /a Redis or Cluster client/)
  for (const prefix of ['', 'a{b', 'a}b', 'x'.repeat(129), 7]) refused({ prefix }, /^prefix: /)
  for (const url of ['', 'localhost:6379', 'http://localhost', 'redis://', 7]) refused({ url }, /^url: expected a URL/)
  for (const port of [0, 65_536, '6379', 1.5]) refused({ port }, /^port: /)
  refused({ durability: 'all' }, /'relaxed', 'full' or 'replicated'/)
  refused({ replicas: 0 }, /^replicas: /)
  refused({ allowEviction: 'yes' }, /^allowEviction: /)
  refused({ hots: 'x' }, /did you mean host\?/)
  refused({ keyPrefix: 'x' }, /did you mean prefix\?/)
  assert.throws(
    () => resolveRedisOptions({ url: 'htp://:hunter2@host' }),
    (error: Error) => !error.message.includes('hunter2'),
  )
})

test('without options, the server is localhost:6379', () => {
  for (const given of [undefined, {}, { host: undefined, port: undefined, client: undefined, clock: undefined }]) {
    const { host, port, url, prefix, pollMs, callTimeoutMs, durability } = resolveRedisOptions(given)
    assert.deepEqual(
      [host, port, url, prefix, pollMs, callTimeoutMs, durability],
      ['localhost', 6379, undefined, 'jq', 5_000, 5_000, 'relaxed'],
    )
  }
})

test('a url that is given as undefined is refused, unless a client or a host is given', () => {
  const missing: RedisStorageOptions = { url: process.env.HOLDFAST_TEST_NO_SUCH_VARIABLE }
  assert.throws(() => new RedisStorage(missing), {
    name: 'TypeError',
    code: 'INVALID_ARGUMENT',
    message: /^RedisStorage: url is undefined\. .* leave url out to connect to localhost:6379\.$/,
  })
  assert.equal(resolveRedisOptions({ ...missing, host: 'redis.internal' }).host, 'redis.internal')
  const client = new iovalkey.Redis({ lazyConnect: true })
  assert.equal(resolveRedisOptions({ ...missing, client }).client, client)
})

test('pollMs is in ms, its alias blockTimeout in seconds, and queues read it from the settings', () => {
  assert.equal(new RedisStorage({ pollMs: 250 }).settings.pollMs, 250)
  assert.equal(new RedisStorage({ blockTimeout: 2.5 }).settings.pollMs, 2_500)
  assert.equal(new RedisStorage({ pollMs: Infinity }).settings.pollMs, Infinity)
  refused({ blockTimeout: 5_000 }, /^blockTimeout: expected seconds.* below 1000 \(did you mean pollMs.*\), got 5000$/)
  refused({ pollMs: 100, blockTimeout: 1 }, /either pollMs or its alias blockTimeout/)
  for (const bad of [0, -1, '5', NaN]) {
    refused({ blockTimeout: bad }, /^blockTimeout: /)
    refused({ pollMs: bad }, /^pollMs: /)
  }
})

test('processingQueueTTL is accepted and has no effect', () => {
  assert.deepEqual(
    new RedisStorage({ processingQueueTTL: 60_000 }).settings,
    new RedisStorage({ processingQueueTTL: undefined }).settings,
  )
  refused({ processingQueueTTL: 'long' }, /^processingQueueTTL: /)
})
