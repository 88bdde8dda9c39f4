// The keys that the driver leaves in Redis: none that have expired, none after clear(), and none outside of its prefix.
// Timed by the server, which expires keys by itself.

import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { RedisStorage } from 'holdfast/redis'
import type { RespClient } from '../../../../../servers/resp.ts'
import { type RedisServer, startRedis } from '../../../../../servers/redis.ts'
import { until } from '../../queue/driver.ts'
import { clockKey, manualTimeScripts } from '../../redis-subject.ts'
import { bytes, claim, ended, job, keptMs, runEveryVerb } from './every-verb.ts'

let server: RedisServer
let direct: RespClient
let prefixes = 0
before(async () => {
  server = await startRedis()
  direct = await server.connect()
})
after(async () => {
  direct.close()
  await server.stop()
})

async function open(t: TestContext, prefix = `keys-${++prefixes}`): Promise<RedisStorage> {
  const storage = new RedisStorage({ url: server.url, prefix })
  await storage.connect()
  t.after(() => storage.disconnect())
  return storage
}

const keysNow = async (start = ''): Promise<string[]> =>
  ((await direct.send('KEYS', '*')) as string[]).filter((key) => key.startsWith(start)).toSorted()

test('[trap 36] [trap 38] after every verb, expiry and sweep leave two counters', async (t) => {
  const storage = await open(t, 'left')
  await runEveryVerb(storage)
  assert.ok((await keysNow('{left}:')).length > 10)
  const sweepAll = async (): Promise<string[]> => {
    while ((await storage.sweep({ limit: 5 })).more);
    return keysNow('{left}:')
  }
  await until(async () => (await sweepAll()).length <= 2, 'two keys')
  assert.deepEqual(await keysNow('{left}:'), ['{left}::kn', '{left}::n'])
})

test('records, keys and kv entries are absent for every reader once they expire, swept or not', async (t) => {
  const storage = await open(t)
  const windowMs = 2 * keptMs
  await storage.add([job('short', { deduplication: { key: 'window', mode: 'throttle', windowMs } })])
  await storage.kv.set(['entry'], bytes('value'), { ttlMs: keptMs })
  const [claimed] = await claim(storage)
  await storage.settle([ended(claimed!, 'completed')])
  const [record] = await storage.get([claimed!])
  const expiresAt = record!.expiresAt!
  assert.equal(expiresAt, record!.finishedAt! + keptMs)
  let now = 0
  while (now < expiresAt) {
    const [found] = await storage.get([claimed!])
    now = (await storage.count({})).now
    // The record was read before the time: if it had not expired by then, it must be there.
    if (now < expiresAt) assert.ok(found, `${expiresAt - now} ms early`)
  }
  assert.deepEqual(await storage.get([claimed!]), [undefined])
  assert.deepEqual((await storage.list({ of: 'jobs', limit: 10 })).items, [])
  assert.equal((await storage.count({ types: ['mail'] })).types[0]!.states.completed, 0)
  await until(async () => (await storage.kv.get(['entry'])) === undefined)
  assert.deepEqual((await storage.kv.list([], { limit: 10 })).items, [])
  // The window outlives the record. Then the key is free.
  const next = job('next', { deduplication: { key: 'window', mode: 'throttle', windowMs } })
  const start = record!.createdAt
  for (let verdict = 'duplicate'; verdict === 'duplicate';) {
    const [answer] = await storage.add([next])
    verdict = answer!.verdict
    now = (await storage.count({})).now
    if (now < start + windowMs) assert.equal(verdict, 'duplicate')
  }
  assert.ok(now >= start + windowMs)
})

test('a type without jobs is forgotten once it is not watched', async (t) => {
  const storage = new RedisStorage({ url: server.url, prefix: 'watched' }, manualTimeScripts)
  await storage.connect()
  t.after(() => storage.disconnect())
  const events: unknown[] = []
  const unlisten = await storage.listen([{ kind: 'events', type: 'mail' }], (signal) => void events.push(signal))
  assert.deepEqual((await storage.count({})).types, [])
  await storage.sweep({ limit: 10 })
  await storage.add([job('watched')])
  await until(() => events.length > 0, 'an event')
  await unlisten()
  await storage.cancel([{ type: 'mail', id: 'watched' }])
  const { now } = await storage.count({})
  await direct.send('SET', clockKey('watched'), now + 30_000)
  await storage.sweep({ limit: 10 })
  assert.ok((await keysNow('{watched}:')).includes('{watched}:mail:type'), 'another process may watch it')
  await direct.send('SET', clockKey('watched'), now + 61_000)
  await storage.sweep({ limit: 10 })
  assert.deepEqual(await keysNow('{watched}:'), ['{watched}::n'])
})

