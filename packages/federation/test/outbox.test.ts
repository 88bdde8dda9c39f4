// The outbox: one body, a delivery per server, and the order of deliveries.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { SqliteStorage } from 'holdfast/sqlite'
import { systemClock } from 'holdfast/storage'
import type { Federation } from '../src/federation.ts'
import type { InboundHandlers } from '../src/inbound/handlers.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../src/store/store.ts'
import { reconcileRows } from '../src/upkeep.ts'
import { seedPolicies } from '../src/policies.ts'
import { type Options, servers } from './servers.ts'
import { until } from './seed/bench.ts'

interface Shared {
  readonly path: string
  readonly storage: SqliteStorage
  readonly store: Store
}

/** Jobs and tables in one file. */
function oneFile(t: TestContext): Shared {
  const folder = mkdtempSync(join(tmpdir(), 'federation-outbox-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'app.db')
  const storage = new SqliteStorage({ path, durability: 'relaxed' })
  return { path, storage, store: sqliteStore({ storage }) }
}

const insert = (id: string, data: unknown = 1) => ({
  id,
  payload: { method: 'INSERT', id, createdAt: new Date().toISOString(), data },
})

const count = (path: string, table: string): number => {
  const database = new DatabaseSync(path)
  const { n } = database.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }
  database.close()
  return n
}

test('[G15] an activity that is rolled back leaves nothing; committed, every server gets it once', async (t) => {
  const { path, storage, store } = oneFile(t)
  const applied = new Map<string, number>()
  const receiver = (index: number): Options => ({
    handlers: {
      INSERT: ({ body }) => ({
        apply: () => void applied.set(`${index} ${body.id}`, (applied.get(`${index} ${body.id}`) ?? 0) + 1),
      }),
    },
  })
  const all = await servers(t, 4, (index) => (index === 0 ? { storage, store } : receiver(index)))
  const [alpha, ...others] = all as [Federation, ...Federation[]]
  const recipients = others.map(({ origin }) => origin!)
  await alpha.connect()
  const rolledBack = storage.transaction(async (tx) => {
    await alpha.send(insert('never'), recipients, { tx })
    throw new Error('rolled back')
  })
  await assert.rejects(rolledBack, /rolled back/)
  assert.deepEqual([count(path, 'fed_delivery_jobs'), count(path, 'fed_outbox_bodies')], [0, 0])
  const sent = await storage.transaction((tx) =>
    alpha.send(insert('once'), [...recipients, recipients[0]!, alpha.origin!], { tx }),
  )
  assert.deepEqual(
    sent.map((result) => ('skipped' in result ? result.skipped : result.id)),
    [...recipients.map((origin) => `once ${origin}`), 'self'],
  )
  assert.deepEqual([count(path, 'fed_delivery_jobs'), count(path, 'fed_outbox_bodies')], [3, 1])
  // The same id to the same server is one delivery.
  await alpha.send(insert('once'), recipients)
  assert.equal(count(path, 'fed_delivery_jobs'), 3)
  let delivered = 0
  alpha.on('delivered', () => delivered++)
  await alpha.start()
  await until(() => delivered === 3, 'delivered')
  assert.deepEqual(Object.fromEntries(applied), { '1 once': 1, '2 once': 1, '3 once': 1 })
  // Bodies go with their last row.
  assert.equal(count(path, 'fed_delivery_jobs'), 0)
  const clock = { now: () => Date.now() + 120_000 }
  await reconcileRows({ store, clock, policies: seedPolicies } as never, alpha.deliveryQueue)
  assert.equal(count(path, 'fed_outbox_bodies'), 0)
})

test('blocked servers are skipped, and impossible activities refused, with nothing written', async (t) => {
  const { path, storage, store } = oneFile(t)
  const [alpha] = (await servers(t, 1, () => ({ storage, store }))) as [Federation]
  await alpha.peers.block('http://127.0.0.1:1024')
  assert.deepEqual(await alpha.send(insert('a'), ['http://127.0.0.1:1024']), [
    { origin: 'http://127.0.0.1:1024', skipped: 'blocked' },
  ])
  await assert.rejects(alpha.send(insert('a'), ['http://127.0.0.1:1025', 'no url']), { code: 'ORIGIN_INVALID' })
  await assert.rejects(alpha.send({ payload: {} as never }, ['http://127.0.0.1:1025']), { code: 'INVALID_ARGUMENT' })
  const post = { method: 'FEDERATE_POST', post: { id: 'p', content: [] } }
  for (const payload of [post, { method: 'INSERT', data: 1 }, { ...insert('a').payload, createdAt: 'yesterday' }]) {
    await assert.rejects(alpha.send({ payload }, ['http://127.0.0.1:1025']), {
      code: 'INVALID_ARGUMENT',
      message: /^payload: expected the fields of (FEDERATE_POST \(post\.|INSERT \((id|createdAt): )/,
    })
  }
  await assert.rejects(alpha.send(insert('a'), 'http://127.0.0.1:1025' as never), { code: 'INVALID_ARGUMENT' })
  const request = { followerId: 'alice', followingId: 'bob', serverUrl: 'http://127.0.0.1:1025' }
  for (const change of [{ followingId: undefined }, { followerId: '' }, { followerId: 'x'.repeat(513) }]) {
    await assert.rejects(alpha.follow({ ...request, ...(change as object) }), { code: 'INVALID_ARGUMENT' })
    await assert.rejects(alpha.unfollow({ ...request, ...(change as object) }), { code: 'INVALID_ARGUMENT' })
  }
  await assert.rejects(alpha.send({ ...insert('a'), path: 'inbox' }, ['http://127.0.0.1:1025']), {
    code: 'INVALID_ARGUMENT',
  })
  assert.equal(count(path, 'fed_delivery_jobs'), 0)
})

test('[G4] a large body to 100 servers is stored once, and a row takes at most 300 bytes', async (t) => {
  const { path, storage, store } = oneFile(t)
  const [alpha] = (await servers(t, 1, () => ({ storage, store }))) as [Federation]
  const recipients = Array.from({ length: 100 }, (_, n) => `http://server-${n}.example`)
  await alpha.send(insert('large', 'x'.repeat(1_000_000)), recipients)
  const database = new DatabaseSync(path)
  t.after(() => database.close())
  const columns = 'id || name || target_url || server_url || payload || created_at || status || body_id'
  const bytes = `SELECT max(length(${columns})) AS n FROM fed_delivery_jobs`
  const { n } = database.prepare(bytes).get() as { n: number }
  assert.ok(n <= 300, String(n))
  const pages = database.prepare('SELECT page_count * page_size AS n FROM pragma_page_count, pragma_page_size').get()
  assert.ok((pages as { n: number }).n < 2_000_000, JSON.stringify(pages))
})

test('deliveries with one order key arrive in order, also when the first one fails at first', async (t) => {
  const seen: string[] = []
  let failures = 2
  const handlers = {
    INSERT: ({ body }: { body: { id: string } }) => {
      if (body.id === 'first' && failures-- > 0) throw new Error('not now')
      return { apply: () => void seen.push(body.id) }
    },
  }
  const backoff = { type: 'fixed', delayMs: 50 } as const
  const [alpha, beta] = (await servers(t, 2, (index) =>
    index === 0 ? { policies: { delivery: { backoff } } } : { handlers },
  )) as [Federation, Federation]
  for (const id of ['first', 'second', 'third']) await alpha.send({ ...insert(id), orderKey: 'k' }, [beta.origin!])
  await alpha.send(insert('free'), [beta.origin!])
  await alpha.start()
  await until(() => seen.length === 4, 'all arrived')
  assert.deepEqual(
    seen.filter((id) => id !== 'free'),
    ['first', 'second', 'third'],
  )
  assert.equal(seen[0], 'free')
})

test('a follow is taken back: the unfollow arrives after the follow, with the instant of sending', async (t) => {
  const seen: string[] = []
  const handlers = {
    FEDERATE: () => ({ accepted: true, apply: () => void seen.push('follow') }),
    UNFOLLOW: ({ body }: { body: { following: { createdAt: string } } }) => {
      assert.ok(Math.abs(Date.parse(body.following.createdAt) - Date.now()) < 3_600_000)
      return { apply: () => void seen.push('unfollow') }
    },
  }
  const day = 86_400_000
  const follower = { skewMs: -10 * day }
  const clock = { ...systemClock, now: () => systemClock.now() + follower.skewMs }
  const [alpha, beta] = (await servers(t, 2, (index) => (index === 0 ? { clock } : { handlers }))) as [
    Federation,
    Federation,
  ]
  const request = { followerId: 'alice', followingId: 'bob', serverUrl: beta.origin! }
  assert.equal(await alpha.unfollow(request), false)
  // The follow is ten days old when it is taken back.
  const { follow } = await alpha.follow(request)
  follower.skewMs = 0
  assert.equal(await alpha.unfollow(request), true)
  assert.equal(await alpha.unfollow(request), false)
  await alpha.start()
  await until(() => seen.length === 2, 'both arrived')
  assert.deepEqual(seen, ['follow', 'unfollow'])
  const again = await alpha.follow(request)
  assert.notEqual(again.follow.id, follow.id)
  await until(() => seen.length === 3, 'followed again')
})

test('a pending follow is accepted or rejected later, by the followed server only', async (t) => {
  const stores = Array.from({ length: 3 }, () => sqliteStore({ path: ':memory:' }))
  const [alpha, beta, mallory] = (await servers(t, 3, (index) => ({
    store: stores[index]!,
    handlers: { FEDERATE: () => {} },
  }))) as [Federation, Federation, Federation]
  const [store] = stores as [Store]
  await Promise.all([alpha, beta, mallory].map((server) => server.start()))
  const pairs = ['carol', 'dave'].map((followingId) => ({ followerId: 'alice', followingId, serverUrl: beta.origin! }))
  for (const pair of pairs) await alpha.follow(pair)
  const row = (followingId: string) => store.follows.find('alice', followingId, beta.origin)
  await until(
    async () => (await row('carol'))?.acknowledged === true && (await row('dave'))?.acknowledged === true,
    'acknowledged',
  )
  assert.equal((await row('carol'))?.accepted, false)
  const told = { followerId: 'alice', serverUrl: alpha.origin! }
  // A server without followers has nothing to decide, and its message changes nothing.
  assert.equal(await mallory.decideFollow({ ...told, followingId: 'carol', accepted: true }), false)
  const payload = {
    method: 'FOLLOW_DECISION',
    id: 'x',
    createdAt: new Date().toISOString(),
    followerId: 'alice',
    followingId: 'carol',
    accepted: true,
  }
  const arrived = new Promise((resolve) => mallory.once('delivered', resolve))
  await mallory.send({ payload }, [alpha.origin!])
  await arrived
  assert.equal((await row('carol'))?.accepted, false)
  assert.equal(await beta.decideFollow({ ...told, followingId: 'carol', accepted: true }), true)
  assert.equal(await beta.decideFollow({ ...told, followingId: 'dave', accepted: false }), true)
  await until(async () => (await row('carol'))?.accepted === true && (await row('dave')) === undefined, 'decided')
  assert.equal(await beta.decideFollow({ ...told, followingId: 'dave', accepted: false }), false)
})

test('a paused peer gets nothing until it is resumed; others do', async (t) => {
  const handlers = { INSERT: () => {} }
  const [alpha, beta, gamma] = (await servers(t, 3, () => ({ handlers }))) as [Federation, Federation, Federation]
  const arrived: string[] = []
  beta.on('received', () => arrived.push('beta'))
  gamma.on('received', () => arrived.push('gamma'))
  await alpha.peers.pause(beta.origin!, { by: 'ops' })
  await alpha.start()
  await alpha.send(insert('a'), [beta.origin!, gamma.origin!])
  await alpha.send(insert('b'), [beta.origin!, gamma.origin!])
  await until(() => arrived.length === 2, 'gamma got both')
  assert.deepEqual(arrived, ['gamma', 'gamma'])
  await alpha.peers.resume(beta.origin!, { by: 'ops' })
  await until(() => arrived.length === 4, 'beta got both')
})

test('a peer that the operator removes is forgotten, and its keys are pinned anew by the next contact', async (t) => {
  const [alpha, beta] = (await servers(t, 2)) as [Federation, Federation]
  const request = { followerId: 'alice', followingId: 'bob', serverUrl: beta.origin! }
  let delivered = 0
  alpha.on('delivered', () => delivered++)
  await alpha.start()
  await alpha.follow(request)
  await until(() => delivered === 1, 'the first follow')
  assert.equal(await alpha.peers.remove(beta.origin!), true)
  assert.equal(await alpha.peers.get(beta.origin!), undefined)
  assert.equal(await alpha.peers.remove(beta.origin!), false)
  await alpha.follow({ ...request, followerId: 'carol' })
  await until(() => delivered === 2, 'the second follow')
  assert.ok(await alpha.peers.get(beta.origin!))
})

test('dead letters of the outbox keep their body, and are sent again under their id', async (t) => {
  let fails = true
  const handlers: InboundHandlers = { INSERT: () => (fails ? { reject: 'NO' } : undefined) }
  const policies = { delivery: { maxAttempts: 1 } }
  const [alpha, beta] = (await servers(t, 2, (index) => (index === 0 ? { policies } : { handlers }))) as [
    Federation,
    Federation,
  ]
  await alpha.start()
  const failed = new Promise((resolve) => alpha.once('delivery_failed', resolve))
  await alpha.send(insert('a'), [beta.origin!])
  await failed
  await until(async () => (await alpha.deadLetters.list()).length === 1, 'a dead letter')
  fails = false
  const delivered = new Promise((resolve) => alpha.once('delivered', resolve))
  assert.equal(await alpha.deadLetters.redrive(), 1)
  await delivered
  assert.deepEqual(await alpha.deadLetters.list(), [])
})
