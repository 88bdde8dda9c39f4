// What unknown clients can do to the registry: only what the origin itself serves, and at a limited rate.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { encryptPayload } from '../../src/wire/v1/envelope.ts'
import { fingerprint } from '../../src/wire/v1/fingerprint.ts'
import { deliver, followBody, introduce, type Reply, startServer, type TestServer } from '../inbound/server.ts'

const registering = ({ keys }: TestServer, given: object = {}) => ({ method: 'REGISTER', ...keys, ...given })
const codeOf = ({ status, body }: Reply): unknown => [status, body.code]
const rows = ({ store }: TestServer) => store.peers.list({ limit: 100 })

test('[S1] a reply counts only for the origin it was fetched from: another url is not registered', async (t) => {
  const [victim, beta] = await Promise.all([startServer(t), startServer(t)])
  // It claims to be the victim, with its own keys and with those of the victim.
  const liar = await startServer(t, { pretends: (real) => ({ ...real, url: victim.origin }) })
  const copier = await startServer(t, { pretends: () => victim.keys })
  await beta.store.peers.pin(victim.keys, 1)
  const before = await rows(beta)
  for (const [attack, ...refused] of [
    [registering(liar), 502, 'DISCOVERY_FAILED'],
    [registering(liar, { url: victim.origin }), 400, 'KEYS_MISMATCH'],
    [registering(copier), 502, 'DISCOVERY_FAILED'],
    [registering(copier, { ...victim.keys, url: copier.origin }), 502, 'DISCOVERY_FAILED'],
  ] as const) {
    assert.deepEqual(codeOf(await beta.post('/discover', attack)), refused)
  }
  assert.deepEqual(await rows(beta), before)
  assert.deepEqual(
    before.map(({ url }) => url),
    [victim.origin],
  )
})

test('[S1] a third origin is never contacted, pinned or changed by a registration', async (t) => {
  const [third, beta] = await Promise.all([startServer(t), startServer(t)])
  // Its GET lists the third server as a peer, and returns that server's keys besides its own.
  const alpha = await startServer(t, {
    pretends: (real) => ({
      ...real,
      peers: [{ url: third.origin, isHealthy: true }],
      echo: third.keys,
      servers: [third.keys],
    }),
  })
  assert.equal((await beta.post('/discover', registering(alpha))).status, 200)
  assert.deepEqual(
    (await rows(beta)).map(({ url }) => url),
    [alpha.origin],
  )
  assert.deepEqual(third.requests, [])
})

test('[S3] a pin never changes silently: other keys on REGISTER are refused with an event, and the row is unchanged', async (t) => {
  const beta = await startServer(t)
  const alpha = await startServer(t)
  await introduce(alpha, beta)
  await beta.store.peers.repin({ ...beta.keys, url: alpha.origin }, 2)
  const before = await rows(beta)
  assert.deepEqual(codeOf(await beta.post('/discover', registering(alpha))), [400, 'PIN_MISMATCH'])
  assert.deepEqual(await rows(beta), before)
  assert.deepEqual(beta.events, [
    ['pin_mismatch', { origin: alpha.origin, from: 'register' }],
    ['refused', { code: 'PIN_MISMATCH', status: 400, from: alpha.origin }],
  ])
})

test('[S3] one changed key of the two is refused', async (t) => {
  const [alpha, other, beta] = await Promise.all([startServer(t), startServer(t), startServer(t)])
  await beta.store.peers.pin({ ...alpha.keys, encryptionPublicKey: other.keys.encryptionPublicKey }, 1)
  assert.deepEqual(codeOf(await beta.post('/discover', registering(alpha))), [400, 'PIN_MISMATCH'])
  await beta.store.peers.repin({ ...alpha.keys, publicKey: other.keys.publicKey }, 1)
  assert.deepEqual(codeOf(await beta.post('/discover', registering(alpha))), [400, 'PIN_MISMATCH'])
})

