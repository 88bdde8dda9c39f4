// The profile `hardened`: the back-off belongs to the peer, and no delivery is spent on it.

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { createAdmin } from 'holdfast'
import { type FakeClock, fakeClock } from 'holdfast/testing'
import type { FederationOptions } from '../../src/create.ts'
import { type Bench, bench, followPayload, own, passing, until } from '../seed/bench.ts'
import { sqlitePlace } from '../seed/sqlite-place.ts'
import { type TestPeer, World } from '../seed/world.ts'
import { DELIVERY_QUEUE_NAME } from '../../src/jobs.ts'
import { newPeer } from '../../src/peers/peer-state.ts'
import { encryptPayload } from '../../src/wire/v1/envelope.ts'
import { signText } from '../../src/wire/v1/signature.ts'
import { decodeBase64 } from '../../src/wire/v1/base64.ts'

const world = await new World().start()
after(() => world.stop())

async function start(
  t: TestContext,
  options: Partial<FederationOptions> = {},
): Promise<{ readonly it: Bench; readonly clock: FakeClock }> {
  const clock = fakeClock()
  const it = await bench(t, sqlitePlace, world, { clock, profile: 'hardened', ...options })
  await it.federation.start()
  return { it, clock }
}

async function enqueue({ federation, delivery }: Bench, peer: TestPeer, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const { id, name, data } = await delivery(peer)
    await federation.deliveryQueue.add(name, data)
    ids.push(id)
  }
  return ids
}

const deliveredTo = ({ events }: Bench, { origin }: TestPeer): number =>
  events.filter(({ name, data }) => name === 'delivered' && (data as { origin: string }).origin === origin).length

const minute = 60_000

test('[G5] a dead peer with a backlog is contacted rarely, one at a time, and others are not held up', async (t) => {
  const { it, clock } = await start(t)
  const [dead, well] = [await it.peer(), await it.peer()]
  let contacts = 0
  dead.onInbox = () => (contacts++, { status: 500, body: {} })
  dead.onDiscover = () => (contacts++, { status: 500, body: {} })
  await enqueue(it, dead, 20)
  await enqueue(it, well, 20)
  await passing(it, clock, () => deliveredTo(it, well) === 20)
  const end = clock.now() + 60 * minute
  await passing(it, clock, () => clock.now() >= end, 20_000)
  assert.ok(contacts <= 20, `${contacts} contacts`)
  const { contact, open } = await it.federation.peers.explain(dead.origin)
  assert.deepEqual([contact?.state, open], ['down', 20])
  assert.ok(!it.events.some(({ name }) => name === 'delivery_failed'))
})

test('[G6] after an outage all that waited arrives, each once; no attempt was spent', async (t) => {
  const { it, clock } = await start(t)
  const peer = await it.peer()
  peer.mode = 'reset'
  const ids = await enqueue(it, peer, 10)
  const end = clock.now() + 20 * minute
  await passing(it, clock, () => clock.now() >= end, 20_000)
  peer.mode = 'up'
  await passing(it, clock, () => deliveredTo(it, peer) === ids.length)
  assert.equal(peer.delivered.length, ids.length)
  assert.equal((await it.federation.peers.explain(peer.origin)).contact?.state, 'healthy')
  assert.equal((await it.federation.deliveryQueue.queue.counts()).pausedGroups.length, 0)
})

