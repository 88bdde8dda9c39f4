// A client of the user: a Redis or a Cluster of each library is used as it is, and stays open.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as ioredis from 'ioredis'
import * as ioredis5 from 'ioredis5'
import * as iovalkey from 'iovalkey'
import { takeOver } from '../../../../../servers/cluster.ts'
import { startProxy } from '../../../../../servers/proxy.ts'
import type { RedisServer } from '../../../../../servers/redis.ts'
import type { RedisClient } from '../../../src/storage/redis/connection/client.ts'
import { isFull } from '../../full-size.ts'
import { connection, eventually, replicated, scriptOf, server, until, write } from './connection-fixture.ts'

interface Library {
  readonly name: string
  /** With the library's own defaults. */
  alone(port: number): RedisClient & { quit(): Promise<unknown> }
  cluster(port: number): RedisClient & { quit(): Promise<unknown> }
}

const at = (port: number): { host: string; port: number } => ({ host: '127.0.0.1', port })

const libraries: readonly Library[] = [
  {
    name: 'iovalkey',
    alone: (port) => new iovalkey.Redis(port),
    cluster: (port) => new iovalkey.Cluster([at(port)]),
  },
  { name: 'ioredis 6', alone: (port) => new ioredis.Redis(port), cluster: (port) => new ioredis.Cluster([at(port)]) },
  {
    name: 'ioredis 5',
    alone: (port) => new ioredis5.Redis(port),
    cluster: (port) => new ioredis5.Cluster([at(port)]),
  },
]

