// Dead letters and upkeep where there are more rows than one read returns.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { SqliteStorage } from 'holdfast/sqlite'
import { fakeClock } from 'holdfast/testing'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { bench } from './seed/bench.ts'
import { World } from './seed/world.ts'

const world = await new World().start()
after(() => world.stop())

test('filters of dead letters apply before the limit', async (t) => {
  const storage = new SqliteStorage({ path: ':memory:' })
  const place = {
    name: 'sqlite',
    open: async () => ({ storage, store: sqliteStore({ storage }), close: async () => {} }),
  }
  const it = await bench(t, place, world)
  const peer = await it.peer()
  const row = (n: number, name: string) => ({
    id: `d${n}`,
    name,
    targetUrl: `${peer.origin}/inbox`,
    serverUrl: peer.origin,
    payload: '{}',
    createdAt: n,
  })
  for (let n = 0; n < 120; n++) {
    await it.store.deliveries.insert(row(n, n === 110 ? 'deliver-post' : 'deliver-follow'))
    await it.store.deliveries.failed(`d${n}`, n === 115 ? 'ACK_MISSING' : 'TRANSPORT', n)
  }
  const { deadLetters } = it.federation
  const ids = async (filter: object): Promise<string[]> => (await deadLetters.list(filter)).map(({ id }) => id)
  assert.equal((await ids({})).length, 100)
  assert.deepEqual(await ids({ type: 'deliver-post' }), ['d110'])
  assert.deepEqual(await ids({ code: 'ACK_MISSING', limit: 1 }), ['d115'])
  assert.equal(await deadLetters.remove({ code: 'ACK_MISSING' }), 1)
  assert.equal(await deadLetters.redrive({ type: 'deliver-post' }), 1)
  assert.deepEqual([await ids({ code: 'ACK_MISSING' }), await ids({ type: 'deliver-post' })], [[], []])
})

test('upkeep reaches every open row, also behind a thousand that need nothing', async (t) => {
  const clock = fakeClock()
  const storage = new SqliteStorage({ path: ':memory:', clock })
  const store = sqliteStore({ storage })
  const place = { name: 'sqlite', open: async () => ({ storage, store, close: async () => {} }) }
  const it = await bench(t, place, world, { clock })
  const peer = await it.peer()
  // Their next attempt is far away, so upkeep leaves them alone.
  await store.transaction(async (tx) => {
    for (let n = 0; n < 1_005; n++) {
      const fields = {
        name: 'deliver-follow',
        targetUrl: `${peer.origin}/inbox`,
        serverUrl: peer.origin,
        payload: '{}',
      }
      await store.deliveries.insert({ id: `d${n}`, ...fields, createdAt: n }, tx)
    }
  })
  for (let n = 0; n < 1_004; n++) await store.deliveries.retried(`d${n}`, clock.now() + 3_600_000, 'TRANSPORT')
  await clock.advance(120_000)
  await it.federation.startWorkers().start()
  const added = async (): Promise<boolean> => (await it.federation.deliveryQueue.get('d1004')) !== undefined
  // Not for long: in an hour the others are due, and make room on the first page.
  for (let minutes = 0; minutes < 5 && !(await added()); minutes++) await clock.advance(60_000)
  assert.ok(await added())
})
