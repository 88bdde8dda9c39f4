// Steps 1 to 5 of a delivery: what each one refuses, and the state of the row after it.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decryptPayload } from '../../src/wire/v1/envelope.ts'
import { verify } from '../../src/wire/v1/signature.ts'
import { bench, followPayload, insertFollow, own, type Place } from './bench.ts'
import { fails } from './failing-attempt.ts'
import type { World } from './world.ts'

export function stepTests(place: Place, world: World): void {
  describe('steps 1 to 5 of a delivery', () => {
    test('[wire delivery] POST to the target, four headers, the payload encrypted and signed', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      const followId = await insertFollow(it, peer)
      const payload = followPayload()
      await it.federation.processFederationDelivery(await it.delivery(peer, { payload }))
      const { method, path, headers, body } = peer.received.at(-1)!
      assert.deepEqual([method, path], ['POST', '/inbox'])
      assert.equal(headers['content-type'], 'application/json')
      assert.equal(headers.origin, own)
      assert.equal(headers['x-federation-origin'], own)
      assert.equal(headers['x-federation-target'], `${peer.origin}/inbox`)
      const message = JSON.parse(body) as { method: string; payload: object; signature: string }
      assert.deepEqual(Object.keys(message), ['method', 'payload', 'signature'])
      assert.equal(message.method, 'FEDERATE')
      assert.equal(await decryptPayload(message.payload, peer.keyring), payload)
      assert.ok(verify(payload, message.signature, it.keys.publicKey))
      const follow = await it.store.follows.find('alice', 'bob', peer.origin)
      assert.deepEqual([follow?.id, follow?.accepted, follow?.acknowledged], [followId, true, true])
    })

    test('[step 1 json] a payload that is not JSON', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      const error = await fails(it, peer, { payload: '{"secret-canary":' }, ['U', 'PAYLOAD_MALFORMED', 'deleted'])
      assert.ok(!JSON.stringify([error.message, String(error.cause)]).includes('canary'))
      assert.equal(peer.received.length, 0)
    })

    test('[step 1 object] a payload that is not a plain object', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      for (const payload of ['null', '42', '"str"', '[]', 'true']) {
        await fails(it, peer, { payload }, ['U', 'PAYLOAD_MALFORMED', 'deleted'])
      }
    })

    test('[step 1 method] a method that is missing, not a string, or not allowed', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      for (const payload of ['{}', '{"method":5}', '{"method":null}', '{"method":"DELETE"}', '{"method":"federate"}']) {
        await fails(it, peer, { payload }, ['U', 'METHOD_INVALID', 'deleted'])
      }
      assert.equal(peer.received.length, 0)
      for (const method of ['FEDERATE', 'FEDERATE_POST', 'INSERT', 'UNFOLLOW']) {
        const job = await it.delivery(peer, { name: 'other', payload: JSON.stringify({ method }) })
        peer.onInbox = () => peer.ack({ method })
        await it.federation.processFederationDelivery(job)
      }
      assert.equal(peer.delivered.length, 4)
    })

    test('[step 1b] [S14] a target on another server: no request is made', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      const trap = await it.peer()
      const elsewhere = [
        `${trap.origin}/inbox`,
        `http://user@${peer.host}/inbox`,
        `https://${peer.host}/inbox`,
        `${peer.origin}.evil.test/inbox`,
        `//${peer.host}/inbox`,
        '/inbox',
        'inbox',
        '',
      ]
      for (const targetUrl of elsewhere) await fails(it, peer, { targetUrl }, ['U', 'TARGET_MISMATCH', 'failed'])
      await fails(it, peer, { serverUrl: `${peer.origin}/path` }, ['U', 'TARGET_MISMATCH', 'failed'])
      assert.deepEqual([peer.received.length, trap.received.length], [0, 0])
      // Another spelling of the same server.
      const [serverUrl, targetUrl] = [`${peer.origin.toUpperCase()}/`, `${peer.origin}/inbox?n=1`]
      await it.federation.processFederationDelivery(await it.delivery(peer, { serverUrl, targetUrl }))
      assert.equal(peer.delivered.length, 1)
    })

    test('[step 2] a blocked server', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      await it.federation.peers.block(peer.origin, { reason: 'spam' })
      await fails(it, peer, {}, ['U', 'PEER_BLACKLISTED', 'deleted'])
      assert.equal(peer.received.length, 0)
      await it.federation.peers.unblock(peer.origin)
      await it.federation.processFederationDelivery(await it.delivery(peer))
    })

    test('[step 3 known] the keys of a registered server are not fetched, those of an unknown one once', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer({ known: false })
      await it.federation.processFederationDelivery(await it.delivery(peer))
      await it.federation.processFederationDelivery(await it.delivery(peer))
      assert.deepEqual([peer.count('GET', '/discover'), peer.delivered.length], [1, 2])
      const row = await it.store.peers.get(peer.origin)
      assert.equal(row?.encryptionPublicKey, peer.text.encryptionPublicKey)
    })

    test('[step 3 unreachable] no answer to a request for keys', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer({ known: false })
      peer.mode = 'reset'
      const error = await fails(it, peer, {}, ['R', 'DISCOVERY_FAILED', 'open'])
      assert.equal((error.cause as { code?: string }).code, 'UNREACHABLE')
      assert.equal((await it.store.peers.list({ limit: 10 })).length, 0)
    })

    test('[step 3 invalid] [S1] a reply with another url, or without keys: nothing is pinned', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer({ known: false })
      const third = await it.peer({ known: false })
      const card = peer.card()
      const bad: [object | string, number?][] = [
        [{ ...third.card() }],
        [{ ...card, url: third.origin }],
        [{ ...card, publicKey: 'short' }],
        [{ ...card, encryptionPublicKey: Buffer.alloc(32).toString('base64') }],
        [{ ...card, encryptionPublicKey: undefined }],
        [[card]],
        ['not json'],
        [card, 404],
        [card, 302],
        [card, 500],
      ]
      for (const [body, status = 200] of bad) {
        peer.onDiscover = () => ({ status, body, headers: { Location: `${third.origin}/discover` } })
        const error = await fails(it, peer, {}, ['R', 'DISCOVERY_FAILED', 'open'])
        assert.equal((error.cause as { code?: string }).code, 'INVALID')
      }
      assert.equal((await it.store.peers.list({ limit: 10 })).length, 0)
      assert.equal(third.received.length, 0)
    })

    test('[step 3 pin] [S3] a discovery that finds keys other than the pinned ones', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer({ known: false })
      const pinned = { ...peer.text, url: peer.origin }
      peer.rekey()
      // Another worker pins while this one fetches the keys.
      peer.onDiscover = async () => {
        await it.store.peers.pin(pinned, 1_000)
        return { body: peer.card() }
      }
      await fails(it, peer, {}, ['U', 'PIN_MISMATCH', 'failed'])
      const row = await it.store.peers.get(peer.origin)
      assert.deepEqual([row?.publicKey, row?.encryptionPublicKey], [pinned.publicKey, pinned.encryptionPublicKey])
      assert.deepEqual(it.events[0], { name: 'pin_mismatch', data: { origin: peer.origin, from: 'discovery' } })
      assert.equal(peer.delivered.length, 0)
    })

    test('[step 3 address] an address that may not be contacted', async (t) => {
      const it = await bench(t, place, world, { http: { ...world.http(), allowCidrs: [] } })
      const unknown = await it.peer({ known: false })
      await fails(it, unknown, {}, ['U', 'ADDRESS_REFUSED', 'failed'])
      const known = await it.peer()
      await fails(it, known, {}, ['U', 'ADDRESS_REFUSED', 'failed'])
      assert.equal((await it.store.peers.get(known.origin))?.isHealthy, true, 'it is no reason to mark a peer')
      assert.deepEqual([unknown.received.length, known.received.length], [0, 0])
    })

    test('[step 5] the attempt is counted before the request', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      let seen: unknown
      const job = await it.delivery(peer)
      peer.onInbox = async (plain) => {
        seen = await it.row(job.id)
        return peer.followAck(plain)
      }
      const before = Date.now()
      await it.federation.processFederationDelivery(job)
      const { attempts, lastAttemptedAt } = seen as { attempts: number; lastAttemptedAt: number }
      assert.equal(attempts, 1)
      assert.ok(lastAttemptedAt >= before && lastAttemptedAt <= Date.now())
      await it.federation.processFederationDelivery({ ...job, attempt: 2 })
      assert.equal((await it.row(job.id))?.attempts, 2)
    })
  })
}
