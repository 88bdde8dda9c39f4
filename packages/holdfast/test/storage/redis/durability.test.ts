// What a Redis server must give before it is opened, and what `durability` waits for: specs of reliability.md 1.1.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { findValkey } from '../../../../../servers/find.ts'
import type { RedisServer } from '../../../../../servers/redis.ts'
import type { StorageError } from '../../../src/errors.ts'
import type { RedisDurability } from '../../../src/storage/redis/redis-options.ts'
import { judge, type ServerFacts } from '../../../src/storage/redis/connection/server.ts'
import { connection, eventually, libraries, replicated, server, write } from './trial.ts'

const durable = { durable: true }

test('a server that may evict jobs is refused, unless that is accepted by name', async (t) => {
  const { url } = await server(t, { args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] })
  await assert.rejects(
    connection(t, { url }).open(),
    /maxmemory-policy is allkeys-lru.*noeviction.*allowEviction: true/,
  )
  await connection(t, { url, allowEviction: true }).open()
  const unlimited = await server(t, { args: ['--maxmemory-policy', 'allkeys-lru'] })
  await connection(t, { url: unlimited.url }).open()
})

test('a policy that changes while we are connected is a finding at the next reconnect', async (t) => {
  const { url, connect } = await server(t)
  const findings: string[] = []
  const redis = connection(t, { url, onFinding: (message) => findings.push(message) })
  await redis.open()
  const beside = await connect()
  t.after(() => beside.close())
  await beside.send('CONFIG', 'SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-random')
  await beside.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await eventually(() => redis.run(write, '{a}', ['1']))
  assert.equal(findings.length, 1)
  assert.match(findings[0]!, /allkeys-random/)
})

test('durable is what the server says, asked again at each connect', async (t) => {
  const { url, connect } = await server(t, { appendonly: 'always' })
  const redis = connection(t, { url })
  await redis.open()
  assert.equal(redis.durable, true)
  const beside = await connect()
  t.after(() => beside.close())
  await beside.send('CONFIG', 'SET', 'appendfsync', 'everysec')
  await beside.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await eventually(() => redis.run(write, '{a}', ['1']))
  assert.equal(redis.durable, false)
})

