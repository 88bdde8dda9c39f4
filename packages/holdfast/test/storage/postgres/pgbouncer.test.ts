// Through PgBouncer in transaction mode, where each statement may run on another connection of the server: what works, what needs an
// option, and the error without it.

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { findPgbouncer } from '../../../../../servers/find.ts'
import { type Pgbouncer, type PgbouncerOptions, startPgbouncer } from '../../../../../servers/pgbouncer.ts'
import type { PostgresServer } from '../../../../../servers/postgres.ts'
import { admin, database, eventually, libraryNames, sharedServer, statement, stopShared, until } from './fixtures.ts'

after(stopShared)

const skip = findPgbouncer() ? false : 'pgbouncer is not on the PATH, and PGBOUNCER is not set'

const one = statement('SELECT $1::text AS c0')
const insert = statement('INSERT INTO numbers VALUES (($1::text)::int)')
const count = statement('SELECT count(*)::text AS c0 FROM numbers')
const notify = statement("SELECT pg_notify('messages', $1::text)::text AS c0")

async function pooled(
  t: TestContext,
  options?: PgbouncerOptions,
): Promise<{ postgres: PostgresServer; pooler: Pgbouncer }> {
  const postgres = await sharedServer()
  const pooler = await startPgbouncer(postgres, options)
  t.after(() => pooler.stop())
  return { postgres, pooler }
}

for (const library of libraryNames) {
  test(`${library}: calls and transactions share few connections of the server`, { skip }, async (t) => {
    const { postgres, pooler } = await pooled(t, { poolSize: 2 })
    const run = await admin(t, postgres.url)
    await run('CREATE TABLE numbers (n int)')
    const db = await database(t, library, { url: pooler.url, prepare: false, poolSize: 10, callTimeoutMs: 10_000 })
    const calls = Array.from({ length: 30 }, (_, index) => db.query(one, [index]))
    const transactions = Array.from({ length: 30 }, async (_, index) => {
      const done = db.transaction(async (tx) => {
        await tx.query(insert, [index])
        await tx.query(insert, [index])
        if (index % 3 === 0) throw new Error('rolled back')
      })
      await (index % 3 === 0 ? assert.rejects(done, /rolled back/) : done)
    })
    const [answers] = await Promise.all([Promise.all(calls), ...transactions])
    assert.deepEqual(
      answers.flat(2),
      Array.from({ length: 30 }, (_, index) => String(index)),
    )
    assert.deepEqual(await db.query(count, []), [['40']])
    assert.deepEqual(await db.reserved.query(one, ['reserved']), [['reserved']])
    const [open] = await run(
      "SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    )
    assert.ok((open as number) <= 2, `${open as number} connections`)
    // The lock timeout of a transaction does not leak into other calls.
    for (let left = 4; left > 0; left--) {
      assert.deepEqual(await db.query(statement("SELECT current_setting('lock_timeout') AS c0"), []), [['0']])
    }
  })

  test(`${library}: listeners use listenUrl`, { skip }, async (t) => {
    const { postgres, pooler } = await pooled(t)
    const db = await database(t, library, { url: pooler.url, listenUrl: postgres.url, prepare: false })
    const received: string[] = []
    await db.listen(
      'messages',
      (payload) => received.push(payload),
      () => {},
    )
    await db.query(notify, ['calls'])
    await db.transaction((tx) => tx.query(notify, ['transactions']))
    await until(() => received.length === 2)
    assert.deepEqual(received.toSorted(), ['calls', 'transactions'])
  })

  test(`${library}: listening can be switched off`, { skip }, async (t) => {
    const { postgres, pooler } = await pooled(t)
    const db = await database(t, library, { url: pooler.url, listenUrl: postgres.url, prepare: false, listen: false })
    const unlisten = await db.listen(
      'messages',
      () => assert.fail('received a message'),
      () => {},
    )
    await db.query(notify, ['ignored'])
    const run = await admin(t, postgres.url)
    assert.deepEqual(await run("SELECT query FROM pg_stat_activity WHERE query ~ '^LISTEN'"), [])
    await unlisten()
  })

  test(`${library}: after a restart of the pooler calls succeed`, { skip }, async (t) => {
    const { pooler } = await pooled(t)
    const db = await database(t, library, { url: pooler.url, prepare: false })
    await db.query(one, ['before'])
    pooler.kill('SIGKILL')
    await pooler.restart()
    assert.deepEqual(await eventually(() => db.query(one, ['after'])), [['after']])
    assert.deepEqual(await eventually(() => db.transaction((tx) => tx.query(one, ['after']))), [['after']])
  })
}

test('prepared statements that the pooler lost are an error that names the option', { skip }, async (t) => {
  const { pooler } = await pooled(t, { poolSize: 2 })
  const db = await database(t, 'pg', { url: pooler.url, prepare: true, poolSize: 4 })
  const answers = await Promise.allSettled(
    Array.from({ length: 4 }, () =>
      db.transaction(async (tx) => {
        await tx.query(one, ['a'])
        await tx.query(statement('SELECT pg_sleep(0.05)::text AS c0'), [])
      }),
    ),
  )
  const more = await Promise.allSettled(Array.from({ length: 12 }, () => db.query(one, ['b'])))
  const refused = [...answers, ...more].filter((answer) => answer.status === 'rejected')
  assert.ok(refused.length > 0)
  for (const { reason } of refused) assert.match((reason as Error).message, /set `prepare: false`/)
})
