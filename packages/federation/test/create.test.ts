// The options of createFederation(), and what this profile does not have.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { createFederation, type FederationOptions } from '../src/create.ts'
import type { Federation } from '../src/federation.ts'
import { generateKeyring, generateKeyText } from '../src/keyring.ts'
import { resolveStopOptions } from '../src/life-cycle.ts'
import { hardenedPolicies } from '../src/policies.ts'
import { resolvePolicies } from '../src/resolve-policies.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import type { FollowRow, FollowStore } from '../src/store/store.ts'

const keyring = await generateKeyring()

const options = (change: object = {}): FederationOptions => ({
  origin: 'https://A.example:443/',
  storage: new MemoryStorage(),
  store: sqliteStore({ path: ':memory:' }),
  keyring,
  ...change,
})

function made(t: TestContext, change: object = {}): Federation {
  const federation = createFederation(options(change))
  t.after(() => federation.stop({ graceMs: 0 }))
  return federation
}

test('the origin is made canonical; the profile defaults to hardened', async (t) => {
  const data = { deliveryJobId: 'd', serverUrl: 'https://b.example', targetUrl: 'https://b.example/inbox', payload: '' }
  for (const [change, maxAttempts] of [
    [{}, 1_000],
    [{ profile: undefined }, 1_000],
    [{ profile: 'hardened' }, 1_000],
    [{ profile: 'seed' }, 5],
  ] as const) {
    const { origin, deliveryQueue } = made(t, change)
    assert.equal(origin, 'https://a.example')
    await deliveryQueue.add('deliver-post', data)
    assert.equal((await deliveryQueue.get('d'))?.maxAttempts, maxAttempts, JSON.stringify(change))
  }
})

test('missing, unknown and impossible options are refused', () => {
  for (const change of [
    { profile: 'other' },
    { storage: undefined },
    { store: null },
    { keyring: 'key' },
    { keyring: generateKeyring() },
    { keyring: generateKeyText() },
    { store: new MemoryStorage() },
    { storage: sqliteStore({ path: ':memory:' }) },
    { retries: 5 },
    { policies: 5 },
    { policies: { deliver: {} } },
    { policies: { delivery: { attempt: 5 } } },
    { policies: { delivery: { maxAttempts: -1 } } },
    { policies: { delivery: { maxAttempts: '5' } } },
    { policies: { delivery: { attempts: -1 } } },
    { policies: { delivery: { attempts: 5, maxAttempts: 5 } } },
    { log: {}, logger: {} },
    { policies: { relay: { use: 'yes' } } },
    { policies: { health: { delayMs: 5 } } },
    { policies: { methods: 'FEDERATE' } },
    { policies: { methods: [5] } },
    { policies: { threats: { OTHER: {} } } },
    { policies: { threats: { TIMEOUT: { proxyEligible: 1 } } } },
  ]) {
    assert.throws(() => createFederation(options(change)), { code: 'INVALID_ARGUMENT' }, JSON.stringify(change))
  }
  for (const origin of ['http://a.example', 'https://a.example/path', 'a.example', '']) {
    assert.throws(() => createFederation(options({ origin })), { code: 'ORIGIN_INVALID' }, origin)
  }
})

test('[S21] a wrong keyring is not quoted: it may be the keys', () => {
  for (const wrong of ['canary', { privateKey: 'canary' }, { current: 'canary' }]) {
    assert.throws(
      () => createFederation(options({ keyring: wrong })),
      ({ message }: Error) => !message.includes('canary') && message.includes('await generateKeyring()'),
    )
  }
})

test('the profile hardened has its own defaults, and the given values over them', () => {
  const { delivery, relay } = resolvePolicies({ delivery: { concurrency: 7 } }, 'hardened')
  assert.deepEqual(
    [delivery.concurrency, delivery.verifyAcks, delivery.keepCompletedMs, relay.use],
    [7, true, 0, false],
  )
})

test('policies override single defaults, and do not change the table', () => {
  const policies = resolvePolicies({
    delivery: { maxAttempts: 2, backoff: { type: 'fixed', delayMs: 1 } },
    threats: { TIMEOUT: { proxyEligible: true } },
  })
  assert.deepEqual(policies.delivery, {
    ...hardenedPolicies.delivery,
    maxAttempts: 2,
    backoff: { type: 'fixed', delayMs: 1 },
  })
  assert.deepEqual(policies.threats.TIMEOUT, { proxyEligible: true, directHealthCheckable: true })
  assert.equal(hardenedPolicies.threats.TIMEOUT.proxyEligible, false)
  assert.deepEqual(resolvePolicies({ methods: ['LIKE'] }).methods, ['LIKE'])
})

test('aliases of policies and of stop() are mapped to their words', async (t) => {
  assert.equal(resolvePolicies({ delivery: { attempts: 2 } }).delivery.maxAttempts, 2)
  assert.equal(resolvePolicies({ delivery: { attempts: undefined, maxAttempts: 3 } }).delivery.maxAttempts, 3)
  assert.deepEqual(resolveStopOptions({ timeout: 5 }), { graceMs: 5 })
  assert.deepEqual(resolveStopOptions(), { graceMs: 30_000 })
  const federation = made(t)
  for (const given of [{ timeout: 5, graceMs: 5 }, { graceMs: -1 }, { grace: 1 }]) {
    await assert.rejects(federation.stop(given as object), { code: 'INVALID_ARGUMENT' }, JSON.stringify(given))
  }
})

test('the option `follows` replaces the table', async (t) => {
  const rows = new Map<string, FollowRow>()
  const follows: FollowStore = {
    insert: async (row) => {
      const isNew = !rows.has(row.followingId)
      if (isNew) rows.set(row.followingId, row)
      return { row: rows.get(row.followingId)!, isNew }
    },
    find: async (_, followingId) => rows.get(followingId),
    acknowledge: async () => {},
    remove: async () => false,
  }
  const federation = made(t, { follows })
  const { follow, deliveryJobId } = await federation.follow({
    followerId: 'ann',
    followingId: 'bob',
    serverUrl: 'https://b.example',
  })
  assert.deepEqual([...rows.values()], [follow])
  const job = await federation.deliveryQueue.get(deliveryJobId)
  assert.equal(job?.data.targetUrl, 'https://b.example/api/auth/social/follows')
  const sent = JSON.parse(job!.data.payload) as { following: { id: string }; federationUrl: string; method: string }
  assert.deepEqual([sent.following.id, sent.federationUrl, sent.method], [follow.id, 'https://a.example', 'FEDERATE'])
})

for (const name of ['logger', 'log']) {
  test(`a listener that throws keeps no other listener from the event, and is logged to \`${name}\``, async (t) => {
    const lines: string[] = []
    const logger = { error: (_: object, message: string) => void lines.push(message) }
    const store = sqliteStore({ path: ':memory:' })
    const federation = made(t, { [name]: logger, store })
    federation.on('peer_healthy', () => {
      throw new Error('a listener of mine')
    })
    let heard = 0
    federation.once('peer_healthy', () => void heard++)
    await federation.connect()
    const url = 'https://b.example'
    for (let n = 0; n < 2; n++) {
      await store.peers.pin({ url, publicKey: 'key', encryptionPublicKey: 'key' }, 1)
      await store.peers.unhealthy(url, 'TIMEOUT', 5, 1)
      await federation.markServerHealthy(url)
    }
    assert.deepEqual([heard, lines], [1, Array(2).fill("federation: a listener of 'peer_healthy' threw an error")])
  })
}
