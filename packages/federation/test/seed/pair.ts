// Two real servers and a relay over loopback, with the real receiving side.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import type { Storage } from 'holdfast'
import { createFederation } from '../../src/create.ts'
import type { Federation } from '../../src/federation.ts'
import type { HttpOptions } from '../../src/http/client.ts'
import type { InboundHandlers } from '../../src/inbound/handlers.ts'
import { nodeListener } from '../../src/inbound/node-listener.ts'
import { generateKeyring } from '../../src/keyring.ts'
import { seedPolicies } from '../../src/policies.ts'
import type { PolicyOptions } from '../../src/resolve-policies.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { reconcileRows } from '../../src/upkeep.ts'
import { type Place, until } from './bench.ts'

interface Given {
  readonly handlers?: InboundHandlers
  readonly policies?: PolicyOptions
  /** Host names that this server cannot resolve. */
  readonly hidden?: readonly string[]
}

interface TestServer {
  readonly federation: Federation
  readonly store: Store
  readonly storage: Storage
  readonly origin: string
}

/** Servers on loopback with different ports, which can resolve each other's names. */
async function servers(t: TestContext, place: Place, given: readonly Given[]): Promise<TestServer[]> {
  const listeners = given.map(() => createServer())
  for (const server of listeners) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const ports = listeners.map((server) => (server.address() as AddressInfo).port)
  return Promise.all(
    given.map(async ({ handlers, policies, hidden = [] }, index) => {
      // The sender's jobs are on the storage under test; the others only receive.
      const { storage, store, close } = await place.open()
      const tables = index === 0 ? store : sqliteStore({ path: ':memory:' })
      const origin = `http://server${index}.test:${ports[index]}`
      const http: HttpOptions = {
        allowHttp: true,
        allowCidrs: ['127.0.0.0/8'],
        allowPorts: ports,
        resolver: async (hostname) => {
          if (!hidden.includes(hostname)) return [{ address: '127.0.0.1', family: 4 }]
          throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
        },
      }
      const keyring = await generateKeyring()
      const options = { origin, storage, store: tables, keyring, http } as const
      const federation = createFederation({
        profile: 'seed',
        ...options,
        ...(handlers && { handlers }),
        ...(policies && { policies }),
      })
      listeners[index]!.on('request', nodeListener(federation.handler))
      t.after(async () => {
        await federation.stop({ graceMs: 0 })
        listeners[index]!.closeAllConnections()
        listeners[index]!.close()
        if (index === 0) await close()
      })
      return { federation, store: tables, storage, origin }
    }),
  )
}

const accepting: InboundHandlers = { FEDERATE: () => ({ accepted: true }) }

