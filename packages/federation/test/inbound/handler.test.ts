// Routing, bodies, rate limits by address, and nodeListener().

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { clientAddress } from '../../src/inbound/client-address.ts'
import { createHandler } from '../../src/inbound/handler.ts'
import { Limiter } from '../../src/inbound/limiter.ts'
import { nodeListener } from '../../src/inbound/node-listener.ts'
import { ask, startServer } from './server.ts'

test('unknown paths: 404; other HTTP methods: 405 with Allow', async (t) => {
  const server = await startServer(t)
  for (const path of ['/', '/discover/', '/inbox/x', '/__proto__', '/toString', '//discover', '/%64iscover']) {
    const reply = await server.get(path)
    assert.deepEqual([reply.status, reply.body.code], [404, 'NOT_FOUND'], path)
  }
  for (const [method, path, allowed] of [
    ['DELETE', '/discover', 'GET, POST'],
    ['GET', '/inbox', 'POST'],
    ['PUT', '/proxy', 'POST'],
    ['OPTIONS', '/inbox', 'POST'],
  ] as const) {
    const reply = await ask(server.port, method, path, undefined, {})
    assert.deepEqual([reply.status, reply.body.code, reply.headers['allow']], [405, 'METHOD_NOT_ALLOWED', allowed])
  }
  assert.equal((await ask(server.port, 'TRACE', '/discover', undefined, {})).status, 405)
})

test('a body that is not JSON, not UTF-8, or compressed, is refused', async (t) => {
  const { post } = await startServer(t)
  for (const body of ['', '{', 'nul', Buffer.from('{"a":"\xff"}', 'latin1')]) {
    const reply = await post('/inbox', body)
    assert.deepEqual([reply.status, reply.body.code], [400, 'INVALID_JSON'])
  }
  const reply = await post('/inbox', '{}', { 'Content-Encoding': 'gzip' })
  assert.deepEqual([reply.status, reply.body.code], [415, 'ENCODING_NOT_SUPPORTED'])
  assert.equal((await post('/inbox', '{}', { 'Content-Encoding': 'identity' })).body.code, 'INVALID_PAYLOAD')
})

test('without an origin: 503', async (t) => {
  const { context } = await startServer(t)
  const handler = createHandler({ ...context, origin: undefined })
  const reply = await handler(new Request('http://any/discover'))
  assert.deepEqual([reply.status, ((await reply.json()) as { code: string }).code], [503, 'ORIGIN_MISSING'])
})

test('the handler works without a server: a Request in, a Response out', async (t) => {
  const { context } = await startServer(t)
  const handler = createHandler(context, {})
  const reply = await handler(new Request('https://a.example/discover'))
  assert.equal(((await reply.json()) as { url: string }).url, context.origin)
  const body = new ReadableStream({
    start: (controller) => (controller.enqueue(new TextEncoder().encode('[]')), controller.close()),
  })
  const posted = await handler(new Request('https://a.example/inbox', { method: 'POST', body, duplex: 'half' }))
  assert.equal(posted.status, 400)
})

test('a window ends, and the least recently used key is evicted first', () => {
  const clock = fakeClock()
  const limiter = new Limiter(clock, 2, 1_000)
  assert.deepEqual(
    [limiter.take('a'), limiter.take('a'), limiter.take('a'), limiter.take('b')],
    [undefined, undefined, 1_000, undefined],
  )
  for (let n = 0; n < 9_998; n++) limiter.take(`other ${n}`)
  assert.equal(limiter.size, 10_000)
  assert.equal(limiter.take('a'), 1_000)
  limiter.take('one more')
  assert.equal(limiter.size, 10_000)
  // b was evicted: a was used after it.
  assert.equal(limiter.take('a'), 1_000)
})

test('an exhausted window is renewed at its end', async () => {
  const clock = fakeClock()
  const limiter = new Limiter(clock, 1, 1_000)
  limiter.take('a')
  await clock.advance(999)
  assert.equal(limiter.take('a'), 1)
  await clock.advance(1)
  assert.equal(limiter.take('a'), undefined)
  assert.equal(limiter.take('a'), 1_000)
})

