// Resources that unknown clients can use: bounded.

import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { systemClock } from 'holdfast/storage'
import { fakeClock } from 'holdfast/testing'
import { handlerOf } from '../../src/inbound/handler.ts'
import { Limiter } from '../../src/inbound/limiter.ts'
import { signText } from '../../src/wire/v1/signature.ts'
import { encryptPayload } from '../../src/wire/v1/envelope.ts'
import { headersOf, introduce, type Reply, startServer, type TestServer } from '../inbound/server.ts'

const cap = 256 * 1024
const codeOf = ({ status, body }: Reply): unknown => [status, body.code]

const padded = (length: number): string => `"${'x'.repeat(length - 2)}"`

interface Raw {
  readonly socket: Socket
  readonly text: () => string
  until(expected: RegExp): Promise<void>
}

function raw(t: TestContext, { port }: TestServer): Raw {
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  socket.on('error', () => {})
  return {
    socket,
    text: () => text,
    async until(expected) {
      while (!expected.test(text)) {
        assert.ok(!socket.destroyed, `ended without an answer: ${text}`)
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}

test('[S15] a body without a length is cut at the limit: answered, little more is read, and the connection ends', async (t) => {
  const server = await startServer(t)
  const { socket, until } = raw(t, server)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write('POST /inbox HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
  const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
  // Endless, as fast as the server reads.
  const pour = (): void => {
    while (!socket.destroyed && socket.write(chunk));
    if (!socket.destroyed) socket.once('drain', pour)
  }
  pour()
  await until(/^HTTP\/1\.1 413 [^]*PAYLOAD_TOO_LARGE/)
  await closed
  while (server.openConnections > 0) await new Promise((resolve) => setImmediate(resolve))
  // The limit, the bytes that are discarded so that the client receives the response, and the buffers of the socket.
  assert.ok(server.bytesRead() < 2 * cap + 512 * 1024, `${server.bytesRead()} bytes were read`)
})

test('[S15] a length above the limit is refused before the body is read', async (t) => {
  const server = await startServer(t)
  const { socket, until } = raw(t, server)
  socket.write(`POST /inbox HTTP/1.1\r\nHost: x\r\nContent-Length: ${cap + 1}\r\n\r\n`)
  await until(/^HTTP\/1\.1 413 [^]*PAYLOAD_TOO_LARGE/)
})

test('[S15] a body of exactly the limit is read, one more byte is not; with and without a length header', async (t) => {
  const server = await startServer(t)
  for (const headers of [{}, { 'Transfer-Encoding': 'chunked' }] as Record<string, string>[]) {
    assert.deepEqual(codeOf(await server.post('/inbox', padded(cap), headers)), [400, 'INVALID_PAYLOAD'])
    assert.deepEqual(codeOf(await server.post('/inbox', padded(cap + 1), headers)), [413, 'PAYLOAD_TOO_LARGE'])
  }
})

test('[S15] a slow trickle of bytes ends at the deadline', async (t) => {
  const clock = fakeClock()
  const server = await startServer(t, { clock })
  const { socket, text, until } = raw(t, server)
  socket.write('POST /inbox HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n')
  for (let second = 1; second < 15; second++) {
    const before = server.bytesRead()
    socket.write('x')
    while (server.bytesRead() === before) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(1_000)
  }
  assert.equal(text(), '')
  await clock.advance(1_000)
  await until(/^HTTP\/1\.1 408 [^]*REQUEST_TIMEOUT/)
})

test('[S15] compressed bodies are refused', async (t) => {
  const server = await startServer(t)
  for (const encoding of ['gzip', 'br', 'deflate', 'gzip, identity']) {
    const reply = await server.post('/inbox', '{}', { 'Content-Encoding': encoding })
    assert.deepEqual(codeOf(reply), [415, 'ENCODING_NOT_SUPPORTED'])
  }
})

test('[S17] a relay is opt-in, and starts no discovery', async (t) => {
  const open = { policies: { relay: { serve: true } } }
  const [alpha, trap, closed, relay] = await Promise.all([
    startServer(t),
    startServer(t),
    startServer(t),
    startServer(t, open),
  ])
  await introduce(alpha, closed)
  await introduce(alpha, relay)
  await introduce(trap, closed)
  const message = async (from: TestServer, target: string): Promise<object> => ({
    method: 'PROXY',
    targetUrl: `${target}/proxy`,
    publicSigningKey: from.keys.publicKey,
    publicEncryptionKey: from.keys.encryptionPublicKey,
    payload: encryptPayload('{}', trap.keyring.current('enc').publicKey),
    signature: await signText('{}', from.keyring),
  })
  // With public keys only, which are not a secret.
  assert.deepEqual(codeOf(await closed.post('/proxy', await message(alpha, trap.origin), headersOf(alpha))), [
    403,
    'RELAY_DISABLED',
  ])
  const unknown = [403, 'UNKNOWN_FEDERATION_SERVER_INTERACTION']
  // The relay serves, but does not know the target, or the sender.
  assert.deepEqual(codeOf(await relay.post('/proxy', await message(alpha, trap.origin), headersOf(alpha))), unknown)
  assert.deepEqual(codeOf(await relay.post('/proxy', await message(trap, alpha.origin), headersOf(trap))), unknown)
  assert.deepEqual([trap.requests, alpha.requests], [[], []])
  assert.deepEqual(
    (await relay.store.peers.list({ limit: 9 })).map(({ url }) => url),
    [alpha.origin],
  )
})

test('[S22] 100 000 addresses and origins: a limiter stays at its limit', () => {
  const limiter = new Limiter(systemClock, 120, 60_000)
  for (let n = 0; n < 100_000; n++) limiter.take(`https://server-${n}.example`)
  assert.equal(limiter.size, 10_000)
})

test('[S22] in the handler: unknown clients leave bounded limiters, and no rows', async (t) => {
  const server = await startServer(t)
  const handler = handlerOf(server.inbound)
  for (let n = 0; n < 10_500; n++) {
    const remoteAddress = `198.${18 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`
    const reply = await handler(new Request('http://x/inbox', { method: 'POST' }), { remoteAddress })
    assert.equal(reply.status, 400)
  }
  const sizes = Object.values(server.inbound.limits).map(({ size }) => size)
  assert.deepEqual(sizes, [10_000, 0, 0, 0])
  assert.deepEqual(await server.store.peers.list({ limit: 9 }), [])
})

test('[S22] an IPv6 network counts as one client, however many addresses it uses', async (t) => {
  const server = await startServer(t, { policies: { inbound: { perIpPerMinute: 3 } } })
  const handler = handlerOf(server.inbound)
  const statuses: number[] = []
  for (let n = 0; n < 5; n++) {
    const reply = await handler(new Request('http://x/discover'), { remoteAddress: `2001:db8:1:2::${n}` })
    statuses.push(reply.status)
  }
  assert.deepEqual(statuses, [200, 200, 200, 429, 429])
})
