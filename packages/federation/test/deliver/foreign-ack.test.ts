// An acknowledgement settles only what its own job asked for, with or without a row of the delivery.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { AckPayload } from '../../src/wire/v1/messages.ts'
import { bench, followPayload, insertFollow, own } from '../seed/bench.ts'
import { sqlitePlace } from '../seed/sqlite-place.ts'
import { World } from '../seed/world.ts'

const world = await new World().start()
after(() => world.stop())

test('the server of a follower cannot approve its own pending follow with the acknowledgement of another delivery', async (t) => {
  const it = await bench(t, sqlitePlace, world)
  const peer = await it.peer()
  const { follows } = it.store
  const pending = { followerId: 'mallory', followingId: 'ann' }
  await follows.insert({
    id: 'pending',
    ...pending,
    followerServerUrl: peer.origin,
    followingServerUrl: own,
    accepted: false,
    acknowledged: true,
    createdAt: 1_000,
  })
  await insertFollow(it, peer)
  peer.onInbox = (plain) => peer.followAck(plain, pending)
  for (const hasRow of [false, true]) {
    const job = await it.delivery(peer, { hasRow })
    await assert.rejects(it.federation.processFederationDelivery(job), { code: 'UNRECOVERABLE' })
  }
  // Nor where nothing is known of what was sent.
  const { body } = await peer.followAck(followPayload(), pending)
  await it.federation.handleFollowAck(body as AckPayload, peer.origin, undefined, 'unknown', undefined)
  assert.equal((await follows.find('mallory', 'ann', peer.origin, own))?.accepted, false)
  assert.equal((await follows.find('alice', 'bob', peer.origin, peer.origin))?.acknowledged, false)

  peer.onInbox = (plain) => peer.followAck(plain)
  await it.federation.processFederationDelivery(await it.delivery(peer, { hasRow: false }))
  assert.equal((await follows.find('alice', 'bob', peer.origin, peer.origin))?.accepted, true)
})

test('an acknowledgement of a post that names another server does not count', async (t) => {
  const it = await bench(t, sqlitePlace, world, { profile: 'hardened' })
  const [peer, other] = [await it.peer(), await it.peer()]
  const payload = JSON.stringify({ method: 'FEDERATE_POST', federationUrl: own, post: { id: 'p1' } })
  let named = other.origin
  peer.onInbox = () =>
    peer.ack({ method: 'FEDERATE_POST', federationUrl: named, post: { id: 'r1', federationPostId: 'p1' } })
  const post = (): ReturnType<typeof it.delivery> => it.delivery(peer, { name: 'deliver-post', payload })
  await assert.rejects(it.federation.processFederationDelivery(await post()), { code: 'ACK_INVALID' })
  // The failure holds the peer.
  await it.store.peerStates.change(peer.origin, Date.now(), (known) => known && { ...known, nextContactAt: 0 })
  named = `${peer.origin}/`
  await it.federation.processFederationDelivery(await post())
  assert.equal(peer.delivered.length, 2)
})
