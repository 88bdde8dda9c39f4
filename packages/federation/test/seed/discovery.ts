// First contact, and delivery by a relay.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { DiscoveryError } from '../../src/peers/discovery-error.ts'
import { decryptPayload } from '../../src/wire/v1/envelope.ts'
import { verify } from '../../src/wire/v1/signature.ts'
import { type Bench, bench, insertFollow, own, type Place, withoutClock } from './bench.ts'
import { TestPeer, type World } from './world.ts'

/** A known, healthy peer whose name does not resolve. */
async function gonePeer(it: Bench): Promise<TestPeer> {
  const peer = new TestPeer(it.world, `gone${Math.random()}.invalid`.replace('0.', ''), it.keys)
  await it.store.peers.pin({ ...peer.text, url: peer.origin }, 1_000)
  return peer
}

export function discoveryTests(place: Place, world: World): void {
  describe('discovery and relays', () => {
    test('[discover order] [S1] GET, the row, then REGISTER; its failure and its echo change nothing', async (t) => {
      const it = await bench(t, place, world)
      const third = await it.peer({ known: false })
      const answers = [
        () => ({ body: { message: 'ok', echo: third.card() } }),
        () => ({ status: 502, body: { code: 'UNREACHABLE' } }),
        () => ({ body: 'no JSON' }),
      ]
      for (const answer of answers) {
        const peer = await it.peer({ known: false })
        let pinnedBefore: unknown
        peer.onRegister = () => answer()
        const handle = peer.handle.bind(peer)
        peer.handle = async (received) => {
          if (received.method === 'POST') pinnedBefore = await it.store.peers.get(peer.origin)
          return handle(received)
        }
        const key = await it.federation.discoverAndRegister(`${peer.origin}/`)
        assert.equal(key, peer.text.encryptionPublicKey)
        assert.deepEqual(
          peer.received.map(({ method, path }) => `${method} ${path}`),
          ['GET /discover', 'POST /discover'],
        )
        assert.ok(pinnedBefore)
        const { publicKey, encryptionPublicKey } = it.keys
        const registered = { method: 'REGISTER', url: own, publicKey, encryptionPublicKey }
        assert.deepEqual(JSON.parse(peer.received[1]!.body), registered)
        const row = await it.store.peers.get(peer.origin)
        assert.deepEqual([row?.publicKey, row?.isHealthy], [peer.text.publicKey, true])
      }
      assert.equal(await it.store.peers.get(third.origin), undefined)
      assert.equal((await it.store.peers.list({ limit: 10 })).length, answers.length)
    })

    test('[S3] discovery of a known server: the same keys are accepted, others refused', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      const pinned = peer.text
      await it.federation.discoverAndRegister(peer.origin)
      assert.ok((await it.store.peers.get(peer.origin))!.lastSeen > 1_000)
      peer.rekey()
      await assert.rejects(it.federation.discoverAndRegister(peer.origin), (error) => {
        assert.ok(error instanceof DiscoveryError)
        assert.deepEqual([error.code, error.origin], ['PIN_MISMATCH', peer.origin])
        return true
      })
      const row = await it.store.peers.get(peer.origin)
      assert.deepEqual([row?.publicKey, row?.encryptionPublicKey], [pinned.publicKey, pinned.encryptionPublicKey])
      assert.equal(it.events.filter(({ name }) => name === 'pin_mismatch').length, 1)
      assert.equal(peer.count('POST', '/discover'), 1, 'no REGISTER')
      // The operator may replace them.
      await it.federation.peers.repin(peer.origin)
      assert.equal((await it.store.peers.get(peer.origin))?.publicKey, peer.text.publicKey)
    })

    test('a peer that lost our row gets another REGISTER, at most once in ten seconds', async (t) => {
      const clock = fakeClock()
      const it = await bench(t, withoutClock(place), world, { clock })
      const peer = await it.peer()
      const fail = async (): Promise<number> => {
        await assert.rejects(it.federation.processFederationDelivery(await it.delivery(peer)), { code: 'HTTP_STATUS' })
        return peer.count('POST', '/discover')
      }
      peer.onInbox = () => ({ status: 403, body: { code: 'BLACKLISTED_FEDERATION_SERVER' } })
      assert.equal(await fail(), 0)
      peer.onInbox = () => ({ status: 403, body: { code: 'UNKNOWN_FEDERATION_SERVER_INTERACTION' } })
      assert.equal(await fail(), 1)
      assert.equal(await fail(), 1)
      await clock.advance(10_000)
      assert.equal(await fail(), 2)
    })

    test('[discover once] concurrent calls share one discovery', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer({ known: false })
      const jobs = await Promise.all(Array.from({ length: 10 }, () => it.delivery(peer)))
      await Promise.all(jobs.map((job) => it.federation.processFederationDelivery(job)))
      assert.deepEqual([peer.count('GET', '/discover'), peer.count('POST', '/discover')], [1, 1])
      assert.equal(peer.delivered.length, 10)
    })

    test('[discover budget] a limit per minute; after it, calls wait, and deliveries are put off without a spent attempt', async (t) => {
      const clock = fakeClock()
      const it = await bench(t, withoutClock(place), world, { clock, policies: { discovery: { perMinute: 2 } } })
      for (let n = 0; n < 2; n++) await it.federation.discoverAndRegister((await it.peer({ known: false })).origin)
      const [third, fourth] = [await it.peer({ known: false }), await it.peer({ known: false })]
      await clock.advance(15_000)
      const waiting = it.federation.discoverAndRegister(third.origin)
      const job = await it.delivery(fourth, { attempt: 5 })
      await assert.rejects(it.federation.processFederationDelivery(job), {
        code: 'DISCOVERY_FAILED',
        retryAfterMs: 45_000,
      })
      const row = await it.row(job.id)
      assert.deepEqual([row?.status, row?.nextAttemptAt], ['open', clock.now() + 45_000])
      assert.deepEqual([third.received.length, fourth.received.length], [0, 0])
      await clock.advance(45_000)
      assert.equal(await waiting, third.text.encryptionPublicKey)
      await it.federation.processFederationDelivery(job)
      assert.equal(fourth.delivered.length, 1)
    })

    test('[fetch marks] a transport error marks the peer unless skipped; a status does not', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      const { federationFetch } = it.federation
      peer.onInbox = () => ({ status: 500, body: 'x' })
      assert.equal((await federationFetch(`${peer.origin}/discover`)).status, 200)
      peer.mode = 'reset'
      await assert.rejects(federationFetch(`${peer.origin}/inbox`, { skipHealthUpdate: true }), { code: 'TRANSPORT' })
      assert.equal((await it.store.peers.get(peer.origin))?.isHealthy, true)
      await assert.rejects(federationFetch(`${peer.origin}/inbox`), { code: 'TRANSPORT', reason: 'CONN_RESET' })
      assert.equal((await it.store.peers.get(peer.origin))?.unhealthyReason, 'CONN_RESET')
      const closed = `http://closed.test:${world.closedPort}`
      await it.store.peers.pin({ ...peer.text, url: closed }, 1_000)
      await assert.rejects(federationFetch(`${closed}/inbox`), { reason: 'CONN_REFUSED' })
      assert.equal((await it.store.peers.get(closed))?.unhealthyReason, 'CONN_REFUSED')
    })

    test('[fetch relay] [wire relay] one try by a healthy peer, which cannot read it; the ack counts, the peer stays marked', async (t) => {
      const it = await bench(t, place, world)
      const target = await gonePeer(it)
      const relay = await it.peer()
      await insertFollow(it, target)
      relay.onProxy = async ({ body }) => {
        const { payload } = JSON.parse(body) as { payload: unknown }
        const inner = JSON.parse(await decryptPayload(payload, target.keyring)) as { body: string }
        return { body: { method: 'PROXY_RESPONSE', payload: (await target.deliver(inner.body)).body } }
      }
      const job = await it.delivery(target)
      await it.federation.processFederationDelivery(job)
      assert.equal((await it.store.follows.find('alice', 'bob', target.origin))?.accepted, true)
      await it.federation.processFederationDelivery(await it.delivery(target))
      const row = await it.store.peers.get(target.origin)
      assert.deepEqual([row?.isHealthy, row?.unhealthyReason], [false, 'DNS_BLOCKED'])

      const { path, headers, body } = relay.received.at(-1)!
      assert.equal(path, '/proxy')
      assert.deepEqual([headers.origin, headers['x-federation-origin']], [own, own])
      const message = JSON.parse(body) as Record<string, string>
      const keys = ['method', 'targetUrl', 'publicSigningKey', 'publicEncryptionKey', 'payload', 'signature']
      assert.deepEqual(Object.keys(message), keys)
      assert.deepEqual([message['method'], message['targetUrl']], ['PROXY', `${target.origin}/proxy`])
      const ours = [it.keys.publicKey, it.keys.encryptionPublicKey]
      assert.deepEqual([message['publicSigningKey'], message['publicEncryptionKey']], ours)
      const inner = await decryptPayload(message['payload'], target.keyring)
      assert.ok(verify(inner, message['signature'], it.keys.publicKey))
      const request = JSON.parse(inner) as { targetUrl: string; method: string; headers: object; body: string }
      assert.deepEqual([request.targetUrl, request.method], [`${target.origin}/inbox`, 'POST'])
      assert.deepEqual(request.headers, {
        'Content-Type': 'application/json',
        Origin: own,
        'X-Federation-Origin': own,
        'X-Federation-Target': `${target.origin}/inbox`,
      })
      assert.equal(typeof request.body, 'string')
      assert.ok(!body.includes('alice'), 'the relay cannot read it')
    })

    test('[S8] an ack of the relay itself is not accepted as the target’s', async (t) => {
      const it = await bench(t, place, world)
      const target = await gonePeer(it)
      const relay = await it.peer()
      await insertFollow(it, target)
      const job = await it.delivery(target)
      relay.onProxy = async () => ({
        body: { method: 'PROXY_RESPONSE', payload: (await relay.followAck(job.data.payload)).body },
      })
      await assert.rejects(it.federation.processFederationDelivery(job), (error) => {
        const { code, reason, cause } = error as { code: string; reason: string; cause: { code: string } }
        assert.deepEqual([code, reason, cause.code], ['TRANSPORT', 'DNS_BLOCKED', 'ACK_SIGNATURE_INVALID'])
        return true
      })
      assert.equal((await it.store.follows.find('alice', 'bob', target.origin))?.acknowledged, false)
      const row = await it.row(job.id)
      assert.deepEqual([row?.status, row?.lastError], ['open', 'TRANSPORT'], 'a relay ends no delivery')
    })

    test('[fetch no relay] not for other reasons, not if it is off; the error is that of the direct request', async (t) => {
      const it = await bench(t, place, world)
      const refusing = await it.peer()
      const relay = await it.peer()
      refusing.mode = 'reset'
      await assert.rejects(it.federation.processFederationDelivery(await it.delivery(refusing)), {
        reason: 'CONN_RESET',
      })
      assert.equal(relay.received.length, 0)
      const target = await gonePeer(it)
      await assert.rejects(it.federation.processFederationDelivery(await it.delivery(target)), (error) => {
        const { code, reason, cause } = error as {
          code: string
          reason: string
          cause: { code: string; status: number }
        }
        assert.deepEqual([code, reason, cause.code, cause.status], ['TRANSPORT', 'DNS_BLOCKED', 'HTTP_STATUS', 403])
        return true
      })
      assert.equal(relay.received.length, 1)
      relay.onProxy = () => ({ status: 502, body: { code: 'FAILED_TO_PROXY_REQUEST' } })
      await assert.rejects(it.federation.processFederationDelivery(await it.delivery(target)), {
        reason: 'DNS_BLOCKED',
      })
      assert.equal((await it.store.peers.get(target.origin))?.unhealthyReason, 'INVALID_RESPONSE_FROM_TARGET')
      relay.mode = 'reset'
      await assert.rejects(it.federation.processFederationDelivery(await it.delivery(target)), {
        reason: 'DNS_BLOCKED',
      })
      assert.equal((await it.store.peers.get(relay.origin))?.isHealthy, false, 'the relay is a peer, too')

      // Neither this server nor the target is a relay.
      const alone = await bench(t, place, world)
      const only = await gonePeer(alone)
      await alone.store.peers.pin({ ...relay.text, url: own }, 1_000)
      const post = { body: '{}', proxyFallback: true, skipHealthUpdate: true }
      await assert.rejects(alone.federation.federationFetch(`${only.origin}/inbox`, post), (error) => {
        assert.equal((error as { cause: { code: string } }).cause.code, 'ENOTFOUND', 'no relay was tried')
        return true
      })
      assert.equal((await alone.store.peers.listHealthy(10)).length, 2)

      const off = await bench(t, place, world, { policies: { relay: { use: false } } })
      const lost = await gonePeer(off)
      const unused = await off.peer()
      await assert.rejects(off.federation.processFederationDelivery(await off.delivery(lost)), { code: 'TRANSPORT' })
      assert.equal(unused.received.length, 0)
    })

    test('[fetch sweep] without a relay, unhealthy peers are checked once a minute; one that answers with its keys relays', async (t) => {
      const clock = fakeClock()
      const it = await bench(t, withoutClock(place), world, { clock })
      const target = await gonePeer(it)
      const [back, silent, rekeyed] = [await it.peer(), await it.peer(), await it.peer()]
      const unchecked = await it.peer()
      for (const { origin } of [back, silent, rekeyed]) await it.store.peers.unhealthy(origin, 'CONN_RESET', 5, 1_000)
      await it.store.peers.unhealthy(unchecked.origin, 'DNS_BLOCKED', 5, 1_000)
      rekeyed.rekey()
      silent.mode = 'reset'
      back.mode = 'reset'
      const attempt = async (): Promise<unknown> =>
        it.federation.processFederationDelivery(await it.delivery(target)).catch((error: unknown) => error)
      assert.ok((await attempt()) instanceof Error)
      const asked = (): number => rekeyed.count('GET', '/discover')
      assert.equal(asked(), 1)
      assert.equal(unchecked.received.length, 0)
      back.mode = 'up'
      back.onProxy = async ({ body }) => {
        const { payload } = JSON.parse(body) as { payload: unknown }
        const inner = JSON.parse(await decryptPayload(payload, target.keyring)) as { body: string }
        return { body: { method: 'PROXY_RESPONSE', payload: (await target.deliver(inner.body)).body } }
      }
      assert.ok((await attempt()) instanceof Error, 'no further sweep within the minute')
      assert.equal(asked(), 1)
      await clock.advance(60_000)
      assert.equal(await attempt(), undefined)
      assert.equal(asked(), 2)
      assert.equal((await it.store.peers.get(back.origin))?.isHealthy, true)
      assert.equal((await it.store.peers.get(rekeyed.origin))?.isHealthy, false)
      assert.equal(target.delivered.length, 1)
    })
  })
}
