// What a server must give before connect() accepts it, and what `durability` waits for: reliability.md 1.1.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { findValkey } from '../../../../../servers/find.ts'
import type { RedisServer } from '../../../../../servers/redis.ts'
import type { StorageError } from '../../../src/errors.ts'
import type { RedisDurability } from '../../../src/storage/redis/redis-options.ts'
import { assess } from '../../../src/storage/redis/connection/server-requirements.ts'
import type { ServerFacts } from '../../../src/storage/redis/connection/server-facts.ts'
import { connection, eventually, libraries, replicated, server, write } from './connection-fixture.ts'

const durable = { durable: true }

test('a server that may evict jobs is refused, unless allowEviction is set', async (t) => {
  const { url } = await server(t, { args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] })
  await assert.rejects(
    connection(t, { url }).open(),
    /maxmemory-policy is allkeys-lru.*noeviction.*allowEviction: true/,
  )
  await connection(t, { url, allowEviction: true }).open()
  const unlimited = await server(t, { args: ['--maxmemory-policy', 'allkeys-lru'] })
  await connection(t, { url: unlimited.url }).open()
})

test('a policy that changes during a connection is a finding at the next reconnect', async (t) => {
  const { url, connect } = await server(t)
  const findings: string[] = []
  const redis = connection(t, { url, onFinding: (message) => findings.push(message) })
  await redis.open()
  const inspector = await connect()
  t.after(() => inspector.close())
  await inspector.send('CONFIG', 'SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-random')
  await inspector.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await eventually(() => redis.run(write, '{a}', ['1']))
  assert.equal(findings.length, 1)
  assert.match(findings[0]!, /allkeys-random/)
})

test('`durable` is read from the server at each connect', async (t) => {
  const { url, connect } = await server(t, { appendonly: 'always' })
  const redis = connection(t, { url })
  await redis.open()
  assert.equal(redis.durable, true)
  const inspector = await connect()
  t.after(() => inspector.close())
  await inspector.send('CONFIG', 'SET', 'appendfsync', 'everysec')
  await inspector.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await eventually(() => redis.run(write, '{a}', ['1']))
  assert.equal(redis.durable, false)
})

test('settings that cannot be read count as not given, and nothing is printed', async (t) => {
  const { port, connect } = await server(t, { appendonly: 'always' })
  const inspector = await connect()
  t.after(() => inspector.close())
  await inspector.send('ACL', 'SETUSER', 'plain', 'on', '>secret', '~*', '&*', '+@all', '-config', '-info')
  const url = `redis://plain:secret@127.0.0.1:${port}`
  const warn = t.mock.method(console, 'warn', () => {})
  for (const { load } of libraries) {
    const redis = connection(t, { url }, load)
    await redis.open()
    assert.equal(redis.durable, false)
    assert.deepEqual(await redis.run(write, '{a}', ['1']), Buffer.from('1'))
    await assert.rejects(connection(t, { url, durability: 'full' }, load).open(), /may not call INFO/)
  }
  assert.equal(warn.mock.callCount(), 0)
})

test('[Q4.09] full: refused without an append-only file; with appendfsync always there is no WAIT', async (t) => {
  const none = await server(t)
  await assert.rejects(connection(t, { url: none.url, durability: 'full' }).open(), /append-only file is off/)
  const no = await server(t, { appendonly: 'everysec', args: ['--appendfsync', 'no'] })
  await assert.rejects(connection(t, { url: no.url, durability: 'full' }).open(), /appendfsync is no/)
  const always = await server(t, { appendonly: 'always' })
  const redis = connection(t, { url: always.url, durability: 'full' })
  await redis.open()
  assert.equal(redis.durable, true)
  await redis.run(write, '{a}', ['1'], durable)
  assert.deepEqual(await calls(always, 'wait|waitaof'), 0)
})

test('[Q4.09] full with appendfsync everysec: by WAITAOF, and refused by a server without it', async (t) => {
  const binary = findValkey()
  const everysec = await server(t, { appendonly: 'everysec', binary })
  const redis = connection(t, { url: everysec.url, durability: 'full' })
  if (!binary) return assert.rejects(redis.open(), /no WAITAOF .* appendfsync is everysec\. Set it to always/)
  await redis.open()
  assert.equal(redis.durable, true)
  await Promise.all(Array.from({ length: 50 }, (_, index) => redis.run(write, '{a}', [`${index}`], durable)))
  const waits = await calls(everysec, 'waitaof')
  assert.ok(waits >= 1 && waits <= 4, `${waits} waits`)
})