test('[trap 44] clear leaves no key, and touches no other prefix', async (t) => {
  const names = ['clear', 'clear2', 'c*', 'c?ear', '[c]lear', 'c\\lear', 'clear:x', 'cl%65ar', 'CLEAR', 'ключ']
  const storages = await Promise.all(names.map((name) => open(t, name)))
  for (const storage of storages) await runEveryVerb(storage, 3_600_000)
  // Keys of other tests may expire meanwhile, and so may those of groups: with their rates and slow-downs.
  const keysOfAll = async (): Promise<string[]> =>
    (await keysNow()).filter((key) => names.some((name) => key.startsWith(`{${name}}:`)) && !key.includes(':flow:'))
  for (const [index, storage] of storages.entries()) {
    const others = (await keysOfAll()).filter((key) => !key.startsWith(`{${names[index]}}:`))
    assert.ok((await keysNow(`{${names[index]}}:`)).length > 10)
    await storage.clear()
    assert.deepEqual(await keysNow(`{${names[index]}}:`), [])
    assert.deepEqual(await keysOfAll(), others)
    assert.deepEqual(await storage.count({}).then(({ types }) => types), [])
  }
})

test('[trap 39] [trap 44] every key begins with the prefix in braces, and no command scans all keys', async (t) => {
  const storage = await open(t, 'seen')
  const monitor = await server.connect()
  t.after(() => monitor.close())
  const lines: string[] = []
  monitor.onPush = (line) => void lines.push(String(line))
  await monitor.send('MONITOR')
  await runEveryVerb(storage)
  await storage.sweep({ limit: 1_000 })
  await direct.send('ECHO', 'the end')
  await until(() => lines.some((line) => line.includes('"the end"')), 'the last command')
  const commands = lines.filter((line) => / lua\] /.test(line)).map((line) => wordsOf(line))
  assert.ok(commands.length > 100, `${commands.length} commands`)
  for (const [name, ...args] of commands) {
    const command = name!.toUpperCase()
    assert.ok(command in keyArguments, `${command} is not in keyArguments: which of its arguments are keys?`)
    const keys = keyArguments[command]!(args)
    for (const key of keys) assert.match(key, /^\{seen\}:./, `${command} ${args.join(' ')}`)
  }
})

const first = ([key]: readonly string[]): readonly string[] => [key!]
const all = (args: readonly string[]): readonly string[] => args
const keyArguments: Readonly<Record<string, (args: readonly string[]) => readonly string[]>> = {
  TIME: () => [],
  MSET: (args) => args.filter((_, index) => index % 2 === 0),
  ...Object.fromEntries(['UNLINK', 'DEL', 'EXISTS', 'MGET'].map((name) => [name, all])),
  ...Object.fromEntries(
    'GET GETRANGE SET INCR INCRBY PERSIST PEXPIREAT PUBLISH HMGET HSET HGET HDEL HGETALL HVALS HEXISTS STRLEN SETRANGE ZREVRANGEBYSCORE SADD SREM SMEMBERS ZADD ZREM ZCARD ZCOUNT ZRANGE ZRANGEBYSCORE ZRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZPOPMIN ZSCORE ZLEXCOUNT HINCRBY RPUSH LPOP LLEN LINDEX LRANGE'
      .split(' ')
      .map((name) => [name, first]),
  ),
}

/** A line of MONITOR: `1700000000.1 [0 lua] "GET" "key"`, with escapes. */
const wordsOf = (line: string): string[] =>
  [...line.slice(line.indexOf('] ') + 2).matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word]) => word!)

test('[Q4.07] [trap 44] names with the characters that separate keys do not collide', async (t) => {
  const signs = [
    '',
    ':',
    '%',
    '%3a',
    '%25',
    'a',
    'a:',
    ':a',
    'a:job',
    'a:job:',
    'job',
    'types',
    'n',
    'kv',
    'type',
    '{x}',
    '}',
    '*',
  ]
  const storages = await Promise.all(['p', 'p:a', 'p%3aa', 'p*'].map((name) => open(t, name)))
  const jobs = signs.flatMap((type) => signs.map((id) => ({ type: `${type}`, id: id || 'none' })))
  for (const [index, storage] of storages.entries()) {
    const added = jobs.map((ref, at) =>
      job(ref.id, { ...ref, payload: bytes(`${index} ${at}`), deduplication: { key: `${ref.id}`, mode: 'simple' } }),
    )
    const verdicts = await storage.add(added)
    assert.ok(verdicts.every(({ verdict }) => verdict === 'added'))
    for (const sign of signs) await storage.kv.set(['k', sign || 'none'], bytes(`${index} ${sign}`))
  }
  for (const [index, storage] of storages.entries()) {
    const records = await storage.get(jobs, { parts: ['payload'] })
    assert.deepEqual(
      records.map((record) => Buffer.from(record!.payload!).toString()),
      jobs.map((_, at) => `${index} ${at}`),
    )
    const counts = (await storage.count({})).types.map(({ type, states }) => [type, states.queued])
    assert.deepEqual(
      counts.toSorted(([a], [b]) => (a! < b! ? -1 : 1)),
      signs.toSorted().map((type) => [type, signs.length]),
    )
    for (const sign of signs) {
      const value = await storage.kv.get(['k', sign || 'none'])
      assert.equal(Buffer.from(value!).toString(), `${index} ${sign}`)
    }
  }
})
