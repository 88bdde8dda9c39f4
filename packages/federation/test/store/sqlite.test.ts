// The tables on SQLite: in a file, on the app's connection, and in the database of the jobs.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { SqliteStorage } from 'holdfast/sqlite'
import { fakeClock } from 'holdfast/testing'
import { sqliteStore, type SqliteStoreOptions } from '../../src/store/sqlite/sqlite-store.ts'
import type { StoreTransaction } from '../../src/store/store.ts'
import type { Subject } from './subject.ts'
import { testStore } from './suite.ts'

const prefixed = (text: string, prefix = 'fed_'): string => text.replace(/\{(\w+)\}/g, `${prefix}$1`)

type Way = 'path' | 'database' | 'storage'

async function sqliteSubject(way: Way): Promise<Subject> {
  const folder = mkdtempSync(join(tmpdir(), 'federation-store-'))
  const path = join(folder, 'app.db')
  const beside = new DatabaseSync(path, { timeout: 5_000 })
  const storage = way === 'storage' ? new SqliteStorage({ path, durability: 'relaxed' }) : undefined
  await storage?.connect()
  const opened: DatabaseSync[] = [beside]
  const newOptions = (): SqliteStoreOptions => {
    if (storage) return { storage }
    if (way === 'path') return { path }
    const database = new DatabaseSync(path, { timeout: 5_000 })
    opened.push(database)
    return { database }
  }
  const store = sqliteStore(newOptions())
  await store.connect()
  const another = (): ReturnType<typeof sqliteStore> => sqliteStore(newOptions())
  return {
    store,
    ...(storage && { storage }),
    another,
    fresh: () => sqliteStore({ ...newOptions(), prefix: 'other_' }),
    ask: async (text) =>
      beside
        .prepare(prefixed(text))
        .all()
        .map((row) => Object.values(row)),
    inside: async (tx: StoreTransaction, text) => (tx.handle as DatabaseSync).exec(prefixed(text)),
    async ownTransaction(run) {
      if (storage) return storage.transaction(run)
      const database = new DatabaseSync(path, { timeout: 5_000 })
      opened.push(database)
      database.exec('BEGIN IMMEDIATE')
      try {
        await run(database)
        database.exec('COMMIT')
      } catch (error) {
        database.exec('ROLLBACK')
        throw error
      }
    },
    async close() {
      await store.disconnect()
      await storage?.disconnect()
      for (const database of opened) database.close()
      rmSync(folder, { recursive: true })
    },
  }
}

testStore('SQLite by path', () => sqliteSubject('path'))
testStore('SQLite by database', () => sqliteSubject('database'), 'life')
testStore('SQLite by storage', () => sqliteSubject('storage'), 'shared')

test('a database in memory keeps its rows without a connection', async () => {
  const store = sqliteStore({ path: ':memory:' })
  await store.connect()
  await store.peers.pin({ url: 'https://b.example', publicKey: 'k', encryptionPublicKey: 'e' }, 1)
  await store.disconnect()
  await store.connect()
  assert.equal((await store.peers.get('https://b.example'))!.publicKey, 'k')
})

test('shared(): works that wait at a time share one commit', async (t) => {
  const it = await sqliteSubject('path')
  t.after(() => it.close())
  const insert = (id: string): Promise<void> =>
    it.store.shared((tx) =>
      it.store.deliveries.insert({ id, name: 'n', targetUrl: 't', serverUrl: 's', payload: '{}', createdAt: 1 }, tx),
    )
  const [seen] = await Promise.all([
    insert('a').then(() => it.ask('SELECT id FROM {delivery_jobs} ORDER BY id')),
    insert('b'),
    insert('c'),
  ])
  // What another connection saw when the first was answered.
  assert.deepEqual(seen, [['a'], ['b'], ['c']])
})

test('a call without tx inside of a transaction is rejected, and not run later', async () => {
  const clock = fakeClock()
  const store = sqliteStore({ path: ':memory:', clock })
  await store.connect()
  const row = { id: 'd1', name: 'n', targetUrl: 't', serverUrl: 's', payload: '{}', createdAt: 1 }
  await store.transaction(async () => {
    const stuck = store.deliveries.insert(row)
    await Promise.all([assert.rejects(stuck, /pass tx to every call/), clock.advance(5_000)])
  })
  assert.equal(await store.deliveries.get('d1'), undefined)
  await store.deliveries.insert(row)
})

test('impossible options are refused', () => {
  assert.throws(() => sqliteStore({}), { code: 'INVALID_ARGUMENT' })
  assert.throws(() => sqliteStore({ path: 'a', database: new DatabaseSync(':memory:') }), { code: 'INVALID_ARGUMENT' })
  for (const prefix of ['x"; --', '', '1x', 'x'.repeat(31), 'A']) {
    assert.throws(() => sqliteStore({ path: ':memory:', prefix }), /prefix: expected/)
  }
})
