// A real cluster: slots spread over masters, replicas with the data, and both kinds of failover.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { type Cluster, startCluster } from './cluster.ts'
import type { RedisServer } from './redis.ts'
import { parseInfo, type Reply } from './resp.ts'

test('three masters and three replicas: form, planned failover, failover after a kill', async (t) => {
  const cluster = await startCluster()
  t.after(() => cluster.stop())
  const { nodes } = cluster

  await t.test('every node serves all slots and every master has one linked replica', async () => {
    assert.deepEqual(await cluster.masters(), nodes.slice(0, 3))
    for (const node of nodes) {
      const info = parseInfo(await ask(node, 'CLUSTER', 'INFO'))
      assert.deepEqual(
        ['cluster_state', 'cluster_slots_ok', 'cluster_known_nodes', 'cluster_size'].map((name) => info.get(name)),
        ['ok', '16384', '6', '3'],
      )
    }
    for (const [index, master] of nodes.slice(0, 3).entries()) {
      assert.deepEqual(await cluster.replicasOf(master), [nodes[index + 3]])
      assert.equal(parseInfo(await ask(master, 'INFO', 'replication')).get('connected_slaves'), '1')
    }
  })

  await t.test('a key is on the master of its slot, and the other nodes redirect to it', async () => {
    const master = await cluster.masterOf('key')
    const [other] = (await cluster.masters()).filter((node) => node !== master)
    assert.equal(await ask(master, 'SET', 'key', 'value'), 'OK')
    await assert.rejects(ask(other!, 'GET', 'key'), new RegExp(`MOVED \\d+ 127\\.0\\.0\\.1:${master.port}`))
  })

  await t.test(
    'planned failover: the replica takes over with the data, and the old master replicates from it',
    async () => {
      const old = await cluster.masterOf('key')
      const [replica] = await cluster.replicasOf(old)
      assert.equal(await cluster.failover(old, 'planned'), replica)
      assert.equal(await cluster.masterOf('key'), replica)
      assert.equal(await ask(replica!, 'GET', 'key'), 'value')
      assert.deepEqual(await cluster.replicasOf(replica!), [old])
    },
  )

  await t.test(
    'failover after a kill: the other nodes elect a master, and the killed node restarts as a replica',
    async () => {
      const old = await cluster.masterOf('key')
      const successor = await cluster.failover(old, 'kill')
      assert.equal(old.running, false)
      assert.equal(await ask(successor, 'GET', 'key'), 'value')
      await assert.rejects(cluster.failover(successor, 'kill'), /no running replica/)
      await old.restart()
      await cluster.agreed()
      assert.deepEqual(await cluster.replicasOf(successor), [old])
    },
  )

  await cluster.stop()
  assert.ok(nodes.every((node) => !node.running && !existsSync(node.directory)))
})

test('one node in cluster mode owns all slots', async (t) => {
  const cluster: Cluster = await startCluster({ masters: 1, replicas: 0 })
  t.after(() => cluster.stop())
  const [node] = cluster.nodes
  assert.equal(cluster.nodes.length, 1)
  assert.equal(parseInfo(await ask(node!, 'CLUSTER', 'INFO')).get('cluster_slots_ok'), '16384')
  const [[, , [host, port]]] = (await ask(node!, 'CLUSTER', 'SLOTS')) as [[number, number, [string, number]]]
  assert.deepEqual([host, port], [node!.host, node!.port], 'the redirect has the address of the node')
  assert.equal(await ask(node!, 'SET', 'a', '1'), 'OK')
  await assert.rejects(ask(node!, 'MGET', 'a', 'b'), /CROSSSLOT/)
})

async function ask(server: RedisServer, ...words: string[]): Promise<Reply> {
  const client = await server.connect()
  try {
    return await client.send(...words)
  } finally {
    client.close()
  }
}
