// Acknowledged writes survive a close and kill -9, with the settings of their durability.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SqliteStorage } from 'holdfast/sqlite'
import { sized } from '../../full-size.ts'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { bench, completed, newJob, types } from './bench.ts'
import { checkTables, inspect } from './check-tables.ts'

test('[Q4.09] full syncs every commit, relaxed only checkpoints, and `features` shows which', async (t) => {
  for (const [durability, synchronous] of [
    [undefined, 2],
    ['full', 2],
    ['relaxed', 1],
  ] as const) {
    const { open } = bench(t)
    const storage = await open({ durability })
    assert.deepEqual(await inspect(storage, (db) => ({ ...db.prepare('PRAGMA synchronous').get() })), { synchronous })
    assert.deepEqual(await inspect(storage, (db) => ({ ...db.prepare('PRAGMA journal_mode').get() })), {
      journal_mode: 'wal',
    })
    assert.equal(storage.features.durable, synchronous === 2)
  }
})

test('a reopened database has everything: states, bytes, keys, groups, pauses, leases and their fences', async (t) => {
  const { open } = bench(t)
  const first = await open()
  const group = { key: 'g', ordered: true } as const
  await first.add([
    newJob('a', { payload: Buffer.alloc(3_000, 1), deduplication: { key: 'k', mode: 'simple' } }),
    newJob('b', { group, priority: -1 }),
    newJob('c', { group, priority: -1 }),
    newJob('d', { delayMs: 60_000 }),
    newJob('e'),
  ])
  await first.add([newJob('f', { blockers: [{ type: defaultType, id: 'a' }] })])
  await first.pause({ type: 'other', paused: true, by: 'ada' })
  await first.kv.set(['x'], Buffer.from('y'))
  const { jobs } = await first.claim({ worker: 'w', slots: 1, types })
  assert.equal(jobs[0]!.id, 'a')
  const refs = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => ({ type: defaultType, id }))
  const before = [await first.get(refs, { parts: ['payload', 'blockers'] }), (await first.count({})).types]
  await first.disconnect()
  const second = await open()
  const after = [await second.get(refs, { parts: ['payload', 'blockers'] }), (await second.count({})).types]
  assert.deepEqual(after, before)
  assert.deepEqual(Buffer.from((await second.kv.get(['x']))!), Buffer.from('y'))
  const [duplicate] = await second.add([newJob('z', { deduplication: { key: 'k', mode: 'simple' } })])
  assert.equal(duplicate!.verdict, 'duplicate')
  const [settled] = await second.settle(jobs.map(completed))
  assert.equal(settled!.verdict, 'settled')
  const next = await second.claim({ worker: 'x', slots: 9, types })
  // The jobs without a group had their turn with the first claim.
  assert.deepEqual(
    next.jobs.map(({ id }) => id),
    ['b', 'e', 'f'],
  )
})

const kills = sized(20, 8)

test(`[Q4.09] [trap 41] a producer that is killed ${kills} times: every acknowledged id is there, and the tables are consistent`, async (t) => {
  const { open, spawn } = bench(t)
  const storage = await open()
  const acknowledged: string[] = []
  const kill = async (round: number): Promise<void> => {
    const child = spawn('flood')
    for (let count = 0; count < 2 + (round % 7); count++) acknowledged.push(...(await child.next<string[]>()))
    await child.kill()
    acknowledged.push(...(child.said as string[][]).flat())
  }
  for (let round = 0; round < kills; round += 4) await Promise.all([0, 1, 2, 3].map((other) => kill(round + other)))
  assert.ok(acknowledged.length > 5 * kills)
  const records = await storage.get(
    acknowledged.map((id) => ({ type: defaultType, id })),
    { parts: ['payload'] },
  )
  assert.deepEqual(
    acknowledged.filter((_, index) => records[index]?.payload?.byteLength !== 2_000),
    [],
  )
  await inspect(storage, checkTables)
  assert.deepEqual(await inspect(storage, (db) => ({ ...db.prepare('PRAGMA integrity_check').get() })), {
    integrity_check: 'ok',
  })
  const { jobs } = await storage.claim({ worker: 'w', slots: 900, types })
  assert.ok(jobs.length >= Math.min(900, acknowledged.length))
})

test("':memory:' works like a file, keeps its jobs across a disconnect, and is private to its storage", async (t) => {
  const storage = new SqliteStorage({ path: ':memory:' })
  await storage.connect()
  const signals: string[] = []
  await storage.listen([{ kind: 'wake', type: defaultType }], ({ kind }) => signals.push(kind))
  await storage.add([newJob('a')])
  await storage.disconnect()
  await storage.connect()
  t.after(() => storage.disconnect())
  await storage.transaction(async (tx) => {
    tx.database.exec('CREATE TABLE orders (id); INSERT INTO orders VALUES (1)')
    await storage.add([newJob('b')], tx)
  })
  const { jobs } = await storage.claim({ worker: 'w', slots: 5, types })
  assert.deepEqual(
    jobs.map(({ id }) => id),
    ['a', 'b'],
  )
  assert.deepEqual(signals, ['wake', 'wake'])
  assert.equal(storage.features.durable, false)
  assert.equal(storage.features.sharedByProcesses, false)
  const other = new SqliteStorage({ path: ':memory:' })
  await other.connect()
  assert.deepEqual((await other.count({})).types, [])
  await other.disconnect()
  await storage.clear()
  assert.deepEqual((await storage.count({})).types, [])
})
