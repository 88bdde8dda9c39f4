// sweep: deadlines and counts to keep, by their indexes, alone and against other calls.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewJob, Swept } from 'holdfast/storage'
import type { SqliteStorage } from 'holdfast/sqlite'
import { systemClock } from '../../../src/clock.ts'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { bench, completed, newJob, types } from './bench.ts'
import { checkTables, inspect, rowCounts } from './check-tables.ts'

const start = 1_767_225_600_000

test('[F5] overdue jobs are ended once, by claims and sweeps of two connections at the same time', async (t) => {
  const { open } = bench(t)
  let now = start
  const clock = { ...systemClock, now: () => now }
  const [one, other] = [await open({ durability: 'relaxed', clock }), await open({ durability: 'relaxed', clock })]
  await one.add(Array.from({ length: 300 }, (_, index) => newJob(`${index}`, { expiresInMs: 1_000 })))
  await one.add(Array.from({ length: 50 }, (_, index) => newJob(`in time ${index}`, { expiresInMs: 5_000 })))
  assert.equal((await inspect(one, rowCounts)).holdfast_deadlines, 350)
  now += 2_000
  const calls = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const storage = index % 2 ? one : other
      if (index % 4 > 1) return storage.sweep({ limit: 20 })
      return storage.claim({ worker: `${index}`, slots: 1, types })
    }),
  )
  const rest = await one.sweep({ limit: 1_000 })
  const ended = [...calls, rest].flatMap((answer) => answer.ended.map(({ id }) => id))
  assert.equal(ended.length, 300)
  assert.equal(new Set(ended).size, 300)
  const claimed = calls.flatMap((answer) => ('settled' in answer ? answer.jobs : []))
  assert.ok(claimed.length > 0 && claimed.every(({ id }) => id.startsWith('in time')))
  await inspect(one, checkTables)
  assert.equal((await inspect(one, rowCounts)).holdfast_deadlines, 50 - claimed.length)
})

test('[F5] a deadline of Infinity never comes', async (t) => {
  const { open } = bench(t)
  let now = start
  const storage = await open({ clock: { ...systemClock, now: () => now } })
  await storage.add([newJob('a', { expiresInMs: Infinity, timeoutMs: Infinity })])
  now += 1_000_000_000
  assert.deepEqual((await storage.sweep({ limit: 10 })).ended, [])
  assert.equal((await storage.get([{ type: defaultType, id: 'a' }]))[0]!.deadlineAt, Infinity)
  assert.equal((await storage.claim({ worker: 'w', slots: 1, types })).jobs.length, 1)
})

test('[F5] a deadline whose job is gone, or has none, is deleted and ends nothing', async (t) => {
  const { open } = bench(t)
  const storage = await open()
  await storage.add([newJob('a')])
  await inspect(storage, (db) => db.exec('INSERT INTO holdfast_deadlines VALUES (1, 1), (1, 777)'))
  const { ended, more } = await storage.sweep({ limit: 10 })
  assert.deepEqual([ended, more], [[], false])
  assert.equal((await inspect(storage, rowCounts)).holdfast_deadlines, 0)
  assert.equal((await storage.claim({ worker: 'w', slots: 1, types })).jobs.length, 1)
})

async function end(storage: SqliteStorage, kind: 'completed' | 'failed', jobs: readonly NewJob[]): Promise<void> {
  await storage.add(jobs)
  const { jobs: leases } = await storage.claim({ worker: `${jobs[0]!.id}`, slots: jobs.length, types })
  await storage.settle(leases.map((lease) => ({ ...completed(lease), kind }) as never))
}

/** Sweeps until nothing is left. Fails if that does not end. */
async function sweepAll(storage: SqliteStorage, request: Parameters<SqliteStorage['sweep']>[0]): Promise<number> {
  let jobs = 0
  let swept: Swept
  let rounds = 0
  do {
    swept = await storage.sweep(request)
    jobs += swept.jobs
    assert.ok(++rounds < 100)
  } while (swept.more)
  return jobs
}

