// The slots of peers: a delivery is a job in the group of its peer. The engine counts the jobs of a group, and gives groups their turns.

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { createAdmin } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'
import { DELIVERY_QUEUE_NAME } from '../../src/jobs.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { type Bench, bench, deliveryType, until } from '../seed/bench.ts'
import { type TestPeer, World } from '../seed/world.ts'
import type { PolicyOptions } from '../../src/resolve-policies.ts'

const world = await new World().start()
after(() => world.stop())

async function start(t: TestContext, policies: PolicyOptions = {}): Promise<Bench> {
  const storage = new SqliteStorage({ path: ':memory:' })
  const place = {
    name: 'sqlite',
    open: async () => ({ storage, store: sqliteStore({ storage }), close: async () => {} }),
  }
  return bench(t, place, world, { policies })
}

async function enqueue(it: Bench, peer: TestPeer, count: number): Promise<string[]> {
  const jobs = await Promise.all(Array.from({ length: count }, () => it.delivery(peer, { hasRow: false })))
  for (const { name, data } of jobs) await it.federation.deliveryQueue.add(name, data)
  return jobs.map(({ id }) => id)
}

/** The limit of deliveries to this peer that is in force. */
async function limitOf(it: Bench, { origin }: TestPeer): Promise<number | undefined> {
  const { groups } = await it.federation.deliveryQueue.queue.limits({ groups: [origin] })
  return groups.find(({ group }) => group === origin)?.effective.limit
}

test('a delivery is in the group of its peer, however its URL is written; one that names no server has none', async (t) => {
  const it = await start(t)
  const { deliveryQueue } = it.federation
  const data = { targetUrl: 'x', payload: 'x' }
  const urls = { plain: 'http://a.test', port: 'http://A.test:80/', none: 'nowhere' }
  for (const [id, serverUrl] of Object.entries(urls)) {
    await deliveryQueue.add('deliver-follow', { deliveryJobId: id, serverUrl, ...data })
  }
  const own = { deliveryJobId: 'own', serverUrl: urls.plain, ...data }
  await deliveryQueue.add('deliver-follow', own, { group: { key: 'in order', ordered: true } })
  const ids = [...Object.keys(urls), 'own']
  const records = await it.storage.get(ids.map((id) => ({ type: deliveryType, id })))
  assert.deepEqual(
    records.map((record) => record?.group),
    ['http://a.test', 'http://a.test', undefined, 'in order'],
  )
})

test('a peer that never answers takes four of ten slots; the deliveries of others pass it', async (t) => {
  const it = await start(t)
  const [silent, other] = [await it.peer(), await it.peer()]
  silent.mode = 'silent'
  await it.federation.start()
  await enqueue(it, silent, 20)
  await until(() => silent.received.length === 4, 'its slots are taken')
  await enqueue(it, other, 20)
  await until(() => other.delivered.length === 20, 'the others are delivered')
  assert.equal(silent.received.length, 4)
})

test('groups take turns: one delivery behind a hundred to another peer is among the first', async (t) => {
  const it = await start(t, { delivery: { concurrency: 1 } })
  const [busy, quiet] = [await it.peer(), await it.peer()]
  await enqueue(it, busy, 100)
  await enqueue(it, quiet, 1)
  let before: number | undefined
  quiet.onInbox = (plain) => {
    before = busy.delivered.length
    return quiet.followAck(plain)
  }
  it.federation.startWorkers()
  await until(() => before !== undefined, 'delivered')
  // A claim may take a few jobs ahead.
  assert.ok(before! <= 10, `${before} deliveries to the busy peer came first`)
})

test('an unhealthy peer has one slot, until it is healthy again', async (t) => {
  const it = await start(t)
  const peer = await it.peer()
  await it.federation.start()
  assert.equal(await limitOf(it, peer), 4)
  await it.federation.markServerUnhealthy(peer.origin, 'TIMEOUT')
  await it.federation.markServerUnhealthy(peer.origin, 'CONN_RESET')
  assert.equal(await limitOf(it, peer), 1)
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  let arrived = 0
  peer.onInbox = async (plain) => {
    // The first one waits for the test, the others for each other: only together can they end.
    if (++arrived === 1) await held
    else await until(() => arrived === 3, 'the other one')
    return peer.followAck(plain)
  }
  await enqueue(it, peer, 3)
  await until(() => arrived === 1, 'the first one')
  const { use } = (await it.federation.deliveryQueue.queue.limits({ groups: [peer.origin] })).groups[0]!
  assert.deepEqual([use.running, use.waiting], [1, 2])
  await it.federation.markServerHealthy(peer.origin)
  assert.equal(await limitOf(it, peer), 4)
  release()
  await until(() => peer.delivered.length === 3, 'all three')
})

test('limits that an operator set for a peer stay', async (t) => {
  const it = await start(t)
  const peer = await it.peer()
  await it.federation.start()
  const admin = createAdmin({ storage: it.storage, by: 'ada' })
  t.after(() => admin.close())
  await admin.limits.set({ face: 'federation', name: DELIVERY_QUEUE_NAME, group: peer.origin }, { limit: 2 })
  await it.federation.markServerUnhealthy(peer.origin, 'TIMEOUT')
  assert.equal(await limitOf(it, peer), 2)
  await it.federation.markServerHealthy(peer.origin)
  assert.equal(await limitOf(it, peer), 2)
})

test('a limit whose peer is healthy or gone is taken back when workers start', async (t) => {
  const it = await start(t)
  const [healthy, gone, sick] = [await it.peer(), await it.peer(), await it.peer()]
  for (const { origin } of [healthy, gone, sick]) await it.federation.markServerUnhealthy(origin, 'TIMEOUT')
  // As if the process had died before it wrote the row.
  await it.store.peers.healthy(healthy.origin, 1)
  await it.store.peers.remove(gone.origin)
  await it.federation.start()
  await until(async () => (await limitOf(it, healthy)) === 4, 'of the healthy one')
  await until(async () => (await limitOf(it, gone)) === 4, 'of the removed one')
  assert.equal(await limitOf(it, sick), 1)
})
