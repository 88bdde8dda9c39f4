// The bounds of the registry: what strangers can make this server store and fetch.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { reconcileRows } from '../../src/upkeep.ts'
import type { SendingContext } from '../../src/context.ts'
import { deliver, introduce, postBody, type Reply, type ServerOptions, startServer, type TestServer } from './server.ts'

const registered = (beta: TestServer, { keys }: TestServer): Promise<Reply> =>
  beta.post('/discover', { method: 'REGISTER', ...keys })

const known = async ({ store }: TestServer): Promise<string[]> =>
  (await store.peers.list({ limit: 99 })).map(({ url }) => url)

test('peers that registered and were never used are bounded per address range; those in use stay', async (t) => {
  const options: ServerOptions = {
    handlers: { FEDERATE_POST: () => {} },
    policies: { registry: { unusedPerRange: 2, unusedPerSite: 9 } },
  }
  const beta = await startServer(t, options)
  const others = await Promise.all(Array.from({ length: 4 }, () => startServer(t)))
  const [first, second, third, fourth] = others as [TestServer, TestServer, TestServer, TestServer]
  assert.equal((await registered(beta, first)).status, 200)
  await first.store.peers.pin(beta.keys, 1)
  assert.equal((await deliver(first, beta, postBody(first))).status, 200)
  for (const other of [second, third, fourth]) assert.equal((await registered(beta, other)).status, 200)
  assert.deepEqual(await known(beta), [first, third, fourth].map(({ origin }) => origin).toSorted())
  // Forgotten, not refused: it can register again.
  assert.equal((await registered(beta, second)).status, 200)
})

test('fetches that strangers cause have one budget over all addresses', async (t) => {
  const options: ServerOptions = {
    policies: { inbound: { strangerFetchesPerMinute: 2, trustedProxies: ['127.0.0.1'] } },
  }
  const beta = await startServer(t, options)
  const others = await Promise.all(Array.from({ length: 3 }, () => startServer(t)))
  const statuses: number[] = []
  for (const [n, { keys }] of others.entries()) {
    const headers = { 'X-Forwarded-For': `198.51.100.${n}` }
    const reply = await beta.post('/discover', { method: 'REGISTER', ...keys }, headers)
    statuses.push(reply.status)
    if (reply.status === 429) assert.ok(Number(reply.headers['retry-after']) > 0)
  }
  assert.deepEqual(statuses, [200, 200, 429])
  assert.deepEqual(others[2]!.requests, [])
})

test('peers that were never used expire after 30 days', async (t) => {
  const clock = fakeClock()
  const beta = await startServer(t, { clock })
  const pin = (name: string, isReached: boolean): Promise<unknown> =>
    beta.store.peers.pin({ url: `https://${name}.example`, publicKey: 'k', encryptionPublicKey: 'e' }, clock.now(), {
      isReached,
    })
  await pin('unused', false)
  await pin('reached', true)
  const upkeep = (): Promise<void> => reconcileRows(beta.context as SendingContext, undefined as never)
  const day = 24 * 3_600_000
  await clock.advance(30 * day)
  await upkeep()
  assert.deepEqual(await known(beta), ['https://reached.example', 'https://unused.example'])
  await clock.advance(1)
  await upkeep()
  assert.deepEqual(await known(beta), ['https://reached.example'])
})

test('a message of a peer marks it as used, once an hour', async (t) => {
  const clock = fakeClock()
  const [alpha, beta] = await Promise.all([
    startServer(t),
    startServer(t, { clock, handlers: { FEDERATE_POST: () => {} } }),
  ])
  await introduce(alpha, beta)
  const usedAt = async (): Promise<number | undefined> => {
    const body = postBody(alpha, { id: String(clock.now()) }, clock.now())
    assert.equal((await deliver(alpha, beta, body)).status, 200)
    return (await beta.store.peers.get(alpha.origin))!.usedAt
  }
  const first = clock.now()
  assert.equal(await usedAt(), first)
  await clock.advance(3_600_000)
  assert.equal(await usedAt(), first)
  await clock.advance(1)
  assert.equal(await usedAt(), clock.now())
})
