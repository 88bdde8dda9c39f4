// A peer that asks for time with Retry-After: its deliveries wait for that instant, and no attempt is spent.

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { type FakeClock, fakeClock } from 'holdfast/testing'
import { retryAfterMsOf } from '../../src/deliver/asked-to-wait.ts'
import type { PolicyOptions } from '../../src/resolve-policies.ts'
import { seedPolicies } from '../../src/policies.ts'
import { type Bench, bench, deliveryType, passing } from '../seed/bench.ts'
import { sqlitePlace } from '../seed/sqlite-place.ts'
import { type Reply, World } from '../seed/world.ts'

const world = await new World().start()
after(() => world.stop())

async function start(t: TestContext, policies: PolicyOptions = {}): Promise<{ it: Bench; clock: FakeClock }> {
  const clock = fakeClock()
  const it = await bench(t, sqlitePlace, world, { clock, policies })
  await it.federation.start()
  return { it, clock }
}

const busy = (status: number, retryAfter: string): Reply => ({
  status,
  headers: { 'Retry-After': retryAfter },
  body: {},
})

test('429 and 503 with Retry-After: the delivery waits for that instant, more often than it has attempts', async (t) => {
  const { it, clock } = await start(t)
  const peer = await it.peer()
  const arrivedAt: number[] = []
  peer.onInbox = (plain) => {
    arrivedAt.push(clock.now())
    return arrivedAt.length <= 7 ? busy(arrivedAt.length % 2 ? 429 : 503, '20') : peer.followAck(plain)
  }
  const waits: object[] = []
  it.federation.on('delivery_waiting', (event) => void waits.push(event))
  const job = await it.delivery(peer)
  await it.federation.deliveryQueue.add(job.name, job.data)
  await passing(it, clock, () => waits.length === 1)
  const [record] = await it.storage.get([{ type: deliveryType, id: job.id }])
  assert.deepEqual([record?.state, record?.failures], ['scheduled', 0])
  const row = await it.row(job.id)
  assert.deepEqual([row?.status, row?.lastError], ['open', 'HTTP_STATUS'])
  assert.ok(Math.abs(row!.nextAttemptAt! - record!.runAt) < 1_000, 'the row says when')

  await passing(it, clock, () => it.events.some(({ name }) => name === 'delivered'))
  const gaps = arrivedAt.slice(1).map((at, index) => at - arrivedAt[index]!)
  assert.equal(gaps.length, 7)
  assert.ok(
    gaps.every((gap) => gap >= 20_000),
    String(gaps),
  )
  const wait = { id: job.id, origin: peer.origin, retryAfterMs: 20_000 }
  assert.deepEqual(
    waits,
    Array.from({ length: 7 }, () => wait),
  )
  assert.deepEqual(
    it.events.map(({ name }) => name),
    ['delivered'],
  )
  assert.equal((await it.store.peers.get(peer.origin))?.isHealthy, true)
})

test('the other deliveries to this peer wait, too; those to other peers do not', async (t) => {
  const { it, clock } = await start(t)
  const [peer, other] = [await it.peer(), await it.peer()]
  const startedAt = clock.now()
  let isBusy = true
  peer.onInbox = (plain) => {
    if (clock.now() - startedAt >= 60_000) isBusy = false
    return isBusy ? busy(429, '60') : peer.followAck(plain)
  }
  const send = async (to: typeof peer): Promise<void> => {
    const job = await it.delivery(to)
    await it.federation.deliveryQueue.add(job.name, job.data)
  }
  await send(peer)
  await passing(it, clock, () => peer.delivered.length === 1)
  await passing(
    it,
    clock,
    async () => (await it.storage.count({ types: [deliveryType] })).types[0]!.states.processing === 0,
  )
  for (let n = 0; n < 9; n++) await send(peer)
  await send(other)
  await passing(it, clock, () => other.delivered.length === 1)
  assert.equal(peer.delivered.length, 1)
  await passing(it, clock, () => it.events.filter(({ name }) => name === 'delivered').length === 11)
  assert.equal(peer.delivered.length, 11, 'one refusal, and ten deliveries')
})

test('without Retry-After an attempt is spent, as before', async (t) => {
  const { it, clock } = await start(t, { delivery: { maxAttempts: 2 } })
  const peer = await it.peer()
  peer.onInbox = () => ({ status: 429, body: {} })
  const job = await it.delivery(peer)
  await it.federation.deliveryQueue.add(job.name, job.data)
  await passing(it, clock, async () => (await it.row(job.id))?.status === 'failed')
  assert.equal(peer.delivered.length, 2)
})

test('a delivery that is older than its horizon spends its attempts', async (t) => {
  const { it, clock } = await start(t, { delivery: { maxAttempts: 2, horizonMs: 50_000 } })
  const peer = await it.peer()
  peer.onInbox = () => busy(503, '20')
  const job = await it.delivery(peer)
  let waits = 0
  it.federation.on('delivery_waiting', () => void waits++)
  await it.federation.deliveryQueue.add(job.name, job.data)
  await passing(it, clock, () => it.events.some(({ name }) => name === 'delivery_failed'))
  // It waits at 0, 20 and 40 s, and spends its two attempts after that.
  assert.equal(waits, 3)
  assert.deepEqual(
    it.events.map(({ name }) => name),
    ['delivery_failing', 'delivery_failed'],
  )
  assert.equal(peer.delivered.length, 5)
})

test('Retry-After is a number of seconds or an HTTP date, within a second and a day', () => {
  const now = Date.UTC(2026, 0, 1)
  const context = { clock: { now: () => now }, policies: seedPolicies } as never
  const waitMs = (text: string | undefined, status = 429): number | undefined =>
    retryAfterMsOf({ context, acceptedAt: undefined }, { status, headers: { 'retry-after': text } })
  assert.equal(waitMs('90'), 90_000)
  assert.equal(waitMs('0'), 1_000)
  assert.equal(waitMs('999999999'), 86_400_000)
  assert.equal(waitMs('Thu, 01 Jan 2026 00:02:00 GMT'), 120_000)
  assert.equal(waitMs('Wed, 31 Dec 2025 00:00:00 GMT'), 1_000)
  for (const text of [undefined, '', '-1', '1.5', 'soon', '2026-01-01', '1e3']) assert.equal(waitMs(text), undefined)
  for (const status of [408, 425, 503]) assert.equal(waitMs('3', status), 3_000)
  for (const status of [301, 400, 403, 500, 502]) assert.equal(waitMs('3', status), undefined)
})
