// What the driver keeps in Redis, and what it leaves there: nothing that has expired, nothing after clear(), and nothing
// outside of its prefix. Timed by the server, which lets keys expire by itself.

import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import type { Storage } from 'holdfast'
import type { ClaimedJob, NewJob, Outcome } from 'holdfast/storage'
import { RedisStorage } from 'holdfast/redis'
import type { RespClient } from '../../../../../servers/resp.ts'
import { type RedisServer, startRedis } from '../../../../../servers/redis.ts'
import { until } from '../../queue/driver.ts'
import { clockKey, manualTimeScripts } from '../../redis-subject.ts'

const keptMs = 150
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const large = new Uint8Array(10_000).fill(7)

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

test('[trap 36] [trap 38] when all has expired and is swept, two counters are left, whatever was done', async (t) => {
  const storage = await open(t, 'left')
  await everything(storage)
  assert.ok((await keysNow('{left}:')).length > 10)
  const sweepAll = async (): Promise<string[]> => {
    while ((await storage.sweep({ limit: 5 })).more);
    return keysNow('{left}:')
  }
  await until(async () => (await sweepAll()).length <= 2, 'the end of all')
  assert.deepEqual(await keysNow('{left}:'), ['{left}::kn', '{left}::n'])
})

test('records, keys and kv entries are gone for every reader at their time, swept or not', async (t) => {
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
    // Read before the time was asked for: if it was not over then, the record was there.
    if (now < expiresAt) assert.ok(found, `${expiresAt - now} ms early`)
  }
  assert.deepEqual(await storage.get([claimed!]), [undefined])
  assert.deepEqual((await storage.list({ of: 'jobs', limit: 10 })).items, [])
  assert.equal((await storage.count({ types: ['mail'] })).types[0]!.states.completed, 0)
  await until(async () => (await storage.kv.get(['entry'])) === undefined)
  assert.deepEqual((await storage.kv.list([], { limit: 10 })).items, [])
  // The window outlives the record, and then it is free.
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

test('a type that somebody watches is forgotten when nobody does, and has no jobs', async (t) => {
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
  assert.ok((await keysNow('{watched}:')).includes('{watched}:mail:type'), 'somebody else may watch it')
  await direct.send('SET', clockKey('watched'), now + 61_000)
  await storage.sweep({ limit: 10 })
  assert.deepEqual(await keysNow('{watched}:'), ['{watched}::n'])
})

test('[trap 44] clear leaves no key, and touches no other prefix', async (t) => {
  const names = ['clear', 'clear2', 'c*', 'c?ear', '[c]lear', 'c\\lear', 'clear:x', 'cl%65ar', 'CLEAR', 'ключ']
  const storages = await Promise.all(names.map((name) => open(t, name)))
  for (const storage of storages) await everything(storage, 3_600_000)
  // What other tests have left may expire meanwhile.
  const keysOfAll = async (): Promise<string[]> =>
    (await keysNow()).filter((key) => names.some((name) => key.startsWith(`{${name}}:`)))
  for (const [index, storage] of storages.entries()) {
    const others = (await keysOfAll()).filter((key) => !key.startsWith(`{${names[index]}}:`))
    assert.ok((await keysNow(`{${names[index]}}:`)).length > 10)
    await storage.clear()
    assert.deepEqual(await keysNow(`{${names[index]}}:`), [])
    assert.deepEqual(await keysOfAll(), others)
    assert.deepEqual(await storage.count({}).then(({ types }) => types), [])
  }
})

test('[trap 39] [trap 44] every key begins with the prefix in braces, and no command looks through all keys', async (t) => {
  const storage = await open(t, 'seen')
  const monitor = await server.connect()
  t.after(() => monitor.close())
  const lines: string[] = []
  monitor.onPush = (line) => void lines.push(String(line))
  await monitor.send('MONITOR')
  await everything(storage)
  await storage.sweep({ limit: 1_000 })
  await direct.send('ECHO', 'the end')
  await until(() => lines.some((line) => line.includes('"the end"')), 'the last line')
  const commands = lines.filter((line) => / lua\] /.test(line)).map((line) => wordsOf(line))
  assert.ok(commands.length > 100, `${commands.length} commands`)
  for (const [name, ...args] of commands) {
    const command = name!.toUpperCase()
    assert.ok(command in keyArguments, `${command} is not known here: which of its arguments are keys?`)
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
    'GET SET INCR INCRBY PERSIST PEXPIREAT PUBLISH HMGET HSET HGET HDEL HGETALL SADD SREM SMEMBERS ZADD ZREM ZCARD ZCOUNT ZRANGE ZRANGEBYSCORE ZRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZPOPMIN ZSCAN ZSCORE'
      .split(' ')
      .map((name) => [name, first]),
  ),
}

/** `1700000000.1 [0 lua] "GET" "key"`, with what cannot be printed escaped. */
const wordsOf = (line: string): string[] =>
  [...line.slice(line.indexOf('] ') + 2).matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word]) => word!)

