// Steps 6 to 8 of a delivery: the request, the reply and its acknowledgement.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { bench, insertFollow, type Place, until, withoutClock } from './bench.ts'
import { fails } from './failing-attempt.ts'
import type { World } from './world.ts'

export function replyStepTests(place: Place, world: World): void {
  describe('steps 6 to 8 of a delivery', () => {
    test('[step 6 status] a status that is not a success: retried, and the peer stays healthy', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      for (const status of [301, 400, 403, 404, 409, 429, 500, 503]) {
        peer.onInbox = async (plain) => ({ ...(await peer.followAck(plain)), status })
        const error = await fails(it, peer, {}, ['R', 'HTTP_STATUS', 'open'])
        assert.equal((error as { status?: number }).status, status)
      }
      assert.equal((await it.store.peers.get(peer.origin))?.isHealthy, true)
    })

    test('[step 6 transport] no answer: retried', async (t) => {
      const clock = fakeClock()
      const it = await bench(t, withoutClock(place), world, { clock })
      const peer = await it.peer()
      peer.mode = 'reset'
      await fails(it, peer, {}, ['R', 'TRANSPORT', 'open'])
      assert.equal((await it.store.peers.get(peer.origin))?.unhealthyReason, 'CONN_RESET')
      peer.mode = 'silent'
      const asked = peer.received.length
      const failing = fails(it, peer, {}, ['R', 'TRANSPORT', 'open'])
      await until(() => peer.received.length > asked, 'the request arrived')
      await clock.advance(15_000)
      await failing
      assert.equal((await it.store.peers.get(peer.origin))?.unhealthyReason, 'TIMEOUT')
    })

    test('[step 6 cap] a reply over the size limit, or compressed: retried, and the peer stays healthy', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      peer.onInbox = () => ({ body: 'x'.repeat(256 * 1024 + 1) })
      await fails(it, peer, {}, ['R', 'TRANSPORT', 'open'])
      peer.onInbox = async (plain) => ({ ...(await peer.followAck(plain)), headers: { 'Content-Encoding': 'gzip' } })
      await fails(it, peer, {}, ['R', 'TRANSPORT', 'open'])
      assert.equal((await it.store.peers.get(peer.origin))?.isHealthy, true)
    })

    test('[step 7 json] a reply that is not JSON', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      peer.onInbox = () => ({ body: '<html>canary' })
      const error = await fails(it, peer, {}, ['U', 'RESPONSE_NOT_JSON', 'failed'])
      assert.ok(!String(error.message).includes('canary'))
    })

    test('[step 7 ack] a reply that is not an acknowledgement', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      for (const body of ['{}', 'null', '[]', '5', '{"payload":{}}', '{"method":"PROXY_RESPONSE","payload":{"a":1}}']) {
        peer.onInbox = () => ({ body })
        await fails(it, peer, {}, ['U', 'ACK_MISSING', 'failed'])
      }
    })

    test('[step 7 both] an acknowledgement at the top level, or under payload', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      await insertFollow(it, peer)
      peer.onInbox = async (plain) => ({
        body: { method: 'PROXY_RESPONSE', payload: (await peer.followAck(plain)).body },
      })
      await it.federation.processFederationDelivery(await it.delivery(peer))
      assert.equal((await it.store.follows.find('alice', 'bob', peer.origin))?.accepted, true)
      // Both are verified.
      peer.onInbox = async (plain) => {
        const { body } = await peer.followAck(plain)
        return { body: { method: 'PROXY_RESPONSE', payload: { ...(body as object), signature: 'AAAA' } } }
      }
      await fails(it, peer, {}, ['U', 'ACK_SIGNATURE_INVALID', 'failed'])
    })

    test('[step 8 handler] by job name; open() decrypts and verifies the ack', async (t) => {
      const opened: unknown[] = []
      const acks = { 'deliver-post': async ({ open }: { open(): Promise<unknown> }) => void opened.push(await open()) }
      const it = await bench(t, place, world, { acks })
      const peer = await it.peer()
      const content = {
        post: { id: 'theirs', federationPostId: 'ours' },
        federationUrl: peer.origin,
        method: 'FEDERATE_POST',
      }
      peer.onInbox = () => peer.ack(content)
      const given = { name: 'deliver-post', payload: '{"method":"FEDERATE_POST"}' }
      await it.federation.processFederationDelivery(await it.delivery(peer, given))
      assert.deepEqual(opened, [content])
      peer.onInbox = () => peer.ack(content, { signature: Buffer.alloc(64).toString('base64') })
      await fails(it, peer, given, ['U', 'ACK_SIGNATURE_INVALID', 'failed'])
      peer.onInbox = () => peer.ack(content, { data: {} })
      await fails(it, peer, given, ['U', 'ACK_INVALID', 'deleted'])
    })

    test('[step 8 none] without a handler the acknowledgement is ignored', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      peer.onInbox = () => ({ body: { method: 'PROXY_RESPONSE', data: 'nonsense', signature: 5 } })
      for (const name of ['deliver-post', 'toString', '__proto__', '']) {
        await it.federation.processFederationDelivery(await it.delivery(peer, { name }))
      }
      assert.equal(peer.delivered.length, 4)
    })

    test('[step 8 heals] [not gated] deliveries to an unhealthy peer are sent, and the ack marks it healthy', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      for (const reason of ['TIMEOUT', 'DNS_BLOCKED'] as const) {
        await it.store.peers.unhealthy(peer.origin, reason, 5, 1_000)
        await it.federation.processFederationDelivery(await it.delivery(peer))
        const row = await it.store.peers.get(peer.origin)
        assert.deepEqual([row?.isHealthy, row?.unhealthyReason, row?.healthCheckAttempts], [true, undefined, 0])
      }
    })

    test('[row absent] every step ends in the same way without a row', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      const without = { hasRow: false }
      await it.federation.processFederationDelivery(await it.delivery(peer, without))
      await fails(it, peer, { ...without, payload: 'x' }, ['U', 'PAYLOAD_MALFORMED', 'deleted'])
      await fails(it, peer, { ...without, targetUrl: 'x' }, ['U', 'TARGET_MISMATCH', 'deleted'])
      peer.onInbox = () => ({ body: 'x' })
      await fails(it, peer, without, ['U', 'RESPONSE_NOT_JSON', 'deleted'])
      peer.onInbox = () => ({ status: 500, body: 'x' })
      await fails(it, peer, without, ['R', 'HTTP_STATUS', 'deleted'])
    })
  })
}
