// The profile `hardened`: which answers concern one delivery alone, and which ones its peer.

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { type FakeClock, fakeClock } from 'holdfast/testing'
import { newPeer, type PeerState } from '../../src/peers/peer-state.ts'
import { type Bench, bench, followPayload, passing } from '../seed/bench.ts'
import { sqlitePlace } from '../seed/sqlite-place.ts'
import { type TestPeer, World } from '../seed/world.ts'

const world = await new World().start()
after(() => world.stop())

const second = 1_000
const minute = 60 * second

interface Subject {
  readonly it: Bench
  readonly clock: FakeClock
  readonly peer: TestPeer
  /** Adds a delivery of this follower. */
  enqueue(followerId: string): Promise<string>
  delivered(): number
  /** Codes of the deliveries that ended. */
  failed(): string[]
}

async function start(t: TestContext): Promise<Subject> {
  const clock = fakeClock()
  const it = await bench(t, sqlitePlace, world, { clock, profile: 'hardened' })
  await it.federation.start()
  const peer = await it.peer()
  const of = (event: string): { code?: string }[] =>
    it.events.filter(({ name }) => name === event).map(({ data }) => data as { code?: string })
  return {
    it,
    clock,
    peer,
    enqueue: async (followerId) => {
      const following = { ...(JSON.parse(followPayload()) as { following: object }).following, followerId }
      const { id, name, data } = await it.delivery(peer, { payload: followPayload({ following }) })
      await it.federation.deliveryQueue.add(name, data)
      return id
    },
    delivered: () => of('delivered').length,
    failed: () => of('delivery_failed').map(({ code }) => code!),
  }
}

const isOf = (plain: string, followerId: string): boolean => plain.includes(`"followerId":"${followerId}"`)

const stateOf = async ({ it, peer }: Subject): Promise<PeerState | undefined> =>
  (await it.federation.peers.explain(peer.origin)).contact

for (const status of [302, 401, 403, 409, 451]) {
  test(`${status} concerns one delivery: it is repeated twice, and the others go on meanwhile`, async (t) => {
    const subject = await start(t)
    const { it, clock, peer } = subject
    peer.onInbox = (plain) => (isOf(plain, 'mallory') ? { status, body: {} } : peer.followAck(plain))
    for (const follower of ['mallory', 'a', 'b', 'c']) await subject.enqueue(follower)
    const begun = clock.now()
    await passing(it, clock, () => subject.delivered() === 3)
    assert.ok(clock.now() - begun < 5 * second, `${clock.now() - begun} ms`)
    assert.equal((await stateOf(subject))?.state, 'healthy')
    await passing(it, clock, () => subject.failed().length === 1)
    assert.deepEqual(subject.failed(), ['HTTP_STATUS'])
    assert.equal(peer.delivered.filter((plain) => isOf(plain, 'mallory')).length, 3)
    assert.equal((await it.federation.deadLetters.list()).length, 1)
  })
}

test('[S19] 410 on an inbox ends that delivery only; others to the peer are delivered', async (t) => {
  const subject = await start(t)
  const { it, clock, peer } = subject
  peer.onInbox = (plain) => (isOf(plain, 'mallory') ? { status: 410, body: {} } : peer.followAck(plain))
  for (const follower of ['mallory', 'mallory', 'mallory', 'a']) await subject.enqueue(follower)
  await passing(it, clock, () => subject.delivered() === 1 && subject.failed().length === 3)
  assert.deepEqual(subject.failed(), ['HTTP_STATUS', 'HTTP_STATUS', 'HTTP_STATUS'])
  const state = await stateOf(subject)
  assert.deepEqual([state?.state, state?.goneProbes], ['healthy', 0])
})

test('[S19] a server under maintenance that answers everything with a page and 200: nothing is lost', async (t) => {
  const subject = await start(t)
  const { it, clock, peer } = subject
  const page = { headers: { 'Content-Type': 'text/html' }, body: '<h1>Back soon</h1>' }
  const [onInbox, onDiscover] = [peer.onInbox, peer.onDiscover]
  peer.onInbox = () => page
  peer.onDiscover = () => page
  for (let n = 0; n < 10; n++) await subject.enqueue(`follower-${n}`)
  const end = clock.now() + 30 * minute
  await passing(it, clock, () => clock.now() >= end, 5 * second)
  assert.deepEqual([subject.failed(), (await stateOf(subject))?.state], [[], 'down'])
  Object.assign(peer, { onInbox, onDiscover })
  await passing(it, clock, () => subject.delivered() === 10)
  assert.deepEqual(subject.failed(), [])
})

