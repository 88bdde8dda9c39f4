// A reply that came by a relay: only a signed acknowledgement of what was sent counts, and nothing else ends the delivery.

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import type { FederationOptions } from '../../src/create.ts'
import { acknowledges } from '../../src/deliver/acknowledges.ts'
import { siteOf } from '../../src/peers/site.ts'
import type { PinOptions } from '../../src/store/store.ts'
import { type Bench, bench, followPayload, type Given, insertFollow } from '../seed/bench.ts'
import { sqlitePlace } from '../seed/sqlite-place.ts'
import { type Reply, TestPeer, World } from '../seed/world.ts'

const world = await new World().start()
after(() => world.stop())

interface Scene {
  readonly it: Bench
  /** Its name does not resolve, so it is reached by the relay only. */
  readonly target: TestPeer
  readonly relay: TestPeer
}

async function scene(t: TestContext, options: Partial<FederationOptions> = {}): Promise<Scene> {
  const it = await bench(t, sqlitePlace, world, options)
  const target = new TestPeer(world, 'gone.invalid', it.keys)
  await it.store.peers.pin({ ...target.text, url: target.origin }, 1_000)
  return { it, target, relay: await it.peer() }
}

/** Runs an attempt whose relayed reply must count as no reply. Returns the code of what is wrong with it. */
async function failsDirectly({ it, target }: Scene, given: Partial<Given> = {}): Promise<string | undefined> {
  const job = await it.delivery(target, given)
  const error = await it.federation.processFederationDelivery(job).then(
    () => assert.fail('it counted'),
    (thrown: unknown) => thrown as { code: string; reason: string; cause?: { code?: string } },
  )
  assert.deepEqual([error.code, error.reason], ['TRANSPORT', 'DNS_BLOCKED'])
  const row = await it.row(job.id)
  assert.deepEqual([row?.status, row?.lastError], ['open', 'TRANSPORT'])
  return error.cause?.code
}

const relayed = async (reply: Reply | Promise<Reply>): Promise<Reply> => ({
  body: { method: 'PROXY_RESPONSE', payload: (await reply).body },
})

test('whatever is wrong with a relayed reply is the failure of the direct request, and is retried', async (t) => {
  const given = await scene(t)
  const { it, target, relay } = given
  const followId = await insertFollow(it, target)
  const payload = followPayload()
  const replies: [code: string, reply: () => Reply | Promise<Reply>][] = [
    ['RESPONSE_NOT_JSON', () => ({ body: 'no JSON' })],
    ['ACK_MISSING', () => ({ body: {} })],
    ['ACK_MISSING', () => relayed({ body: { error: 'x', code: 'INTERNAL_ERROR' } })],
    ['ACK_INVALID', () => relayed({ body: { method: 'PROXY_RESPONSE', data: {}, signature: 'x' } })],
    ['ACK_INVALID', () => relayed(target.ack('no JSON'))],
    ['ACK_SIGNATURE_INVALID', () => relayed(relay.followAck(payload))],
    // Signed by the target, for something else that was sent before.
    ['ACK_INVALID', () => relayed(target.followAck(payload, { followingId: 'carol' }))],
    ['ACK_INVALID', () => relayed(target.ack({ method: 'FEDERATE_POST', post: { id: '1', federationPostId: 'p' } }))],
    // Signed by the target and about this follow, in another shape.
    ['ACK_INVALID', () => relayed(target.followAck(payload, { acknowledged: false }))],
  ]
  for (const [code, reply] of replies) {
    relay.onProxy = reply
    assert.equal(await failsDirectly(given, { payload }), code)
  }
  assert.equal((await it.store.follows.find('alice', 'bob', target.origin))?.acknowledged, false)

  relay.onProxy = (received) => relay.forward(received)
  world.alias('gone.invalid:' + world.port, target)
  await it.federation.processFederationDelivery(await it.delivery(target, { payload }))
  const follow = await it.store.follows.find('alice', 'bob', target.origin)
  assert.deepEqual([follow?.id, follow?.accepted], [followId, true])
})

const ackOf = (id: string, federationUrl: string): object => ({
  method: 'FEDERATE_POST',
  federationUrl,
  post: { id: 'theirs', federationPostId: id },
})

test('an acknowledgement without a handler, or whose handler does not open it, must be verified all the same', async (t) => {
  let handled = 0
  const given = await scene(t, { acks: { careless: () => void handled++ } })
  const { it, target, relay } = given
  const post = { method: 'FEDERATE_POST', federationUrl: 'http://self.test', post: { id: 'p1' } }
  const payload = JSON.stringify(post)
  for (const name of ['deliver-post', 'careless']) {
    relay.onProxy = () => relayed({ body: { method: 'PROXY_RESPONSE', status: 'acknowledged' } })
    assert.equal(await failsDirectly(given, { name, payload }), 'ACK_INVALID')
    relay.onProxy = () => relayed(relay.ack(ackOf('p1', target.origin)))
    assert.equal(await failsDirectly(given, { name, payload }), 'ACK_SIGNATURE_INVALID')
    relay.onProxy = () => relayed(target.ack(ackOf('p0', target.origin)))
    assert.equal(await failsDirectly(given, { name, payload }), 'ACK_INVALID')
    relay.onProxy = () => relayed(target.ack(ackOf('p1', target.origin)))
    await it.federation.processFederationDelivery(await it.delivery(target, { name, payload }))
  }
  assert.equal(handled, 1)
})

const sent = (body: object): string => JSON.stringify(body)

