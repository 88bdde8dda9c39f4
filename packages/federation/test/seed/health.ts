// Health: marks, checks and their end.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { healthCheckId } from '../../src/peers/health-check-id.ts'
import type { PeerRow } from '../../src/store/store.ts'
import { type Bench, bench, checkJob, type Place } from './bench.ts'
import type { TestPeer, World } from './world.ts'

async function stateOf({ store }: Bench, { origin }: TestPeer): Promise<unknown[]> {
  const row = (await store.peers.get(origin)) as PeerRow
  return [row.isHealthy, row.unhealthyReason, row.healthCheckAttempts]
}

const scheduled = async ({ federation }: Bench, { origin }: TestPeer, attempt: number): Promise<boolean> =>
  (await federation.healthCheckQueue.get(healthCheckId(origin, attempt))) !== undefined

/** Returns the next check. */
async function check(it: Bench, peer: TestPeer): Promise<void> {
  const row = await it.store.peers.get(peer.origin)
  const id = healthCheckId(peer.origin, row?.healthCheckAttempts ?? 0)
  await it.federation.processHealthCheck(checkJob(id, peer.origin))
}

export function healthTests(place: Place, world: World): void {
  describe('health', () => {
    test('[unhealthy mark] [unhealthy series] unhealthy with its reason; a running series continues, an exhausted one restarts', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      await it.federation.markServerUnhealthy(`${peer.origin.toUpperCase()}/`, 'TIMEOUT')
      assert.deepEqual(await stateOf(it, peer), [false, 'TIMEOUT', 0])
      assert.equal(await scheduled(it, peer, 0), true)
      await it.store.peers.checked(peer.origin, 1_000)
      await it.federation.markServerUnhealthy(peer.origin, 'CONN_REFUSED')
      assert.deepEqual(await stateOf(it, peer), [false, 'CONN_REFUSED', 1])
      assert.equal(await scheduled(it, peer, 1), true)
      for (let n = 2; n <= 5; n++) await it.store.peers.checked(peer.origin, 1_000)
      await it.federation.markServerUnhealthy(peer.origin, 'CONN_REFUSED')
      assert.deepEqual(await stateOf(it, peer), [false, 'CONN_REFUSED', 0])
      const told = it.events.map(({ name, data }) => [name, (data as { reason: string }).reason])
      assert.deepEqual(told, [
        ['peer_unhealthy', 'TIMEOUT'],
        ['peer_unhealthy', 'CONN_REFUSED'],
      ])
      // An unknown server has no row, and gets none.
      await it.federation.markServerUnhealthy('http://stranger.test', 'TIMEOUT')
      assert.equal(await it.store.peers.get('http://stranger.test'), undefined)
      assert.equal(await it.federation.healthCheckQueue.get(healthCheckId('http://stranger.test', 0)), undefined)
    })

    test('[healthy mark] healthy, reason and attempts reset, last_seen now', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      await it.federation.markServerUnhealthy(peer.origin, 'TIMEOUT')
      await it.store.peers.checked(peer.origin, 1_000)
      const before = Date.now()
      await it.federation.markServerHealthy(peer.origin)
      assert.deepEqual(await stateOf(it, peer), [true, undefined, 0])
      const { lastSeen } = (await it.store.peers.get(peer.origin))!
      assert.ok(lastSeen >= before && lastSeen <= Date.now())
      await it.federation.markServerHealthy(peer.origin)
      assert.equal(it.events.filter(({ name }) => name === 'peer_healthy').length, 1, 'one event per change')
    })

    test('[check missing] [check healthy] [check policy] [check stale] nothing to do: no request, no change', async (t) => {
      const it = await bench(t, place, world)
      const stranger = await it.peer({ known: false })
      await check(it, stranger)
      const healthy = await it.peer()
      await check(it, healthy)
      for (const reason of ['DNS_BLOCKED', 'INVALID_RESPONSE_FROM_TARGET'] as const) {
        const peer = await it.peer()
        await it.store.peers.unhealthy(peer.origin, reason, 5, 1_000)
        await check(it, peer)
        assert.deepEqual([peer.received.length, ...(await stateOf(it, peer))], [0, false, reason, 0])
      }
      const stale = await it.peer()
      await it.store.peers.unhealthy(stale.origin, 'TIMEOUT', 5, 1_000)
      await it.store.peers.checked(stale.origin, 1_000)
      await it.federation.processHealthCheck(checkJob(healthCheckId(stale.origin, 0), stale.origin))
      assert.deepEqual(await stateOf(it, stale), [false, 'TIMEOUT', 1])
      for (const peer of [stranger, healthy, stale]) assert.equal(peer.received.length, 0)
      assert.equal(await it.store.peers.get(stranger.origin), undefined)
    })

    test('[check success] an answer with the pinned keys marks the peer healthy', async (t) => {
      const it = await bench(t, place, world)
      for (const reason of ['TIMEOUT', 'CONN_REFUSED', 'CONN_RESET', 'TLS_ERROR', 'UNKNOWN'] as const) {
        const peer = await it.peer()
        await it.store.peers.unhealthy(peer.origin, reason, 5, 1_000)
        await check(it, peer)
        assert.deepEqual(await stateOf(it, peer), [true, undefined, 0])
        assert.deepEqual([peer.received.length, peer.count('GET', '/discover')], [1, 1])
      }
    })

    test('[check pins] [S3] other keys: not healthy, an event, and the pin is unchanged', async (t) => {
      const it = await bench(t, place, world)
      const peer = await it.peer()
      const { publicKey } = peer.text
      await it.store.peers.unhealthy(peer.origin, 'TIMEOUT', 5, 1_000)
      peer.rekey()
      await check(it, peer)
      assert.deepEqual(await stateOf(it, peer), [false, 'TIMEOUT', 1])
      assert.deepEqual(it.events, [{ name: 'pin_mismatch', data: { origin: peer.origin, from: 'health' } }])
      assert.equal((await it.store.peers.get(peer.origin))?.publicKey, publicKey)
    })

    test('[check failure] [check apart] counted and scheduled again; after five a warning and no further check', async (t) => {
      const it = await bench(t, place, world, { policies: { health: { timeoutMs: 50 } } })
      const peer = await it.peer()
      const relay = await it.peer()
      await it.store.peers.unhealthy(peer.origin, 'UNKNOWN', 5, 1_000)
      const troubles = [
        () => (peer.mode = 'reset'),
        () => (peer.mode = 'silent'),
        () => ((peer.mode = 'up'), (peer.onDiscover = () => ({ status: 500, body: peer.card() }))),
        () => (peer.onDiscover = () => ({ status: 302, body: peer.card() })),
        () => (peer.onDiscover = () => ({ body: 'no JSON' })),
      ]
      for (const [index, trouble] of troubles.entries()) {
        trouble()
        await check(it, peer)
        // The reason is still the first one.
        assert.deepEqual(await stateOf(it, peer), [false, 'UNKNOWN', index + 1])
        assert.equal(await scheduled(it, peer, index + 1), index < 4)
      }
      assert.equal(relay.received.length, 0)
      const warnings = it.log.filter(({ level }) => level === 'warn')
      assert.deepEqual(
        warnings.map(({ data }) => [data['origin'], data['attempts']]),
        [[peer.origin, 5]],
      )
    })

    test('[threats] the table, and policies that override it', async (t) => {
      const it = await bench(t, place, world, { policies: { threats: { TIMEOUT: { proxyEligible: true } } } })
      const table: [Parameters<typeof it.federation.getThreatPolicy>[0], boolean, boolean][] = [
        ['DNS_BLOCKED', true, false],
        ['TIMEOUT', true, true],
        ['CONN_REFUSED', false, true],
        ['CONN_RESET', false, true],
        ['TLS_ERROR', false, true],
        ['INVALID_RESPONSE_FROM_TARGET', true, false],
        ['UNKNOWN', true, true],
      ]
      for (const [reason, proxyEligible, directHealthCheckable] of table) {
        assert.deepEqual(it.federation.getThreatPolicy(reason), { proxyEligible, directHealthCheckable }, reason)
      }
      assert.deepEqual(it.federation.getThreatPolicy('NONE' as never), it.federation.getThreatPolicy('UNKNOWN'))
    })
  })
}
