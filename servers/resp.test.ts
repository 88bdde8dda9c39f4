// The small client: every kind of reply, however it is split, and pending commands on a broken or silent connection.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { type RedisServer, startRedis } from './redis.ts'
import { type Reply, RespParser } from './resp-parser.ts'
import { commandCalls, parseInfo, RespClient, RespError } from './resp.ts'

let server: RedisServer
before(async () => void (server = await startRedis()))
after(() => server.stop())

test('replies are the same in one piece and byte by byte', () => {
  const bytes = Buffer.from(
    '+OK\r\n:-3\r\n$5\r\na\r\nb!\r\n$-1\r\n*-1\r\n$0\r\n\r\n*3\r\n$2\r\nü\r\n*1\r\n:1\r\n-ERR no\r\n',
  )
  const expected: Reply[] = ['OK', -3, 'a\r\nb!', null, null, '', ['ü', [1], new RespError('ERR no')]]
  assert.deepEqual(new RespParser().take(bytes), expected)
  const parser = new RespParser()
  assert.deepEqual(Array.from(bytes, (byte) => parser.take(Uint8Array.of(byte))).flat(), expected)
  assert.throws(() => new RespParser().take(Buffer.from('hello\r\n')), /expected a reply, got "hello"/)
})

test('commands are pipelined and answered in order; a failing command fails alone', async (t) => {
  const client = await RespClient.connect(server.port)
  t.after(() => client.close())
  const [set, wrong, get, bytes] = await Promise.allSettled([
    client.send('SET', 'key', 'value\r\nü'),
    client.send('INCR', 'key'),
    client.send('GET', 'key'),
    client.send('SETRANGE', 'bytes', 0, Uint8Array.of(0, 255)),
  ])
  assert.deepEqual(set, { status: 'fulfilled', value: 'OK' })
  assert.ok(wrong.status === 'rejected' && wrong.reason instanceof RespError)
  assert.deepEqual(get, { status: 'fulfilled', value: 'value\r\nü' })
  assert.deepEqual(bytes, { status: 'fulfilled', value: 2 })
})

test('commands are counted, also those of scripts', async (t) => {
  const client = await RespClient.connect(server.port)
  t.after(() => client.close())
  await client.send('CONFIG', 'RESETSTAT')
  await client.send('EVAL', "redis.call('INCR', KEYS[1]) return redis.call('INCR', KEYS[1])", 1, 'counter')
  await client.send('INCR', 'counter')
  const calls = await commandCalls(client)
  assert.deepEqual([calls.get('incr'), calls.get('eval'), calls.get('get')], [3, 1, undefined])
  assert.equal(parseInfo(await client.send('INFO', 'server')).get('tcp_port'), String(server.port))
})

test('MONITOR reports the commands of other clients', async (t) => {
  const monitor = await RespClient.connect(server.port)
  const client = await RespClient.connect(server.port)
  t.after(() => (monitor.close(), client.close()))
  const line = Promise.withResolvers<Reply>()
  await monitor.send('MONITOR')
  monitor.onPush = line.resolve
  await client.send('ECHO', 'seen')
  assert.match(String(await line.promise), /"ECHO" "seen"$/)
})

test('a connection that ends fails pending and later commands', async (t) => {
  const client = await RespClient.connect(server.port)
  const other = await RespClient.connect(server.port)
  t.after(() => other.close())
  const id = await client.send('CLIENT', 'ID')
  const waiting = assert.rejects(client.send('BLPOP', 'nothing', 0), /closed the connection/)
  assert.equal(await other.send('CLIENT', 'KILL', 'ID', Number(id)), 1)
  await waiting
  await assert.rejects(client.send('PING'), /closed the connection/)
})

test('a reply that is late is an error', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1')
  t.after(() => silent.close())
  await once(silent, 'listening')
  const client = await RespClient.connect((silent.address() as AddressInfo).port, { timeoutMs: 50 })
  await assert.rejects(client.send('PING'), /no reply to PING within 50 ms/)
})