test('[F29] of chains that failed at a later job, those beyond the count are deleted whole', async (t) => {
  const { open } = bench(t)
  const storage = await open({ durability: 'relaxed' })
  for (let index = 0; index < 5; index++) {
    await storage.add([newJob(`first ${index}`)])
    const [first] = (await storage.claim({ worker: `a${index}`, slots: 1, types })).jobs.map(completed)
    await storage.settle([{ ...first!, kind: 'continued', next: newJob(`next ${index}`) } as never])
    const [next] = (await storage.claim({ worker: `b${index}`, slots: 1, types })).jobs.map(completed)
    await storage.settle([{ ...next!, kind: 'failed' } as never])
  }
  const keep = [{ type: defaultType, state: 'failed', count: 2 }] as const
  assert.equal(await sweepAll(storage, { limit: 2, keep }), 6)
  const { states } = (await storage.count({})).types[0]!
  assert.deepEqual([states.failed, states.completed], [2, 2])
  await inspect(storage, checkTables)
})

test('[F29] a sweep by count ends, whatever is left that cannot be deleted', async (t) => {
  const { open } = bench(t)
  const storage = await open({ durability: 'relaxed' })
  const needed = Array.from({ length: 20 }, (_, index) => newJob(`needed ${index}`))
  await end(storage, 'completed', needed)
  // It waits for one more, so it keeps all of them.
  await storage.add([newJob('open', { type: 'other' })])
  const blockers = [...needed, { type: 'other', id: 'open' }].map(({ type, id }) => ({ type, id }))
  await storage.add([newJob('dependent', { type: 'other', blockers })])
  await end(
    storage,
    'completed',
    Array.from({ length: 20 }, (_, index) => newJob(`${index}`)),
  )
  const keep = [{ type: defaultType, state: 'completed', count: 5 }] as const
  assert.equal(await sweepAll(storage, { limit: 3, keep }), 20)
  assert.equal((await storage.sweep({ limit: 3, keep })).jobs, 0)
  const [counts] = (await storage.count({ types: [defaultType] })).types
  assert.equal(counts!.states.completed, 20)
})

test('[F29] a sweep of a type that has little finds it behind the records of another that has much', async (t) => {
  const { open } = bench(t)
  const storage = await open({ durability: 'relaxed' })
  await end(
    storage,
    'failed',
    Array.from({ length: 1_000 }, (_, index) => newJob(`${index}`)),
  )
  await storage.add(
    ['a', 'b', 'c'].map((id) => newJob(id, { type: 'rare', retention: { ...newJob('').retention, cancelledMs: 1e9 } })),
  )
  await storage.cancel(['a', 'b', 'c'].map((id) => ({ type: 'rare', id })))
  const keep = [{ type: 'rare', state: 'cancelled', count: 1 }] as const
  assert.deepEqual(await storage.sweep({ limit: 100, keep }), { jobs: 2, ended: [], marks: 0, entries: 0, more: false })
})

test('a sweep takes a limit and counts that are numbers of records only', async (t) => {
  const { open } = bench(t)
  const storage = await open()
  for (const request of [{ limit: 0 }, { limit: 1, keep: [{ type: 'a', state: 'queued', count: 1 }] }]) {
    await assert.rejects(storage.sweep(request as never), { code: 'INVALID_ARGUMENT' })
  }
})

test('an expired job inside an expired chain of another type is deleted and counted once', async (t) => {
  const { open } = bench(t)
  let now = start
  const storage = await open({ clock: { ...systemClock, now: () => now } })
  const claim = async (worker: string) => {
    const wanted = ['a', 'b'].map((type) => ({ type, leaseMs: 60_000 }))
    return (await storage.claim({ worker, slots: 1, types: wanted })).jobs.map(completed)[0]!
  }
  await storage.add([newJob('first', { type: 'a' }), newJob('other', { type: 'b', delayMs: 3_600_000 })])
  for (const [worker, id] of ['second', 'third'].entries()) {
    await storage.settle([{ ...(await claim(`${worker}`)), kind: 'continued', next: newJob(id, { type: 'b' }) }])
  }
  await storage.settle([await claim('last')])
  now += 60_000
  assert.equal((await storage.sweep({ limit: 10 })).jobs, 3)
  await inspect(storage, checkTables)
})
