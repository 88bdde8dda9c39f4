// What each error of a Postgres server means. The server itself raises every one of them.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { type PostgresServer, startPostgres } from '../../../../../servers/postgres.ts'
import type { StorageError } from '../../../src/errors.ts'
import { openDatabase } from '../../../src/storage/postgres/connection/database.ts'
import { postgresError, sqlStateOf } from '../../../src/storage/postgres/connection/errors.ts'
import { database, defaults, libraries, libraryNames, statement } from './fixtures.ts'

let server: PostgresServer
before(async () => void (server = await startPostgres()))
after(() => server.stop())

/** SQLSTATE, whether it is transient, whether an autocommitted call may have been applied, and the explanation. */
const meanings: [state: string, transient: true | undefined, maybeApplied: boolean, says?: RegExp][] = [
  ['40001', true, false],
  ['40P01', true, false],
  ['55P03', true, false, /locked by another transaction/],
  ['57014', true, false, /cancelled/],
  ['25006', true, false, /read-only replica/],
  ['53300', true, false, /max_connections/],
  ['53100', undefined, false, /disk/],
  ['57P01', true, true, /ended the connection/],
  ['57P02', true, true, /crashed/],
  ['57P03', true, false, /starting up or shutting down/],
  ['08006', true, true],
  ['08P01', true, true],
  ['26000', undefined, false, /set `prepare: false`/],
  ['42501', undefined, false, /lacks a right/],
  ['23505', undefined, false],
  ['22021', undefined, false],
  ['XX000', undefined, false],
]

for (const library of libraryNames) {
  test(`${library}: each SQLSTATE says whether it is transient, and whether the call may have been applied`, async (t) => {
    const db = await database(t, library, { url: server.url })
    for (const [state, transient, maybeApplied, says = /Postgres: on purpose/] of meanings) {
      const raise = statement(`DO $$ BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = '${state}'; END $$`)
      const expected = (applied: boolean) => (error: StorageError) => {
        assert.deepEqual(
          [error.code, error.transient, error.maybeApplied],
          ['STORAGE_ERROR', transient, applied],
          state,
        )
        assert.match(error.message, says)
        assert.match(error.message, /on purpose/)
        assert.equal(sqlStateOf(error), state)
        return true
      }
      await assert.rejects(db.query(raise, []), expected(maybeApplied))
      await assert.rejects(
        db.transaction((tx) => tx.query(raise, [])),
        expected(false),
        'nothing was applied before COMMIT',
      )
      assert.deepEqual(await db.query(statement('SELECT 1::text AS c0'), []), [['1']], `after ${state}`)
    }
  })

  test(`${library}: a COMMIT that the server refuses has rolled back everything`, async (t) => {
    const db = await database(t, library, { url: server.url })
    await db.query(statement('DROP TABLE IF EXISTS late'), [])
    await db.query(statement('CREATE TABLE late (n int, UNIQUE (n) DEFERRABLE INITIALLY DEFERRED)'), [])
    const again = db.transaction((tx) =>
      tx.query(statement('INSERT INTO late SELECT 7 FROM generate_series(1, 2)'), []),
    )
    await assert.rejects(again, (error: StorageError) => !error.maybeApplied && sqlStateOf(error) === '23505')
  })

  test(`${library}: of two deadlocked transactions one gets a transient error`, async (t) => {
    const db = await database(t, library, { url: server.url, callTimeoutMs: 10_000 })
    await db.query(statement('CREATE TABLE IF NOT EXISTS pair (n int PRIMARY KEY, by int)'), [])
    await db.query(statement('INSERT INTO pair VALUES (1), (2) ON CONFLICT DO NOTHING'), [])
    const touch = statement('UPDATE pair SET by = 1 WHERE n = ($1::text)::int')
    const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
    const ends = await Promise.allSettled(
      [0, 1].map((index) =>
        db.transaction(async (tx) => {
          await tx.query(touch, [1 + index])
          both[index]!.resolve()
          await both[1 - index]!.promise
          await tx.query(touch, [2 - index])
        }),
      ),
    )
    const [failed, ...more] = ends.filter((end) => end.status === 'rejected')
    assert.equal(more.length, 0)
    const error = failed!.reason as StorageError
    assert.deepEqual([sqlStateOf(error), error.transient, error.maybeApplied], ['40P01', true, false])
  })

  test(`${library}: a client that is not a pool is refused`, async () => {
    const single = new Client(server.url) as never
    const refused = { code: 'INVALID_ARGUMENT', message: /a Pool of pg, or a Sql of postgres\.js/ }
    await assert.rejects(openDatabase({ ...defaults, client: single }, libraries[library]), refused)
  })

  test(`${library}: a failed listen says why`, async (t) => {
    const db = await database(t, library, { url: server.url, listenUrl: server.url.replace(`${server.port}`, '1') })
    await assert.rejects(
      db.listen(
        'messages',
        () => {},
        () => {},
      ),
      { code: 'STORAGE_ERROR', transient: true, maybeApplied: false, message: /ECONNREFUSED/ },
    )
  })
}

test('errors that an ORM has wrapped are recognised by their cause; other values are left alone', () => {
  const inner = Object.assign(new Error('deadlock detected'), { code: '40P01', severity: 'ERROR' })
  const wrapped = new Error('Failed query: INSERT … params: secret', { cause: inner })
  const made = postgresError(wrapped, false) as StorageError
  assert.deepEqual([made.transient, sqlStateOf(made), made.cause], [true, '40P01', inner])
  assert.ok(!made.message.includes('secret'))
  const broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
  assert.equal(sqlStateOf(broken), undefined)
  assert.deepEqual(
    { ...(postgresError(broken, true) as object) },
    { name: 'StorageError', code: 'STORAGE_ERROR', maybeApplied: true, transient: true },
  )
  assert.equal(postgresError('text', true), 'text')
  assert.equal(sqlStateOf(undefined), undefined)
})
