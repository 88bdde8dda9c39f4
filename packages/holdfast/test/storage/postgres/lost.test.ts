// Postgres connections that are lost, one way or another: calls say so in time and whether they may have happened, and the
// next ones go through; those who listen are told that they may have missed something. By way of each library.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { startProxy } from '../../../../../servers/proxy.ts'
import type { StorageError } from '../../../src/errors.ts'
import { admin, client, database, eventually, killOthers, libraryNames, server, statement, until } from './trial.ts'

const one = statement('SELECT 1::text AS c0')
const sleep = statement('SELECT pg_sleep(60)::text AS c0')
const insert = statement('INSERT INTO numbers VALUES (($1::text)::int)')
const numbers = statement('SELECT n::text AS c0 FROM numbers ORDER BY n')
const notify = statement("SELECT pg_notify('told', $1::text)::text AS c0")

/** What an error says of a call. */
const said = (transient: boolean, maybeApplied: boolean): object => ({ code: 'STORAGE_ERROR', transient, maybeApplied })

for (const library of libraryNames) {
  for (const way of ['url', 'client'] as const) {
    test(`${library}, by ${way}: connections that the server ends are replaced, idle or not`, async (t) => {
      const { url } = await server(t)
      const run = await admin(t, url)
      await run('CREATE TABLE numbers (n int)')
      const db = await database(t, library, way === 'url' ? { url } : { client: client(t, library, url) })
      await Promise.all([db.query(one, []), db.query(one, []), db.reserved.query(one, [])])

      const calls = [db.query(sleep, []), db.reserved.query(sleep, [])].map((call) =>
        assert.rejects(call, said(true, true)),
      )
      const lost = assert.rejects(
        db.transaction(async (tx) => {
          await tx.query(insert, [1])
          await tx.query(sleep, [])
        }),
        said(true, false),
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

  test(`${library}: a connection that is lost between two statements ends the transaction`, async (t) => {
    const { url } = await server(t)
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
    await assert.rejects(between, said(true, false))
    await assert.rejects(
      eventually(() =>
        db.transaction(async (tx) => {
          await tx.query(insert, [3])
          await kill()
          throw new Error('told')
        }),
      ),
      /told/,
    )
    const beforeCommit = db.transaction(async (tx) => {
      await tx.query(insert, [4])
      await kill()
    })
    // Whether it noticed before it sent COMMIT is a matter of luck.
    await assert.rejects(beforeCommit, { code: 'STORAGE_ERROR', transient: true })
    assert.deepEqual(await eventually(() => db.query(numbers, [])), [])
  })

  test(`[trap 49] ${library}: a COMMIT whose answer is lost may have happened`, async (t) => {
    const { url, port } = await server(t)
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
      said(true, true),
    )
    await until(async () => (await run('SELECT n FROM numbers')).length === 1)
    proxy.swallowReplies(false)
    assert.deepEqual(await eventually(() => db.query(numbers, [])), [['1']])
  })

  test(`${library}: after an immediate restart calls go through, and those who listen hear again`, async (t) => {
    const postgres = await server(t)
    const db = await database(t, library, { url: postgres.url })
    const heard: string[] = []
    let gaps = 0
    const unlisten = await db.listen(
      'told',
      (payload) => heard.push(payload),
      () => gaps++,
    )
    await db.query(notify, ['1'])
    await until(() => heard.length === 1)

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
    await until(() => heard.length === 2)
    assert.deepEqual(heard, ['1', '2'])

    await unlisten()
    await db.query(notify, ['3'])
    assert.equal(gaps, 1)
  })

  test(`${library}: a connection that has fallen silent is given up in time, and others are made`, async (t) => {
    const { url, port } = await server(t)
    const proxy = await startProxy(port)
    t.after(() => proxy.stop())
    const db = await database(t, library, { url: url.replace(`:${port}`, `:${proxy.port}`), callTimeoutMs: 1_000 })
    await Promise.all([db.query(one, []), db.reserved.query(one, [])])
    proxy.halfOpen(true)
    await assert.rejects(db.query(one, []), said(true, true))
    await assert.rejects(db.reserved.query(one, []), said(true, true))
    // New ones connect, and hear nothing either.
    await assert.rejects(db.query(one, []), said(true, false))
    await assert.rejects(db.reserved.query(one, []), said(true, false))
    await assert.rejects(
      db.listen(
        'told',
        () => {},
        () => {},
      ),
      said(true, false),
    )
    proxy.halfOpen(false)
    proxy.cut()
    assert.deepEqual(await eventually(() => db.query(one, [])), [['1']])
    assert.deepEqual(await eventually(() => db.reserved.query(one, [])), [['1']])
  })

  test(`${library}: the connection that listens notices by itself that nobody is there, and goes elsewhere`, async (t) => {
    const { url, port } = await server(t)
    const proxy = await startProxy(port)
    t.after(() => proxy.stop())
    // Calls go straight to the server: only what listens is cut off.
    const listenUrl = url.replace(`:${port}`, `:${proxy.port}`)
    const db = await database(t, library, { url, listenUrl, callTimeoutMs: 1_000 })
    const heard: string[] = []
    let gaps = 0
    const listen = (channel: string): Promise<() => Promise<void>> =>
      db.listen(
        channel,
        (payload) => heard.push(payload),
        () => gaps++,
      )
    await Promise.all([listen('told'), listen('other')])
    assert.equal(proxy.counts.connections, 1, 'one for all')
    proxy.halfOpen(true)
    await db.query(notify, ['missed'])
    await until(() => proxy.counts.connections > 1, 20_000)
    proxy.halfOpen(false)
    proxy.cut()
    await until(() => gaps === 2, 20_000)
    await db.query(notify, ['heard'])
    await until(() => heard.length === 1)
    assert.deepEqual(heard, ['heard'])
  })
}

test('a server without room for more connections is worth another try', async (t) => {
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

/** Whether the connections that were closed are gone from the server. */
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
