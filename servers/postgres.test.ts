// A private Postgres: it answers, listens on the loopback interface only, keeps committed data after a kill, and
// leaves nothing behind; and a private PgBouncer in front of it.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { startInChild } from './start-in-child.ts'
import { findPgbouncer } from './find.ts'
import { startPgbouncer } from './pgbouncer.ts'
import { accepts } from './port.ts'
import { startPostgres } from './postgres.ts'
import { PortTaken } from './process.ts'

test('it answers under its url, on 127.0.0.1 only, in UTF-8', async (t) => {
  const server = await startPostgres({ settings: { max_connections: '17' } })
  t.after(() => server.stop())
  assert.equal(server.url, `postgres://postgres@127.0.0.1:${server.port}/postgres`)
  const show = async (name: string): Promise<string> => (await ask(server.url, `SHOW ${name}`))[0]!
  assert.equal(await show('listen_addresses'), '127.0.0.1')
  assert.equal(await show('unix_socket_directories'), '')
  assert.equal(await show('server_encoding'), 'UTF8')
  assert.equal(await show('fsync'), 'off')
  assert.equal(await show('max_connections'), '17')
  await assert.rejects(startPostgres({ port: server.port }), PortTaken)
})

test('a server with a password refuses clients without it', async (t) => {
  const server = await startPostgres({ withPassword: true })
  t.after(() => server.stop())
  assert.deepEqual(await ask(server.url, 'SELECT 1'), [1])
  await assert.rejects(ask(server.url.replace(server.password!, 'guess'), 'SELECT 1'), { code: '28P01' })
})

test('after a kill and after each kind of restart it has the same port, directory and committed rows', async (t) => {
  const server = await startPostgres()
  t.after(() => server.stop())
  const { pid, port, directory } = server
  await ask(server.url, 'CREATE TABLE kept (n int)')
  const lingering = new Client(server.url)
  lingering.on('error', () => {})
  await lingering.connect()
  for (const [n, end] of [
    [1, () => server.restart('immediate')],
    [2, () => server.restart('fast')],
    [3, () => (server.kill('SIGKILL'), server.exited.then(() => server.restart()))],
  ] as const) {
    await ask(server.url, `INSERT INTO kept VALUES (${n})`)
    await end()
    assert.deepEqual([server.port, server.directory, server.running], [port, directory, true])
    assert.equal((await ask(server.url, 'SELECT n FROM kept')).length, n)
  }
  assert.notEqual(server.pid, pid)
})

test('stop removes the process and its directory, even when frozen and with clients', async () => {
  const server = await startPostgres()
  const client = new Client(server.url)
  client.on('error', () => {})
  await client.connect()
  server.kill('SIGSTOP')
  await server.stop()
  assert.ok(!existsSync(server.directory))
  assert.throws(() => process.kill(server.pid, 0), { code: 'ESRCH' })
  await assert.rejects(server.restart(), /cannot start after stop/)
})

test('a start that fails reports the log of the server', async () => {
  await assert.rejects(
    startPostgres({ settings: { no_such_setting: '1' } }),
    /ended while starting:[^]*no_such_setting/,
  )
  await assert.rejects(startPostgres({ folder: '/no/such/folder' }), /ENOENT/)
})

for (const [manner, last] of [
  ['exits without stopping it', 'process.exit(3)'],
  ['is killed', "process.kill(process.pid, 'SIGKILL')"],
] as const) {
  test(`it leaves nothing behind when the process that started it ${manner}`, async () => {
    const { port, directory } = await startInChild('postgres.ts', 'startPostgres', last)
    while ((await accepts(port)) || existsSync(directory)) await sleep(10)
  })
}

test('PgBouncer gives a server connection to one transaction at a time', async (t) => {
  if (!findPgbouncer()) return t.skip('pgbouncer is not on the PATH, and PGBOUNCER is not set')
  const server = await startPostgres()
  t.after(() => server.stop())
  const pooler = await startPgbouncer(server, { poolSize: 1 })
  t.after(() => pooler.stop())
  const clients = await Promise.all(
    [1, 2].map(async () => {
      const client = new Client(pooler.url)
      client.on('error', () => {})
      await client.connect()
      return client
    }),
  )
  t.after(() => Promise.all(clients.map((client) => client.end())))
  const pids = await Promise.all(clients.map(async (client) => (await client.query('SELECT pg_backend_pid()')).rows[0]))
  assert.deepEqual(pids[0], pids[1])
})

async function ask(url: string, text: string): Promise<any[]> {
  const client = new Client(url)
  await client.connect()
  try {
    return (await client.query({ text, rowMode: 'array' })).rows.map(([value]) => value as unknown)
  } finally {
    await client.end()
  }
}
