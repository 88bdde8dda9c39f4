import assert from 'node:assert/strict'
import { createConnection, Socket } from 'node:net'
import { test } from 'node:test'
import { fakeClock } from 'holdfast/testing'
import { FederationError } from '../../src/errors.ts'
import { transportReasonOf } from '../../src/http/transport-error.ts'
import { clientOf, get, httpServer, tcpServer, until } from './listen.ts'

const loopback = { address: '127.0.0.1', family: 4 } as const

/** Returns the code and the reason of the failure. */
async function failure(asked: Promise<unknown>): Promise<readonly [string | undefined, string | undefined]> {
  const error: unknown = await asked.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return [error instanceof FederationError ? error.code : undefined, transportReasonOf(error)]
}

test('request and response arrive unchanged', async (t) => {
  const server = await httpServer(t, (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      const { method, url, headers } = request
      response.writeHead(418, { 'X-Seen': 'yes', 'set-cookie': ['a=1', 'b=2'] })
      response.end(JSON.stringify({ method, url, headers, body }))
    })
  })
  const client = clientOf(t, [server])
  const response = await client.request(`${server.url}/inbox?a=1`, {
    method: 'POST',
    headers: { 'X-Federation-Origin': 'https://a.example', Host: 'evil.example', 'Accept-Encoding': 'gzip' },
    body: '{"text":"é"}',
    timeoutMs: 10_000,
  })
  assert.deepEqual(
    [response.status, response.headers['x-seen'], response.headers['set-cookie']],
    [418, 'yes', 'a=1, b=2'],
  )
  const seen = JSON.parse(Buffer.from(response.body).toString()) as Record<string, unknown>
  assert.deepEqual([seen.method, seen.url, seen.body], ['POST', '/inbox?a=1', '{"text":"é"}'])
  assert.deepEqual(seen.headers, {
    'x-federation-origin': 'https://a.example',
    host: `127.0.0.1:${server.port}`,
    'accept-encoding': 'identity',
    'content-length': '13',
    connection: 'keep-alive',
  })
})

test('cookies are not sent back', async (t) => {
  const cookies: unknown[] = []
  const server = await httpServer(t, (request, response) => {
    cookies.push(request.headers.cookie)
    response.writeHead(200, { 'set-cookie': 'a=1' }).end()
  })
  const client = clientOf(t, [server])
  await client.request(`${server.url}/`, get)
  await client.request(`${server.url}/`, get)
  assert.deepEqual(cookies, [undefined, undefined])
})

test('connections are reused', async (t) => {
  const server = await httpServer(t, (request, response) => request.resume().on('end', () => response.end('ok')))
  const client = clientOf(t, [server])
  for (let count = 0; count < 5; count++) {
    await client.request(`${server.url}/`, { ...get, method: 'POST', body: 'x' })
  }
  assert.equal(server.connections, 1)
})

test('the server closes a reused connection during a request: the request is sent once more, on a new one', async (t) => {
  const seen: number[] = []
  const server = await tcpServer(t, (socket) => {
    const connection = server.connections
    socket.on('data', () => {
      seen.push(connection)
      // The first request of the first connection is answered, the second one never.
      if (connection === 1 && seen.length === 2) socket.destroy()
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok')
    })
  })
  const client = clientOf(t, [server])
  assert.equal((await client.request(`${server.url}/`, get)).status, 200)
  assert.equal((await client.request(`${server.url}/`, get)).status, 200)
  assert.deepEqual(seen, [1, 1, 2])
})

test('many stale connections: one new connection is enough', async (t) => {
  let requests = 0
  let isSilent = false
  const waiting: Socket[] = []
  const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
  const server = await tcpServer(t, (socket) => {
    const isOld = server.connections <= 3
    socket.on('data', () => {
      requests++
      if (isOld && isSilent) socket.destroy()
      else if (isOld) waiting.push(socket)
      else socket.write(answer)
    })
  })
  const client = clientOf(t, [server])
  const asked = [1, 2, 3].map(() => client.request(`${server.url}/`, get))
  await until(() => waiting.length === 3)
  for (const socket of waiting) socket.write(answer)
  await Promise.all(asked)
  isSilent = true
  assert.equal((await client.request(`${server.url}/`, get)).status, 200)
  assert.deepEqual([requests, server.connections], [5, 4])
})

