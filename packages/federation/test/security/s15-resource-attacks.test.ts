// G10: replies that try to exhaust the client. Sender and attacker are separate processes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { FederationError } from '../../src/errors.ts'
import { transportReasonOf } from '../../src/http/transport-error.ts'
import { clientOf, get, httpServer, tcpServer, until } from '../http/listen.ts'
import { attacker, send } from './children.ts'

const cap = 256 * 1024
const chunk = 64 * 1024
const mebibyte = 1024 * 1024

test('[S15] exhausting replies: an error that does not mark the peer, few bytes read, little memory', async (t) => {
  const url = await attacker(t)
  const attacks = [
    // 64 MB. Headers and chunk separators fit into the last KiB.
    { path: '/huge', most: cap + chunk + 1024 },
    { path: '/declared', most: 2 * chunk + 1024 },
    { path: '/gzip', most: mebibyte },
    { path: '/headers', most: mebibyte },
    { path: '/interim', most: mebibyte },
    { path: '/trailers', most: mebibyte },
    { path: '/extensions', most: mebibyte },
  ]
  const sent = await send({ urls: attacks.map(({ path }) => url + path), warmUp: `${url}/plain` })
  for (const [index, { path, most }] of attacks.entries()) {
    const { status, code, reason, bytesRead } = sent[index]!
    assert.deepEqual([status, code, reason], [undefined, 'TRANSPORT', undefined], path)
    assert.ok(bytesRead <= most, `${path}: ${bytesRead} bytes were read, ${most} at most were expected`)
  }
  const grown = sent.reduce((sum, { grownBy }) => sum + grownBy, 0)
  assert.ok(grown < 10 * mebibyte, `the process grew by ${grown} bytes over all of them`)
})

/** A transport error without a reason to mark the peer. */
const unmarked = (error: unknown): boolean =>
  error instanceof FederationError && error.code === 'TRANSPORT' && transportReasonOf(error) === undefined

test('[S15] a reply of exactly the limit passes, one more byte does not; with and without a length header', async (t) => {
  const server = await httpServer(t, (request, response) => {
    const [, length, how] = request.url!.split('/')
    if (how === 'said') response.setHeader('content-length', length!)
    response.write('x')
    response.end(Buffer.alloc(Number(length) - 1, 'x'))
  })
  const client = clientOf(t, [server])
  for (const how of ['said', 'unsaid']) {
    assert.equal((await client.request(`${server.url}/${cap}/${how}`, get)).body.length, cap)
    await assert.rejects(client.request(`${server.url}/${cap + 1}/${how}`, get), unmarked)
  }
  // A connection whose reply was not read completely is not reused.
  assert.equal((await client.request(`${server.url}/1/said`, get)).body.length, 1)
})

test('[S15] compressed replies are refused, identity is accepted', async (t) => {
  const server = await httpServer(t, (request, response) => {
    response.setHeader('content-encoding', decodeURIComponent(request.url!.slice(1)))
    response.end('ok')
  })
  const client = clientOf(t, [server])
  for (const encoding of [
    'gzip',
    'GZIP',
    'br',
    'deflate',
    'zstd',
    'x-gzip',
    'identity, gzip',
    'gzip, identity',
    'nonsense',
  ]) {
    const asked = client.request(`${server.url}/${encodeURIComponent(encoding)}`, get)
    await assert.rejects(asked, unmarked, encoding)
  }
  assert.equal((await client.request(`${server.url}/identity`, get)).status, 200)
})

test('[S15] no transfer compression and no other protocol', async (t) => {
  const replies = [
    'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\nok',
  ]
  for (const reply of replies) {
    const server = await tcpServer(t, (socket) => void socket.on('data', () => socket.write(reply)))
    const client = clientOf(t, [server], {}, fakeClock())
    await assert.rejects(client.request(`${server.url}/`, get), unmarked)
    await until(() => server.sockets.size === 0)
  }
})

test('[S15] bytes after a reply are not the reply of the next request', async (t) => {
  const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
  const server = await tcpServer(t, (socket) => void socket.on('data', () => socket.write(ok + ok.replace('ok', 'no'))))
  const client = clientOf(t, [server])
  for (let count = 0; count < 3; count++) {
    assert.equal(Buffer.from((await client.request(`${server.url}/`, get)).body).toString(), 'ok')
  }
})
