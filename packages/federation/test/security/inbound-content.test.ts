// Input of unknown clients is treated as data, and secrets stay private.

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { generateKeyText, keyringFromBase64 } from '../../src/keyring.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { encryptPayload } from '../../src/wire/v1/envelope.ts'
import {
  deliver,
  followBody,
  headersOf,
  introduce,
  openedAck,
  postBody,
  type Reply,
  sealed,
  startServer,
  targetedAt,
} from '../inbound/server.ts'

const roomy = { inbound: { perIpPerMinute: 1e6 } }

test('[S21] private keys and payloads are in no row, log line, event or reply', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'federation-canary-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const text = generateKeyText()
  const canary = 'canary-5b1f0c6e'
  let fails = false
  const server = await startServer(t, {
    policies: roomy,
    keyring: keyringFromBase64(text),
    store: sqliteStore({ path: join(folder, 'tables.db') }),
    handlers: {
      FEDERATE: () => ({ accepted: true }),
      FEDERATE_POST() {
        if (fails) throw new Error('the handler failed')
      },
    },
  })
  const alpha = await startServer(t)
  await introduce(alpha, server)
  const replies: Reply[] = []
  const post = postBody(alpha, { content: [{ type: 'text', value: canary }], authorId: canary })
  const message = await sealed(alpha, server, post)
  const send = async (body: unknown, headers = headersOf(alpha), path = '/inbox'): Promise<void> =>
    void replies.push(await server.post(path, body, headers))
  await send(message)
  fails = true
  await send(await sealed(alpha, server, { ...post, post: { ...post.post, id: 'fails' } }))
  await send({ ...message, signature: Buffer.alloc(64).toString('base64') })
  await send({ ...message, payload: { ...(message.payload as object), canary } })
  await send(await sealed(alpha, server, { ...post, post: { ...post.post, published: canary } }))
  await send(await sealed(alpha, server, { ...post, federationUrl: `https://${canary}.example` }))
  await send(`{"${canary}`)
  await send(await targetedAt(alpha, server, post), {}, '/proxy')
  await send(await targetedAt(alpha, server, post, { targetUrl: `https://${canary}.example/inbox` }), {}, '/proxy')
  await send({ method: 'REGISTER', url: alpha.origin, publicKey: canary, encryptionPublicKey: canary }, {}, '/discover')
  replies.push(await deliver(alpha, server, followBody(alpha)), await server.get('/discover'))
  assert.ok(new Set(replies.map(({ status }) => status)).size >= 4)
  await server.store.peers.pin({ ...alpha.keys, url: 'https://flush.example' }, 1)
  const rows = readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), 'latin1'))
    .join('')
  const seen = inspect([server.lines, server.events, replies.map(({ body, headers }) => [body, headers])], {
    depth: null,
  })
  assert.ok(rows.includes(alpha.keys.publicKey) && server.lines.length > 0)
  for (const place of [rows, seen]) {
    assert.ok(!place.includes(canary))
    for (const secret of [text.privateKey, text.encryptionPrivateKey]) {
      assert.ok(!place.includes(secret))
      assert.ok(!place.includes(Buffer.from(secret, 'base64').toString('hex')))
      assert.ok(!place.includes(Buffer.from(secret, 'base64').subarray(0, 32).toString('base64')))
      assert.ok(!place.includes(Buffer.from(secret, 'base64').subarray(0, 32).toString('latin1')))
    }
  }
})

test('[S23] hostile JSON, on every route: 400, and the server continues', async (t) => {
  const server = await startServer(t, {
    policies: roomy,
    handlers: { FEDERATE: () => ({}), FEDERATE_POST: () => ({}) },
  })
  const deep = 30_000
  for (const path of ['/inbox', '/proxy', '/discover']) {
    for (const body of [
      'null',
      '[]',
      '[[]]',
      '""',
      '1e999',
      '{}',
      '{"method":null}',
      '{"method":{}}',
      '{"method":["FEDERATE"]}',
      '{"__proto__":{"method":"FEDERATE"}}',
      '{"constructor":{"prototype":{"polluted":1}}}',
      '{"method":"FEDERATE","payload":{"__proto__":{}},"signature":""}',
      '{"method":"FEDERATE","payload":[],"signature":""}',
      '{"method":"REGISTER","url":[],"publicKey":{},"encryptionPublicKey":1e400}',
      '{"method":"REGISTER","method":"DISCOVER"}',
      '{"method":"TARGETED","payload":null}',
      '{"method":"hasOwnProperty"}',
      `${'['.repeat(deep)}${']'.repeat(deep)}`,
      `${'{"a":'.repeat(deep)}1${'}'.repeat(deep)}`,
      `{"method":"\\u0000"}`,
      '\ufeff{}x',
    ]) {
      const reply = await server.post(path, body)
      assert.equal(reply.status, 400, `${path} ${body.slice(0, 60)}`)
    }
  }
  assert.equal(({} as { polluted?: unknown }).polluted, undefined)
  assert.deepEqual(server.lines, [])
  assert.equal((await server.get('/discover')).status, 200)
})

test('[S23] hostile JSON, encrypted and signed by a known server: 400', async (t) => {
  const server = await startServer(t, { policies: roomy, handlers: { FEDERATE: () => ({}), INSERT: () => ({}) } })
  const alpha = await startServer(t)
  await introduce(alpha, server)
  const good = JSON.stringify(followBody(alpha))
  for (const text of [
    'null',
    '[]',
    '7',
    `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
    good.replace('{"following"', '{"__proto__":{"x":1},"following"'),
    good.replace('"alice"', '["alice"]'),
    good.replace('"alice"', '{"toString":"x"}'),
    good.replace('"accepted":false', '"accepted":1e999'),
    good.replace('"accepted":false', '"accepted":false,"accepted":0'),
  ]) {
    const reply = await server.post('/inbox', await sealed(alpha, server, text, 'FEDERATE'), headersOf(alpha))
    assert.equal(reply.status, 400, text.slice(0, 80))
    const relayed = { method: 'TARGETED', payload: encryptPayload(text, server.keyring.current('enc').publicKey) }
    assert.equal((await server.post('/proxy', relayed)).status, 400)
  }
  assert.deepEqual(server.lines, [])
})

test('[S23] ids are data: stored and returned unchanged, or refused', async (t) => {
  const server = await startServer(t, { policies: roomy, handlers: { FEDERATE: () => ({ accepted: true }) } })
  const alpha = await startServer(t)
  await introduce(alpha, server)
  for (const [followerId, status] of [
    [`'; DROP TABLE fed_follows; --`, 200],
    ['"quoted" \\ % _ $1 ${x} `y`', 200],
    ['𝒳 ÅÅ \r\n\t\u0001', 200],
    ['__proto__', 200],
    ['a'.repeat(512), 200],
    ['ü'.repeat(512), 200],
    ['字'.repeat(512), 400],
    ['a'.repeat(513), 400],
    ['a'.repeat(100_000), 400],
    ['nul \0 inside', 400],
    ['half \ud800 a pair', 400],
    ['', 400],
  ] as const) {
    const reply = await deliver(alpha, server, followBody(alpha, { followerId }))
    assert.equal(reply.status, status, JSON.stringify(followerId.slice(0, 30)))
    if (status !== 200) continue
    const { value } = await openedAck(reply.body, alpha.keyring)
    assert.equal(value.following.followerId, followerId)
    assert.equal((await server.store.follows.find(followerId, 'bob', alpha.origin))!.id, value.following.id)
  }
  assert.deepEqual(server.lines, [])
})
