// How a Postgres database is opened: errors that say what to do, encryption, several hosts, and which client library is used.

import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { Pool, type PoolConfig } from 'pg'
import postgres from 'postgres'
import { type PostgresServer, startPostgres } from '../../../../../servers/postgres.ts'
import { type DatabaseOptions, openDatabase } from '../../../src/storage/postgres/connection/database.ts'
import { loadPg, loadPostgresJs } from '../../../src/storage/postgres/connection/libraries.ts'
import { database, defaults, libraries, type LibraryName, libraryNames, server, statement } from './fixtures.ts'

let shared: PostgresServer
before(async () => void (shared = await startPostgres()))
after(() => shared.stop())

const refused = (message: RegExp): object => ({ code: 'STORAGE_ERROR', maybeApplied: false, message })

const open = (library: LibraryName, url: string): Promise<unknown> =>
  openDatabase({ ...defaults, url }, libraries[library])

for (const library of libraryNames) {
  test(`${library}: a database that cannot be opened: the error says what to do`, async (t) => {
    const locked = await server(t, { withPassword: true })
    const where = `127.0.0.1:${locked.port}`
    await assert.rejects(
      open(library, locked.url.replace(locked.password!, 'guess')),
      refused(new RegExp(`cannot open ${where}/postgres: the server refused the password`)),
    )
    await assert.rejects(
      open(library, `${locked.url}-absent`),
      refused(/create the database first .*"postgres-absent"/),
    )
    await locked.stop()
    await assert.rejects(open(library, locked.url), refused(/ECONNREFUSED/))
    await assert.rejects(open(library, locked.url), (error: Error) => !error.message.includes(locked.password!))
  })
}

test('encrypted connections, by url and by settings of the app', async (t) => {
  const { url } = await server(t, { withTls: true })
  const isEncrypted = statement('SELECT ssl::text AS c0 FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
  const ways: [LibraryName, Partial<DatabaseOptions>][] = [
    ['pg', { url: `${url}?sslmode=no-verify` }],
    ['pg', { client: poolWith(t, { connectionString: url, ssl: { rejectUnauthorized: false } }) }],
    ['postgres.js', { url: `${url}?sslmode=require` }],
    ['postgres.js', { client: postgres(url, { ssl: { rejectUnauthorized: false } }) }],
  ]
  for (const [library, options] of ways) {
    const db = await database(t, library, options)
    assert.deepEqual(await db.query(isEncrypted, []), [['true']])
    assert.deepEqual(await db.reserved.query(isEncrypted, []), [['true']])
    const received = Promise.withResolvers<string>()
    await db.listen('messages', received.resolve, () => {})
    await db.query(statement("SELECT pg_notify('messages', $1::text)::text AS c0"), ['over TLS'])
    assert.equal(await received.promise, 'over TLS')
    // While the server still runs.
    await db.close()
  }
  for (const library of libraryNames) await assert.rejects(open(library, url), refused(/the server refused the user/))
})

test('postgres.js: connects to the first of several hosts that accepts', async (t) => {
  const ports = [1, shared.port, 1]
  const sql = postgres({
    host: ports.map(() => '127.0.0.1'),
    port: ports,
    user: 'postgres',
    database: 'postgres',
  } as object)
  t.after(() => sql.end())
  const db = await database(t, 'postgres.js', { client: sql })
  assert.deepEqual(await db.query(statement('SELECT 1::text AS c0'), []), [['1']])
  assert.deepEqual(await db.reserved.query(statement('SELECT 1::text AS c0'), []), [['1']])
})

test('[Q5.16] without a client library the error names the install command', async () => {
  const none = { code: 'MISSING_DEPENDENCY', package: 'pg', message: /npm install pg \(or postgres\)/ }
  await assert.rejects(openDatabase({ ...defaults, url: shared.url }, libraries.none), none)
  const sql = postgres(shared.url)
  const noPostgresJs = { code: 'MISSING_DEPENDENCY', package: 'postgres', message: /npm install postgres/ }
  await assert.rejects(openDatabase({ ...defaults, client: sql }, libraries.none), noPostgresJs)
  await sql.end()
})

test('the installed libraries are found without a literal import', async (t) => {
  const [pg, postgresJs] = [await loadPg(), await loadPostgresJs()]
  assert.equal(pg?.Pool, Pool)
  assert.equal(postgresJs, postgres)
  const db = await openDatabase({ ...defaults, url: shared.url })
  t.after(() => db.close())
  assert.deepEqual(await db.query(statement('SELECT 1::text AS c0'), []), [['1']])
})

function poolWith(t: TestContext, config: PoolConfig): Pool {
  const pool = new Pool(config)
  pool.on('error', () => {})
  t.after(() => pool.end())
  return pool
}
