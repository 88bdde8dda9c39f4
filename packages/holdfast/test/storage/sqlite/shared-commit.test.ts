// Calls that share a commit see what the earlier ones of it did, also the rows that an add writes at once. Statements of others share it, too.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SqliteStorage } from 'holdfast/sqlite'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { bench, newJob, types } from './bench.ts'
import { checkTables, inspect } from './check-tables.ts'

const ref = (id: string) => ({ type: defaultType, id })

test('an id whose record an earlier call of the commit deleted is free', async (t) => {
  const storage = await bench(t).open({ durability: 'relaxed' })
  await storage.add([newJob('a')])
  await storage.cancel([ref('a')])
  const [removed, added, claimed] = await Promise.all([
    storage.remove([ref('a')]),
    storage.add([newJob('a', { token: 'second' })]),
    storage.claim({ worker: 'w', slots: 5, types }),
  ])
  assert.deepEqual(
    [removed[0]!.verdict, added[0]!.verdict, claimed.jobs.map(({ id, token }) => [id, token])],
    ['removed', 'added', [['a', 'second']]],
  )
  await inspect(storage, checkTables)
})

test('an add finds the jobs that earlier calls of the commit added, and its own', async (t) => {
  const storage = await bench(t).open({ durability: 'relaxed' })
  const plain = newJob('a', { payload: Buffer.from('1') })
  const rare = newJob('b', { timeoutMs: 5_000, payload: Buffer.alloc(2_000) })
  const verdicts = await Promise.all([
    storage.add([plain, rare]),
    storage.add([newJob('c'), newJob('c'), plain, { ...rare, token: 'other' }]),
  ])
  assert.deepEqual(
    verdicts.map((all) => all.map(({ verdict }) => verdict)),
    [
      ['added', 'added'],
      // The third is a repeat of the earlier call, by its token.
      ['added', 'duplicate', 'added', 'duplicate'],
    ],
  )
  const { jobs } = await storage.claim({ worker: 'w', slots: 5, types })
  assert.deepEqual(
    jobs.map(({ id, payload, timeoutMs }) => [id, payload?.byteLength, timeoutMs]),
    [
      ['a', 1, undefined],
      ['b', 2_000, 5_000],
      ['c', undefined, undefined],
    ],
  )
  await inspect(storage, checkTables)
})

test('write(): statements share a transaction with other calls; one that throws is rolled back alone', async (t) => {
  const { open, look } = bench(t)
  const storage = await open({ durability: 'relaxed' })
  const beside = look()
  beside.exec('CREATE TABLE orders (id TEXT PRIMARY KEY)')
  const order = (id: string) => storage.write((database) => database.prepare('INSERT INTO orders VALUES (?)').run(id))
  const orders = () =>
    beside
      .prepare('SELECT id FROM orders ORDER BY id')
      .all()
      .map(({ id }) => id)
  const jobs = (): unknown => beside.prepare('SELECT count(*) AS n FROM holdfast_jobs').get()!['n']
  /** What another connection saw when the first call was answered. */
  const whenFirst: unknown[] = []
  await Promise.all([
    order('a').then(() => whenFirst.push(...orders(), jobs())),
    storage.add([newJob('a')]),
    order('b'),
  ])
  assert.deepEqual(whenFirst, ['a', 'b', 1])

  const oops = new Error('oops')
  const failing = storage.write((database) => {
    database.prepare("INSERT INTO orders VALUES ('x')").run()
    throw oops
  })
  const [first, failed, second] = await Promise.allSettled([
    order('c'),
    failing,
    order('d'),
    storage.add([newJob('b')]),
  ])
  assert.deepEqual(
    [first.status, failed, second.status],
    ['fulfilled', { status: 'rejected', reason: oops }, 'fulfilled'],
  )
  assert.deepEqual(orders(), ['a', 'b', 'c', 'd'])
  const claimed = await storage.claim({ worker: 'w', slots: 5, types })
  assert.deepEqual(
    claimed.jobs.map(({ id }) => id),
    ['a', 'b'],
  )
  await inspect(storage, checkTables)
})

test('write(): an async function is refused, and what it wrote is rolled back', async (t) => {
  const { open, look } = bench(t)
  const storage = await open({ durability: 'relaxed' })
  const beside = look()
  beside.exec('CREATE TABLE orders (id TEXT PRIMARY KEY)')
  const late = storage.write(async (database) => void database.prepare("INSERT INTO orders VALUES ('a')").run())
  await assert.rejects(late, { code: 'INVALID_ARGUMENT' })
  assert.deepEqual(beside.prepare('SELECT id FROM orders').all(), [])
})

test('write(): it comes before a transaction that begins after it, and is written before the storage closes', async (t) => {
  const { open, look, path } = bench(t)
  const beside = look()
  beside.exec('CREATE TABLE orders (id TEXT PRIMARY KEY)')
  const storage = await open({ durability: 'relaxed' })
  const order = (id: string, on = storage) =>
    on.write((database) => void database.prepare('INSERT INTO orders VALUES (?)').run(id))
  const before = order('a')
  await storage.transaction(async ({ database }) => void database.exec("UPDATE orders SET id = 'b' WHERE id = 'a'"))
  await before
  const closing = new SqliteStorage({ path, durability: 'relaxed' })
  await closing.connect()
  const last = order('c', closing)
  await Promise.all([closing.disconnect(), last])
  assert.deepEqual(
    beside
      .prepare('SELECT id FROM orders ORDER BY id')
      .all()
      .map(({ id }) => id),
    ['b', 'c'],
  )
})
