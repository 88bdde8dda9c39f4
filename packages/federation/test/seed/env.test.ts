// The names of the seed, with a federation made from the environment.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, beforeEach, test } from 'node:test'
import { RedisStorage } from 'holdfast/redis'
import { startRedis } from '../../../../servers/redis.ts'
import * as federation from '../../src/index.ts'
import { World } from './world.ts'

const redis = await startRedis()
const directory = await mkdtemp(join(tmpdir(), 'holdfast-federation-'))
const world = await new World().start()
const environment = { ...process.env }
const keys = federation.generateKeyText()
let databases = 0

const set = (given: Readonly<Record<string, string | undefined>>): void => {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
}

beforeEach((t) => {
  set({
    REDIS_URL: undefined,
    FEDERATION_STORAGE_URL: undefined,
    DATABASE_URL: `sqlite:${join(directory, `${++databases}.db`)}`,
    BETTER_AUTH_URL: 'http://self.test',
    FEDERATION_PUBLIC_KEY: keys.publicKey,
    FEDERATION_PRIVATE_KEY: keys.privateKey,
    FEDERATION_ENCRYPTION_PUBLIC_KEY: keys.encryptionPublicKey,
    FEDERATION_ENCRYPTION_PRIVATE_KEY: keys.encryptionPrivateKey,
    DEV_ALLOWED_HOSTNAMES: `self.test,localhost:${world.port}`,
    NODE_ENV: undefined,
  })
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    (t as never as Mocking).mock.method(console, level, () => {})
})
interface Mocking {
  readonly mock: { method(object: object, name: string, implementation: () => void): unknown }
}
afterEach(() => federation.resetFederationForTests())
after(async () => {
  set(Object.fromEntries(Object.keys(process.env).map((name) => [name, environment[name]])))
  await world.stop()
  await redis.stop()
  await rm(directory, { recursive: true, force: true })
})

const functions = [
  'getRedisConnection',
  'getRedisWorkerConnection',
  'getFederationQueue',
  'getHealthCheckQueue',
  'scheduleHealthCheck',
  'startFederationWorker',
  'processFederationDelivery',
  'processHealthCheck',
  'handleFollowAck',
  'UnrecoverableError',
  'DiscoveryError',
  'discoverAndRegister',
  'federationFetch',
  'encryptPayload',
  'decryptPayload',
  'getThreatPolicy',
  'markServerHealthy',
  'markServerUnhealthy',
] as const

test('[names] every name is exported, and a member of a federation', () => {
  const exported: Readonly<Record<string, unknown>> = { ...federation }
  for (const name of functions) assert.equal(typeof exported[name], 'function', name)
  assert.equal(typeof federation.FollowEnvelopeSchema.parse, 'function')
  assert.equal(typeof federation.FollowEnvelopeSchema.safeParse, 'function')
  assert.equal(federation.DELIVERY_QUEUE_NAME, 'federation-delivery')
  assert.equal(federation.HEALTH_CHECK_QUEUE_NAME, 'federation-health-check')
  assert.equal(federation.MAX_HEALTH_CHECK_ATTEMPTS, 5)
  set({ FEDERATION_STORAGE_URL: 'sqlite::memory:' })
  const ours = federation.getFederation() as unknown as Record<string, unknown>
  const ownOnly = ['getRedisConnection', 'getRedisWorkerConnection', 'UnrecoverableError', 'DiscoveryError']
  for (const name of functions) {
    if (!ownOnly.includes(name)) assert.equal(typeof ours[name], 'function', `a member: ${name}`)
  }
  // Checked by the compiler.
  const job: federation.FederationDeliveryJob = { deliveryJobId: 'a', targetUrl: 'b', serverUrl: 'c', payload: 'd' }
  const check: federation.HealthCheckJob = { serverUrl: 'a' }
  assert.ok(job && check && ({} as Partial<federation.AckPayload & federation.EncryptedEnvelope>))
})

test('[redis missing] without REDIS_URL the getters throw, and never try localhost', () => {
  const { getRedisConnection, getRedisWorkerConnection, getFederationQueue, getHealthCheckQueue } = federation
  for (const get of [getRedisConnection, getRedisWorkerConnection, getFederationQueue, getHealthCheckQueue]) {
    assert.throws(get, { code: 'CONFIG_MISSING', message: /REDIS_URL/ })
  }
})

test('[redis two] two connections, one instance each, with maxRetriesPerRequest null, that a storage accepts', async (t) => {
  set({ REDIS_URL: redis.url })
  const producing = federation.getRedisConnection()
  const working = federation.getRedisWorkerConnection()
  assert.notEqual(producing, working)
  assert.equal(federation.getRedisConnection(), producing)
  assert.equal(federation.getRedisWorkerConnection(), working)
  for (const client of [producing, working]) {
    const { options } = client as unknown as { options: { maxRetriesPerRequest: unknown } }
    assert.equal(options.maxRetriesPerRequest, null)
    const storage = new RedisStorage({ client, prefix: 'two' })
    await storage.connect()
    t.after(() => storage.disconnect())
    await storage.count({})
  }
  await federation.resetFederationForTests()
  assert.notEqual(federation.getRedisConnection(), producing, 'forgotten')
})