test('an acknowledgement names what was sent, by method, and the server that acknowledges', () => {
  const pair = { followerId: 'a', followingId: 'b' }
  const origin = 'https://b.example'
  const by = { federationUrl: origin }
  const cases: [payload: string, ack: unknown, isOne: boolean][] = [
    // The acknowledgement of a follow repeats the sender's URL.
    [sent({ method: 'FEDERATE', following: pair }), { method: 'FEDERATE', following: pair }, true],
    [sent({ method: 'FEDERATE', following: pair }), { method: 'FEDERATE', following: { followerId: 'a' } }, false],
    [sent({ method: 'FEDERATE', following: pair }), { method: 'UNFOLLOW', following: pair }, false],
    [sent({ method: 'UNFOLLOW', following: { id: 'f' } }), { method: 'UNFOLLOW', id: 'f', ...by }, true],
    [sent({ method: 'UNFOLLOW', following: { id: 'f' } }), { method: 'UNFOLLOW', id: 'g', ...by }, false],
    [sent({ method: 'INSERT', id: 'i' }), { method: 'INSERT', id: 'i', ...by }, true],
    [sent({ method: 'INSERT', id: 'i' }), { method: 'INSERT', id: 'i', federationUrl: 'https://B.example:443/' }, true],
    [sent({ method: 'OWN', id: 'i' }), { method: 'OWN', id: 'j', ...by }, false],
    // Another server, none, and no URL.
    [sent({ method: 'INSERT', id: 'i' }), { method: 'INSERT', id: 'i', federationUrl: 'https://c.example' }, false],
    [sent({ method: 'INSERT', id: 'i' }), { method: 'INSERT', id: 'i' }, false],
    [sent({ method: 'INSERT', id: 'i' }), { method: 'INSERT', id: 'i', federationUrl: 'nowhere' }, false],
    // Absent on both sides.
    [sent({ method: 'OWN' }), { method: 'OWN', ...by }, false],
    [sent({ method: 'FEDERATE' }), { method: 'FEDERATE' }, false],
    [sent({ method: 'FEDERATE_POST' }), { method: 'FEDERATE_POST', post: {}, ...by }, false],
    ['no JSON', { method: 'OWN', id: 'i', ...by }, false],
    [sent({ method: 'OWN', id: 'i' }), null, false],
  ]
  for (const [payload, ack, isOne] of cases)
    assert.equal(acknowledges(ack, payload, origin), isOne, JSON.stringify(ack))
})

test('one site is one candidate for a relay, however many names it registers', async (t) => {
  const given = await scene(t)
  const { it, target } = given
  let isAsked = 0
  for (let n = 0; n < 20; n++) {
    const peer = new TestPeer(world, `n${n}.attacker.test`, it.keys)
    peer.onProxy = () => {
      isAsked++
      return { status: 500, body: {} }
    }
    world.alias(peer.host, peer)
    await it.store.peers.pin({ ...peer.text, url: peer.origin }, 2_000 + n, { isReached: true })
  }
  // 21 peers, of two sites. Each of both is asked about every second time; of 21 candidates the honest one would be among 8 at no time.
  given.relay.onProxy = () => relayed(target.followAck(followPayload()))
  let delivered = 0
  for (let n = 0; n < 20; n++) {
    const job = await it.delivery(target)
    await it.federation.processFederationDelivery(job).then(
      () => delivered++,
      () => undefined,
    )
  }
  assert.equal(isAsked + delivered, 20)
  assert.ok(delivered > 0)
})

test('no relay: a peer that only registered, and all but one of an address range', async (t) => {
  const given = await scene(t)
  const { it, target } = given
  let asked = new Set<string>()
  const candidate = async (name: string, options: PinOptions): Promise<void> => {
    const peer = new TestPeer(world, name, it.keys)
    peer.onProxy = () => {
      asked.add(name)
      return { status: 500, body: {} }
    }
    world.alias(peer.host, peer)
    await it.store.peers.pin({ ...peer.text, url: peer.origin }, 2_000, options)
  }
  const tryOften = async (): Promise<string[]> => {
    asked = new Set()
    for (let n = 0; n < 20; n++) await failsDirectly(given)
    return [...asked].toSorted()
  }
  await it.store.peers.remove(given.relay.origin)
  await candidate('registered.test', {})
  assert.deepEqual(await tryOften(), [])
  await candidate('one.test', { isReached: true, addressRange: '192.0.2.0/24' })
  await candidate('two.test', { isReached: true, addressRange: '192.0.2.0/24' })
  // The most recently seen one of the range; by name, where both were seen at once.
  assert.deepEqual(await tryOften(), ['one.test'])
  await it.store.peers.remove(target.origin)
})

test('a peer that acknowledged a delivery, or was discovered for one, has been reached', async (t) => {
  const { it } = await scene(t)
  const [pinned, found] = [world.peer(it.keys), world.peer(it.keys)]
  await it.store.peers.pin({ ...pinned.text, url: pinned.origin }, 1_000)
  for (const peer of [pinned, found]) {
    await it.federation.processFederationDelivery(await it.delivery(peer))
    const { reachedAt } = (await it.store.peers.get(peer.origin))!
    assert.ok(reachedAt !== undefined && reachedAt > 1_000)
  }
  assert.equal((await it.store.peers.get(found.origin))!.addressRange, '127.0.0.0/24')
})

test('the site of a server', () => {
  const sites = [
    ['https://a.example.com', 'example.com'],
    ['https://example.com:8443', 'example.com'],
    ['https://a.b.example.co.uk', 'example.co.uk'],
    ['https://a.toolong.uk', 'toolong.uk'],
    ['https://localhost', 'localhost'],
    ['https://192.0.2.17', '192.0.2.0/24'],
    ['https://[2001:db8:1:2::3]', '2001:db8:1::/48'],
  ]
  for (const [origin, site] of sites) assert.equal(siteOf(origin!), site)
})
