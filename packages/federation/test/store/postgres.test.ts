// The tables on Postgres: by URL, with either client library, and in the database of the jobs.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { PostgresStorage } from 'holdfast/postgres'
import { Pool } from 'pg'
import postgres from 'postgres'
import { type PostgresServer, startPostgres } from '../../../../servers/postgres.ts'
import { postgresStore, type PostgresStoreOptions } from '../../src/store/postgres/postgres-store.ts'
import { deliver, followBody, introduce, startServer } from '../inbound/server.ts'
import type { Subject } from './subject.ts'
import { testStore } from './suite.ts'
import { tables } from './tables.ts'

interface Place {
  readonly server: PostgresServer
  readonly pool: Pool
  readonly sql: postgres.Sql
  readonly storage: PostgresStorage
}

let place: Promise<Place> | undefined
let prefixes = 0

async function open(): Promise<Place> {
  const server = await startPostgres({ settings: { max_connections: '100' } })
  const pool = new Pool({ connectionString: server.url, max: 10 })
  pool.on('error', () => {})
  const sql = postgres(server.url, { max: 10, onnotice: () => {} })
  const storage = new PostgresStorage({ client: pool })
  await storage.connect()
  return { server, pool, sql, storage }
}

after(async () => {
  const opened = await place
  await opened?.storage.disconnect()
  await opened?.pool.end()
  await opened?.sql.end()
  await opened?.server.stop()
})

type Way = 'url' | 'pg' | 'postgres.js' | 'storage'

const newPrefix = (): string => `fed${++prefixes}_`

/** Tables of finished cases, for reuse: creating tables takes longer than most cases. */
const free: string[] = []

async function postgresSubject(way: Way): Promise<Subject> {
  const { server, pool, sql, storage } = await (place ??= open())
  const clients: Record<Way, PostgresStoreOptions> = {
    url: { url: server.url },
    pg: { client: pool },
    'postgres.js': { client: sql },
    storage: { storage },
  }
  const prefix = free.pop() ?? newPrefix()
  const other = newPrefix()
  let isSpoilt = false
  const prefixed = (text: string): string => text.replace(/\{(\w+)\}/g, `${prefix}$1`)
  if (way === 'storage') await storage.clear()
  const store = postgresStore({ ...clients[way], prefix, migrate: true })
  await store.connect()
  return {
    store,
    ...(way === 'storage' && { storage }),
    another: () => postgresStore({ ...clients[way], prefix }),
    fresh: () => postgresStore({ ...clients[way], prefix: other }),
    async ask(text) {
      isSpoilt ||= text.includes('{migrations}') && !text.startsWith('SELECT')
      return (await pool.query({ text: prefixed(text), rowMode: 'array' })).rows as unknown[][]
    },
    async inside({ handle }, text) {
      if (way === 'postgres.js') await (handle as postgres.Sql).unsafe(prefixed(text))
      else await (handle as Pool).query(prefixed(text))
    },
    async ownTransaction(run) {
      if (way === 'storage') return storage.transaction(run)
      if (way === 'postgres.js') return void (await sql.begin((own) => run(own)))
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        await run(client)
        await client.query('COMMIT')
      } catch (error) {
        await client.query('ROLLBACK')
        throw error
      } finally {
        client.release()
      }
    },
    async close() {
      await store.disconnect()
      if (isSpoilt) return
      for (const table of tables) {
        await pool.query(`DELETE FROM ${prefix}${table}`)
      }
      free.push(prefix)
    },
  }
}

testStore('Postgres by url', () => postgresSubject('url'), 'life')
testStore('Postgres by pg', () => postgresSubject('pg'))
testStore('Postgres by postgres.js', () => postgresSubject('postgres.js'))
testStore('Postgres by storage', () => postgresSubject('storage'), 'shared')

test('missing tables are refused without `migrate: true`', async () => {
  const { pool } = await (place ??= open())
  const prefix = newPrefix()
  await assert.rejects(postgresStore({ client: pool, prefix }).connect(), { code: 'MIGRATION_PENDING' })
  const store = postgresStore({ client: pool, prefix })
  await store.migrate()
  await store.connect()
  await store.disconnect()
})

test('a transaction on a lost connection fails, and the next one succeeds', async () => {
  const { server, pool } = await (place ??= open())
  const store = postgresStore({ url: server.url, prefix: newPrefix(), migrate: true })
  await store.connect()
  const row = { id: 'd1', name: 'n', targetUrl: 't', serverUrl: 's', payload: '{}', createdAt: 1 }
  const broken = store.transaction(async (tx) => {
    await store.deliveries.insert(row, tx)
    const own = tx.handle as Pool
    const { rows } = await own.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    await pool.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid])
    await store.deliveries.insert({ ...row, id: 'd2' }, tx)
  })
  await assert.rejects(broken, { code: 'STORAGE_ERROR', maybeApplied: false })
  await store.deliveries.insert(row)
  assert.deepEqual(
    (await store.deliveries.list({ limit: 9 })).map(({ id }) => id),
    ['d1'],
  )
  await store.disconnect()
})

test('an unreachable database is a StorageError without the password', async () => {
  const store = postgresStore({ url: 'postgres://user:secret@127.0.0.1:1/db' })
  await assert.rejects(store.connect(), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'STORAGE_ERROR')
    return !error.message.includes('secret')
  })
  await assert.rejects(store.peers.get('https://b.example'), { code: 'STORAGE_CLOSED' })
})

test('the receiving side on Postgres: ten concurrent messages of one follow make one row, and a rejected one leaves none', async (t) => {
  const { pool } = await (place ??= open())
  let asked = 0
  let rejects = 3
  const beta = await startServer(t, {
    store: postgresStore({ client: pool, prefix: newPrefix(), migrate: true }),
    handlers: { FEDERATE: () => (asked++, rejects-- > 0 ? { reject: 'NOT_TODAY' } : { accepted: true }) },
  })
  const alpha = await startServer(t)
  await introduce(alpha, beta)
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, n) => deliver(alpha, beta, followBody(alpha, { id: `row-${n}` }))),
  )
  assert.deepEqual(replies.map(({ status }) => status).toSorted(), [...Array(7).fill(200), 422, 422, 422])
  // Those that come after the row is written are not asked about.
  assert.ok(asked >= 4)
  assert.equal((await beta.store.follows.find('alice', 'bob', alpha.origin))!.accepted, true)
})

test('a client of pg without a transaction, and impossible options, are refused', async () => {
  const { pool } = await (place ??= open())
  const store = postgresStore({ client: pool, prefix: newPrefix() })
  assert.throws(() => store.join(pool), { code: 'INVALID_ARGUMENT' })
  assert.throws(() => postgresStore({}), { code: 'INVALID_ARGUMENT' })
  assert.throws(() => postgresStore({ url: undefined }), { code: 'INVALID_ARGUMENT', message: /url is undefined/ })
  assert.throws(() => postgresStore({ url: 'mysql://x' }), { code: 'INVALID_ARGUMENT' })
  assert.throws(() => postgresStore({ url: 'postgres://x', client: pool }), { code: 'INVALID_ARGUMENT' })
  assert.throws(() => postgresStore({ client: {} as never }), { code: 'INVALID_ARGUMENT' })
})