test('a new connection that is closed is an error with its reason, without another try', async (t) => {
  const server = await tcpServer(t, (socket) => void socket.on('data', () => socket.destroy()))
  const client = clientOf(t, [server])
  assert.deepEqual(await failure(client.request(`${server.url}/`, get)), ['TRANSPORT', 'CONN_RESET'])
  assert.equal(server.connections, 1)
})

test('a truncated reply is an error, also on a reused connection, without another try', async (t) => {
  let requests = 0
  const server = await tcpServer(t, (socket) => {
    socket.on('data', () => {
      if (++requests === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
      else socket.end('HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nok')
    })
  })
  const client = clientOf(t, [server])
  await client.request(`${server.url}/`, get)
  assert.deepEqual(await failure(client.request(`${server.url}/`, get)), ['TRANSPORT', 'CONN_RESET'])
  assert.equal(requests, 2)
})

test('no listener: CONN_REFUSED; a name without an address: DNS_BLOCKED; no HTTP: UNKNOWN', async (t) => {
  const closing = await tcpServer(t, (socket) => void socket.on('data', () => socket.end('SSH-2.0-nothing\r\n\r\n')))
  const client = clientOf(t, [closing, { port: 9 }], {
    resolver: async (hostname) => {
      if (hostname === 'none.test') return []
      throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' })
    },
    // A port that certainly has no listener: the kernel refuses the connection.
    connector: ({ port }) => createConnection(port === 9 ? 1 : port, '127.0.0.1'),
  })
  assert.deepEqual(await failure(client.request('http://127.0.0.1:9/', get)), ['TRANSPORT', 'CONN_REFUSED'])
  assert.deepEqual(await failure(client.request('https://gone.test/', get)), ['TRANSPORT', 'DNS_BLOCKED'])
  assert.deepEqual(await failure(client.request('https://none.test/', get)), ['TRANSPORT', 'DNS_BLOCKED'])
  assert.deepEqual(await failure(client.check('https://gone.test/')), ['TRANSPORT', 'DNS_BLOCKED'])
  assert.deepEqual(await failure(client.request(`${closing.url}/`, get)), ['TRANSPORT', 'UNKNOWN'])
})

test('the next address is tried when one refuses', async (t) => {
  const server = await httpServer(t, (_, response) => response.end('ok'))
  const tried: string[] = []
  const client = clientOf(t, [server], {
    resolver: async () => [{ address: '127.0.0.9', family: 4 }, loopback],
    connector: ({ address, port }) => {
      tried.push(address.address)
      return createConnection(address.address === '127.0.0.9' ? 1 : port, '127.0.0.1')
    },
  })
  assert.equal((await client.request(`http://a.test:${server.port}/`, get)).status, 200)
  assert.deepEqual(tried, ['127.0.0.9', '127.0.0.1'])
})

test('the next address is tried when one is silent for its share of the time', async (t) => {
  const clock = fakeClock()
  const server = await httpServer(t, (_, response) => response.end('ok'))
  const silent: Socket[] = []
  const client = clientOf(
    t,
    [server],
    {
      resolver: async () => [{ address: '127.0.0.9', family: 4 }, loopback],
      connector: ({ address, port }) => {
        if (address.address === '127.0.0.1') return createConnection(port, '127.0.0.1')
        const socket = new Socket()
        silent.push(socket)
        return socket
      },
      connectTimeoutMs: 3_000,
    },
    clock,
  )
  const asked = client.request(`http://a.test:${server.port}/`, get)
  await until(() => silent.length === 1)
  await clock.advance(1_000)
  assert.equal((await asked).status, 200)
  assert.equal(silent[0]!.destroyed, true)
})

test('a response without a body, and one in chunks', async (t) => {
  const server = await httpServer(t, (request, response) => {
    if (request.url === '/none') return response.writeHead(204).end()
    response.write('a')
    response.write('b')
    return response.end('c')
  })
  const client = clientOf(t, [server])
  const none = await client.request(`${server.url}/none`, get)
  assert.deepEqual([none.status, none.body.length], [204, 0])
  assert.equal(Buffer.from((await client.request(`${server.url}/`, get)).body).toString(), 'abc')
})
