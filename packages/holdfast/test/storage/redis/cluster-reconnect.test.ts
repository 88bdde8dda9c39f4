// A Cluster client that reconnects while it still asks the nodes of the lost connections for the slots. Of iovalkey, it asks no other node then,
// and stays at 'connecting' for ever once those have failed: the driver makes it connect again.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { RedisStorage } from 'holdfast/redis'
import { type Cluster, startCluster } from '../../../../../servers/cluster.ts'
import { type Proxy, startProxy } from '../../../../../servers/proxy.ts'
import { systemClock } from '../../../src/clock.ts'
import { guardStorage } from '../../../src/engine/guard.ts'
import type { RedisClient } from '../../../src/storage/redis/connection/client.ts'
import { until } from '../../queue/driver.ts'
import { clusterClient } from '../../redis-places.ts'

/** What the libraries have beside what the driver uses. */
type Refreshing = RedisClient & NodeJS.EventEmitter & { readonly isRefreshing: boolean; refreshSlotsCache(): void }

let cluster: Cluster
let proxies: readonly Proxy[]
before(async () => {
  cluster = await startCluster({ masters: 3, replicas: 0 })
  proxies = await Promise.all(cluster.nodes.map(({ port }) => startProxy(port)))
})
after(async () => {
  for (const proxy of proxies) await proxy.stop()
  await cluster.stop()
})

for (const name of ['iovalkey', 'ioredis', 'ioredis5'] as const) {
  test(`Cluster, ${name}: a client that loses its connections while it asks for the slots connects again`, async (t) => {
    const natMap = Object.fromEntries(
      cluster.nodes.map(({ host, port }, index) => [`${host}:${port}`, { host, port: proxies[index]!.port }]),
    )
    const client = (await clusterClient(name, cluster, { natMap })) as Refreshing
    t.after(() => client.disconnect())
    const storage = new RedisStorage({ client, prefix: name })
    await storage.connect()
    t.after(() => storage.disconnect())
    const guarded = guardStorage(storage, systemClock, () => {})
    await guarded.count({})

    // It asks nodes that are silent, and loses its connections meanwhile.
    for (const proxy of proxies) proxy.halfOpen(true)
    client.refreshSlotsCache()
    const connecting = once(client, 'connecting')
    for (const proxy of proxies) proxy.cut()
    await connecting
    assert.ok(client.isRefreshing, 'it still asks the nodes of the lost connections')
    await Promise.all(proxies.map((proxy) => proxy.refuse(true)))
    for (const proxy of proxies) proxy.cut()
    await until(() => !client.isRefreshing, 'the last of them')
    for (const proxy of proxies) proxy.halfOpen(false)
    await Promise.all(proxies.map((proxy) => proxy.refuse(false)))
    if (name === 'iovalkey') assert.equal(client.status, 'connecting', 'it waits for nothing')

    const isAnswered = (): Promise<boolean> =>
      guarded.count({}).then(
        () => true,
        () => false,
      )
    const from = performance.now()
    await until(isAnswered, 'an answer', 12_000)
    t.diagnostic(`answered after ${Math.round(performance.now() - from)} ms`)
  })
}
