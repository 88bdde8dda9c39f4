// Statements inside a transaction that the app has open, through every library and ORM: they are rolled back with it and read what it
// wrote; anything that is not a transaction is refused.

import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { drizzle as drizzleNodePg } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely'
import { Client, Pool, types } from 'pg'
import postgres from 'postgres'
import { type PostgresServer, startPostgres } from '../../../../../servers/postgres.ts'
import { drizzleTx, kyselyTx, prismaTx } from '../../../src/storage/postgres/adapters.ts'
import { type Database, openDatabase } from '../../../src/storage/postgres/connection/database.ts'
import { sqlStateOf } from '../../../src/storage/postgres/connection/errors.ts'
import { database, defaults, statement } from './fixtures.ts'

let server: PostgresServer
let db: Database
let pool: Pool
let sql: postgres.Sql

before(async () => {
  server = await startPostgres()
  db = await openDatabase({ ...defaults, url: server.url })
  pool = new Pool({ connectionString: server.url })
  pool.on('error', () => {})
  sql = postgres(server.url, { transform: postgres.camel, onnotice: () => {} })
  await pool.query('CREATE TABLE numbers (n int PRIMARY KEY, bytes bytea)')
})
beforeEach(() => pool.query('TRUNCATE numbers'))
after(async () => {
  await db.close()
  await pool.end()
  await sql.end()
  await server.stop()
})

const rollback = new Error('rolled back by the app')

/** Runs the work in a transaction of the app, which is rolled back if the work rejects. */
type InTx = (work: (tx: unknown) => Promise<void>) => Promise<unknown>

const ways: Record<string, InTx> = {
  async 'a client of the pool of pg'(work) {
    const own = await pool.connect()
    try {
      await own.query('BEGIN')
      await work(own)
      await own.query('COMMIT')
    } catch (error) {
      await own.query('ROLLBACK')
      throw error
    } finally {
      own.release()
    }
  },
  'the sql of begin() of postgres.js': (work) => sql.begin((tx) => work(tx)),
  'the sql of savepoint() of postgres.js': (work) => sql.begin((tx) => tx.savepoint((inner) => work(inner))),
  'Drizzle on pg': (work) => drizzleNodePg(pool).transaction((tx) => work(drizzleTx(tx))),
  'Drizzle on pg, nested': (work) =>
    drizzleNodePg(pool).transaction((tx) => tx.transaction((inner) => work(drizzleTx(inner)))),
  'Drizzle on postgres.js': (work) => drizzlePostgresJs(sql).transaction((tx) => work(drizzleTx(tx))),
  Kysely: (work) =>
    kysely()
      .transaction()
      .execute((trx) => work(kyselyTx(trx))),
  'Kysely with a plugin': (work) =>
    kysely()
      .withPlugin(new CamelCasePlugin())
      .transaction()
      .execute((trx) => work(kyselyTx(trx))),
  async 'a client of pg that answers as Prisma does'(work) {
    const own = new Client(server.url)
    await own.connect()
    // Prisma returns rows as objects, takes values as arguments, and keeps the server's error in `meta`.
    const $queryRawUnsafe = async (text: string, ...values: unknown[]): Promise<unknown[]> => {
      try {
        return (await own.query(text, values)).rows
      } catch (error) {
        const { code, message } = error as { code: string; message: string }
        throw Object.assign(new Error('Raw query failed'), { code: 'P2010', meta: { code, message } })
      }
    }
    try {
      await own.query('BEGIN')
      await work(prismaTx({ $queryRawUnsafe }))
      await own.query('COMMIT')
    } finally {
      await own.end()
    }
  },
}

const kysely = (): Kysely<object> => new Kysely({ dialect: new PostgresDialect({ pool }) })

const insert = statement(`
  INSERT INTO numbers SELECT * FROM unnest(($1::text)::int[], ($2::text)::bytea[])
  RETURNING n::text AS c0, encode(bytes, 'hex') AS c1, NULL::text AS c2`)
const numbers = statement('SELECT n::text AS c0 FROM numbers ORDER BY n')

