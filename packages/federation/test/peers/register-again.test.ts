// A peer that is pinned here and does not know this server gets another REGISTER, and accepts the next attempt.

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { SqliteStorage } from 'holdfast/sqlite'
import { type FakeClock, fakeClock } from 'holdfast/testing'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { type Bench, bench } from '../seed/bench.ts'
import { type Reply, type TestPeer, World } from '../seed/world.ts'

const world = await new World().start()
after(() => world.stop())

const unknown: Reply = { status: 403, body: { error: 'x', code: 'UNKNOWN_FEDERATION_SERVER_INTERACTION' } }

async function start(t: TestContext): Promise<{ it: Bench; clock: FakeClock; peer: TestPeer }> {
  const clock = fakeClock()
  const storage = new SqliteStorage({ path: ':memory:', clock })
  const place = {
    name: 'sqlite',
    open: async () => ({ storage, store: sqliteStore({ storage }), close: async () => {} }),
  }
  const it = await bench(t, place, world, { clock })
  return { it, clock, peer: await it.peer() }
}

const registers = (peer: TestPeer): number => peer.count('POST', '/discover')

test('it registers, and the next attempt is accepted', async (t) => {
  const { it, peer } = await start(t)
  peer.onInbox = (plain) => (registers(peer) === 0 ? unknown : peer.followAck(plain))
  const job = await it.delivery(peer)
  await assert.rejects(it.federation.processFederationDelivery(job), { code: 'HTTP_STATUS', status: 403 })
  assert.equal(registers(peer), 1)
  await it.federation.processFederationDelivery({ ...job, attempt: 2 })
  // Its keys were not fetched: they are pinned.
  assert.deepEqual([registers(peer), peer.count('GET', '/discover')], [1, 0])
})

test('a peer that never knows this server is registered with at a limited rate', async (t) => {
  const { it, clock, peer } = await start(t)
  peer.onInbox = () => unknown
  const attempt = async (): Promise<void> => {
    const job = await it.delivery(peer)
    await assert.rejects(it.federation.processFederationDelivery(job), { code: 'HTTP_STATUS' })
  }
  for (let count = 0; count < 5; count++) await attempt()
  assert.equal(registers(peer), 1)
  await clock.advance(9_999)
  await attempt()
  assert.equal(registers(peer), 1)
  await clock.advance(1)
  await attempt()
  assert.equal(registers(peer), 2)
})

test('no other response causes a REGISTER', async (t) => {
  const { it, peer } = await start(t)
  const answers: readonly Reply[] = [
    { status: 403, body: { code: 'BLACKLISTED_FEDERATION_SERVER' } },
    { status: 403, body: 'no JSON' },
    { status: 403, body: '{"__proto__":{"code":"UNKNOWN_FEDERATION_SERVER_INTERACTION"}}' },
    { ...unknown, status: 400 },
    { status: 500, body: '' },
  ]
  for (const answer of answers) {
    peer.onInbox = () => answer
    const job = await it.delivery(peer)
    await assert.rejects(it.federation.processFederationDelivery(job), { code: 'HTTP_STATUS' })
  }
  assert.equal(registers(peer), 0)
})
