// The steps of a delivery: what each one refuses, and the state of the row after it.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isHoldfastError } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { federationCodeOf } from '../../src/errors.ts'
import { decryptPayload } from '../../src/wire/v1/envelope.ts'
import { verify } from '../../src/wire/v1/signature.ts'
import {
  type Bench,
  bench,
  followPayload,
  type Given,
  insertFollow,
  own,
  type Place,
  until,
  withoutClock,
} from './bench.ts'
import type { TestPeer, World } from './world.ts'

type Row = 'deleted' | 'open' | 'failed'

/** Runs one attempt and checks how it fails. */
async function fails(
  { federation, delivery, row }: Bench,
  peer: TestPeer,
  change: Partial<Given>,
  [kind, code, left]: readonly ['U' | 'R', string, Row],
): Promise<Error & { cause?: unknown }> {
  const job = await delivery(peer, change)
  const error: unknown = await federation.processFederationDelivery(job).then(
    () => assert.fail('it did not fail'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Error)
  assert.equal(federationCodeOf(error), code, error.message)
  assert.equal(isHoldfastError(error, 'UNRECOVERABLE'), kind === 'U', `${code} is ${kind}`)
  const after = await row(job.id)
  assert.equal(after?.status ?? 'deleted', left)
  if (after) assert.equal(after.lastError, code)
  return error
}

export function stepTests(place: Place, world: World): void {
  describe('the steps of a delivery', () => {
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
      peer.mood = 'reset'
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
      // Another worker pins while this one fetches the keys.
      const pinned = { ...peer.text, url: peer.origin }
      peer.rekey()
      peer.onDiscover = () => ({ body: peer.card() })
      const { peers } = it.store
      const get = peers.get.bind(peers)
      t.mock.method(peers, 'get', async (url: string) => {
        const row = await get(url)
        if (!row) await peers.pin(pinned, 1_000)
        return row
      })
      await fails(it, peer, {}, ['U', 'PIN_MISMATCH', 'failed'])
      const row = await get(peer.origin)
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
      peer.mood = 'reset'
      await fails(it, peer, {}, ['R', 'TRANSPORT', 'open'])
      assert.equal((await it.store.peers.get(peer.origin))?.unhealthyReason, 'CONN_RESET')
      peer.mood = 'silent'
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
