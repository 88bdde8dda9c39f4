// postgresAccess() and joinPostgres(): the connections of PostgresStorage for tables of another package.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Pool } from 'pg'
import postgres from 'postgres'
import { type PostgresServer, startPostgres } from '../../../../../servers/postgres.ts'
import {
  joinPostgres,
  postgresAccess,
  type PostgresDatabaseOptions,
  PostgresStorage,
} from '../../../src/storage/postgres/index.ts'

let server: PostgresServer
let pool: Pool
let sql: postgres.Sql

before(async () => {
  server = await startPostgres()
  pool = new Pool({ connectionString: server.url })
  pool.on('error', () => {})
  sql = postgres(server.url, { onnotice: () => {} })
  await pool.query('CREATE TABLE notes (text text PRIMARY KEY)')
})
beforeEach(() => pool.query('TRUNCATE notes'))
after(async () => {
  await pool.end()
  await sql.end()
  await server.stop()
})

const insert = 'INSERT INTO notes VALUES (CAST($1 AS text))'
const all = 'SELECT CAST(text AS text) AS c0 FROM notes ORDER BY text'

const ways: Readonly<Record<string, () => PostgresDatabaseOptions>> = {
  url: () => ({ url: server.url }),
  'a Pool of pg': () => ({ client: pool }),
  'a Sql of postgres.js': () => ({ client: sql }),
}

for (const [way, options] of Object.entries(ways)) {
  test(`${way}: statements and transactions commit, a failed transaction rolls back`, async () => {
    const database = await postgresAccess(options()).open()
    await database.query(insert, ['a'])
    await database.transaction(async (tx) => {
      assert.equal(typeof tx.client, way === 'a Sql of postgres.js' ? 'function' : 'object')
      await tx.query(insert, ['b'])
    })
    const failed = new Error('rolled back')
    const attempt = database.transaction(async (tx) => {
      await tx.query(insert, ['c'])
      throw failed
    })
    await assert.rejects(attempt, failed)
    await assert.rejects(database.query(insert, ['a']), { code: 'STORAGE_ERROR', maybeApplied: false })
    assert.deepEqual(await database.query(all), [['a'], ['b']])
    await database.close()
    assert.deepEqual((await pool.query(all)).rows, [{ c0: 'a' }, { c0: 'b' }], 'a client that was passed in stays open')
  })
}

test('a transaction of the caller is joined, and ended by the caller', async () => {
  const own = await pool.connect()
  await own.query('BEGIN')
  await joinPostgres(own).query(insert, ['a'])
  await own.query('ROLLBACK')
  own.release()
  await sql.begin(async (tx) => void (await joinPostgres(tx).query(insert, ['b'])))
  const storage = new PostgresStorage({ url: server.url })
  await storage.connect()
  await storage.transaction(async (tx) => void (await joinPostgres(tx).query(insert, ['c'])))
  await storage.disconnect()
  assert.deepEqual((await pool.query(all)).rows, [{ c0: 'b' }, { c0: 'c' }])
  for (const tx of [undefined, pool, 'tx']) assert.throws(() => joinPostgres(tx), { code: 'INVALID_ARGUMENT' })
})

test('impossible options are refused at once, an unreachable server when it is opened', async () => {
  for (const options of [{}, { url: 'mysql://x' }, { client: {} as never }, { url: server.url, client: pool }]) {
    assert.throws(() => postgresAccess(options), { code: 'INVALID_ARGUMENT' })
  }
  const { open } = postgresAccess({ url: 'postgres://user:secret@127.0.0.1:1/db', callTimeoutMs: 1_000 })
  await assert.rejects(open(), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'STORAGE_ERROR')
    return !error.message.includes('secret')
  })
})