test('[G6] a peer that returns with a backlog goes at even distances while others have deliveries, and holds none of them up', async (t) => {
  const { it, clock } = await start(t)
  const [back, other] = [await it.peer(), await it.peer()]
  for (const peer of [back, other]) await enqueue(it, peer, 1)
  await passing(it, clock, () => deliveredTo(it, back) + deliveredTo(it, other) === 2)
  await it.federation.peers.pause(back.origin, { by: 'test' })
  await enqueue(it, back, 20)
  await clock.advance(1_000)
  await enqueue(it, other, 1)
  await until(() => deliveredTo(it, other) === 2, 'the other peer before the drain')
  await it.federation.peers.resume(back.origin, { by: 'test' })
  await until(() => deliveredTo(it, back) === 1 + 8, 'the first burst')
  // No time passes, so the drain stands still.
  for (let n = 3; n <= 6; n++) {
    await enqueue(it, other, 1)
    await until(() => deliveredTo(it, other) === n, 'the other peer during the drain')
  }
  assert.equal(deliveredTo(it, back), 1 + 8)
  const startedAt = clock.now()
  while (deliveredTo(it, back) < 21) {
    await clock.advance(3)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  assert.ok(clock.now() - startedAt < 30_000, `${clock.now() - startedAt} ms`)
})

test('[G6] an authenticated message of a peer brings the contact forward', async (t) => {
  const { it, clock } = await start(t, { handlers: { INSERT: () => {} } })
  const peer = await it.peer()
  peer.mode = 'reset'
  await enqueue(it, peer, 1)
  const end = clock.now() + 60 * minute
  await passing(it, clock, () => clock.now() >= end, 20_000)
  peer.mode = 'up'
  const { contact } = await it.federation.peers.explain(peer.origin)
  assert.ok(contact!.nextContactAt > clock.now() + 10_000, 'the next contact is far away')
  const createdAt = new Date(clock.now()).toISOString()
  const text = JSON.stringify({ method: 'INSERT', federationUrl: peer.origin, id: 'i', createdAt, data: 1 })
  const payload = encryptPayload(text, decodeBase64(it.keys.encryptionPublicKey, 32)!)
  const body = JSON.stringify({ method: 'INSERT', payload, signature: await signText(text, peer.keyring) })
  const headers = { 'Content-Type': 'application/json', 'X-Federation-Origin': peer.origin }
  const reply = await it.federation.handler(new Request(`${own}/inbox`, { method: 'POST', headers, body }))
  assert.equal(reply.status, 200)
  const before = clock.now()
  await passing(it, clock, () => deliveredTo(it, peer) === 1)
  assert.ok(clock.now() - before <= 5_000, String(clock.now() - before))
})

test('a delivery that is refused ends at once; one that has waited beyond its horizon expires', async (t) => {
  const { it, clock } = await start(t, { policies: { delivery: { horizonMs: 20 * minute } } })
  const [refusing, dead] = [await it.peer(), await it.peer()]
  refusing.onInbox = () => ({ status: 422, body: { code: 'NO' } })
  dead.mode = 'reset'
  await enqueue(it, refusing, 1)
  await enqueue(it, dead, 1)
  const failed = (): (string | undefined)[] =>
    it.events.filter(({ name }) => name === 'delivery_failed').map(({ data }) => (data as { code?: string }).code)
  await passing(it, clock, () => failed().length === 1)
  assert.deepEqual(failed(), ['HTTP_STATUS'])
  assert.equal(refusing.delivered.length, 1)
  await passing(it, clock, () => failed().length === 2, minute)
  assert.deepEqual(failed(), ['HTTP_STATUS', 'EXPIRED'])
  assert.deepEqual((await it.federation.deadLetters.list()).map(({ lastError }) => lastError).toSorted(), [
    'EXPIRED',
    'HTTP_STATUS',
  ])
})

test('every acknowledgement is verified, whether its job has a handler or not, and an invalid one is asked for three times', async (t) => {
  const { it, clock } = await start(t)
  const [peer, other] = [await it.peer(), await it.peer()]
  const ended: string[] = []
  it.federation.on('delivery_failed', ({ code }) => void ended.push(code))
  for (const ack of [
    () => ({ body: { method: 'PROXY_RESPONSE', status: 'acknowledged' } }),
    () => other.followAck(followPayload()),
    () => peer.followAck(followPayload(), { followingId: 'carol' }),
  ]) {
    peer.onInbox = ack
    const job = await it.delivery(peer, { name: 'deliver-anything' })
    await it.federation.deliveryQueue.add(job.name, job.data)
    const before = ended.length
    const received = peer.delivered.length
    await passing(it, clock, () => ended.length > before, 10_000)
    assert.equal(peer.delivered.length - received, 3)
  }
  assert.deepEqual(ended, ['ACK_INVALID', 'ACK_SIGNATURE_INVALID', 'ACK_INVALID'])
})

const pauses = {
  'peers.pause()': ({ federation }: Bench, { origin }: TestPeer) => federation.peers.pause(origin, { by: 'ada' }),
  'the admin handle': async ({ storage }: Bench, { origin }: TestPeer) => {
    await using admin = createAdmin({ storage, by: 'ada' })
    await admin.pause({ face: 'federation', name: DELIVERY_QUEUE_NAME, group: origin })
  },
}
for (const [way, pause] of Object.entries(pauses)) {
  test(`a pause of an operator by ${way} of a peer that is held does not end with the hold`, async (t) => {
    const { it, clock } = await start(t)
    const peer = await it.peer()
    peer.mode = 'reset'
    let isHeld = false
    it.federation.on('contact_failed', () => (isHeld = true))
    await enqueue(it, peer, 1)
    await passing(it, clock, () => isHeld)
    await pause(it, peer)
    peer.mode = 'up'
    const end = clock.now() + 20 * minute
    await passing(it, clock, () => clock.now() >= end, 20_000)
    assert.equal(deliveredTo(it, peer), 0)
    await it.federation.peers.resume(peer.origin, { by: 'ada' })
    await passing(it, clock, () => deliveredTo(it, peer) === 1, 20_000)
  })
}

test('a pause of an operator is not ended by a contact', async (t) => {
  const { it, clock } = await start(t)
  const peer = await it.peer()
  peer.mode = 'reset'
  await it.federation.peers.pause(peer.origin, { by: 'ada' })
  await enqueue(it, peer, 1)
  await it.store.peerStates.change(peer.origin, clock.now(), () => ({
    ...newPeer,
    state: 'suspect',
    failures: 1,
    firstFailedAt: clock.now(),
    nextContactAt: clock.now() + 1_000,
  }))
  // Upkeep looks every minute.
  const end = clock.now() + 5 * minute
  await passing(it, clock, () => clock.now() >= end, 20_000)
  const paused = (await it.federation.deliveryQueue.queue.counts()).pausedGroups
  assert.deepEqual(
    paused.map(({ group, by }) => [group, by]),
    [[peer.origin, 'ada']],
  )
})
