// The interface between the Postgres driver and its clients, the same through each library: text in, text out, transactions that are all or
// nothing, errors that say whether the call may have been applied.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { types } from 'pg'
import postgres from 'postgres'
import { type PostgresServer, startPostgres } from '../../../../../servers/postgres.ts'
import { startProxy } from '../../../../../servers/proxy.ts'
import { openDatabase } from '../../../src/storage/postgres/connection/database.ts'
import { sqlStateOf } from '../../../src/storage/postgres/connection/errors.ts'
import { admin, client, database, defaults, libraries, libraryNames, statement, until } from './fixtures.ts'

let shared: PostgresServer
before(async () => void (shared = await startPostgres({ settings: { max_connections: '60' } })))
after(() => shared.stop())

const odd = ['', ' ', 'a"b\'c\\d{e},f', 'ü€😀', '\t\r\n', 'null', 'NULL', '\\x00', '$1'] as const

const echo = statement('SELECT $1::text AS c0, ($2::text)::bigint::text AS c1, ($3::text)::bytea::text AS c2')
const insert = statement('INSERT INTO numbers VALUES (($1::text)::int)')
const numbers = statement('SELECT n::text AS c0 FROM numbers ORDER BY n')

for (const library of libraryNames) {
  for (const prepare of [true, false]) {
    test(`${library}: values go in and rows come out as text, prepared: ${prepare}`, async (t) => {
      const db = await database(t, library, { url: shared.url, prepare })
      for (const text of odd) {
        assert.deepEqual(await db.query(echo, [text, 2 ** 53 - 1, '\\x00ff']), [[text, '9007199254740991', '\\x00ff']])
      }
      assert.deepEqual(await db.query(echo, [null, null, null]), [[null, null, null]])
      const array = statement(`SELECT x::text AS c0 FROM unnest(($1::text)::double precision[]) x`)
      assert.deepEqual(await db.query(array, ['{1.5,NULL,Infinity}']), [['1.5'], [null], ['Infinity']])
      assert.deepEqual(await db.query(statement('SELECT 1::text AS c0, 2::text AS c1 WHERE false'), []), [])
      assert.deepEqual(await db.query(statement('SELECT 1::text AS c0'), []), [['1']])
    })
  }

  test(`${library}: settings of the app for its own queries change nothing here`, async (t) => {
    types.setTypeParser(types.builtins.TEXT, (value) => `parsed ${value}`)
    t.after(() => types.setTypeParser(types.builtins.TEXT, (value) => value))
    const sql = postgres(shared.url, {
      transform: { ...postgres.camel, value: () => 'transformed', row: () => ['no row'] },
      types: { text: { to: 25, from: [25], parse: () => 'parsed', serialize: (value: string) => value } },
    })
    t.after(() => sql.end())
    const given = library === 'pg' ? client(t, library, shared.url) : sql
    const db = await database(t, library, { client: given })
    assert.deepEqual(await db.query(echo, ['a', 1, '\\x01']), [['a', '1', '\\x01']])
    assert.deepEqual(await db.reserved.query(echo, ['a', 1, '\\x01']), [['a', '1', '\\x01']])
  })

  test(`${library}: a transaction is all or nothing`, async (t) => {
    const run = await admin(t, shared.url)
    await run('DROP TABLE IF EXISTS numbers; CREATE TABLE numbers (n int PRIMARY KEY)')
    const db = await database(t, library, { url: shared.url, poolSize: 1 })
    assert.equal(await db.transaction(async (tx) => (await tx.query(insert, [1]), 'done')), 'done')
    const thrown = new Error('from the app')
    await assert.rejects(
      db.transaction(async (tx) => {
        await tx.query(insert, [2])
        throw thrown
      }),
      (error) => error === thrown,
    )
    await assert.rejects(
      db.transaction(async (tx) => {
        await tx.query(insert, [3])
        await tx.query(insert, [1])
      }),
      (error) => sqlStateOf(error) === '23505' && (error as { maybeApplied?: unknown }).maybeApplied === false,
    )
    // The caller swallows an error: the server rolls back at COMMIT, and the call rejects.
    await assert.rejects(
      db.transaction(async (tx) => {
        await tx.query(insert, [4])
        await tx.query(insert, [1]).catch(() => {})
      }),
      { code: 'STORAGE_ERROR', maybeApplied: false, message: /was rolled back at COMMIT/ },
    )
    assert.deepEqual(await db.query(numbers, []), [['1']])
  })

  test(`${library}: a transaction reads what others commit, and takes no statement after its end`, async (t) => {
    const run = await admin(t, shared.url)
    await run('DROP TABLE IF EXISTS numbers; CREATE TABLE numbers (n int PRIMARY KEY)')
    await run("ALTER ROLE postgres SET default_transaction_isolation = 'serializable'")
    const db = await database(t, library, { url: shared.url })
    const left = await db.transaction(async (tx) => {
      assert.deepEqual(await tx.query(numbers, []), [])
      await db.query(insert, [1])
      assert.deepEqual(await tx.query(numbers, []), [['1']])
      return tx
    })
    await run('ALTER ROLE postgres RESET default_transaction_isolation')
    await assert.rejects(left.query(insert, [2]), /the transaction has ended/)
    assert.deepEqual(await db.query(numbers, []), [['1']])
  })

  test(`${library}: a call waits for a lock at most its timeout, and the server stops waiting as well`, async (t) => {
    const run = await admin(t, shared.url)
    await run('DROP TABLE IF EXISTS numbers; CREATE TABLE numbers (n int PRIMARY KEY); INSERT INTO numbers VALUES (1)')
    const db = await database(t, library, { url: shared.url, callTimeoutMs: 1_000 })
    await run('BEGIN')
    await run('SELECT n FROM numbers FOR UPDATE')
    const late = { code: 'STORAGE_ERROR', transient: true, maybeApplied: false }
    await assert.rejects(
      db.transaction((tx) => tx.query(statement('UPDATE numbers SET n = 2'), [])),
      late,
    )
    const [waiting] = await run("SELECT count(*)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    assert.equal(waiting, 0)
    await run('COMMIT')
    assert.deepEqual(await db.query(numbers, []), [['1']])
  })

  test(`[trap 48] ${library}: with a pool of one connection calls take turns, and the reserved one does not wait`, async (t) => {
    const db = await database(t, library, { url: shared.url, poolSize: 1, callTimeoutMs: 1_000 })
    const one = statement('SELECT 1::text AS c0')
    const answers = await Promise.all(Array.from({ length: 20 }, () => db.query(one, [])))
    assert.deepEqual(answers.flat(2), Array(20).fill('1'))
    const reserved = await Promise.all(Array.from({ length: 5 }, () => db.reserved.query(one, [])))
    assert.deepEqual(reserved.flat(2), Array(5).fill('1'))
    await db.transaction(async () => {
      assert.deepEqual(await db.reserved.query(one, []), [['1']])
      const busy = {
        code: 'STORAGE_ERROR',
        transient: true,
        maybeApplied: false,
        message: /became free within 1000 ms/,
      }
      await assert.rejects(db.query(one, []), busy)
    })
    assert.deepEqual(await db.query(one, []), [['1']])
  })

  test(`${library}: a client that was passed in is used, and stays open`, async (t) => {
    const given = client(t, library, shared.url, 2)
    const db = await openDatabase({ ...defaults, client: given }, libraries[library])
    assert.deepEqual(await db.query(statement('SELECT 1::text AS c0'), []), [['1']])
    await db.close()
    if (library === 'pg') {
      const pool = given as import('pg').Pool
      assert.equal((await pool.query('SELECT 1 AS one')).rows[0].one, 1)
      assert.equal(pool.listenerCount('error'), 1, 'its own')
    } else assert.equal((await (given as unknown as postgres.Sql).unsafe('SELECT 1 AS one'))[0]!.one, 1)
  })

  test(`${library}: nothing is left open on the server after close()`, async (t) => {
    const run = await admin(t, shared.url)
    const count = async (): Promise<unknown> =>
      (await run("SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend'"))[0]
    // Connections of the tests before may still be closing.
    await until(async () => (await count()) === 1)
    const db = await openDatabase({ ...defaults, url: shared.url }, libraries[library])
    const was = (await count()) as number
    await Promise.all(Array.from({ length: 6 }, () => db.query(statement('SELECT pg_sleep(0.1)::text AS c0'), [])))
    await db.reserved.query(statement('SELECT 1::text AS c0'), [])
    await db.listen(
      'a',
      () => {},
      () => {},
    )
    assert.equal(await count(), was + 4, 'three of the pool, one reserved, one listening')
    await db.close()
    for (let left = 100; left > 0 && (await count()) !== was - 1; left--);
    assert.equal(await count(), was - 1)
    await assert.rejects(db.query(statement('SELECT 1::text AS c0'), []), { code: 'STORAGE_ERROR' })
    await assert.rejects(db.reserved.query(statement('SELECT 1::text AS c0'), []), /closed/)
    await assert.rejects(
      db.listen(
        'a',
        () => {},
        () => {},
      ),
      /closed/,
    )
  })
}

for (const library of libraryNames) {
  test(`[trap 39] ${library}: BEGIN and the first statement take one round trip`, async (t) => {
    const proxy = await startProxy(shared.port)
    t.after(() => proxy.stop())
    const run = await admin(t, shared.url)
    const url = shared.url.replace(`:${shared.port}`, `:${proxy.port}`)
    const db = await database(t, library, { url, poolSize: 1 })
    const first = statement(`SELECT $1::text AS c0 /* ${library}, first */`)
    // Prepares it.
    await db.query(first, ['a'])
    await db.query(statement('SELECT 1::text AS c0'), [])
    proxy.swallowReplies(true)
    const unanswered = assert.rejects(
      db.transaction((tx) => tx.query(first, ['b'])),
      { code: 'STORAGE_ERROR', transient: true, maybeApplied: false },
    )
    await until(async () => {
      const seen = await run(
        `SELECT 1 FROM pg_stat_activity WHERE query LIKE '%${library}, first%' AND state ~ '^idle in'`,
      )
      return seen.length === 1
    })
    await unanswered
    proxy.swallowReplies(false)
  })
}

test('a connection that does not pipeline runs the statements of a transaction one at a time', async (t) => {
  const warnings: Error[] = []
  const warned = (warning: Error): void => void warnings.push(warning)
  process.on('warning', warned)
  t.after(() => process.off('warning', warned))
  const db = await database(t, 'pg', { client: client(t, 'pg', shared.url) })
  const answers = await db.transaction((tx) =>
    Promise.all(['a', 'b', 'c'].map((text) => tx.query(echo, [text, 1, null]))),
  )
  assert.deepEqual(
    answers.map(([row]) => row![0]),
    ['a', 'b', 'c'],
  )
  assert.deepEqual(warnings, [])
})