// `npm run test:all` has the version before, too.
for (const { name, alone, cluster } of isFull ? libraries : libraries.slice(0, 2)) {
  test(`${name}: a client of the user is used, recovers after a restart, and stays open`, async (t) => {
    const redisServer = await server(t)
    const client = alone(redisServer.port)
    t.after(() => client.disconnect())
    const redis = connection(t, { client })
    await redis.open()
    let gaps = 0
    const received: string[] = []
    await redis.listen(
      ['{a}:messages'],
      (_, message) => received.push(message.toString()),
      () => gaps++,
    )
    assert.deepEqual(await redis.run(write, '{a}', ['1']), Buffer.from('1'))
    assert.equal(await connections(redisServer), 2)
    await redisServer.restart()
    await eventually(() => redis.run(write, '{a}', ['2']))
    await until(() => gaps === 1)
    await redis.run(write, '{a}', ['3'])
    await until(() => received.includes('3'))
    await redis.close()
    await until(async () => (await connections(redisServer)) === 1)
    assert.equal(String(await client.callBuffer('get', ['{a}:x'])), '3')
    assert.equal((client as unknown as NodeJS.EventEmitter).listenerCount('error'), 0)
    // It may be used again.
    await redis.open()
    await redis.run(write, '{a}', ['4'])
  })

  test(`${name}: a client without a server is refused, and nothing is printed`, async (t) => {
    const redisServer = await server(t)
    redisServer.kill('SIGKILL')
    await redisServer.exited
    const printed = t.mock.method(console, 'error', () => {})
    const client = alone(redisServer.port)
    const redis = connection(t, { client })
    await assert.rejects(redis.open(), /^StorageError: Redis at .*: cannot connect \(.*ECONNREFUSED/)
    client.disconnect()
    await until(() => client.status === 'end')
    await assert.rejects(redis.open(), /the client was closed/)
    assert.equal(printed.mock.callCount(), 0)
  })

  test(`${name}: a client that hangs is made to reconnect`, async (t) => {
    const { port } = await server(t)
    const proxy = await startProxy(port)
    t.after(() => proxy.stop())
    const client = alone(proxy.port)
    t.after(() => client.disconnect())
    const redis = connection(t, { client })
    await redis.open()
    await redis.run(write, '{a}', ['1'])
    proxy.halfOpen(true)
    const held = redis.run(write, '{a}', ['2'])
    await until(() => client.status !== 'ready', 4_000)
    proxy.halfOpen(false)
    // The library resends it by itself.
    assert.deepEqual(await held, Buffer.from('2'))
    // Also if no call was made before the new connection hung.
    proxy.halfOpen(true)
    client.disconnect(true)
    await until(() => client.status === 'connect', 4_000)
    proxy.halfOpen(false)
    await eventually(() => redis.run(write, '{a}', ['3']), 8_000)
  })

  test(`${name}: a Cluster waits for the replicas of the node that wrote, and follows a failover`, async (t) => {
    const [primary, replica] = await startPair(await node(t), await node(t))
    const client = cluster(primary.port)
    t.after(() => client.disconnect())
    const redis = connection(t, { client, durability: 'replicated', replicaTimeoutMs: 1_500 })
    await redis.open()
    const tags = Array.from({ length: 20 }, (_, index) => `{t${index}}`)
    await Promise.all(tags.map((tag) => redis.run(write, tag, [tag], { durable: true })))
    assert.equal(await size(replica), 20)
    replica.kill('SIGSTOP')
    const late = redis.run(write, '{t1}', ['2'], { durable: true })
    await assert.rejects(late, { reason: 'not_replicated', maybeApplied: true })
    replica.kill('SIGCONT')
    await eventually(() => redis.run(write, '{t1}', ['3'], { durable: true }))

    await takeOver(replica)
    const inspector = await replica.connect()
    await eventually(() => redis.run(write, '{t2}', ['4']))
    assert.equal(String(await inspector.send('GET', '{t2}:x')), '4')
    inspector.close()
    // A node that hangs for a while.
    replica.kill('SIGSTOP')
    const held = redis.run(write, '{t2}', ['5']).catch(() => {})
    setTimeout(() => replica.kill('SIGCONT'), 3_500)
    await held
    await eventually(() => redis.run(write, '{t2}', ['6']))
  })

  test(`${name}: a Cluster routes by key, listens, deletes on all nodes, and recovers after a restart of each node`, async (t) => {
    const nodes = await startCluster(await Promise.all([node(t), node(t), node(t)]))
    const client = cluster(nodes[0]!.port)
    t.after(() => client.disconnect())
    const redis = connection(t, { client })
    await redis.open()
    const tags = Array.from({ length: 30 }, (_, index) => `{t${index}}`)
    let gaps = 0
    const received = new Set<string>()
    await redis.listen(
      tags.map((tag) => `${tag}:messages`),
      (channel) => received.add(channel),
      () => gaps++,
    )
    await Promise.all(tags.map((tag) => redis.run(write, tag, [tag])))
    const sizes = await Promise.all(nodes.map(size))
    assert.equal(sizes[0]! + sizes[1]! + sizes[2]!, 30)
    assert.ok(sizes.every((keys) => keys > 0))
    // The nodes of a new cluster may not all know each other: messages of one can be lost at first.
    await until(async () => {
      await Promise.all(tags.map((tag) => redis.run(write, tag, [tag])))
      return received.size === 30
    })

    const broken = redis.run(scriptOf("#!lua\nreturn redis.call('GET', '{elsewhere}')"), '{t1}', [])
    await assert.rejects(broken, { code: 'STORAGE_ERROR' })

    for (const one of nodes) await one.restart()
    await Promise.all(tags.map((tag) => eventually(() => redis.run(write, tag, ['2']), 30_000)))
    await until(() => gaps > 0)
    received.clear()
    await until(async () => {
      await Promise.all(tags.map((tag) => redis.run(write, tag, ['3'])))
      return received.size === 30
    }, 30_000)
    await redis.deleteAll('{t')
    assert.deepEqual(await Promise.all(nodes.map(size)), [0, 0, 0])
  })
}

test('a hanging connection for messages is detected while all calls are answered', async (t) => {
  const { port } = await server(t)
  const proxy = await startProxy(port)
  t.after(() => proxy.stop())
  const client = new iovalkey.Redis(port)
  t.after(() => client.disconnect())
  // Only duplicates connect through the proxy.
  client.duplicate = (overrides) => new iovalkey.Redis({ ...client.options, ...overrides, port: proxy.port })
  const redis = connection(t, { client })
  await redis.open()
  let gaps = 0
  await redis.listen(
    ['{a}:messages'],
    () => {},
    () => gaps++,
  )
  proxy.halfOpen(true)
  const { connections: before } = proxy.counts
  const calling = setInterval(() => void redis.run(write, '{a}', ['0']), 200)
  t.after(() => clearInterval(calling))
  await until(() => proxy.counts.connections > before, 9_000)
  clearInterval(calling)
  proxy.halfOpen(false)
  await until(() => gaps === 1, 30_000)
  await redis.run(write, '{a}', ['1'])
})

async function connections({ connect }: RedisServer): Promise<number> {
  const inspector = await connect()
  const list = String(await inspector.send('CLIENT', 'LIST'))
  inspector.close()
  return list.split('\n').filter((line) => line !== '' && !line.includes('cmd=client|list')).length
}

async function size({ connect }: RedisServer): Promise<number> {
  const inspector = await connect()
  const keys = Number(await inspector.send('DBSIZE'))
  inspector.close()
  return keys
}

const promptSync = ['--repl-diskless-sync-delay', '0']

const node = (t: Parameters<typeof server>[0]): Promise<RedisServer> =>
  server(t, {
    args: ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', '--cluster-port', '0', ...promptSync],
  })

/** A primary of all slots, and its replica. */
async function startPair(primary: RedisServer, replica: RedisServer): Promise<[RedisServer, RedisServer]> {
  const [first, second] = [await primary.connect(), await replica.connect()]
  await first.send('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await second.send('CLUSTER', 'MEET', '127.0.0.1', String(primary.port))
  const id = String(await first.send('CLUSTER', 'MYID'))
  await until(async () => String(await second.send('CLUSTER', 'NODES')).includes(id), 30_000)
  await second.send('CLUSTER', 'REPLICATE', id)
  await until(async () => String(await first.send('CLUSTER', 'INFO')).includes('cluster_state:ok'), 30_000)
  await replicated(primary)
  await until(async () => String(await first.send('CLUSTER', 'SLOTS')).includes(String(replica.port)), 30_000)
  first.close()
  second.close()
  return [primary, replica]
}

/** Three primaries with a third of the slots each. */
async function startCluster(nodes: readonly RedisServer[]): Promise<readonly RedisServer[]> {
  const ranges = [
    ['0', '5460'],
    ['5461', '10922'],
    ['10923', '16383'],
  ]
  const inspectors = await Promise.all(nodes.map((one) => one.connect()))
  for (const [index, inspector] of inspectors.entries()) {
    await inspector.send('CLUSTER', 'ADDSLOTSRANGE', ...ranges[index]!)
    await inspector.send('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1))
  }
  for (const { port } of nodes.slice(1)) await inspectors[0]!.send('CLUSTER', 'MEET', '127.0.0.1', String(port))
  await until(async () => {
    const infos = await Promise.all(inspectors.map((inspector) => inspector.send('CLUSTER', 'INFO')))
    return infos.every((info) => /cluster_state:ok[^]*cluster_known_nodes:3/.test(String(info)))
  }, 30_000)
  for (const inspector of inspectors) inspector.close()
  return nodes
}
