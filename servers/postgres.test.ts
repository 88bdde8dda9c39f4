// A private Postgres: it answers, is on the loopback interface alone, survives a kill with what it had acknowledged, and
// leaves nothing behind; and a private PgBouncer before it.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { startElsewhere } from './elsewhere.ts'
import { findPgbouncer } from './find.ts'
import { startPgbouncer } from './pgbouncer.ts'
import { accepts } from './port.ts'
import { startPostgres } from './postgres.ts'
import { PortTaken } from './process.ts'

test('it answers under its url, on 127.0.0.1 alone, and as UTF-8', async (t) => {
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

test('with a password only those who know it get in', async (t) => {
  const server = await startPostgres({ withPassword: true })
  t.after(() => server.stop())
  assert.deepEqual(await ask(server.url, 'SELECT 1'), [1])
  await assert.rejects(ask(server.url.replace(server.password!, 'guess'), 'SELECT 1'), { code: '28P01' })
})

test('killed or restarted either way it has the same port and directory, and what was committed', async (t) => {
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

test('stopped, even when frozen and with clients, it is gone with its directory', async () => {
  const server = await startPostgres()
  const client = new Client(server.url)
  client.on('error', () => {})
  await client.connect()
  server.kill('SIGSTOP')
  await server.stop()
  assert.ok(!existsSync(server.directory))
  assert.throws(() => process.kill(server.pid, 0), { code: 'ESRCH' })
  await assert.rejects(server.restart(), /stopped/)
})

test('a start that fails says why in the words of the server', async () => {
  await assert.rejects(startPostgres({ settings: { no_such_setting: '1' } }), /ended at its start:[^]*no_such_setting/)
  await assert.rejects(startPostgres({ folder: '/no/such/folder' }), /ENOENT/)
})

for (const [manner, last] of [
  ['ends without stopping it', 'process.exit(3)'],
  ['is killed', "process.kill(process.pid, 'SIGKILL')"],
] as const) {
  test(`nothing is left of it when the process that started it ${manner}`, async () => {
    const { port, directory } = await startElsewhere('postgres.ts', 'startPostgres', last)
    while ((await accepts(port)) || existsSync(directory)) await sleep(10)
  })
}

test('PgBouncer gives the connections of the server to one transaction after the other', async (t) => {
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
