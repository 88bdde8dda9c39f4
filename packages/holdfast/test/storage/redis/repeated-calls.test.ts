// Calls whose reply is lost after the server applied them. A Cluster client sends such a call again by itself, so nobody is told of it; with
// one server the engine repeats it. Either way the repeat is answered as the first call, and changes nothing.

import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { RedisStorage } from 'holdfast/redis'
import type { ClaimedJob, Extension, LeaseVerdict, Storage } from 'holdfast/storage'
import { type Cluster, startCluster } from '../../../../../servers/cluster.ts'
import { type Proxy, startProxy } from '../../../../../servers/proxy.ts'
import { type RedisServer, startRedis } from '../../../../../servers/redis.ts'
import { systemClock } from '../../../src/clock.ts'
import { guardStorage } from '../../../src/engine/guard.ts'
import { until } from '../../queue/driver.ts'
import { clusterClient, type ClientName } from '../../redis-places.ts'
import { bytes, claim, job } from './every-verb.ts'

const prefix = 'repeats'

let cluster: Cluster
let proxies: readonly Proxy[]
before(async () => {
  cluster = await startCluster({ masters: 3, replicas: 3 })
  proxies = await Promise.all(cluster.nodes.map(({ port }) => startProxy(port)))
})
after(async () => {
  for (const proxy of proxies) await proxy.stop()
  await cluster.stop()
})

test('[N4] one server: an extend that is repeated after its reply was lost stores its lines once', async (t) => {
  const server = await startRedis()
  t.after(() => server.stop())
  const proxy = await startProxy(server.port)
  t.after(() => proxy.stop())
  const storage = new RedisStorage({ url: `redis://127.0.0.1:${proxy.port}`, prefix })
  await storage.connect()
  t.after(() => storage.disconnect())
  const direct = new RedisStorage({ url: `redis://127.0.0.1:${server.port}`, prefix })
  await direct.connect()
  t.after(() => direct.disconnect())
  const extension = await claimed(storage, 'single')
  const lost = extendWithoutReply(storage, extension, [proxy], direct)
  await assert.rejects(lost, { code: 'STORAGE_ERROR', transient: true, maybeApplied: true })
  const [verdict] = await storage.extend([extension])
  assert.equal(verdict!.verdict, 'extended')
  assert.deepEqual(await textsOf(storage, 'single'), ['one', 'two'])
})

for (const name of ['iovalkey', 'ioredis', 'ioredis5'] as const) {
  test(`[N4] Cluster, ${name}: the client sends an extend again, and its lines are stored once`, async (t) => {
    const storage = await opened(t, name, natMap())
    const extension = await claimed(storage, name)
    const [verdict] = await extendWithoutReply(storage, extension, proxies, await opened(t, name))
    assert.equal(verdict!.verdict, 'extended', 'the client has sent it again')
    assert.deepEqual(await textsOf(storage, name), ['one', 'two'])
  })
}

test('[N4] Cluster: a compare that the client sends again answers that it was applied', async (t) => {
  const storage = await opened(t, 'iovalkey', natMap())
  const direct = await opened(t, 'iovalkey')
  const valueOf = async (key: string[]): Promise<string | undefined> => {
    const value = await direct.kv.get(key)
    return value && Buffer.from(value).toString()
  }
  // Its script is on the server then, as in extendWithoutReply().
  await storage.kv.set(['other'], bytes('1'))
  let attempts = 0
  const compare = async (): Promise<boolean> => {
    const key = ['owner', String(attempts++)]
    const first = await withoutReply(
      () => storage.kv.setIfAbsent(key, bytes('one')),
      async () => (await valueOf(key)) === 'one',
    )
    assert.equal(first.answer, true)
    const second = await withoutReply(
      () => storage.kv.cas(key, bytes('one'), bytes('two')),
      async () => (await valueOf(key)) === 'two',
    )
    assert.equal(second.answer, true)
    assert.equal(await storage.kv.setIfAbsent(key, bytes('three')), false, 'another call')
    assert.equal(await storage.kv.cas(key, bytes('one'), bytes('two')), false, 'another call with the same values')
    assert.equal(await valueOf(key), 'two')
    return first.wasLost && second.wasLost
  }
  // On a busy machine a connection may still be new when replies are dropped. Then the call waits for it, and its own reply arrives.
  await until(compare, 'a loss of both replies', 60_000)
})