export function pairTests(place: Place): void {
  describe('two servers', () => {
    test('a follow, end to end: rows and job together, discovery, REGISTER, delivery, the signed ack', async (t) => {
      const [alpha, beta] = await servers(t, place, [{}, { handlers: accepting }])
      const { federation, store } = alpha!
      const request = { followerId: 'ann', followingId: 'bob', serverUrl: `${beta!.origin}/` }
      const { follow, deliveryJobId } = await federation.follow(request)
      assert.deepEqual([follow.accepted, follow.acknowledged], [false, false])
      assert.equal((await store.deliveries.get(deliveryJobId))?.status, 'open')
      assert.equal((await federation.deliveryQueue.get(deliveryJobId))?.state, 'queued')
      // A repeat before the delivery changes nothing.
      assert.deepEqual(await federation.follow(request), { follow, deliveryJobId })
      federation.startWorkers()
      await until(async () => (await store.deliveries.get(deliveryJobId)) === undefined, 'delivered')
      const ours = await store.follows.find('ann', 'bob', beta!.origin)
      assert.deepEqual([ours?.id, ours?.accepted, ours?.acknowledged], [follow.id, true, true])
      const theirs = await beta!.store.follows.find('ann', 'bob', alpha!.origin)
      assert.deepEqual([theirs?.accepted, theirs?.followerId], [true, 'ann'])
      assert.equal((await beta!.store.peers.get(alpha!.origin))?.isHealthy, true, 'REGISTER made a row there')
      // A repeat after the acknowledgement sends nothing.
      await federation.follow(request)
      assert.equal(await store.deliveries.get(deliveryJobId), undefined)
      const explained = await federation.peers.explain(beta!.origin)
      assert.deepEqual([explained.state, explained.open, explained.wire], ['healthy', 0, 'v1'])
      assert.equal(await federation.peers.probe(beta!.origin), true)
    })

    test('users of two servers follow each other under the same ids: two follows', async (t) => {
      const asked: string[] = []
      const handlers: InboundHandlers = {
        FEDERATE: ({ from }) => {
          asked.push(from)
          return { accepted: true }
        },
      }
      const [alpha, beta] = await servers(t, place, [{ handlers }, { handlers }])
      const pair = { followerId: '1', followingId: '2' }
      const follows = [
        [alpha!, beta!],
        [beta!, alpha!],
      ] as const
      for (const [from, to] of follows) {
        const done = once(from.federation, 'delivered')
        await from.federation.start()
        await from.federation.follow({ ...pair, serverUrl: to.origin })
        await done
        // On Postgres both use one queue.
        await from.federation.startWorkers().stop()
      }
      assert.deepEqual(asked, [alpha!.origin, beta!.origin])
      for (const [own, other] of follows) {
        const { origin } = other
        const ours = await own.store.follows.find('1', '2', origin, origin)
        const theirs = await own.store.follows.find('1', '2', origin, own.origin)
        assert.notEqual(ours?.id, theirs?.id)
        assert.deepEqual([ours?.accepted, theirs?.accepted], [true, true])
      }
    })

    test('in a transaction of the app: all writes, or none', async (t) => {
      const [alpha, beta] = await servers(t, place, [{}, { handlers: accepting }])
      const { federation, store, storage } = alpha!
      await federation.connect()
      await federation.deliveryQueue.queue.start()
      const request = { followerId: 'ann', followingId: 'bob', serverUrl: beta!.origin }
      /** The app's transaction: that of the storage if it shares the database, else that of the tables. */
      const inTransaction = async (run: (tx: unknown) => Promise<void>): Promise<void> =>
        storage.transaction ? storage.transaction(run) : store.transaction(({ handle }) => run(handle))
      let id = ''
      const mind = new Error('changed my mind')
      const changed = inTransaction(async (tx) => {
        id = (await federation.follow(request, tx)).deliveryJobId
        throw mind
      })
      await assert.rejects(changed, mind)
      assert.equal(await store.follows.find('ann', 'bob', beta!.origin), undefined)
      assert.equal(await store.deliveries.get(id), undefined)
      assert.equal(await federation.deliveryQueue.get(id), undefined)

      await inTransaction(async (tx) => void (id = (await federation.follow(request, tx)).deliveryJobId))
      assert.equal((await store.deliveries.get(id))?.status, 'open')
      if (storage.transaction) return assert.equal((await federation.deliveryQueue.get(id))?.state, 'queued')
      // The instant of the commit is unknown, so upkeep adds the job of the row.
      assert.equal(await federation.deliveryQueue.get(id), undefined)
      const later = { store, clock: { now: () => Date.now() + 60_001 }, policies: seedPolicies }
      await reconcileRows(later as never, federation.deliveryQueue)
      assert.equal((await federation.deliveryQueue.get(id))?.state, 'queued')
    })

    test('a follow that failed for good is sent again by another follow()', async (t) => {
      let calls = 0
      const failingOnce: InboundHandlers = {
        FEDERATE: () => {
          if (++calls === 1) throw new Error('out of order')
          return { accepted: true }
        },
      }
      const oneAttempt = { policies: { delivery: { maxAttempts: 1 } } }
      const [alpha, beta] = await servers(t, place, [oneAttempt, { handlers: failingOnce }])
      const { federation, store } = alpha!
      const request = { followerId: 'ann', followingId: 'bob', serverUrl: beta!.origin }
      const { deliveryJobId: id } = await federation.follow(request)
      federation.startWorkers()
      await until(async () => (await federation.deliveryQueue.get(id))?.state === 'failed', 'failed')
      assert.deepEqual([(await store.deliveries.get(id))?.lastError, calls], ['HTTP_STATUS', 1])
      // The next attempt finds a new open row.
      const seen: unknown[] = []
      const attempted = store.deliveries.attempted.bind(store.deliveries)
      t.mock.method(store.deliveries, 'attempted', async (...args: Parameters<typeof attempted>) => {
        seen.push((await store.deliveries.get(id))?.status)
        await attempted(...args)
      })
      await federation.follow(request)
      await until(async () => (await store.follows.find('ann', 'bob', beta!.origin))?.accepted === true, 'accepted')
      assert.deepEqual([seen, calls], [['open'], 2])
    })

    test('by a relay that serves', async (t) => {
      const sender = { hidden: ['server1.test'] }
      const [alpha, beta, relay] = await servers(t, place, [
        sender,
        { handlers: accepting },
        { policies: { relay: { serve: true } } },
      ])
      // All servers know each other: alpha knew beta before its name stopped resolving.
      await alpha!.federation.discoverAndRegister(relay!.origin)
      await beta!.federation.discoverAndRegister(relay!.origin)
      await beta!.federation.discoverAndRegister(alpha!.origin).catch(() => {})
      const betaAtRelay = (await relay!.store.peers.get(beta!.origin))!
      await alpha!.store.peers.pin(betaAtRelay, Date.now())
      const { federation, store } = alpha!
      await federation.follow({ followerId: 'ann', followingId: 'bob', serverUrl: beta!.origin })
      federation.startWorkers()
      await until(async () => (await store.follows.find('ann', 'bob', beta!.origin))?.accepted === true, 'accepted')
      const row = await store.peers.get(beta!.origin)
      assert.deepEqual([row?.isHealthy, row?.unhealthyReason], [false, 'DNS_BLOCKED'])
      assert.equal((await beta!.store.follows.find('ann', 'bob', alpha!.origin))?.accepted, true)
    })
  })
}
