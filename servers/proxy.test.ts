// The proxy, on real connections to a real server.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Proxy, startProxy } from './proxy.ts'
import { type RedisServer, startRedis } from './redis.ts'
import { RespClient } from './resp.ts'

let server: RedisServer
let direct: RespClient
before(async () => {
  server = await startRedis()
  direct = await server.connect()
})
after(async () => {
  direct.close()
  await server.stop()
})

test('it passes on all bytes, large values too, and counts them', async (t) => {
  const { proxy, client } = await through(t)
  const value = 'x'.repeat(5_000_000)
  assert.equal(await client.send('SET', 'large', value), 'OK')
  assert.equal(await client.send('GET', 'large'), value)
  const { connections, open, toServer, toClient, dropped } = proxy.counts
  assert.deepEqual({ connections, open, dropped }, { connections: 1, open: 1, dropped: 0 })
  assert.ok(toServer > 5_000_000 && toServer < 5_001_000, String(toServer))
  assert.ok(toClient > 5_000_000 && toClient < 5_001_000, String(toClient))
})

test('cut ends open connections on both sides and accepts new ones', async (t) => {
  const { proxy, client } = await through(t)
  const id = await client.send('CLIENT', 'ID')
  const waiting = assert.rejects(client.send('BLPOP', 'nothing', 0))
  proxy.cut()
  await waiting
  await goneFromServer(id)
  assert.equal(proxy.counts.open, 0)
  assert.equal(await (await another(t, proxy)).send('PING'), 'PONG')
})

test('half closed: the client sees the end, and its bytes still reach the server', async (t) => {
  const { proxy } = await through(t)
  await direct.send('DEL', 'counter')
  const socket = connect({ host: '127.0.0.1', port: proxy.port, allowHalfOpen: true, noDelay: true })
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  socket.write('PING\r\n')
  await once(socket, 'data')
  proxy.halfClose()
  await once(socket, 'end')
  socket.write('INCR counter\r\n')
  while ((await direct.send('GET', 'counter')) !== '1') await sleep(5)
  // The reply could not be delivered.
  while (proxy.counts.dropped !== ':1\r\n'.length) await sleep(5)
  assert.equal(await (await another(t, proxy)).send('PING'), 'PONG')
})

test('a client that disconnects is disconnected from the server', async (t) => {
  const { proxy, client } = await through(t)
  const id = await client.send('CLIENT', 'ID')
  client.close()
  await goneFromServer(id)
  while (proxy.counts.open > 0) await sleep(5)
})

test('refuse rejects new connections, keeps open ones, and can be switched off', async (t) => {
  const { proxy, client } = await through(t)
  await proxy.refuse(true)
  await assert.rejects(RespClient.connect(proxy.port), /ECONNREFUSED/)
  assert.equal(await client.send('PING'), 'PONG')
  await proxy.refuse(false)
  assert.equal(await (await another(t, proxy)).send('PING'), 'PONG')
})

test('swallowed replies: the command ran, the reply is lost', async (t) => {
  const { proxy, client } = await through(t, 300)
  await direct.send('DEL', 'counter')
  proxy.swallowReplies(true)
  await assert.rejects(client.send('INCR', 'counter'), /no reply to INCR/)
  // On a busy machine later than the client gives up.
  while ((await direct.send('GET', 'counter')) === null || proxy.counts.dropped === 0) await sleep(5)
  assert.equal(await direct.send('GET', 'counter'), '1')
  assert.equal(proxy.counts.dropped, ':1\r\n'.length)
  proxy.swallowReplies(false)
  assert.equal(await (await another(t, proxy)).send('INCR', 'counter'), 2)
})

test('half open: no bytes pass in either direction, and neither side sees an end', async (t) => {
  const { proxy, client } = await through(t, 300)
  await direct.send('DEL', 'counter')
  const id = await client.send('CLIENT', 'ID')
  proxy.halfOpen(true)
  await assert.rejects(client.send('INCR', 'counter'), /no reply to INCR/)
  assert.equal(await direct.send('GET', 'counter'), null)
  // The client timed out and closed; the server does not see it until the silence ends.
  assert.match(String(await direct.send('CLIENT', 'LIST')), new RegExp(`^id=${id} `, 'm'))
  assert.equal(proxy.counts.open, 1)
  const late = await another(t, proxy, 100)
  await assert.rejects(late.send('PING'), /no reply to PING/)
  proxy.halfOpen(false)
  await goneFromServer(id)
  assert.equal(await (await another(t, proxy)).send('PING'), 'PONG')
})

test('half open hides the end of the server from the client', async (t) => {
  const { proxy, client } = await through(t, 200)
  const id = await client.send('CLIENT', 'ID')
  proxy.halfOpen(true)
  await direct.send('CLIENT', 'KILL', 'ID', Number(id))
  await assert.rejects(client.send('PING'), /no reply to PING/)
})

test('a delay applies to requests and replies and keeps their order when it is switched off', async (t) => {
  const { proxy, client } = await through(t)
  proxy.delay(100)
  const start = performance.now()
  const slow = client.send('ECHO', 'first')
  // In separate writes: the second must arrive after the delay was switched off.
  await sleep(20)
  proxy.delay(0)
  const order = await Promise.all([slow, client.send('ECHO', 'second')])
  assert.deepEqual(order, ['first', 'second'])
  assert.ok(performance.now() - start >= 99)
  proxy.delay(50)
  const restart = performance.now()
  await client.send('PING')
  assert.ok(performance.now() - restart >= 99)
})

test('retarget sends new connections elsewhere', async (t) => {
  const { proxy, client } = await through(t)
  const elsewhere = await startRedis()
  t.after(() => elsewhere.stop())
  proxy.retarget(elsewhere.port)
  assert.equal(await portOf(client), String(server.port))
  assert.equal(await portOf(await another(t, proxy)), String(elsewhere.port))
})

test('without a server behind it, a connection ends at once', async (t) => {
  const { proxy } = await through(t)
  const gone = await startRedis()
  await gone.stop()
  proxy.retarget(gone.port)
  const client = await another(t, proxy)
  await assert.rejects(client.send('PING'), /closed|ECONNRESET|EPIPE/)
})

async function through(t: TestContext, timeoutMs?: number): Promise<{ proxy: Proxy; client: RespClient }> {
  const proxy = await startProxy(server.port)
  t.after(() => proxy.stop())
  return { proxy, client: await another(t, proxy, timeoutMs) }
}

async function another(t: TestContext, proxy: Proxy, timeoutMs?: number): Promise<RespClient> {
  const client = await RespClient.connect(proxy.port, { timeoutMs })
  t.after(() => client.close())
  return client
}

/** The port of the server at the other end. */
async function portOf(client: RespClient): Promise<string> {
  const [, port] = (await client.send('CONFIG', 'GET', 'port')) as [string, string]
  return port
}

async function goneFromServer(id: unknown): Promise<void> {
  while (new RegExp(`^id=${String(id)} `, 'm').test(String(await direct.send('CLIENT', 'LIST')))) await sleep(5)
}