/** Makes a call with a reply that is dropped, and cuts the connections once it was applied, or after 5 s. */
async function withoutReply<Answer>(
  call: () => Promise<Answer>,
  isApplied: () => Promise<boolean>,
): Promise<{ answer: Answer; wasLost: boolean }> {
  for (const proxy of proxies) proxy.swallowReplies(true)
  const answer = call()
  answer.catch(() => {})
  let wasLost = true
  try {
    await until(isApplied, 'its effect', 5_000)
  } catch {
    wasLost = false
  } finally {
    for (const proxy of proxies) {
      proxy.cut()
      proxy.swallowReplies(false)
    }
  }
  return { answer: await answer, wasLost }
}

test('[N4] Cluster: the primary dies before its reply, and the promoted replica is sent the call again', async (t) => {
  const opening = await opened(t, 'iovalkey', natMap())
  // The engine bounds a call in time, and repeats it once the client gives up: it may do so before the promotion.
  const guarded = guardStorage(opening, systemClock, () => {})
  const extension = await claimed(opening, 'failover')
  const primary = await cluster.masterOf(`{${prefix}}`)
  const direct = await opened(t, 'iovalkey')
  const lost = extendWithoutReply(guarded, extension, proxies, direct, async () => {
    await until(async () => (await replicaOffset(primary)) === (await offset(primary)), 'the replica')
    await cluster.failover(primary, 'kill')
  })
  await lost.catch(() => {})
  await until(async () => {
    const verdicts = await guarded.extend([extension]).catch(() => [])
    return verdicts[0]?.verdict === 'extended'
  }, 'an answer of the promoted replica')
  assert.notEqual(await cluster.masterOf(`{${prefix}}`), primary)
  assert.deepEqual(await textsOf(guarded, 'failover'), ['one', 'two'])
})

/** So that a client talks to the nodes through the proxies. */
const natMap = (): object =>
  Object.fromEntries(
    cluster.nodes.map(({ host, port }, index) => [`${host}:${port}`, { host, port: proxies[index]!.port }]),
  )

async function opened(t: TestContext, name: ClientName, through?: object): Promise<RedisStorage> {
  const client = await clusterClient(name, cluster, through && { natMap: through })
  t.after(() => client.disconnect())
  const storage = new RedisStorage({ client, prefix })
  await storage.connect()
  t.after(() => storage.disconnect())
  return storage
}

/** The extension of a new job that is running, with two lines. The server has its script already: its reply would be the first. */
async function claimed(storage: RedisStorage, id: string): Promise<Extension> {
  await storage.add([job(id, {}, 60_000)])
  const { type, worker, attempt } = (await claim(storage)).find((other): other is ClaimedJob => other.id === id)!
  await storage.extend([{ type, id, worker, attempt, leaseMs: 30_000 }])
  const log = ['one', 'two'].map((text, index) => ({ at: 1_000 + index, line: bytes(text) }))
  return { type, id, worker, attempt, leaseMs: 30_000, log }
}

/** Extends, with a reply that is dropped, and cuts the connection once it was applied. @param direct a storage beside the proxies */
async function extendWithoutReply(
  storage: Pick<Storage, 'extend'>,
  extension: Extension,
  through: readonly Proxy[],
  direct: RedisStorage,
  onApplied?: () => Promise<void>,
): Promise<LeaseVerdict[]> {
  for (const proxy of through) proxy.swallowReplies(true)
  const answer = storage.extend([extension])
  answer.catch(() => {})
  await until(async () => (await textsOf(direct, extension.id)).length > 0, 'its lines')
  await onApplied?.()
  for (const proxy of through) {
    proxy.cut()
    proxy.swallowReplies(false)
  }
  return answer
}

async function textsOf(storage: Pick<Storage, 'get'>, id: string): Promise<string[]> {
  const [record] = await storage.get([{ type: 'mail', id }], { parts: ['log'] })
  return record!.log!.lines.map(({ line }) => Buffer.from(line).toString())
}

const field = (info: string, name: string): number => Number(new RegExp(`${name}[:=](\\d+)`).exec(info)?.[1] ?? -1)
const offset = async (primary: RedisServer): Promise<number> => field(await replication(primary), 'master_repl_offset')
const replicaOffset = async (primary: RedisServer): Promise<number> => field(await replication(primary), ',offset')

async function replication(server: RedisServer): Promise<string> {
  const client = await server.connect()
  try {
    return String(await client.send('INFO', 'replication'))
  } finally {
    client.close()
  }
}