test('a blocked server is not contacted, also if it is down and would be probed', async (t) => {
  const subject = await start(t)
  const { it, clock, peer } = subject
  await it.store.peerStates.change(peer.origin, clock.now(), () => ({ ...newPeer, state: 'down', failures: 5 }))
  await it.federation.peers.block(peer.origin)
  await subject.enqueue('alice')
  await passing(it, clock, () => subject.failed().length === 1)
  assert.deepEqual([subject.failed(), peer.received.length], [['PEER_BLACKLISTED'], 0])
})

test('an error to a delivery that began before the last success does not hold its peer', async (t) => {
  const subject = await start(t)
  const { it, clock, peer } = subject
  const wellLongAgo: PeerState = { ...newPeer, state: 'healthy', lastSuccessAt: clock.now() - 10 * minute }
  await it.store.peerStates.change(peer.origin, clock.now() - 10 * minute, () => wellLongAgo)
  const slow = Promise.withResolvers<void>()
  let isSlow = true
  peer.onInbox = async (plain) => {
    if (!isOf(plain, 'slow') || !isSlow) return peer.followAck(plain)
    await slow.promise
    isSlow = false
    return { status: 500, body: {} }
  }
  await subject.enqueue('slow')
  while (peer.delivered.length < 1) await new Promise((resolve) => setTimeout(resolve, 1))
  await subject.enqueue('quick')
  while (subject.delivered() < 1) await new Promise((resolve) => setTimeout(resolve, 1))
  slow.resolve()
  await passing(it, clock, () => subject.delivered() === 2)
  const { queue } = it.federation.deliveryQueue
  assert.deepEqual((await queue.counts()).pausedGroups, [])
  assert.equal((await queue.limits({ groups: [peer.origin] })).groups[0]?.override, undefined)
  assert.equal((await stateOf(subject))?.state, 'healthy')
})

for (const status of [500, 429]) {
  test(`a delivery that alone draws ${status} is given up after eight; an outage before does not count`, async (t) => {
    const subject = await start(t)
    const { it, clock, peer } = subject
    peer.mode = 'reset'
    const id = await subject.enqueue('poison')
    const end = clock.now() + 60 * minute
    await passing(it, clock, () => clock.now() >= end, 5 * second)
    let errors = 0
    peer.onInbox = (plain) => (isOf(plain, 'poison') ? (errors++, { status, body: {} }) : peer.followAck(plain))
    peer.mode = 'up'
    // Others succeed between its attempts.
    for (let n = 0; subject.failed().length === 0; n++) {
      await subject.enqueue(`other-${n}`)
      const before = subject.delivered()
      await passing(it, clock, () => subject.delivered() > before || subject.failed().length > 0, 5 * second)
    }
    assert.deepEqual([subject.failed(), errors], [['PEER_REFUSES'], 8])
    assert.equal((await it.row(id))?.status, 'failed')
  })
}

test('a contact after a second failure comes in time, although the first one was ended early', async (t) => {
  const subject = await start(t)
  const { it, clock, peer } = subject
  for (let n = 0; n < 3; n++) {
    peer.mode = 'reset'
    await subject.enqueue(`follower-${n}`)
    await passing(it, clock, async () => (await stateOf(subject))?.state === 'suspect')
    peer.mode = 'up'
    // The operator's probe lets the delivery go on before the contact that is scheduled.
    if (n < 2) assert.equal(await it.federation.peers.probe(peer.origin), true)
    const begun = clock.now()
    await passing(it, clock, () => subject.delivered() === n + 1)
    assert.ok(clock.now() - begun <= 15 * second, `${n}: ${clock.now() - begun} ms`)
  }
})

test('a server that says for a day that it has ended gets nothing more, until it sends a message or answers a probe', async (t) => {
  const subject = await start(t)
  const { it, clock, peer } = subject
  const { onDiscover } = peer
  peer.onDiscover = () => ({ status: 410, body: {} })
  const almost: PeerState = {
    ...newPeer,
    state: 'down',
    failures: 9,
    goneProbes: 2,
    goneSince: clock.now() - 25 * 60 * minute,
  }
  await it.store.peerStates.change(peer.origin, clock.now() - minute, () => almost)
  await subject.enqueue('a')
  await subject.enqueue('b')
  await passing(it, clock, () => subject.failed().length === 2)
  assert.deepEqual(subject.failed(), ['PEER_GONE', 'PEER_GONE'])
  assert.deepEqual([peer.delivered.length, (await stateOf(subject))?.state], [0, 'gone'])
  const activity = { payload: { method: 'INSERT', id: 'i', createdAt: new Date().toISOString(), data: 1 } }
  assert.deepEqual(await it.federation.send(activity, [peer.origin]), [{ origin: peer.origin, skipped: 'gone' }])
  peer.onDiscover = onDiscover
  assert.equal(await it.federation.peers.probe(peer.origin), true)
  await it.federation.deadLetters.redrive()
  await passing(it, clock, () => subject.delivered() === 2)
})