test('[Q4.07] [trap 44] names with the signs that keys are made of do not meet', async (t) => {
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

// ── steps ────────────────────────────────────────────────────────────────────────────────────────────────────────────

let tokens = 0
const job = (id: string, fields: Partial<NewJob> = {}, ms = keptMs): NewJob => ({
  type: 'mail',
  id,
  token: `token-${++tokens}`,
  retention: { completedMs: ms, failedMs: ms, cancelledMs: ms },
  maxAttempts: 2,
  ...fields,
})

const claim = async (storage: Storage, slots = 100): Promise<readonly ClaimedJob[]> => {
  const types = ['mail', 'a:b', '%'].map((type) => ({ type, leaseMs: 30_000 }))
  return (await storage.claim({ worker: `worker-${++tokens}`, label: 'somebody', slots, types })).jobs
}

const ended = ({ type, id, worker, attempt }: ClaimedJob, kind: 'completed' | 'failed'): Outcome => {
  const lease = { type, id, worker, attempt }
  if (kind === 'completed') return { ...lease, kind, result: bytes('result') }
  return { ...lease, kind, error: bytes('error') }
}

/** Every verb, and every kind of thing that a job can have or be; at the end all jobs have ended. */
async function everything(storage: Storage, ms = 1_500): Promise<void> {
  const make = (id: string, fields?: Partial<NewJob>): NewJob => job(id, fields, ms)
  const group = { key: 'g:1', ordered: true } as const
  const windowMs = ms
  await storage.kv.set(['a', 'b'], bytes('1'), { ttlMs: ms })
  await storage.kv.set(['a', 'c'], large, ms < 10_000 ? { ttlMs: ms } : undefined)
  await storage.kv.cas(['a', 'b'], bytes('1'), bytes('2'), { ttlMs: ms })
  await storage.kv.setIfAbsent(['gone'], bytes('1'))
  await storage.kv.delete(['gone'])
  await storage.kv.list(['a'], { limit: 10 })
  await storage.pause({ type: 'mail', paused: true, by: 'me' })
  await storage.pause({ type: 'mail', group: 'g:1', paused: true, by: 'me' })
  await storage.add([
    make('plain'),
    make('large', { payload: large, trace: 'trace' }),
    make('high', { priority: 7 }),
    make('low', { priority: -7, type: 'a:b' }),
    make('odd', { type: '%', payload: new Uint8Array() }),
    make('first', { group }),
    make('second', { group }),
    make('later', { delayMs: 3_600_000 }),
    make('later in group', { delayMs: 3_600_000, group: { key: 'later', ordered: true } }),
  ])
  await storage.add([
    make('simple', { deduplication: { key: 'k1', mode: 'simple' } }),
    make('simple window', { deduplication: { key: 'k2', mode: 'simple', windowMs } }),
    make('throttle', { deduplication: { key: 'k3', mode: 'throttle' } }),
    make('throttle window', { deduplication: { key: 'k4', mode: 'throttle', windowMs } }),
  ])
  const shared = { key: 'k5', mode: 'throttle', windowMs, shared: true } as const
  await storage.add(['one', 'two'].map((id) => make(id, { token: 'both', deduplication: shared })))
  await storage.add([
    make('top', { token: 'tree', blockers: [1, 2] }),
    make('under', { token: 'tree', type: 'a:b' }),
    make('also under', { token: 'tree', payload: large }),
    make('waiting', { token: 'tree', blockers: [4], onBlockerFailure: 'wait' }),
    make('to fail', { token: 'tree' }),
    make('fails with it', { token: 'tree', blockers: [{ type: 'mail', id: 'plain' }] }),
  ])
  const paused = await storage.claim({ worker: 'too early', slots: 1, types: [{ type: 'mail', leaseMs: 1_000 }] })
  assert.deepEqual(paused.jobs, [])
  await storage.pause({ type: 'mail', paused: false })
  await storage.pause({ type: 'mail', group: 'g:1', paused: false })
  await storage.nextDueAt([{ type: 'mail', leaseMs: 1_000 }])
  await storage.list({ of: 'chains', limit: 5 })
  // Some fail once, some for good, some go on as a chain, one is snoozed with another payload, one is taken back.
  let turn = 0
  for (let jobs = await claim(storage, 3); jobs.length > 0; jobs = await claim(storage, 3)) {
    await storage.extend(jobs.map(({ type, id, worker, attempt }) => ({ type, id, worker, attempt, leaseMs: 30_000 })))
    const outcomes = jobs.map((each): Outcome => {
      const lease = { type: each.type, id: each.id, worker: each.worker, attempt: each.attempt }
      if (each.id === 'to fail' || each.id === 'plain') return ended(each, 'failed')
      if (each.attempt > 1 || each.chainIndex > 0) return ended(each, 'completed')
      switch (turn++ % 5) {
        case 0:
          return { ...lease, kind: 'retry', error: bytes('once more') }
        case 1:
          return { ...lease, kind: 'released', payload: large }
        case 2:
          return { ...lease, kind: 'continued', next: make(`after ${each.id}`, { payload: large }) }
        case 3:
          return { ...lease, kind: 'completed', add: [make(`added by ${each.id}`)] }
        default:
          return ended(each, 'completed')
      }
    })
    await storage.settle(outcomes)
  }
  await storage.revive([{ type: 'mail', id: 'to fail' }])
  const [revived] = await claim(storage)
  await storage.settle([ended(revived!, 'completed')])
  const [unblocked] = await claim(storage)
  assert.equal(unblocked!.id, 'waiting')
  await storage.extend([{ ...unblocked!, leaseMs: 0 }])
  await storage.recover({ types: ['mail'], limit: 10 })
  const [again] = await claim(storage)
  await storage.cancel([again!], { force: true, reason: 'enough' })
  await storage.cancel([{ type: 'mail', id: 'later' }])
  await storage.remove([{ type: 'mail', id: 'later in group' }], { trees: true })
  const { types } = await storage.count({})
  const live = types.flatMap(({ states }) => [
    states.queued,
    states.scheduled,
    states.blocked,
    states.processing,
    states.failing,
  ])
  assert.deepEqual(
    live.filter((number) => number > 0),
    [],
    'all have ended',
  )
}
