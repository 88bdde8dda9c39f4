// The connection layer of the Redis driver on real servers, with each client library: what it answers, and how it comes
// back when scripts, connections or the server go.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startProxy } from '../../../../../servers/proxy.ts'
import type { RedisServer } from '../../../../../servers/redis.ts'
import type { StorageError } from '../../../src/errors.ts'
import { add, connection, eventually, libraries, scriptOf, server, until, write } from './trial.ts'

const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index))

async function isLoading({ connect }: RedisServer): Promise<boolean> {
  try {
    const beside = await connect()
    const answer = beside.send('PING').finally(() => beside.close())
    return await answer.then(() => false)
  } catch (error) {
    return (error as Error).message.startsWith('LOADING')
  }
}

for (const { name, load } of libraries) {
  test(`${name}: bytes go both ways, and null comes back`, async (t) => {
    const { url } = await server(t)
    const redis = connection(t, { url }, load)
    await redis.open()
    assert.deepEqual(await redis.run(write, '{a}', [bytes]), bytes)
    assert.deepEqual(await redis.run(scriptOf('#!lua\nreturn false'), '{a}', []), null)
    assert.deepEqual(await redis.run(scriptOf('#!lua\nreturn 7'), '{a}', []), Buffer.from('7'))
    assert.equal(redis.durable, false)
  })

  test(`[trap 32] ${name}: scripts that the server has forgotten are sent again`, async (t) => {
    const { url, connect } = await server(t)
    const beside = await connect()
    t.after(() => beside.close())
    const redis = connection(t, { url }, load)
    await redis.open()
    await redis.run(write, '{a}', ['1'])
    await beside.send('SCRIPT', 'FLUSH')
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => redis.run(write, '{a}', [`${index}`])))
    assert.deepEqual(
      answers.map(String),
      Array.from({ length: 20 }, (_, index) => `${index}`),
    )
  })

  test(`[trap 32] ${name}: after CLIENT KILL and after a restart it is back within 2 s, listens again and says so`, async (t) => {
    const redisServer = await server(t)
    const beside = await redisServer.connect()
    const redis = connection(t, { url: redisServer.url }, load)
    await redis.open()
    const heard: string[] = []
    let gaps = 0
    await redis.listen(
      ['{a}:told'],
      (channel, message) => heard.push(`${channel} ${message.toString()}`),
      () => gaps++,
    )
    await redis.run(write, '{a}', ['1'])
    await until(() => heard.length === 1)

    await beside.send('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await until(() => gaps === 1, 2_000)
    await beside.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await eventually(() => redis.run(write, '{a}', ['2']), 2_000)
    await until(() => heard.includes('{a}:told 2'))
    beside.close()

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
    await until(() => heard.includes('{a}:told 5'))
  })

  test(`${name}: a half-open connection is noticed, and so is that of the listener`, async (t) => {
    const { port } = await server(t)
    const proxy = await startProxy(port)
    t.after(() => proxy.stop())
    const redis = connection(t, { host: '127.0.0.1', port: proxy.port }, load)
    await redis.open()
    let gaps = 0
    await redis.listen(
      ['{a}:told'],
      () => {},
      () => gaps++,
    )
    await redis.run(write, '{a}', ['1'])
    proxy.halfOpen(true)
    const cutAt = performance.now()
    await assert.rejects(redis.run(write, '{a}', ['2']), { transient: true, maybeApplied: true })
    const noticedMs = performance.now() - cutAt
    assert.ok(noticedMs > 1_500 && noticedMs < 3_500, `noticed after ${noticedMs} ms`)
    // Long enough for the listener's own connection to be asked, too.
    await sleep(3_000)
    proxy.halfOpen(false)
    await eventually(() => redis.run(write, '{a}', ['3']), 4_000)
    await until(() => gaps === 1, 4_000)
  })

  test(`[trap 49] ${name}: a reply that got lost leaves the call applied, and says that it may be`, async (t) => {
    const redisServer = await server(t)
    const beside = await redisServer.connect()
    t.after(() => beside.close())
    const proxy = await startProxy(redisServer.port)
    t.after(() => proxy.stop())
    const redis = connection(t, { host: '127.0.0.1', port: proxy.port }, load)
    await redis.open()
    await redis.run(write, '{a}', ['1'])
    proxy.swallowReplies(true)
    const lost = redis.run(write, '{a}', ['2']).catch((error: unknown) => error as StorageError)
    await until(async () => String(await beside.send('GET', '{a}:x')) === '2')
    proxy.cut()
    proxy.swallowReplies(false)
    const { transient, maybeApplied } = (await lost) as StorageError
    assert.deepEqual({ transient, maybeApplied }, { transient: true, maybeApplied: true })
    assert.deepEqual(await eventually(() => redis.run(write, '{a}', ['3'])), Buffer.from('3'))
  })

  test(`${name}: connections cut under load: every call gets its own answer, or is told`, async (t) => {
    const { port } = await server(t)
    const proxy = await startProxy(port)
    t.after(() => proxy.stop())
    proxy.delay(5)
    const redis = connection(t, { host: '127.0.0.1', port: proxy.port }, load)
    await redis.open()
    let answers = 0
    const lines = Array.from({ length: 20 }, async (_, line) => {
      for (let round = 0; round < 20; round++) {
        const given = `${line} ${round}`
        assert.equal(String(await eventually(() => redis.run(write, `{${line}}`, [given]))), given)
        // By what was done and not by time: a slow machine gets on, too. The other lines are in the middle of a call.
        if (++answers % 25 === 0) proxy.cut()
      }
    })
    await Promise.all(lines)
  })

  test(`${name}: a wrong password, or none, is told without telling it`, async (t) => {
    const { port } = await server(t, { withPassword: true })
    const wrong = connection(t, { url: `redis://:hunter2@127.0.0.1:${port}` }, load)
    await assert.rejects(wrong.open(), (error: StorageError) => {
      assert.match(
        error.message,
        new RegExp(`cannot open Redis at 127.0.0.1:${port}: .*refused the user name or the password`),
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
    const beside = await connect()
    t.after(() => beside.close())
    await beside.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await eventually(() => third.run(write, '{b}', ['1']))
    assert.match(String(await beside.send('INFO', 'keyspace')), /db3:keys=2/)
    assert.equal(await beside.send('DBSIZE'), 0)
    await assert.rejects(connection(t, { url: `${url}/99` }, load).open(), /DB index is out of range/)
  })

  test(`${name}: a server that loads its data is waited for`, async (t) => {
    const args = ['--key-load-delay', '400', '--loading-process-events-interval-bytes', '1024']
    const redisServer = await server(t, { appendonly: 'everysec', args })
    const redis = connection(t, { url: redisServer.url }, load)
    await redis.open()
    const fill = scriptOf("#!lua\nfor i = 1, 3000 do redis.call('SET', KEYS[1] .. i, string.rep('x', 100)) end")
    await redis.run(fill, '{a}', [])
    const restarted = redisServer.restart()
    await until(async () => isLoading(redisServer), 30_000)
    // It is asked while it loads, by one that was there before and by one that comes.
    const late = connection(t, { url: redisServer.url }, load)
    await Promise.all([eventually(() => redis.run(write, '{a}', ['1'])), late.open()])
    await restarted
    assert.deepEqual(await late.run(write, '{a}', ['2']), Buffer.from('2'))
  })

  test(`[trap 32] ${name}: opening a server that is down is refused at once; later it works`, async (t) => {
    const redisServer = await server(t)
    redisServer.kill('SIGKILL')
    await redisServer.exited
    const redis = connection(t, { url: redisServer.url }, load)
    const startedAt = performance.now()
    await assert.rejects(redis.open(), new RegExp(`cannot open Redis at 127.0.0.1:${redisServer.port}: .*ECONNREFUSED`))
    assert.ok(performance.now() - startedAt < 1_000)
    await redisServer.restart()
    await redis.open()
    assert.deepEqual(await redis.run(write, '{a}', ['1']), Buffer.from('1'))
  })

  test(`[trap 32] ${name}: a primary that was made a replica is left for the one that took its place`, async (t) => {
    const first = await server(t)
    const second = await server(t)
    const proxy = await startProxy(first.port)
    t.after(() => proxy.stop())
    const redis = connection(t, { host: '127.0.0.1', port: proxy.port }, load)
    await redis.open()
    let gaps = 0
    await redis.listen(
      ['{a}:told'],
      () => {},
      () => gaps++,
    )
    await redis.run(write, '{a}', ['1'])
    const beside = await first.connect()
    await beside.send('REPLICAOF', '127.0.0.1', String(second.port))
    await assert.rejects(redis.run(write, '{a}', ['2']), { transient: true, maybeApplied: false })
    proxy.retarget(second.port)
    await eventually(() => redis.run(write, '{a}', ['3']))
    const there = await second.connect()
    assert.equal(String(await there.send('GET', '{a}:x')), '3')
    await until(() => gaps > 0)
    beside.close()
    there.close()
    const late = connection(t, { host: '127.0.0.1', port: first.port }, load)
    await assert.rejects(late.open(), /read-only replica: connect to its primary/)
  })
}

test('one subscriber connection for all who listen, closed with the last', async (t) => {
  const redisServer = await server(t)
  const beside = await redisServer.connect()
  t.after(() => beside.close())
  const subscribers = async (): Promise<number> =>
    String(await beside.send('CLIENT', 'LIST', 'TYPE', 'pubsub'))
      .split('\n')
      .filter((line) => line !== '').length
  const redis = connection(t, { url: redisServer.url })
  await redis.open()
  assert.equal(await subscribers(), 0)
  const heard: string[] = []
  const listen = (channel: string, who: string): Promise<() => Promise<void>> =>
    redis.listen(
      [channel],
      (_, message) => heard.push(`${who} ${message.toString()}`),
      () => {},
    )
  const [first, second, other] = await Promise.all([
    listen('{a}:told', 'first'),
    listen('{a}:told', 'second'),
    listen('{b}:told', 'other'),
  ])
  assert.equal(await subscribers(), 1)
  await redis.run(write, '{a}', ['1'])
  await until(() => heard.length === 2)
  await first()
  await redis.run(write, '{a}', ['2'])
  await redis.run(write, '{b}', ['3'])
  await until(() => heard.length === 4)
  assert.deepEqual(heard.toSorted(), ['first 1', 'other 3', 'second 1', 'second 2'])
  await second()
  await other()
  await until(async () => (await subscribers()) === 0)
  await listen('{a}:told', 'again')
  assert.equal(await subscribers(), 1)
})

test('everything that begins so is deleted, and nothing else', async (t) => {
  const redisServer = await server(t)
  const beside = await redisServer.connect()
  t.after(() => beside.close())
  const redis = connection(t, { url: redisServer.url })
  await redis.open()
  const fill = scriptOf("#!lua\nfor i = 1, 3000 do redis.call('SET', KEYS[1] .. i, '') end")
  await redis.run(fill, '{a*?[b]\\}', [])
  await redis.run(fill, '{axxb}', [])
  await redis.deleteAll('{a*?[b]\\}')
  assert.equal(await beside.send('DBSIZE'), 3_000)
  await redis.deleteAll('{a')
  assert.equal(await beside.send('DBSIZE'), 0)
  assert.doesNotMatch(String(await beside.send('INFO', 'commandstats')), /cmdstat_keys:/)
})

test('memory that is full: an add is refused and told why, and what frees goes on', async (t) => {
  const redisServer = await server(t)
  const beside = await redisServer.connect()
  t.after(() => beside.close())
  const redis = connection(t, { url: redisServer.url })
  await redis.open()
  await redis.run(add, '{a}', ['1'])
  await beside.send('CONFIG', 'SET', 'maxmemory', '1')
  await assert.rejects(redis.run(add, '{a}', ['2']), (error: StorageError) => {
    assert.match(error.message, /maxmemory: raise it/)
    assert.deepEqual([error.code, error.maybeApplied, error.transient], ['STORAGE_ERROR', false, undefined])
    return true
  })
  await redis.run(write, '{a}', ['3'])
})

test('errors carry no payload', async (t) => {
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

test('closing does not wait for a server that hangs, and calls after it are refused', async (t) => {
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
