// The connection layer of the Redis driver on real servers, with each client library: what it answers, refuses and deletes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startProxy } from '../../../../../servers/proxy.ts'
import type { StorageError } from '../../../src/errors.ts'
import { add, connection, eventually, libraries, scriptOf, server, until, write } from './connection-fixture.ts'

const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index))

for (const { name, load } of libraries) {
  test(`${name}: arguments and answers are bytes, and null stays null`, async (t) => {
    const { url } = await server(t)
    const redis = connection(t, { url }, load)
    await redis.open()
    assert.deepEqual(await redis.run(write, '{a}', [bytes]), bytes)
    assert.deepEqual(await redis.run(scriptOf('#!lua\nreturn false'), '{a}', []), null)
    assert.deepEqual(await redis.run(scriptOf('#!lua\nreturn 7'), '{a}', []), Buffer.from('7'))
    assert.equal(redis.durable, false)
  })

  test(`${name}: the error of a wrong or missing password does not contain it`, async (t) => {
    const { port } = await server(t, { withPassword: true })
    const wrong = connection(t, { url: `redis://:hunter2@127.0.0.1:${port}` }, load)
    await assert.rejects(wrong.open(), (error: StorageError) => {
      assert.match(
        error.message,
        new RegExp(`^Redis at 127.0.0.1:${port}: cannot connect \\(.*refused the user name or the password`),
      )
      assert.doesNotMatch(`${error.stack}${JSON.stringify(error)}${String(error.cause)}`, /hunter2/)
      assert.equal(error.maybeApplied, false)
      return true
    })
    const none = connection(t, { host: '127.0.0.1', port }, load)
    await assert.rejects(none.open(), /asks for a password/)
  })

  test(`${name}: the database of the url is used, or refused`, async (t) => {
    const { url, connect } = await server(t)
    const third = connection(t, { url: `${url}/3` }, load)
    await third.open()
    await third.run(write, '{a}', ['1'])
    const inspector = await connect()
    t.after(() => inspector.close())
    await inspector.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await eventually(() => third.run(write, '{b}', ['1']))
    assert.match(String(await inspector.send('INFO', 'keyspace')), /db3:keys=2/)
    assert.equal(await inspector.send('DBSIZE'), 0)
    await assert.rejects(connection(t, { url: `${url}/99` }, load).open(), /DB index is out of range/)
  })
}

test('all listeners share one subscriber connection, which closes with the last', async (t) => {
  const redisServer = await server(t)
  const inspector = await redisServer.connect()
  t.after(() => inspector.close())
  const subscribers = async (): Promise<number> =>
    String(await inspector.send('CLIENT', 'LIST', 'TYPE', 'pubsub'))
      .split('\n')
      .filter((line) => line !== '').length
  const redis = connection(t, { url: redisServer.url })
  await redis.open()
  assert.equal(await subscribers(), 0)
  const received: string[] = []
  const listen = (channel: string, name: string): Promise<() => Promise<void>> =>
    redis.listen(
      [channel],
      (_, message) => received.push(`${name} ${message.toString()}`),
      () => {},
    )
  const [first, second, other] = await Promise.all([
    listen('{a}:messages', 'first'),
    listen('{a}:messages', 'second'),
    listen('{b}:messages', 'other'),
  ])
  assert.equal(await subscribers(), 1)
  await redis.run(write, '{a}', ['1'])
  await until(() => received.length === 2)
  await first()
  await redis.run(write, '{a}', ['2'])
  await redis.run(write, '{b}', ['3'])
  await until(() => received.length === 4)
  assert.deepEqual(received.toSorted(), ['first 1', 'other 3', 'second 1', 'second 2'])
  await second()
  await other()
  await until(async () => (await subscribers()) === 0)
  await listen('{a}:messages', 'again')
  assert.equal(await subscribers(), 1)
})

test('deleteAll deletes the keys with the prefix, and no other', async (t) => {
  const redisServer = await server(t)
  const inspector = await redisServer.connect()
  t.after(() => inspector.close())
  const redis = connection(t, { url: redisServer.url })
  await redis.open()
  const fill = scriptOf("#!lua\nfor i = 1, 3000 do redis.call('SET', KEYS[1] .. i, '') end")
  await redis.run(fill, '{a*?[b]\\}', [])
  await redis.run(fill, '{axxb}', [])
  await redis.deleteAll('{a*?[b]\\}')
  assert.equal(await inspector.send('DBSIZE'), 3_000)
  await redis.deleteAll('{a')
  assert.equal(await inspector.send('DBSIZE'), 0)
  assert.doesNotMatch(String(await inspector.send('INFO', 'commandstats')), /cmdstat_keys:/)
})

test('when memory is full, an add rejects with advice, and scripts that free memory run', async (t) => {
  const redisServer = await server(t)
  const inspector = await redisServer.connect()
  t.after(() => inspector.close())
  const redis = connection(t, { url: redisServer.url })
  await redis.open()
  await redis.run(add, '{a}', ['1'])
  await inspector.send('CONFIG', 'SET', 'maxmemory', '1')
  await assert.rejects(redis.run(add, '{a}', ['2']), (error: StorageError) => {
    assert.match(error.message, /reached its maxmemory .*The call was not applied\. Raise maxmemory/)
    assert.deepEqual([error.code, error.maybeApplied, error.transient], ['STORAGE_ERROR', false, undefined])
    return true
  })
  await redis.run(write, '{a}', ['3'])
})

test('errors contain no payload', async (t) => {
  const { url } = await server(t)
  const redis = connection(t, { url })
  await redis.open()
  await assert.rejects(redis.run(scriptOf('#!lua\nerror("broken")'), '{a}', ['canary-4711']), (error: StorageError) => {
    assert.match(error.message, /broken/)
    assert.equal(error.maybeApplied, true)
    assert.equal(error.transient, undefined)
    const { inspect } = process.getBuiltinModule('node:util')
    assert.doesNotMatch(inspect(error, { depth: 10, showHidden: true }), /canary/)
    return true
  })
})

test('close() does not wait for a server that hangs, and later calls reject', async (t) => {
  const { port } = await server(t)
  const proxy = await startProxy(port)
  t.after(() => proxy.stop())
  const redis = connection(t, { host: '127.0.0.1', port: proxy.port })
  await redis.open()
  proxy.halfOpen(true)
  const lost = assert.rejects(redis.run(write, '{a}', ['1']), { maybeApplied: true })
  const startedAt = performance.now()
  await redis.close()
  assert.ok(performance.now() - startedAt < 1_000)
  await lost
  await assert.rejects(redis.run(write, '{a}', ['2']), { code: 'STORAGE_ERROR', maybeApplied: false })
})
