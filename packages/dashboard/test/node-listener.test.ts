// The adapter to node:http: what a handler or a viewer does wrong ends one connection, not the process.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test, type TestContext } from 'node:test'
import { nodeListener } from '@holdfast/dashboard'

async function listen(t: TestContext, handler: (request: Request) => Promise<Response>): Promise<number> {
  const server = createServer(nodeListener(handler))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

test('a handler that rejects closes its connection, and the next request is answered', async (t) => {
  let count = 0
  const port = await listen(t, async () => {
    if (++count === 1) throw new Error('broken')
    return new Response('well')
  })
  await assert.rejects(fetch(`http://127.0.0.1:${port}/`))
  assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'well')
})

test('a viewer that leaves ends its stream', async (t) => {
  const left = Promise.withResolvers<void>()
  const port = await listen(
    t,
    async () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(Buffer.from('begun')),
          cancel: () => left.resolve(),
        }),
      ),
  )
  const response = await fetch(`http://127.0.0.1:${port}/`)
  const reader = response.body!.getReader()
  await reader.read()
  await reader.cancel()
  await left.promise
})

test('paths, hosts and methods that no Request can have are a 400, or an address below the base', async (t) => {
  const seen: string[] = []
  const port = await listen(t, async ({ url }) => {
    seen.push(url)
    return new Response('well')
  })
  const send = async (head: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1')
    socket.end(`${head}\r\nConnection: close\r\n\r\n`)
    let answer = ''
    for await (const chunk of socket) answer += String(chunk)
    return answer.split('\r\n', 1)[0]!
  }
  assert.equal(await send('TRACE / HTTP/1.1\r\nHost: a'), 'HTTP/1.1 400 Bad Request')
  assert.equal(await send('GET / HTTP/1.1\r\nHost: a b<'), 'HTTP/1.1 400 Bad Request')
  assert.equal(await send('GET //evil.example/x?y HTTP/1.1\r\nHost: own.example'), 'HTTP/1.1 200 OK')
  assert.deepEqual(seen, ['http://own.example//evil.example/x?y'])
})
