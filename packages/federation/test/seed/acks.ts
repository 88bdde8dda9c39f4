// handleFollowAck(), branch by branch.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { federationCodeOf } from '../../src/errors.ts'
import type { FollowRow } from '../../src/store/store.ts'
import type { AckPayload } from '../../src/wire/v1/messages.ts'
import { type Bench, bench, followPayload, insertFollow, own, type Place } from './bench.ts'
import type { Reply, TestPeer, World } from './world.ts'

const ackIn = ({ body }: Reply): AckPayload => body as AckPayload

interface Handling {
  readonly peer: TestPeer
  readonly ack: unknown
  readonly cached?: string
  /** @default the id of a delivery that has a row */
  readonly deliveryJobId?: string
}

async function handle(it: Bench, { peer, ack, cached, deliveryJobId }: Handling): Promise<string> {
  const id = deliveryJobId ?? (await it.delivery(peer)).id
  await it.federation.handleFollowAck(ack as AckPayload, peer.origin, cached, id, 'job-1')
  return id
}

async function refuses(it: Bench, given: Handling, code: string, left: 'deleted' | 'failed'): Promise<void> {
  const { id } = await it.delivery(given.peer)
  await assert.rejects(handle(it, { ...given, deliveryJobId: id }), (error) => {
    assert.equal(federationCodeOf(error), code)
    assert.equal((error as { code?: string }).code, 'UNRECOVERABLE')
    return true
  })
  const row = await it.row(id)
  assert.deepEqual([row?.status ?? 'deleted', row?.lastError], [left, left === 'failed' ? code : undefined])
}

const followOf = ({ store }: Bench, peer: TestPeer): Promise<FollowRow | undefined> =>
  store.follows.find('alice', 'bob', peer.origin)

export function ackTests(place: Place, world: World): void {
  describe('the acknowledgement of a follow', () => {
    test('[ack envelope] data that is not an envelope, or cannot be decrypted', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      await insertFollow(it, peer)
      const good = ackIn(await peer.followAck(followPayload()))
      const stranger = await it.peer()
      stranger.sender = stranger.text
      const bad = [
        undefined,
        null,
        'text',
        {},
        { ...good.data, authTag: 'AAAA' },
        { ...good.data, ciphertext: Buffer.from('other').toString('base64') },
        ackIn(await stranger.followAck(followPayload())).data,
      ]
      for (const data of bad) await refuses(it, { peer, ack: { ...good, data } }, 'ACK_INVALID', 'deleted')
      assert.equal((await followOf(it, peer))?.acknowledged, false)
    })

    test('[ack shape] content without the shape of a follow', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      await insertFollow(it, peer)
      const { following } = JSON.parse(followPayload()) as { following: object }
      const content = { following: { ...following, acknowledged: true }, federationUrl: own, method: 'FEDERATE' }
      const bad: unknown[] = [
        'text',
        '[]',
        'null',
        { ...content, method: 'FEDERATE_POST' },
        { ...content, federationUrl: 5 },
        { ...content, following: { ...content.following, accepted: 'yes' } },
        { ...content, following: { ...content.following, acknowledged: false } },
        { ...content, following: { ...content.following, followerId: ['alice'] } },
        { ...content, following: undefined },
      ]
      for (const text of bad) await refuses(it, { peer, ack: ackIn(await peer.ack(text)) }, 'ACK_INVALID', 'deleted')
      assert.equal((await followOf(it, peer))?.acknowledged, false)
    })

    test('[ack other] [S8] an ack with other parties than were sent; without a row they are not compared', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      await insertFollow(it, peer)
      for (const change of [{ followerId: 'mallory' }, { followingId: 'mallory' }]) {
        const ack = ackIn(await peer.followAck(followPayload(), change))
        await refuses(it, { peer, ack }, 'ACK_INVALID', 'deleted')
        await handle(it, { peer, ack, deliveryJobId: 'no such row' })
      }
      assert.equal((await followOf(it, peer))?.acknowledged, false)
    })

    test('[ack cached key] the cached key is used, else that of the registry', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      await insertFollow(it, peer)
      const other = await it.peer()
      const ack = ackIn(await peer.followAck(followPayload()))
      await refuses(it, { peer, ack, cached: other.text.publicKey }, 'ACK_SIGNATURE_INVALID', 'failed')
      await handle(it, { peer, ack, cached: peer.text.publicKey })
      await handle(it, { peer, ack })
      assert.equal((await followOf(it, peer))?.acknowledged, true)
    })

    test('[ack no key] a server without a known signing key', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer({ known: false })
      await insertFollow(it, peer)
      await refuses(it, { peer, ack: ackIn(await peer.followAck(followPayload())) }, 'SIGNING_KEY_MISSING', 'failed')
      assert.equal((await followOf(it, peer))?.acknowledged, false)
    })

    test('[ack signature] [S8] a signature of another peer, over another text, or none', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      await insertFollow(it, peer)
      const other = await it.peer()
      const good = ackIn(await peer.followAck(followPayload()))
      const forged = [
        ackIn(await other.followAck(followPayload())),
        { ...good, signature: ackIn(await peer.followAck(followPayload({ x: 1 }), { accepted: null })).signature },
        { ...good, signature: '' },
        { ...good, signature: undefined },
      ]
      for (const ack of forged) await refuses(it, { peer, ack }, 'ACK_SIGNATURE_INVALID', 'failed')
      assert.equal((await followOf(it, peer))?.acknowledged, false)
      const told = it.events.filter(({ name }) => name === 'ack_forged')
      assert.equal(told.length, forged.length)
      assert.equal((told[0]!.data as { origin: string }).origin, peer.origin)
    })

    test('[ack unknown] a follow without a row is ignored, and so is one at another server', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      const other = await it.peer()
      await insertFollow(it, other)
      await handle(it, { peer, ack: ackIn(await peer.followAck(followPayload())) })
      assert.equal((await followOf(it, other))?.acknowledged, false)
    })

    for (const [name, accepted, expected] of [
      ['[ack false] received, not accepted yet', false, [false, true]],
      ['[ack true] accepted', true, [true, true]],
      ['[ack null] nothing said of acceptance', null, [false, true]],
      ['[ack null] nothing said at all', undefined, [false, true]],
    ] as const) {
      test(`${name}`, async (t) => {
        const it = await bench(t, place, world)
        const peer = await it.peer()
        await insertFollow(it, peer)
        const id = await handle(it, { peer, ack: ackIn(await peer.followAck(followPayload(), { accepted })) })
        const row = await followOf(it, peer)
        assert.deepEqual([row?.accepted, row?.acknowledged], expected)
        assert.equal((await it.row(id))?.status, 'open', 'its row is the worker’s to remove')
      })
    }

    test('[ack again] repeated acks in any order: an accepted follow stays accepted', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      await insertFollow(it, peer)
      for (const accepted of [true, true, false, null]) {
        await handle(it, { peer, ack: ackIn(await peer.followAck(followPayload(), { accepted })) })
      }
      const row = await followOf(it, peer)
      assert.deepEqual([row?.accepted, row?.acknowledged], [true, true])
    })
  })
}