test('addresses: of the connection; of X-Forwarded-For only as far as trusted proxies have written it', () => {
  const direct = clientAddress([])
  assert.equal(direct('203.0.113.7', '198.51.100.1'), '203.0.113.7')
  assert.equal(direct('::ffff:203.0.113.7', null), '203.0.113.7')
  assert.equal(direct(undefined, '198.51.100.1'), 'unknown')
  assert.equal(direct('2001:db8:1:2:3:4:5:6', null), '2001:db8:1:2::/64')
  assert.equal(direct('2001:db8:1:2::', null), '2001:db8:1:2::/64')
  assert.equal(direct('2001:db8::1', null), '2001:db8:0:0::/64')
  assert.equal(direct('fe80::1%eth0', null), 'fe80:0:0:0::/64')
  assert.equal(direct('::1', null), '0:0:0:0::/64')
  const proxied = clientAddress(['10.0.0.0/8', '2001:db8:ffff::1'])
  assert.equal(proxied('10.1.2.3', '198.51.100.1'), '198.51.100.1')
  assert.equal(proxied('::ffff:10.1.2.3', '198.51.100.1'), '198.51.100.1')
  assert.equal(proxied('2001:db8:ffff::1', '198.51.100.1'), '198.51.100.1')
  assert.equal(proxied('10.1.2.3', 'forged, 198.51.100.1, 10.9.9.9'), '198.51.100.1')
  assert.equal(proxied('10.1.2.3', '192.0.2.1, 198.51.100.1'), '198.51.100.1')
  assert.equal(proxied('10.1.2.3', 'nonsense'), '10.1.2.3')
  assert.equal(proxied('10.1.2.3', null), '10.1.2.3')
  assert.equal(proxied('203.0.113.7', '198.51.100.1'), '203.0.113.7')
  for (const range of ['nonsense', '10.0.0.0/33', '10.0.0.0/x', '::1/129']) {
    assert.throws(() => clientAddress([range]), { code: 'INVALID_ARGUMENT' })
  }
})

test('a connection serves one request after the other, refused ones included', async (t) => {
  const server = await startServer(t)
  const socket = connect(server.port, '127.0.0.1')
  t.after(() => socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  const send = async (request: string, expected: RegExp): Promise<void> => {
    text = ''
    socket.write(request)
    while (!expected.test(text)) await new Promise((resolve) => setImmediate(resolve))
  }
  const host = 'Host: x\r\n'
  await send(`POST /inbox HTTP/1.1\r\n${host}Content-Length: 2\r\n\r\n[]`, /^HTTP\/1.1 400 [^]*INVALID_PAYLOAD/)
  await send(`POST /nowhere HTTP/1.1\r\n${host}Content-Length: 10\r\n\r\n0123456789`, /^HTTP\/1.1 404 /)
  await send(`GET /discover HTTP/1.1\r\n${host}\r\n`, /^HTTP\/1.1 200 /)
  await send(`GET http://elsewhere/discover HTTP/1.1\r\n${host}\r\n`, /^HTTP\/1.1 404 /)
})

test('a client that disconnects during its request does not affect the server', async (t) => {
  const server = await startServer(t)
  const socket = connect(server.port, '127.0.0.1')
  socket.write('POST /inbox HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"half":')
  while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
  socket.destroy()
  while (server.events.length === 0) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(server.events, [['refused', { code: 'REQUEST_BROKEN_OFF', status: 400, from: undefined }]])
  assert.deepEqual(server.lines, [])
  assert.equal((await server.get('/discover')).status, 200)
})

test('a client that disconnects before the response does not affect the server', async (t) => {
  const gone = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  let answered = 0
  const handler = async (): Promise<Response> => {
    if (answered++ > 0) return new Response('still there')
    asked.resolve()
    await gone.promise
    return new Response('x'.repeat(1e6))
  }
  const server = createServer(nodeListener(handler))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  server.on('connection', (accepted) => accepted.once('close', () => gone.resolve()))
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await asked.promise
  socket.destroy()
  await gone.promise
  assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'still there')
})

test('an error of a handler is answered with 500', async (t) => {
  const server = createServer(nodeListener(() => Promise.reject(new Error('no'))))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const reply = await ask((server.address() as AddressInfo).port, 'POST', '/', 'x'.repeat(1e5), {})
  assert.deepEqual([reply.status, reply.body.code], [500, 'INTERNAL_ERROR'])
})
