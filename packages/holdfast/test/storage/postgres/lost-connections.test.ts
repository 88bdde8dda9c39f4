// Lost Postgres connections, through each library: calls reject in time and say whether they may have been applied, later calls succeed,
// and listeners learn that they may have missed messages.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { startProxy } from '../../../../../servers/proxy.ts'
import type { StorageError } from '../../../src/errors.ts'
import {
  admin,
  client,
  database,
  eventually,
  killOthers,
  libraryNames,
  server,
  sharedServer,
  statement,
  stopShared,
  until,
} from './fixtures.ts'

after(stopShared)

const one = statement('SELECT 1::text AS c0')
const sleep = statement('SELECT pg_sleep(60)::text AS c0')
const insert = statement('INSERT INTO numbers VALUES (($1::text)::int)')
const numbers = statement('SELECT n::text AS c0 FROM numbers ORDER BY n')
const notify = statement("SELECT pg_notify('messages', $1::text)::text AS c0")

/** What an error says about a call. */
const errorOf = (transient: boolean, maybeApplied: boolean): object => ({
  code: 'STORAGE_ERROR',
  transient,
  maybeApplied,
})

for (const library of libraryNames) {
  for (const way of ['url', 'client'] as const) {
    test(`${library}, by ${way}: connections that the server terminates are replaced, idle or not`, async (t) => {
      const { url } = await sharedServer()
      const run = await admin(t, url)
      await run('CREATE TABLE numbers (n int)')
      const db = await database(t, library, way === 'url' ? { url } : { client: client(t, library, url) })
      await Promise.all([db.query(one, []), db.query(one, []), db.reserved.query(one, [])])

      const calls = [db.query(sleep, []), db.reserved.query(sleep, [])].map((call) =>
        assert.rejects(call, errorOf(true, true)),
      )
      const lost = assert.rejects(
        db.transaction(async (tx) => {
          await tx.query(insert, [1])
          await tx.query(sleep, [])
        }),
        errorOf(true, false),
      )
      await until(async () => (await run("SELECT 1 FROM pg_stat_activity WHERE query ~ 'pg_sleep'")).length === 4)
      await run(killOthers)
      await Promise.all([...calls, lost])
      assert.deepEqual(await eventually(() => db.query(numbers, [])), [])
      assert.deepEqual(await eventually(() => db.reserved.query(one, [])), [['1']])
      assert.equal(await eventually(() => db.transaction(async (tx) => (await tx.query(insert, [2]), 2))), 2)
      assert.deepEqual(await db.query(numbers, []), [['2']])
    })
  }

  test(`${library}: a connection lost between two statements ends the transaction`, async (t) => {
    const { url } = await sharedServer()
    const run = await admin(t, url)
    await run('CREATE TABLE numbers (n int)')
    const db = await database(t, library, { url, poolSize: 1 })
    const kill = async (): Promise<void> => {
      await run(killOthers)
      await until(
        async () => (await run("SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend'")).length < 2,
      )
    }
    const between = db.transaction(async (tx) => {
      await tx.query(insert, [1])
      await kill()
      await tx.query(insert, [2])
    })
    await assert.rejects(between, errorOf(true, false))
    await assert.rejects(
      eventually(() =>
        db.transaction(async (tx) => {
          await tx.query(insert, [3])
          await kill()
          throw new Error('from the app')
        }),
      ),
      /from the app/,
    )
    const beforeCommit = db.transaction(async (tx) => {
      await tx.query(insert, [4])
      await kill()
    })
    // Whether the loss is noticed before COMMIT is sent is a race: maybeApplied can be either.
    await assert.rejects(beforeCommit, { code: 'STORAGE_ERROR', transient: true })
    assert.deepEqual(await eventually(() => db.query(numbers, [])), [])
  })

  test(`[trap 49] ${library}: a COMMIT whose answer is lost may have been applied`, async (t) => {
    const { url, port } = await sharedServer()
    const proxy = await startProxy(port)
    t.after(() => proxy.stop())
    const run = await admin(t, url)
    await run('CREATE TABLE numbers (n int)')
    const db = await database(t, library, { url: url.replace(`:${port}`, `:${proxy.port}`), callTimeoutMs: 1_000 })
    await assert.rejects(
      db.transaction(async (tx) => {
        await tx.query(insert, [1])
        proxy.swallowReplies(true)
      }),
      errorOf(true, true),
    )
    await until(async () => (await run('SELECT n FROM numbers')).length === 1)
    proxy.swallowReplies(false)
    assert.deepEqual(await eventually(() => db.query(numbers, [])), [['1']])
  })

  test(`${library}: after an immediate restart calls succeed, and listeners receive messages again`, async (t) => {
    const postgres = await sharedServer()
    const db = await database(t, library, { url: postgres.url })
    const received: string[] = []
    let gaps = 0
    const unlisten = await db.listen(
      'messages',
      (payload) => received.push(payload),
      () => gaps++,
    )
    await db.query(notify, ['1'])
    await until(() => received.length === 1)

    postgres.kill('SIGQUIT')
    await postgres.exited
    await until(async () => {
      const error = await db.query(one, []).then(
        () => undefined,
        (reason: StorageError) => reason,
      )
      assert.equal(error?.transient, true)
      return error.maybeApplied === false
    })
    assert.equal(gaps, 0)
    await postgres.restart()
    await until(() => gaps === 1)
    await eventually(() => db.query(notify, ['2']))
    await until(() => received.length === 2)
    assert.deepEqual(received, ['1', '2'])

    await unlisten()
    await db.query(notify, ['3'])
    assert.equal(gaps, 1)
  })

  test(`${library}: a half-open connection is discarded in time, and replaced`, async (t) => {
    const { url, port } = await sharedServer()
    const proxy = await startProxy(port)
    t.after(() => proxy.stop())
    const db = await database(t, library, { url: url.replace(`:${port}`, `:${proxy.port}`), callTimeoutMs: 1_000 })
    await Promise.all([db.query(one, []), db.reserved.query(one, [])])
    proxy.halfOpen(true)
    await assert.rejects(db.query(one, []), errorOf(true, true))
    await assert.rejects(db.reserved.query(one, []), errorOf(true, true))
    // New connections are accepted, and not answered either.
    await assert.rejects(db.query(one, []), errorOf(true, false))
    await assert.rejects(db.reserved.query(one, []), errorOf(true, false))
    await assert.rejects(
      db.listen(
        'messages',
        () => {},
        () => {},
      ),
      errorOf(true, false),
    )
    proxy.halfOpen(false)
    proxy.cut()
    assert.deepEqual(await eventually(() => db.query(one, [])), [['1']])
    assert.deepEqual(await eventually(() => db.reserved.query(one, [])), [['1']])
  })

  test(`${library}: the listening connection notices that it is half-open, and reconnects`, async (t) => {
    const { url, port } = await sharedServer()
    const proxy = await startProxy(port)
    t.after(() => proxy.stop())
    // Calls go to the server directly: only the listening connection is cut off.
    const listenUrl = url.replace(`:${port}`, `:${proxy.port}`)
    const db = await database(t, library, { url, listenUrl, callTimeoutMs: 1_000 })
    const received: string[] = []
    let gaps = 0
    const listen = (channel: string): Promise<() => Promise<void>> =>
      db.listen(
        channel,
        (payload) => received.push(payload),
        () => gaps++,
      )
    await Promise.all([listen('messages'), listen('other')])
    assert.equal(proxy.counts.connections, 1, 'all channels share one connection')
    proxy.halfOpen(true)
    await db.query(notify, ['missed'])
    await until(() => proxy.counts.connections > 1, 20_000)
    proxy.halfOpen(false)
    proxy.cut()
    await until(() => gaps === 2, 20_000)
    await db.query(notify, ['received'])
    await until(() => received.length === 1)
    assert.deepEqual(received, ['received'])
  })
}

test('max_connections reached is a transient error', async (t) => {
  const settings = { max_connections: '4', superuser_reserved_connections: '0', max_wal_senders: '0' }
  const { url } = await server(t, { settings })
  for (const library of libraryNames) {
    const db = await database(t, library, { url, poolSize: 10 })
    const answers = await Promise.allSettled(
      Array.from({ length: 8 }, () => db.query(statement('SELECT pg_sleep(0.3)::text AS c0'), [])),
    )
    const refused = answers.filter((answer) => answer.status === 'rejected').map((answer) => answer.reason as Error)
    assert.ok(refused.length >= 4, library)
    for (const error of refused) {
      assert.match(error.message, /reached its max_connections/)
      assert.deepEqual({ ...error }, { ...error, transient: true, maybeApplied: false })
    }
    await db.close()
    await until(() => isFree(url))
  }
})

/** Whether the server has removed the closed connections. */
async function isFree(url: string): Promise<boolean> {
  const beside = new Client(url)
  try {
    await beside.connect()
    const { rows } = await beside.query(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE backend_type = 'client backend'",
    )
    return rows[0].n === 1
  } catch {
    return false
  } finally {
    await beside.end()
  }
}