for (const [way, inTx] of Object.entries(ways)) {
  test(`${way}: statements see the transaction, and are rolled back with it`, async () => {
    await inTx(async (tx) => {
      const joined = db.joined(tx)
      assert.deepEqual(await joined.query(insert, ['{1,2}', '{"\\\\x00ff",NULL}']), [
        ['1', '00ff', null],
        ['2', null, null],
      ])
      assert.deepEqual(await joined.query(numbers, []), [['1'], ['2']])
      assert.deepEqual(await db.query(numbers, []), [], 'not committed yet')
      await joined.query(statement('UPDATE numbers SET n = n + 10'), [])
    })
    assert.deepEqual(await db.query(numbers, []), [['11'], ['12']])
    await assert.rejects(
      inTx(async (tx) => {
        await db.joined(tx).query(insert, ['{3}', '{NULL}'])
        throw rollback
      }),
      (error) => error === rollback,
    )
    assert.deepEqual(await db.query(numbers, []), [['11'], ['12']])
  })

  test(`${way}: an error of the server says that nothing was applied, and contains no values`, async () => {
    await assert.rejects(
      inTx(async (tx) => void (await db.joined(tx).query(insert, ['{777,777}', '{NULL,NULL}']))),
      (error) => {
        // begin() of postgres.js rejects with the statement's first error, not with the translated one.
        if (way.includes('postgres.js')) return sqlStateOf(error) === '23505'
        const { code, maybeApplied, message, cause } = error as { code: string; maybeApplied: boolean } & Error
        assert.deepEqual([code, maybeApplied, sqlStateOf(error)], ['STORAGE_ERROR', false, '23505'])
        return !message.includes('777') && !String((cause as Error).message).includes('777')
      },
    )
    assert.deepEqual(await db.query(numbers, []), [])
  })
}

test('type parsers of the app change nothing inside its transaction', async (t) => {
  types.setTypeParser(types.builtins.TEXT, () => 'parsed')
  t.after(() => types.setTypeParser(types.builtins.TEXT, (value) => value))
  const own = await pool.connect()
  t.after(() => own.release())
  await own.query('BEGIN')
  assert.deepEqual(await db.joined(own).query(statement('SELECT $1::text AS c0'), ['a']), [['a']])
  await own.query('COMMIT')
})

test('anything that is not a transaction is refused', async (t) => {
  const refused = { name: 'TypeError', code: 'INVALID_ARGUMENT' }
  for (const tx of [undefined, null, 1, 'tx', {}, [], () => {}, pool, sql, drizzleNodePg(pool), kysely()]) {
    assert.throws(() => db.joined(tx), refused)
  }
  const idle = await pool.connect()
  t.after(() => idle.release())
  await idle.query('SELECT 1')
  assert.throws(() => db.joined(idle), { ...refused, message: /BEGIN comes first/ })
  const reserved = await sql.reserve()
  t.after(() => reserved.release())
  assert.throws(() => db.joined(reserved), refused)

  assert.throws(() => drizzleTx(drizzleNodePg(pool)), refused)
  assert.throws(() => kyselyTx(kysely()), refused)
  assert.throws(() => prismaTx({ $queryRawUnsafe: () => {}, $transaction: () => {} }), refused)
  assert.throws(() => prismaTx({}), refused)
})

test('a call that times out leaves the transaction to the app', async (t) => {
  const quick = await database(t, 'pg', { url: server.url, callTimeoutMs: 100 })
  const own = await pool.connect()
  await own.query('BEGIN')
  const late = { code: 'STORAGE_ERROR', transient: true, maybeApplied: false }
  await assert.rejects(quick.joined(own).query(statement('SELECT pg_sleep(0.4)::text AS c0'), []), late)
  await own.query('ROLLBACK')
  own.release()
})

test('a connection lost in the transaction of the app: nothing was applied', async (t) => {
  const own = new Client(server.url)
  // Every app needs this listener.
  own.on('error', () => {})
  await own.connect()
  t.after(() => own.end())
  await own.query('BEGIN')
  const { rows } = await own.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  await db.joined(own).query(insert, ['{1}', '{NULL}'])
  const lost = assert.rejects(db.joined(own).query(statement('SELECT pg_sleep(60)::text AS c0'), []), {
    code: 'STORAGE_ERROR',
    transient: true,
    maybeApplied: false,
  })
  await pool.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid])
  await lost
  assert.deepEqual(await db.query(numbers, []), [])
})
