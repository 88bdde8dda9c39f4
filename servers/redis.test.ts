// A private Redis: it answers, listens on the loopback interface only, keeps its append-only file after a kill, and
// leaves nothing behind, however the process that started it ends.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startInChild } from './start-in-child.ts'
import { findValkey } from './find.ts'
import { accepts } from './port.ts'
import { PortTaken, ServerProcess } from './process.ts'
import { type RedisServer, startRedis } from './redis.ts'
import { parseInfo, RespClient, RespError, type Reply } from './resp.ts'

test('it answers under its url, on 127.0.0.1 only, and persists nothing', async (t) => {
  const server = await startRedis()
  t.after(() => server.stop())
  assert.equal(server.url, `redis://127.0.0.1:${server.port}`)
  assert.equal(await ask(server, 'PING'), 'PONG')
  assert.deepEqual(await ask(server, 'CONFIG', 'GET', 'bind'), ['bind', '127.0.0.1'])
  assert.deepEqual(await ask(server, 'CONFIG', 'GET', 'save'), ['save', ''])
  assert.deepEqual(await ask(server, 'CONFIG', 'GET', 'appendonly'), ['appendonly', 'no'])
  assert.deepEqual(await ask(server, 'CONFIG', 'GET', 'dir'), ['dir', server.directory])
})

test('the arguments of the caller override the defaults', async (t) => {
  const server = await startRedis({ args: ['--maxmemory', '10mb', '--save', '60 1'] })
  t.after(() => server.stop())
  assert.deepEqual(await ask(server, 'CONFIG', 'GET', 'maxmemory'), ['maxmemory', '10485760'])
  assert.deepEqual(await ask(server, 'CONFIG', 'GET', 'save'), ['save', '60 1'])
})

test('a server with a password refuses clients without it', async (t) => {
  const server = await startRedis({ withPassword: true })
  t.after(() => server.stop())
  assert.equal(server.url, `redis://:${server.password}@127.0.0.1:${server.port}`)
  assert.equal(await ask(server, 'PING'), 'PONG')
  const stranger = await RespClient.connect(server.port)
  t.after(() => stranger.close())
  await assert.rejects(stranger.send('PING'), /NOAUTH/)
  await assert.rejects(RespClient.connect(server.port, { password: 'guess' }), RespError)
})

test('after a kill and a restart it has the same port, directory and append-only data', async (t) => {
  const server = await startRedis({ appendonly: 'always' })
  t.after(() => server.stop())
  const { pid, port, directory } = server
  await ask(server, 'SET', 'kept', 'yes')
  server.kill('SIGKILL')
  assert.deepEqual(await server.exited, { code: null, signal: 'SIGKILL' })
  assert.equal(server.running, false)
  await assert.rejects(server.connect(), /ECONNREFUSED/)
  await server.restart()
  assert.notEqual(server.pid, pid)
  assert.deepEqual([server.port, server.directory], [port, directory])
  assert.equal(await ask(server, 'GET', 'kept'), 'yes')
})

test('without an append-only file a restart, also of a running server, is empty', async (t) => {
  const server = await startRedis()
  t.after(() => server.stop())
  await ask(server, 'SET', 'kept', 'no')
  await server.restart()
  assert.equal(await ask(server, 'GET', 'kept'), null)
})

test('stop removes the process and its directory, even when frozen', async () => {
  const server = await startRedis()
  server.kill('SIGSTOP')
  await server.stop()
  assert.ok(!existsSync(server.directory))
  assert.throws(() => process.kill(server.pid, 0), { code: 'ESRCH' })
  await assert.rejects(server.restart(), /cannot start after stop/)
  await server.stop()
})

test('a start that fails reports the log of the server', async () => {
  await assert.rejects(startRedis({ args: ['--no-such-setting', '1'] }), /ended while starting:[^]*no-such-setting/)
  await assert.rejects(startRedis({ binary: '/no/such/redis-server' }), { code: 'ENOENT' })
})

test('a requested port that is taken is an error, also when another Redis answers there', async (t) => {
  const first = await startRedis()
  t.after(() => first.stop())
  await assert.rejects(startRedis({ port: first.port }), PortTaken)
  assert.equal(await ask(first, 'PING'), 'PONG')
})

test('a port that is taken between the search and the start is replaced by another', async (t) => {
  const ports: number[] = []
  const rival = createServer()
  t.after(() => rival.close())
  const server = await ServerProcess.start({
    name: 'port rival',
    // Node listens in place of Redis: the test is about the process, not about its protocol.
    binary: process.execPath,
    async args(port) {
      ports.push(port)
      if (ports.length === 1) await once(rival.listen(port, '127.0.0.1'), 'listening')
      return ['-e', `require('node:net').createServer().listen(${port}, '127.0.0.1')`]
    },
    answers: async (port) => ports.length > 1 && (await accepts(port)),
    portTaken: /EADDRINUSE/,
  })
  t.after(() => server.stop())
  assert.equal(ports.length, 2)
  assert.equal(server.port, ports[1])
})

for (const [manner, last] of [
  ['exits without stopping it', 'process.exit(3)'],
  ['throws', "throw new Error('on purpose')"],
  ['is terminated', "process.kill(process.pid, 'SIGTERM')"],
  ['is killed', "process.kill(process.pid, 'SIGKILL')"],
  ['is killed after it', "server.kill('SIGKILL'); server.exited.then(() => process.kill(process.pid, 'SIGKILL'))"],
] as const) {
  test(`it leaves nothing behind when the process that started it ${manner}`, async () => {
    const { port, directory } = await startInChild('redis.ts', 'startRedis', last)
    while ((await accepts(port)) || existsSync(directory)) await sleep(10)
  })
}

test('Valkey starts the same way', async (t) => {
  const binary = findValkey()
  if (!binary) return t.skip('VALKEY_SERVER is not set')
  const server = await startRedis({ binary })
  t.after(() => server.stop())
  assert.match(parseInfo(await ask(server, 'INFO', 'server')).get('valkey_version') ?? '', /^\d+\./)
})

async function ask(server: RedisServer, ...words: string[]): Promise<Reply> {
  const client = await server.connect()
  try {
    return await client.send(...words)
  } finally {
    client.close()
  }
}