test('[redis apart] a blocked worker connection does not delay an enqueue', async () => {
  set({ REDIS_URL: redis.url })
  const queue = federation.getFederationQueue()
  const data = { deliveryJobId: 'a', targetUrl: 'http://a.test/inbox', serverUrl: 'http://a.test', payload: '{}' }
  await queue.add('deliver-follow', data)
  const working = federation.getRedisWorkerConnection()
  await working.connect().catch(() => {})
  const blocked = working.callBuffer('BLPOP', ['never', '0'])
  let isOver = false
  blocked.then(
    () => (isOver = true),
    () => (isOver = true),
  )
  assert.equal((await queue.add('deliver-follow', { ...data, deliveryJobId: 'b' })).added, true)
  assert.equal((await queue.get('b'))?.state, 'queued')
  assert.equal(isOver, false, 'it was blocked all the time')
})

test('jobs on Redis, tables on SQLite, and a delivery through the singletons', async () => {
  const peer = world.peer(keys)
  set({ REDIS_URL: redis.url, DEV_ALLOWED_HOSTNAMES: `localhost:${world.port}` })
  // Every machine resolves this name.
  peer.origin = `http://localhost:${world.port}`
  world.alias(`localhost:${world.port}`, peer)
  const workers = federation.startFederationWorker()
  assert.equal(federation.startFederationWorker(), workers)
  const completed = new Promise((resolve) => workers.deliveryWorker.once('completed', resolve))
  const following = {
    id: 'f1',
    createdAt: new Date().toISOString(),
    followerId: 'a',
    followingId: 'b',
    accepted: false,
    followerServerUrl: null,
  }
  const payload = JSON.stringify({ following, federationUrl: 'http://self.test', method: 'FEDERATE' })
  const { origin } = peer
  const data = { deliveryJobId: 'seed-1', targetUrl: `${origin}/inbox`, serverUrl: origin, payload }
  await federation.getFederationQueue().add('deliver-follow', data)
  await completed
  assert.deepEqual(peer.delivered, [payload])
  assert.equal(await federation.discoverAndRegister(origin), peer.text.encryptionPublicKey)
  await federation.scheduleHealthCheck('https://remote.example.com', 0)
  assert.ok(await federation.getHealthCheckQueue().get('health-check_d4b64e4b29f0e3be_0'))
  assert.deepEqual(federation.getThreatPolicy('TIMEOUT'), { proxyEligible: false, directHealthCheckable: true })
})

test('other storages by FEDERATION_STORAGE_URL, with the tables in the same file', async () => {
  const url = `sqlite:${join(directory, 'both.db')}`
  set({ FEDERATION_STORAGE_URL: url, DATABASE_URL: url })
  const ours = federation.getFederation()
  const { deliveryJobId } = await ours.follow({ followerId: 'a', followingId: 'b', serverUrl: 'http://localhost' })
  assert.equal((await federation.getFederationQueue().get(deliveryJobId))?.state, 'queued')
  await federation.resetFederationForTests()
  set({ FEDERATION_STORAGE_URL: 'mysql://a' })
  assert.throws(() => federation.getFederationQueue(), { code: 'CONFIG_INVALID', message: /FEDERATION_STORAGE_URL/ })
  set({ FEDERATION_STORAGE_URL: url, DATABASE_URL: 'mysql://secret' })
  assert.throws(
    () => federation.getFederationQueue(),
    (error: Error) => !error.message.includes('secret'),
  )
})

test('missing or mismatched keys: no worker starts; adding jobs needs no keys', async () => {
  set({ FEDERATION_STORAGE_URL: 'sqlite::memory:' })
  const names = ['PUBLIC_KEY', 'PRIVATE_KEY', 'ENCRYPTION_PUBLIC_KEY', 'ENCRYPTION_PRIVATE_KEY']
  for (const name of names.map((end) => `FEDERATION_${end}`)) {
    const value = process.env[name]
    set({ [name]: undefined })
    assert.throws(() => federation.startFederationWorker(), { code: 'CONFIG_MISSING', message: new RegExp(name) })
    const other = federation.generateKeyText()
    set({ [name]: name.includes('ENCRYPTION') ? other.encryptionPublicKey : other.publicKey })
    assert.throws(() => federation.startFederationWorker(), { code: 'KEY_INVALID' })
    assert.ok(federation.getFederationQueue())
    set({ [name]: value })
  }
  federation.startFederationWorker()
})

test('DEV_ALLOWED_HOSTNAMES is refused in production, and allows host names otherwise', async () => {
  set({ FEDERATION_STORAGE_URL: 'sqlite::memory:', NODE_ENV: 'production' })
  assert.throws(() => federation.getFederation(), { code: 'CONFIG_INVALID', message: /DEV_ALLOWED_HOSTNAMES/ })
  set({ DEV_ALLOWED_HOSTNAMES: undefined })
  assert.throws(() => federation.getFederation(), { code: 'ORIGIN_INVALID' }, 'http names no server then')
  set({ BETTER_AUTH_URL: 'https://self.test' })
  await assert.rejects(federation.discoverAndRegister('https://localhost'), { code: 'ADDRESS_REFUSED' })
})