test('what may not be read counts as not given, and nothing is printed', async (t) => {
  const { port, connect } = await server(t, { appendonly: 'always' })
  const beside = await connect()
  t.after(() => beside.close())
  await beside.send('ACL', 'SETUSER', 'plain', 'on', '>secret', '~*', '&*', '+@all', '-config', '-info')
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

test('[Q4.09] full: refused without an append-only file; with one that is always synced there is nothing to wait for', async (t) => {
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

test('[Q4.09] full, synced every second: by WAITAOF, and refused by a server without it', async (t) => {
  const binary = findValkey()
  const everysec = await server(t, { appendonly: 'everysec', binary })
  const redis = connection(t, { url: everysec.url, durability: 'full' })
  if (!binary) return assert.rejects(redis.open(), /no WAITAOF .* appendfsync is everysec: set it to always/)
  await redis.open()
  assert.equal(redis.durable, true)
  await Promise.all(Array.from({ length: 50 }, (_, index) => redis.run(write, '{a}', [`${index}`], durable)))
  const waits = await calls(everysec, 'waitaof')
  assert.ok(waits >= 1 && waits <= 4, `${waits} waits`)
})

for (const { name, load } of libraries) {
  test(`${name}: replicated: answered when a replica has it, one WAIT for all that came together`, async (t) => {
    const primary = await server(t, { args: ['--repl-diskless-sync-delay', '0'] })
    const alone = connection(t, { url: primary.url, durability: 'replicated' }, load)
    await assert.rejects(alone.open(), /0 replicas in step, and `replicas` is 1/)
    const replica = await replicaOf(t, primary)
    const redis = connection(t, { url: primary.url, durability: 'replicated', replicaTimeoutMs: 2_000 }, load)
    await redis.open()
    assert.equal(redis.durable, false)
    const before = await calls(primary, 'wait')
    await Promise.all(Array.from({ length: 50 }, (_, index) => redis.run(write, `{a${index}}`, [`${index}`], durable)))
    // The script was not known: once by its hash, once as it is.
    assert.equal((await calls(primary, 'wait')) - before, 2)
    const beside = await replica.connect()
    t.after(() => beside.close())
    assert.equal(String(await beside.send('GET', '{a49}:x')), '49')

    // What does not ask for it does not wait.
    await redis.run(write, '{a}', ['free'])
    replica.kill('SIGSTOP')
    const slow = redis.run(write, '{a}', ['held'], durable)
    let isOver = false
    slow.catch(() => (isOver = true))
    await redis.run(write, '{a}', ['free'])
    assert.equal(isOver, false)
    await assert.rejects(slow, (error: StorageError) => {
      assert.match(error.message, /0 of 1 replicas had it within 2000 ms/)
      assert.deepEqual([error.maybeApplied, error.transient, error.reason], [true, true, 'not_replicated'])
      return true
    })
    replica.kill('SIGCONT')
    await eventually(() => redis.run(write, '{a}', ['2'], durable))
    assert.equal(String(await beside.send('GET', '{a}:x')), '2')

    const killer = await primary.connect()
    t.after(() => killer.close())
    await killer.send('SCRIPT', 'FLUSH')
    await killer.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await eventually(() => redis.run(write, '{a}', ['3'], durable))
    assert.equal(String(await beside.send('GET', '{a}:x')), '3')
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
const wanted = { durability: 'full', replicas: 1, replicaTimeoutMs: 1_000, allowEviction: false } as const

function judged(given: Partial<ServerFacts>, durability: RedisDurability): unknown[] {
  const { refusal, durable: isDurable, wait } = judge({ ...facts, ...given }, { ...wanted, durability })
  return refusal === undefined ? [isDurable, wait?.command, wait?.replicas] : ['refused']
}

test('what each setting of the server makes of each durability', () => {
  assert.deepEqual(judged({ appendfsync: 'always' }, 'relaxed'), [true, undefined, undefined])
  assert.deepEqual(judged({}, 'relaxed'), [false, undefined, undefined])
  assert.deepEqual(judged({ aof: false }, 'relaxed'), [false, undefined, undefined])
  assert.deepEqual(judged({ appendfsync: undefined }, 'relaxed'), [false, undefined, undefined])
  assert.deepEqual(judged({}, 'full'), [true, 'waitaof', 0])
  assert.deepEqual(judged({ appendfsync: undefined }, 'full'), [true, 'waitaof', 0])
  assert.deepEqual(judged({ version: '7.0.15' }, 'full'), ['refused'])
  assert.deepEqual(judged({ version: '7.0.15', appendfsync: 'always' }, 'full'), [true, undefined, undefined])
  assert.deepEqual(judged({ aof: false }, 'full'), ['refused'])
  assert.deepEqual(judged({ isReadable: false, version: undefined, aof: undefined }, 'full'), ['refused'])
  assert.deepEqual(judged({}, 'replicated'), [true, 'waitaof', 1])
  assert.deepEqual(judged({ aof: false }, 'replicated'), [false, 'wait', 1])
  assert.deepEqual(judged({ version: '7.0.15', appendfsync: 'always' }, 'replicated'), [true, 'wait', 1])
  assert.deepEqual(judged({ replicas: 0 }, 'replicated'), ['refused'])
  assert.deepEqual(judged({ version: '6.2.14' }, 'relaxed'), ['refused'])
  assert.deepEqual(judged({ version: '8.0.1' }, 'relaxed'), [false, undefined, undefined])
})

async function replicaOf(t: TestContext, primary: RedisServer): Promise<RedisServer> {
  const replica = await server(t, { args: ['--replicaof', `127.0.0.1 ${primary.port}`] })
  await replicated(primary)
  return replica
}

/** How often the server was asked for such commands. */
async function calls({ connect }: RedisServer, commands: string): Promise<number> {
  const beside = await connect()
  const stats = String(await beside.send('INFO', 'commandstats'))
  beside.close()
  const found = [...stats.matchAll(new RegExp(`cmdstat_(?:${commands}):calls=(\\d+)`, 'g'))]
  return found.reduce((sum, [, count]) => sum + Number(count), 0)
}