for (const { name, load } of libraries) {
  test(`${name}: replicated: answered when a replica has the write, with one WAIT for all calls of a batch`, async (t) => {
    const primary = await server(t, { args: ['--repl-diskless-sync-delay', '0'] })
    const alone = connection(t, { url: primary.url, durability: 'replicated' }, load)
    await assert.rejects(alone.open(), /it has 0 replicas online\. Add replicas, or lower `replicas` from 1\./)
    const replica = await replicaOf(t, primary)
    const redis = connection(t, { url: primary.url, durability: 'replicated', replicaTimeoutMs: 2_000 }, load)
    await redis.open()
    assert.equal(redis.durable, false)
    const before = await calls(primary, 'wait')
    await Promise.all(Array.from({ length: 50 }, (_, index) => redis.run(write, `{a${index}}`, [`${index}`], durable)))
    // The server did not know the script: one batch by hash, one with the source.
    assert.equal((await calls(primary, 'wait')) - before, 2)
    const inspector = await replica.connect()
    t.after(() => inspector.close())
    assert.equal(String(await inspector.send('GET', '{a49}:x')), '49')

    // A call that is not durable does not wait.
    await redis.run(write, '{a}', ['free'])
    replica.kill('SIGSTOP')
    const slow = redis.run(write, '{a}', ['held'], durable)
    let isOver = false
    slow.catch(() => (isOver = true))
    await redis.run(write, '{a}', ['free'])
    assert.equal(isOver, false)
    await assert.rejects(slow, (error: StorageError) => {
      assert.match(error.message, /0 of 1 replicas acknowledged the write within 2000 ms\. The call was applied/)
      assert.deepEqual([error.maybeApplied, error.transient, error.reason], [true, true, 'not_replicated'])
      return true
    })
    replica.kill('SIGCONT')
    await eventually(() => redis.run(write, '{a}', ['2'], durable))
    assert.equal(String(await inspector.send('GET', '{a}:x')), '2')

    const killer = await primary.connect()
    t.after(() => killer.close())
    await killer.send('SCRIPT', 'FLUSH')
    await killer.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await eventually(() => redis.run(write, '{a}', ['3'], durable))
    assert.equal(String(await inspector.send('GET', '{a}:x')), '3')
  })
}

const facts: ServerFacts = {
  isReadable: true,
  isLoading: false,
  isReplica: false,
  version: '7.2.4',
  aof: true,
  appendfsync: 'everysec',
  replicas: 2,
  maxmemory: 0,
  maxmemoryPolicy: 'noeviction',
}
const required = { durability: 'full', replicas: 1, replicaTimeoutMs: 1_000, allowEviction: false } as const

function assessed(given: Partial<ServerFacts>, durability: RedisDurability): unknown[] {
  const { refusal, durable: isDurable, wait } = assess({ ...facts, ...given }, { ...required, durability })
  return refusal === undefined ? [isDurable, wait?.command, wait?.replicas] : ['refused']
}

test('each durability on each setting of the server', () => {
  assert.deepEqual(assessed({ appendfsync: 'always' }, 'relaxed'), [true, undefined, undefined])
  assert.deepEqual(assessed({}, 'relaxed'), [false, undefined, undefined])
  assert.deepEqual(assessed({ aof: false }, 'relaxed'), [false, undefined, undefined])
  assert.deepEqual(assessed({ appendfsync: undefined }, 'relaxed'), [false, undefined, undefined])
  assert.deepEqual(assessed({}, 'full'), [true, 'waitaof', 0])
  assert.deepEqual(assessed({ appendfsync: undefined }, 'full'), [true, 'waitaof', 0])
  assert.deepEqual(assessed({ version: '7.0.15' }, 'full'), ['refused'])
  assert.deepEqual(assessed({ version: '7.0.15', appendfsync: 'always' }, 'full'), [true, undefined, undefined])
  assert.deepEqual(assessed({ aof: false }, 'full'), ['refused'])
  assert.deepEqual(assessed({ isReadable: false, version: undefined, aof: undefined }, 'full'), ['refused'])
  assert.deepEqual(assessed({}, 'replicated'), [true, 'waitaof', 1])
  assert.deepEqual(assessed({ aof: false }, 'replicated'), [false, 'wait', 1])
  assert.deepEqual(assessed({ version: '7.0.15', appendfsync: 'always' }, 'replicated'), [true, 'wait', 1])
  assert.deepEqual(assessed({ replicas: 0 }, 'replicated'), ['refused'])
  assert.deepEqual(assessed({ version: '6.2.14' }, 'relaxed'), ['refused'])
  assert.deepEqual(assessed({ version: '8.0.1' }, 'relaxed'), [false, undefined, undefined])
})

async function replicaOf(t: TestContext, primary: RedisServer): Promise<RedisServer> {
  const replica = await server(t, { args: ['--replicaof', `127.0.0.1 ${primary.port}`] })
  await replicated(primary)
  return replica
}

/** How often the server has run these commands. */
async function calls({ connect }: RedisServer, commands: string): Promise<number> {
  const inspector = await connect()
  const stats = String(await inspector.send('INFO', 'commandstats'))
  inspector.close()
  const found = [...stats.matchAll(new RegExp(`cmdstat_(?:${commands}):calls=(\\d+)`, 'g'))]
  return found.reduce((sum, [, count]) => sum + Number(count), 0)
}
