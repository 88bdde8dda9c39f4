// One effect per message, with a decision outside of the transaction.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { JsonSerde, Queue } from 'holdfast'
import { SqliteStorage } from 'holdfast/sqlite'
import { fakeClock } from 'holdfast/testing'
import type { Decision } from '../../src/inbound/effect.ts'
import { reconcileRows } from '../../src/upkeep.ts'
import type { SendingContext } from '../../src/context.ts'
import { generateKeyring } from '../../src/keyring.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { assertRefused, followOf, pair } from './pair.ts'
import {
  deliver,
  followBody,
  headersOf,
  introduce,
  iso,
  openedAck,
  postBody,
  type Reply,
  sealed,
  startServer,
  type TestServer,
} from './server.ts'

const day = 24 * 3_600_000

/** Sends a message and returns the text of the reply. */
async function sentText(from: TestServer, to: TestServer, inner: unknown): Promise<string> {
  const body = JSON.stringify(await sealed(from, to, inner))
  const reply = await fetch(`${to.origin}/inbox`, { method: 'POST', headers: headersOf(from, to), body })
  assert.equal(reply.status, 200)
  return reply.text()
}

test('[S7] a repeated message has one effect, and its acks are equal byte by byte', async (t) => {
  let [asked, applied] = [0, 0]
  const { alpha, beta } = await pair(t, {
    FEDERATE_POST: () => (asked++, { apply: () => void applied++ }),
    INSERT: () => (asked++, { apply: () => void applied++ }),
  })
  const insert = { method: 'INSERT', federationUrl: alpha.origin, id: 'i', createdAt: iso(Date.now()), data: 1 }
  for (const body of [postBody(alpha), insert, followBody(alpha)]) {
    const first = await sentText(alpha, beta, body)
    for (let n = 0; n < 3; n++) assert.equal(await sentText(alpha, beta, body), first)
  }
  assert.deepEqual([asked, applied], [2, 2])
  assert.equal(beta.events.filter(([name]) => name === 'received').length, 3)
})

test('[S7] two processes that decide about one message at a time: one effect, one ack', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'federation-inbox-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'inbox.db')
  const keyring = await generateKeyring()
  let applied = 0
  const bothAsked = Promise.withResolvers<void>()
  let asked = 0
  const decide = async (): Promise<Decision> => {
    if (++asked === 2) bothAsked.resolve()
    await bothAsked.promise
    return { apply: () => void applied++ }
  }
  const alpha = await startServer(t)
  const one = await startServer(t, { store: sqliteStore({ path }), keyring, handlers: { FEDERATE_POST: decide } })
  const two = await startServer(t, { store: sqliteStore({ path }), keyring, handlers: { FEDERATE_POST: decide } })
  await introduce(alpha, one)
  const body = postBody(alpha)
  const texts = await Promise.all([one, two].map((server) => sentText(alpha, server, body)))
  assert.deepEqual([applied, asked], [1, 2])
  // Both processes have the same keys; only what they call themselves differs here.
  assert.equal(texts[0], texts[1])
})

test('[S7] a follow that was removed is not made anew by its old message, by an unfollow neither', async (t) => {
  const { alpha, beta } = await pair(t)
  const [follow, createdAt] = [followBody(alpha), iso(Date.now())]
  const following = { id: 'their-row', createdAt, followerId: 'alice', followingId: 'bob' }
  const unfollow = { method: 'UNFOLLOW', federationUrl: alpha.origin, following }
  await sentText(alpha, beta, follow)
  assert.ok(await followOf(beta, alpha))
  await sentText(alpha, beta, unfollow)
  assert.equal(await followOf(beta, alpha), undefined)
  await sentText(alpha, beta, follow)
  assert.equal(await followOf(beta, alpha), undefined)
  // A new follow is another message.
  await sentText(alpha, beta, followBody(alpha, {}, Date.now() + 1))
  await sentText(alpha, beta, unfollow)
  assert.ok(await followOf(beta, alpha))
})

