// A full disk: max_page_count on the writing connection keeps the file from growing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Queue, StorageError } from 'holdfast'
import type { SqliteStorage } from 'holdfast/sqlite'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { bench, completed, newJob, types } from './bench.ts'
import { checkTables, inspect } from './check-tables.ts'

/** Limits the file to its present pages, or removes the limit. */
const limit = (storage: SqliteStorage, full: boolean): Promise<void> =>
  inspect(storage, (db) => {
    const { page_count: pages } = db.prepare('PRAGMA page_count').get() as { page_count: number }
    db.exec(`PRAGMA max_page_count = ${full ? pages : 1_000_000}`)
  })

const isFull = (error: unknown): true => {
  assert.ok(error instanceof StorageError, String(error))
  assert.equal(error.maybeApplied, false)
  assert.match((error.cause as Error).message, /full/)
  return true
}

test('[trap 46] [O1] on a full disk adds are refused, other calls succeed, and adds work again once there is room', async (t) => {
  const { open } = bench(t)
  const storage = await open()
  const queue = new Queue<string>({ storage })
  t.after(() => queue.stop())
  await queue.start()
  await storage.add(Array.from({ length: 50 }, (_, index) => newJob(`${index}`, { payload: Buffer.alloc(1_000) })))
  const { jobs } = await storage.claim({ worker: 'w', slots: 20, types })
  const before = (await storage.count({})).types
  await limit(storage, true)
  await assert.rejects(queue.enqueue('big', 'x'.repeat(500_000)), isFull)
  const many = Array.from({ length: 200 }, (_, index) => newJob(`new ${index}`, { payload: Buffer.alloc(3_000) }))
  await assert.rejects(storage.add(many))
  assert.deepEqual((await storage.count({})).types, before)
  await inspect(storage, checkTables)
  // In one transaction with an add that is refused.
  const [refused, settled, cancelled] = await Promise.allSettled([
    storage.add(many),
    storage.settle(jobs.map(completed)),
    storage.cancel([{ type: defaultType, id: '49' }]),
  ])
  assert.equal(refused.status, 'rejected')
  assert.ok(settled.status === 'fulfilled' && settled.value.every(({ verdict }) => verdict === 'settled'))
  assert.ok(cancelled.status === 'fulfilled' && cancelled.value[0]!.verdict === 'cancelled')
  const removed = await storage.remove(jobs)
  assert.ok(removed.every(({ verdict }) => verdict === 'removed'))
  // The removed jobs left room for a few.
  assert.equal((await storage.add([newJob('small')]))[0]!.verdict, 'added')
  await limit(storage, false)
  assert.equal((await queue.enqueue('big', 'x'.repeat(500_000))).status, 'queued')
  assert.ok((await storage.add(many)).every(({ verdict }) => verdict === 'added'))
  await inspect(storage, checkTables)
  assert.equal((await storage.claim({ worker: 'x', slots: 500, types })).jobs.length, 29 + 1 + 1 + 200)
})

test('[O1] a full disk rolls a transaction back, even if its function goes on', async (t) => {
  const { open } = bench(t)
  const storage = await open()
  await storage.add([newJob('a')])
  await limit(storage, true)
  const failed = storage.transaction(async (tx) => {
    await storage.add([newJob('b')], tx)
    await assert.rejects(storage.add([newJob('c', { payload: Buffer.alloc(1_000_000) })], tx))
    await storage.add([newJob('d')], tx)
  })
  const outcome = await failed.then(
    () => 'committed',
    () => 'rolled back',
  )
  const refs = ['b', 'c', 'd'].map((id) => ({ type: defaultType, id }))
  const states = (await storage.get(refs)).map((record) => record?.state)
  const none = [undefined, undefined, undefined]
  assert.deepEqual(states, outcome === 'committed' ? ['queued', undefined, 'queued'] : none)
  await inspect(storage, checkTables)
  await limit(storage, false)
  await storage.add([newJob('e')])
})
