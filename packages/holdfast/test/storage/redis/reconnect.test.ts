// How the connection layer recovers, with each client library: after lost scripts, connections, replies and servers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startProxy } from '../../../../../servers/proxy.ts'
import type { RedisServer } from '../../../../../servers/redis.ts'
import type { StorageError } from '../../../src/errors.ts'
import { connection, eventually, libraries, scriptOf, server, until, write } from './connection-fixture.ts'

async function isLoading({ connect }: RedisServer): Promise<boolean> {
  try {
    const inspector = await connect()
    const answer = inspector.send('PING').finally(() => inspector.close())
    return await answer.then(() => false)
  } catch (error) {
    return (error as Error).message.startsWith('LOADING')
  }
}

for (const { name, load } of libraries) {
  test(`[trap 32] ${name}: scripts that the server has forgotten are sent again`, async (t) => {
    const { url, connect } = await server(t)
    const inspector = await connect()
    t.after(() => inspector.close())
    const redis = connection(t, { url }, load)
    await redis.open()
    await redis.run(write, '{a}', ['1'])
    await inspector.send('SCRIPT', 'FLUSH')
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => redis.run(write, '{a}', [`${index}`])))
    assert.deepEqual(
      answers.map(String),
      Array.from({ length: 20 }, (_, index) => `${index}`),
    )
  })

  test(`[trap 32] ${name}: after CLIENT KILL and after a restart it is back within 2 s, listens again and reports a gap`, async (t) => {
    const redisServer = await server(t)
    const inspector = await redisServer.connect()
    const redis = connection(t, { url: redisServer.url }, load)
    await redis.open()
    const received: string[] = []
    let gaps = 0
    await redis.listen(
      ['{a}:messages'],
      (channel, message) => received.push(`${channel} ${message.toString()}`),
      () => gaps++,
    )
    await redis.run(write, '{a}', ['1'])
    await until(() => received.length === 1)

    await inspector.send('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await until(() => gaps === 1, 2_000)
    await inspector.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await eventually(() => redis.run(write, '{a}', ['2']), 2_000)
    await until(() => received.includes('{a}:messages 2'))
    inspector.close()

    redisServer.kill('SIGKILL')
    await redisServer.exited
    await assert.rejects(redis.run(write, '{a}', ['3']), {
      code: 'STORAGE_ERROR',
      transient: true,
      maybeApplied: false,
    })
    await sleep(1_500)
    await redisServer.restart()
    const restartedAt = performance.now()
    await eventually(() => redis.run(write, '{a}', ['4']), 2_000)
    await until(() => gaps === 2, 2_000)
    assert.ok(performance.now() - restartedAt < 2_000)
    await redis.run(write, '{a}', ['5'])
    await until(() => received.includes('{a}:messages 5'))
  })

  test(`${name}: a half-open connection is detected, for calls and for messages`, async (t) => {
    const { port } = await server(t)
    const proxy = await startProxy(port)
    t.after(() => proxy.stop())
    const redis = connection(t, { host: '127.0.0.1', port: proxy.port }, load)
    await redis.open()
    let gaps = 0
    await redis.listen(
      ['{a}:messages'],
      () => {},
      () => gaps++,
    )
    await redis.run(write, '{a}', ['1'])
    proxy.halfOpen(true)
    const cutAt = performance.now()
    await assert.rejects(redis.run(write, '{a}', ['2']), { transient: true, maybeApplied: true })
    const noticedMs = performance.now() - cutAt
    assert.ok(noticedMs > 1_500 && noticedMs < 3_500, `noticed after ${noticedMs} ms`)
    // Long enough for a check of the connection for messages, too.
    await sleep(3_000)
    proxy.halfOpen(false)
    await eventually(() => redis.run(write, '{a}', ['3']), 4_000)
    await until(() => gaps === 1, 4_000)
  })

  test(`[trap 49] ${name}: after a lost reply the call is applied, and its error says maybeApplied`, async (t) => {
    const redisServer = await server(t)
    const inspector = await redisServer.connect()
    t.after(() => inspector.close())
    const proxy = await startProxy(redisServer.port)
    t.after(() => proxy.stop())
    const redis = connection(t, { host: '127.0.0.1', port: proxy.port }, load)
    await redis.open()
    await redis.run(write, '{a}', ['1'])
    proxy.swallowReplies(true)
    const lost = redis.run(write, '{a}', ['2']).catch((error: unknown) => error as StorageError)
    await until(async () => String(await inspector.send('GET', '{a}:x')) === '2')
    proxy.cut()
    proxy.swallowReplies(false)
    const { transient, maybeApplied } = (await lost) as StorageError
    assert.deepEqual({ transient, maybeApplied }, { transient: true, maybeApplied: true })
    assert.deepEqual(await eventually(() => redis.run(write, '{a}', ['3'])), Buffer.from('3'))
  })

  test(`${name}: connections cut under load: every call gets its own answer, or rejects`, async (t) => {
    const { port } = await server(t)
    const proxy = await startProxy(port)
    t.after(() => proxy.stop())
    proxy.delay(5)
    const redis = connection(t, { host: '127.0.0.1', port: proxy.port }, load)
    await redis.open()
    let answers = 0
    const callers = Array.from({ length: 20 }, async (_, caller) => {
      for (let round = 0; round < 20; round++) {
        const given = `${caller} ${round}`
        assert.equal(String(await eventually(() => redis.run(write, `{${caller}}`, [given]))), given)
        // Counted by answers, not by time, so that a slow machine makes progress. The other callers are in the middle of a call.
        if (++answers % 25 === 0) proxy.cut()
      }
    })
    await Promise.all(callers)
  })

  test(`${name}: open() and calls wait for a server that loads its data`, async (t) => {
    const args = ['--key-load-delay', '400', '--loading-process-events-interval-bytes', '1024']
    const redisServer = await server(t, { appendonly: 'everysec', args })
    const redis = connection(t, { url: redisServer.url }, load)
    await redis.open()
    const fill = scriptOf("#!lua\nfor i = 1, 3000 do redis.call('SET', KEYS[1] .. i, string.rep('x', 100)) end")
    await redis.run(fill, '{a}', [])
    const restarted = redisServer.restart()
    await until(async () => isLoading(redisServer), 30_000)
    // Both call it while it loads: a connection from before the restart, and a new one.
    const late = connection(t, { url: redisServer.url }, load)
    await Promise.all([eventually(() => redis.run(write, '{a}', ['1'])), late.open()])
    await restarted
    assert.deepEqual(await late.run(write, '{a}', ['2']), Buffer.from('2'))
  })

  test(`[trap 32] ${name}: open() rejects at once if the server is down, and works later`, async (t) => {
    const redisServer = await server(t)
    redisServer.kill('SIGKILL')
    await redisServer.exited
    const redis = connection(t, { url: redisServer.url }, load)
    const startedAt = performance.now()
    await assert.rejects(
      redis.open(),
      new RegExp(`^StorageError: Redis at 127.0.0.1:${redisServer.port}: cannot connect \\(.*ECONNREFUSED`),
    )
    assert.ok(performance.now() - startedAt < 1_000)
    await redisServer.restart()
    await redis.open()
    assert.deepEqual(await redis.run(write, '{a}', ['1']), Buffer.from('1'))
  })

  test(`[trap 32] ${name}: after READONLY it connects again, and reaches the new primary`, async (t) => {
    const first = await server(t)
    const second = await server(t)
    const proxy = await startProxy(first.port)
    t.after(() => proxy.stop())
    const redis = connection(t, { host: '127.0.0.1', port: proxy.port }, load)
    await redis.open()
    let gaps = 0
    await redis.listen(
      ['{a}:messages'],
      () => {},
      () => gaps++,
    )
    await redis.run(write, '{a}', ['1'])
    const inspector = await first.connect()
    await inspector.send('REPLICAOF', '127.0.0.1', String(second.port))
    await assert.rejects(redis.run(write, '{a}', ['2']), { transient: true, maybeApplied: false })
    proxy.retarget(second.port)
    await eventually(() => redis.run(write, '{a}', ['3']))
    const there = await second.connect()
    assert.equal(String(await there.send('GET', '{a}:x')), '3')
    await until(() => gaps > 0)
    inspector.close()
    there.close()
    const late = connection(t, { host: '127.0.0.1', port: first.port }, load)
    await assert.rejects(late.open(), /refused\. The server is a read-only replica\. Connect to its primary\.$/)
  })
}