test('[S4] keys cannot be squatted: X with Y’s keys has a row it cannot sign for, and Y still registers', async (t) => {
  const handlers = { FEDERATE: () => ({ accepted: true }) }
  const [y, beta] = await Promise.all([startServer(t), startServer(t, { handlers })])
  const x = await startServer(t, { pretends: (real) => ({ ...real, ...y.keys, url: x.origin }) })
  assert.equal((await beta.post('/discover', registering(x, { ...y.keys, url: x.origin }))).status, 200)
  assert.equal((await beta.post('/discover', registering(y))).status, 200)
  assert.equal((await rows(beta)).length, 2)
  assert.deepEqual(codeOf(await deliver(x, beta, followBody(x))), [403, 'INVALID_SIGNATURE'])
  assert.equal((await deliver(y, beta, followBody(y))).status, 200)
})

test('[S16] REGISTER and DISCOVER are no free fetch trigger: the 11th of an hour and address is refused', async (t) => {
  const clock = fakeClock()
  const [alpha, beta] = await Promise.all([startServer(t), startServer(t, { clock })])
  const discovering = (): object => {
    const { publicKey, encryptionPublicKey, url } = alpha.keys
    const inner = {
      publicKeyFingerprint: fingerprint(Buffer.from(publicKey, 'base64')),
      encryptionPublicKeyFingerprint: fingerprint(Buffer.from(encryptionPublicKey, 'base64')),
      url,
    }
    const envelope = encryptPayload(JSON.stringify(inner), beta.keyring.current('enc').publicKey)
    return { method: 'DISCOVER', publicKey, encryptionPublicKey, envelope }
  }
  for (let n = 0; n < 10; n++) {
    assert.equal((await beta.post('/discover', n % 2 === 0 ? registering(alpha) : discovering())).status, 200)
  }
  assert.equal(alpha.requests.length, 10)
  for (const message of [registering(alpha), discovering()]) {
    const refused = await beta.post('/discover', message)
    assert.deepEqual(codeOf(refused), [429, 'RATE_LIMITED'])
    assert.equal(refused.headers['retry-after'], '3600')
  }
  // A forged header gives no new budget.
  for (const forged of ['198.51.100.1', '198.51.100.2, 198.51.100.3', '127.0.0.1']) {
    const reply = await beta.post('/discover', registering(alpha), { 'X-Forwarded-For': forged })
    assert.deepEqual(codeOf(reply), [429, 'RATE_LIMITED'])
  }
  assert.equal(alpha.requests.length, 10)
  await clock.advance(3_600_000)
  assert.equal((await beta.post('/discover', registering(alpha))).status, 200)
})

test('[S16] failed requests count as well, a refused address too', async (t) => {
  const beta = await startServer(t)
  const alpha = await startServer(t, { pretends: () => ({ nothing: true }) })
  for (let n = 0; n < 5; n++) {
    assert.equal((await beta.post('/discover', registering(alpha))).status, 502)
    assert.equal((await beta.post('/discover', registering(alpha, { url: 'http://10.0.0.1' }))).status, 400)
  }
  assert.equal((await beta.post('/discover', registering(alpha))).status, 429)
})

test('[S16] behind a trusted proxy each client has its own budget', async (t) => {
  const policies = { inbound: { trustedProxies: ['127.0.0.1'], discoverPerIpPerHour: 1 } }
  const [alpha, beta] = await Promise.all([startServer(t), startServer(t, { policies })])
  const by = (address: string): Promise<Reply> =>
    beta.post('/discover', registering(alpha), { 'X-Forwarded-For': address })
  assert.equal((await by('198.51.100.1')).status, 200)
  assert.equal((await by('198.51.100.1')).status, 429)
  assert.equal((await by('203.0.113.9, 198.51.100.1')).status, 429)
  assert.equal((await by('198.51.100.2')).status, 200)
})
