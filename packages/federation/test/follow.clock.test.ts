// follow(): the instant in its message.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { SqliteStorage } from 'holdfast/sqlite'
import { fakeClock } from 'holdfast/testing'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { bench } from './seed/bench.ts'
import { World } from './seed/world.ts'

const world = await new World().start()
after(() => world.stop())

const month = 31 * 24 * 3_600_000

test('a follow that is sent again carries the instant of sending: a peer refuses messages of more than 30 days', async (t) => {
  const clock = fakeClock()
  const storage = new SqliteStorage({ path: ':memory:', clock })
  const place = {
    name: 'sqlite',
    open: async () => ({ storage, store: sqliteStore({ storage }), close: async () => {} }),
  }
  const it = await bench(t, place, world, { clock })
  const request = { followerId: 'alice', followingId: 'bob', serverUrl: (await it.peer()).origin }
  const { follow, deliveryJobId: id } = await it.federation.follow(request)
  const sentAt = async (): Promise<number> => {
    const { following } = JSON.parse((await it.row(id))!.payload) as { following: { createdAt: string } }
    return Date.parse(following.createdAt)
  }
  assert.equal(await sentAt(), clock.now())
  await it.store.deliveries.failed(id, 'HTTP_STATUS', clock.now())
  await clock.advance(month)
  const again = await it.federation.follow(request)
  assert.deepEqual(again, { follow, deliveryJobId: id })
  assert.equal(await sentAt(), clock.now())
})
