// One deadline for a whole request, and a shorter one for its connection, on the injected clock. No test waits for real time.

import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { type FakeClock, fakeClock } from 'holdfast/testing'
import { FederationError } from '../../src/errors.ts'
import type { HttpClient, HttpOptions } from '../../src/http/client.ts'
import { transportReasonOf } from '../../src/http/transport-error.ts'
import { clientOf, get, httpServer, type Listening, tcpServer, until } from './listen.ts'

const timeoutMs = 15_000
const connectTimeoutMs = 5_000

/** A point where a request hangs, and the deadline that ends it. `reached` is called when the request hangs there. */
interface Standstill {
  readonly name: string
  readonly ends: 'connect' | 'total'
  readonly origin?: string
  readonly options?: (reached: () => void) => HttpOptions
  readonly serve?: (socket: Socket, reached: () => void) => void
}

const standstills: readonly Standstill[] = [
  {
    name: 'a lookup without an answer',
    ends: 'connect',
    origin: 'http://a.test',
    options: (reached) => ({ resolver: () => (reached(), new Promise(() => undefined)) }),
  },
  {
    name: 'a host that does not accept',
    ends: 'connect',
    options: (reached) => ({ connector: () => (reached(), new Socket()) }),
  },
  {
    name: 'a handshake without an answer',
    ends: 'connect',
    origin: 'https://127.0.0.1',
    serve: (socket, reached) => socket.once('data', reached),
  },
  {
    name: 'a server that accepts and is silent',
    ends: 'total',
    serve: (socket, reached) => socket.once('data', reached),
  },
  {
    name: 'headers that do not end',
    ends: 'total',
    serve: (socket, reached) =>
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\nx: ', reached)),
  },
  {
    name: 'a body that does not end',
    ends: 'total',
    serve: (socket, reached) =>
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc', reached)),
  },
]

interface Stuck {
  readonly clock: FakeClock
  readonly client: HttpClient
  readonly server: Listening
  readonly asked: Promise<unknown>
  readonly ending: AbortController
}

/** Starts a request and waits until it hangs. */
async function stuck(t: TestContext, { origin = 'http://127.0.0.1', options, serve }: Standstill): Promise<Stuck> {
  const clock = fakeClock()
  const { promise, resolve: reached } = Promise.withResolvers<void>()
  const server = await tcpServer(t, (socket) => serve?.(socket, reached))
  const client = clientOf(t, [server], { connectTimeoutMs, ...options?.(reached) }, clock)
  const ending = new AbortController()
  const asked = client.request(`${origin}:${server.port}/`, { method: 'GET', timeoutMs, signal: ending.signal })
  asked.catch(() => undefined)
  await promise
  return { clock, client, server, asked, ending }
}

/** Checks that no timer and no connection is left. */
async function nothingIsLeft({ clock, server }: Stuck): Promise<void> {
  assert.equal(clock.pending, 0)
  await until(() => server.sockets.size === 0)
}

for (const standstill of standstills) {
  test(`${standstill.name}: ends at the ${standstill.ends} deadline, not before, with reason TIMEOUT`, async (t) => {
    const request = await stuck(t, standstill)
    let outcome: unknown
    request.asked.catch((error: unknown) => (outcome = error))
    await request.clock.advance((standstill.ends === 'connect' ? connectTimeoutMs : timeoutMs) - 1)
    assert.equal(outcome, undefined)
    await request.clock.advance(1)
    await assert.rejects(request.asked)
    assert.equal(transportReasonOf(outcome), 'TIMEOUT')
    await nothingIsLeft(request)
  })

  test(`${standstill.name}: ends with the caller’s signal, without a reason against the peer`, async (t) => {
    const request = await stuck(t, standstill)
    const why = new Error('the worker stops')
    request.ending.abort(why)
    await assert.rejects(request.asked, (error) => {
      assert.ok(error instanceof FederationError)
      assert.deepEqual([error.code, error.cause, transportReasonOf(error)], ['TRANSPORT', why, undefined])
      return true
    })
    await nothingIsLeft(request)
  })

  test(`${standstill.name}: ends with close()`, async (t) => {
    const request = await stuck(t, standstill)
    request.client.close()
    await assert.rejects(request.asked, (error) => {
      assert.ok(error instanceof FederationError)
      assert.deepEqual([error.code, transportReasonOf(error)], ['TRANSPORT', undefined])
      return true
    })
    await nothingIsLeft(request)
  })
}

test('a slow trickle of bytes does not move the deadline', async (t) => {
  const clock = fakeClock()
  let drops = 0
  let reply: ServerResponse | undefined
  const drip = (): void => void reply!.write('.', () => drops++)
  const server = await httpServer(t, (_, response) => {
    reply = response.writeHead(200)
    drip()
  })
  const client = clientOf(t, [server], {}, clock)
  let outcome: unknown
  const asked = client.request(`${server.url}/`, { method: 'GET', timeoutMs })
  asked.catch((error: unknown) => (outcome = error))
  for (let second = 1; second <= 15; second++) {
    await until(() => drops === second)
    assert.equal(outcome, undefined, `after ${second - 1} s`)
    await clock.advance(1_000)
    drip()
  }
  await assert.rejects(asked)
  assert.equal(transportReasonOf(outcome), 'TIMEOUT')
  assert.equal(clock.pending, 0)
  await until(() => server.sockets.size === 0)
})

test('an aborted signal: nothing is sent', async (t) => {
  const server = await httpServer(t, (_, response) => response.end())
  const client = clientOf(t, [server])
  await assert.rejects(client.request(`${server.url}/`, { ...get, signal: AbortSignal.abort() }), { code: 'TRANSPORT' })
  assert.equal(server.connections, 0)
})

test('a closed client sends nothing', async (t) => {
  const server = await httpServer(t, (_, response) => response.end())
  const client = clientOf(t, [server])
  client.close()
  await assert.rejects(client.request(`${server.url}/`, get), { code: 'TRANSPORT' })
  await assert.rejects(client.check(`${server.url}/`), { code: 'TRANSPORT' })
  assert.equal(server.connections, 0)
})
