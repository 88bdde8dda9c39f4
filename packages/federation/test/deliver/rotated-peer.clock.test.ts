// A peer that changes its keys, with proof, while a delivery to it is under way.

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { type FakeClock, fakeClock } from 'holdfast/testing'
import { type Bench, bench, passing } from '../seed/bench.ts'
import { sqlitePlace } from '../seed/sqlite-place.ts'
import { type TestPeer, World } from '../seed/world.ts'

const world = await new World().start()
after(() => world.stop())

async function start(
  t: TestContext,
): Promise<{ it: Bench; clock: FakeClock; peer: TestPeer; rotate(): Promise<void> }> {
  const clock = fakeClock()
  const it = await bench(t, sqlitePlace, world, { clock, profile: 'hardened' })
  await it.federation.start()
  const peer = await it.peer()
  const rotate = async (): Promise<void> => {
    peer.rekey()
    const { url, publicKey, encryptionPublicKey } = peer.card()
    assert.ok(await it.store.peers.repin({ url, publicKey, encryptionPublicKey }, clock.now()))
  }
  const { name, data } = await it.delivery(peer)
  await it.federation.deliveryQueue.add(name, data)
  return { it, clock, peer, rotate }
}

const told = ({ events }: Bench, event: string): number => events.filter(({ name }) => name === event).length

test('a delivery that was sealed for the old key is sent again, not given up', async (t) => {
  const { it, clock, peer, rotate } = await start(t)
  peer.onInbox = async (plain) => {
    peer.onInbox = () => peer.followAck(plain)
    await rotate()
    return { status: 400, body: { code: 'DECRYPT_FAILED' } }
  }
  await passing(it, clock, () => told(it, 'delivered') + told(it, 'delivery_failed') > 0)
  assert.deepEqual([told(it, 'delivered'), told(it, 'delivery_failed')], [1, 0])
  assert.equal(peer.delivered.length, 2)
})

test('an acknowledgement that is signed with the new key is no forgery', async (t) => {
  const { it, clock, peer, rotate } = await start(t)
  peer.onInbox = async (plain) => {
    await rotate()
    return peer.followAck(plain)
  }
  await passing(it, clock, () => told(it, 'delivered') + told(it, 'ack_forged') > 0)
  assert.deepEqual([told(it, 'delivered'), told(it, 'ack_forged')], [1, 0])
})

test('an acknowledgement that is signed with a key that is not pinned is one', async (t) => {
  const { it, clock, peer } = await start(t)
  peer.onInbox = (plain) => {
    peer.rekey()
    return peer.followAck(plain)
  }
  await passing(it, clock, () => told(it, 'delivered') + told(it, 'ack_forged') > 0)
  assert.deepEqual([told(it, 'delivered'), told(it, 'ack_forged')], [0, 1])
})