test('a slow handler holds no transaction: other messages and jobs of the app go on', async (t) => {
  const storage = new SqliteStorage({ path: ':memory:' })
  const [decided, isAsked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const handlers = {
    FEDERATE: async () => {
      isAsked.resolve()
      await decided.promise
    },
    FEDERATE_POST: () => {},
  }
  const { alpha, beta } = await pair(t, handlers, { store: sqliteStore({ storage }), handlers })
  const slow = deliver(alpha, beta, followBody(alpha))
  await isAsked.promise
  for (let n = 0; n < 9; n++) assert.equal((await deliver(alpha, beta, postBody(alpha, { id: `p${n}` }))).status, 200)
  const queue = new Queue<number>({ storage, payloadSerde: new JsonSerde() })
  assert.equal((await queue.enqueue('job', 1)).status, 'queued')
  await queue.stop()
  decided.resolve()
  assert.equal((await slow).status, 200)
  assert.ok(await followOf(beta, alpha))
})

interface Slow {
  readonly alpha: TestServer
  readonly beta: TestServer
  readonly clock: ReturnType<typeof fakeClock>
  readonly decide: (decision: Decision | Error) => void
  readonly isAsked: Promise<void>
  readonly asked: () => number
}

async function slowServer(t: TestContext): Promise<Slow> {
  const clock = fakeClock()
  const [decided, isAsked] = [Promise.withResolvers<Decision>(), Promise.withResolvers<void>()]
  let asked = 0
  const handlers = {
    FEDERATE_POST: () => {
      asked++
      isAsked.resolve()
      return decided.promise
    },
  }
  const { alpha, beta } = await pair(t, handlers, { clock, handlers })
  const decide = (decision: Decision | Error): void =>
    decision instanceof Error ? decided.reject(decision) : decided.resolve(decision)
  return { alpha, beta, clock, decide, isAsked: isAsked.promise, asked: () => asked }
}

test('a handler beyond its time: the sender is told to repeat, and the repeat gets the one effect', async (t) => {
  const { alpha, beta, clock, decide, isAsked, asked } = await slowServer(t)
  let applied = 0
  const body = postBody(alpha, {}, clock.now())
  const first = deliver(alpha, beta, body)
  await isAsked
  await clock.advance(10_000)
  const reply = await first
  assertRefused(reply, 503, 'DECISION_PENDING')
  assert.equal(reply.headers['retry-after'], '5')
  // The same decision is waited for, not asked for again.
  const answered = { count: 0 }
  const second = deliver(alpha, beta, body).finally(() => void answered.count++)
  while (answered.count === 0) {
    await clock.advance(1_000)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  assertRefused(await second, 503, 'DECISION_PENDING')
  assert.equal(asked(), 1)
  decide({ apply: () => void applied++ })
  for (let n = 0; n < 2; n++) assert.equal((await deliver(alpha, beta, body)).status, 200)
  assert.deepEqual([applied, asked()], [1, 1])
})

test('messages of one sender do not take all places of those that wait for a decision', async (t) => {
  const { alpha, beta, clock, decide } = await slowServer(t)
  const other = await startServer(t)
  await introduce(other, beta)
  const waiting = Array.from({ length: 100 }, (_, n) =>
    deliver(alpha, beta, postBody(alpha, { id: `p${n}` }, clock.now())),
  )
  while (beta.inbound.running.size < 100) await new Promise((resolve) => setTimeout(resolve, 1))
  assertRefused(await deliver(alpha, beta, postBody(alpha, { id: 'more' }, clock.now())), 503, 'DECISION_PENDING')
  const ofOther = deliver(other, beta, postBody(other, {}, clock.now()))
  while (beta.inbound.running.size < 101) await new Promise((resolve) => setTimeout(resolve, 1))
  decide({})
  for (const reply of [...(await Promise.all(waiting)), await ofOther]) assert.equal(reply.status, 200)
  assert.deepEqual([beta.inbound.running.size, beta.inbound.runningOf.size], [0, 0])
})

test('a decision that fails is told to all that wait, and asked for again by the next repeat', async (t) => {
  const { alpha, beta, decide, isAsked, asked, clock } = await slowServer(t)
  const body = postBody(alpha, {}, clock.now())
  const waiting: Promise<Reply>[] = [deliver(alpha, beta, body)]
  await isAsked
  waiting.push(deliver(alpha, beta, body))
  while (beta.requests.length < 2) await new Promise((resolve) => setImmediate(resolve))
  decide(new Error('no'))
  for (const reply of await Promise.all(waiting)) assertRefused(reply, 500, 'INTERNAL_ERROR')
  assertRefused(await deliver(alpha, beta, body), 500, 'INTERNAL_ERROR')
  assert.ok(asked() >= 2)
})

test('old posts can be sent to new followers, and have one effect however late they are repeated', async (t) => {
  const clock = fakeClock()
  let applied = 0
  const handlers = { FEDERATE_POST: () => ({ id: 'ours', apply: () => void applied++ }), FEDERATE: () => {} }
  const { alpha, beta } = await pair(t, handlers, { clock, handlers })
  const old = postBody(alpha, { id: 'old' }, clock.now() - 400 * day)
  const recent = postBody(alpha, { id: 'recent' }, clock.now())
  const follow = followBody(alpha, {}, clock.now())
  for (const body of [old, recent, follow]) assert.equal((await deliver(alpha, beta, body)).status, 200)
  assert.equal(applied, 2)
  await clock.advance(40 * day)
  await reconcileRows(beta.context as SendingContext, undefined as never)
  // The rows of posts stay, without their replies. Those of other messages have gone: they are too old now.
  for (const body of [old, recent]) {
    const { body: ack } = await deliver(alpha, beta, body)
    assert.equal((await openedAck(ack, alpha.keyring)).value.post.id, 'ours')
  }
  assertRefused(await deliver(alpha, beta, follow), 400, 'STALE_MESSAGE')
  assert.equal(applied, 2)
})

test('a stored ack is sealed anew for a sender with other keys', async (t) => {
  const { alpha, beta } = await pair(t)
  const body = postBody(alpha)
  const first = await sentText(alpha, beta, body)
  const keyring = await generateKeyring()
  const renewed = await startServer(t, { keyring })
  await beta.store.peers.repin({ ...renewed.keys, url: alpha.origin }, 2)
  const moved = { ...alpha, keyring } as TestServer
  const second = await sentText(moved, beta, body)
  assert.notEqual(second, first)
  assert.equal((await openedAck(JSON.parse(second), keyring)).value.post.federationPostId, 'post-1')
})

test('the inbox of an SQLite file survives a restart', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'federation-inbox-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'inbox.db')
  const alpha = await startServer(t)
  const keyring = await generateKeyring()
  const body = postBody(alpha)
  const texts: string[] = []
  let applied = 0
  for (let n = 0; n < 2; n++) {
    const handlers = { FEDERATE_POST: () => ({ apply: () => void applied++ }) }
    const beta = await startServer(t, { store: sqliteStore({ path }), keyring, handlers })
    await introduce(alpha, beta)
    texts.push(await sentText(alpha, beta, body))
  }
  assert.deepEqual([texts[0] === texts[1], applied], [true, 1])
  const rows = new DatabaseSync(path).prepare('SELECT count(*) AS n FROM fed_inbox').get() as { n: number }
  assert.equal(rows.n, 1)
})
