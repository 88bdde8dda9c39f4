// One activity to many servers that are not known yet: all of them get it, however few discoveries a minute allows.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { SqliteStorage } from 'holdfast/sqlite'
import { fakeClock } from 'holdfast/testing'
import { isFull } from '../../../holdfast/test/full-size.ts'
import { seedPolicies } from '../../src/policies.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { bench, passing } from '../seed/bench.ts'
import { World } from '../seed/world.ts'

const world = await new World().start()
after(() => world.stop())

const [servers, perMinute] = isFull ? [300, seedPolicies.discovery.perMinute] : [20, 4]

test(`${servers} unknown servers, ${perMinute} discoveries a minute: all get it, and no attempt fails`, async (t) => {
  const clock = fakeClock()
  const storage = new SqliteStorage({ path: ':memory:', clock })
  const place = {
    name: 'sqlite',
    open: async () => ({ storage, store: sqliteStore({ storage }), close: async () => {} }),
  }
  const it = await bench(t, place, world, { clock, policies: { discovery: { perMinute } } })
  const peers = await Promise.all(Array.from({ length: servers }, () => it.peer({ known: false })))
  /** Discoveries by minute, counted where they arrive. */
  const minutes = new Map<number, number>()
  for (const peer of peers) {
    const { onDiscover } = peer
    peer.onDiscover = () => {
      const minute = Math.floor(clock.now() / 60_000)
      minutes.set(minute, (minutes.get(minute) ?? 0) + 1)
      return onDiscover()
    }
  }
  for (const peer of peers) {
    const { name, data } = await it.delivery(peer)
    await it.federation.deliveryQueue.add(name, data)
  }
  await it.federation.start()
  await passing(it, clock, () => it.events.length >= servers)
  assert.deepEqual(
    it.events.map(({ name }) => name),
    Array(servers).fill('delivered'),
  )
  assert.ok(peers.every(({ delivered }) => delivered.length === 1))
  // Not faster than allowed: a minute of the clock has parts of two windows at most.
  assert.ok(Math.max(...minutes.values()) <= 2 * perMinute)
})
