// A connection remembers the instant before which no lease ends, so that a claim does not look for lost ones. Whatever brings the end
// of a lease forward must be noticed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClaimedJob } from 'holdfast/storage'
import type { SqliteStorage } from 'holdfast/sqlite'
import { fakeClock } from 'holdfast/testing'
import { bench, newJob, types } from './bench.ts'

const claimOne = async (storage: SqliteStorage, leaseMs: number) =>
  storage.claim({ worker: 'w', slots: 1, types: types.map((type) => ({ ...type, leaseMs })) })

const idOf = ({ jobs }: { jobs: readonly ClaimedJob[] }) => jobs.map(({ id }) => id)

test('a lease that ends before those that were known is taken back in time', async (t) => {
  const clock = fakeClock()
  const storage = await bench(t).open({ clock })
  await storage.add([newJob('long'), newJob('short')])
  assert.deepEqual(idOf(await claimOne(storage, 60_000)), ['long'])
  // It looks at the lease of the first, and leases a job for less.
  assert.deepEqual(idOf(await claimOne(storage, 100)), ['short'])
  await clock.advance(99)
  assert.deepEqual((await claimOne(storage, 60_000)).recovered, [])
  await clock.advance(1)
  const { recovered, jobs } = await claimOne(storage, 60_000)
  assert.deepEqual([recovered.map(({ id }) => id), idOf({ jobs })], [['short'], ['short']])
})

test('a lease that an extension made shorter is taken back in time', async (t) => {
  const clock = fakeClock()
  const storage = await bench(t).open({ clock })
  await storage.add([newJob('a')])
  const [job] = (await claimOne(storage, 60_000)).jobs
  await claimOne(storage, 60_000)
  const { type, id, worker, attempt } = job!
  await storage.extend([{ type, id, worker, attempt, leaseMs: 50 }])
  assert.deepEqual((await claimOne(storage, 60_000)).recovered, [])
  await clock.advance(50)
  assert.deepEqual(idOf(await claimOne(storage, 60_000)), ['a'])
})

test('a lease of another connection is taken back in time', async (t) => {
  const clock = fakeClock()
  const { open } = bench(t)
  const [one, other] = [await open({ clock }), await open({ clock })]
  await one.add([newJob('a'), newJob('b')])
  await claimOne(one, 60_000)
  await claimOne(one, 0.5)
  await clock.advance(1)
  assert.deepEqual(idOf(await claimOne(other, 100)), ['b'])
  await clock.advance(100)
  assert.deepEqual(idOf(await claimOne(one, 60_000)), ['b'])
})

test('a claim of one job takes a due one of a lower priority, and the best of those that are due', async (t) => {
  const clock = fakeClock()
  const storage = await bench(t).open({ clock })
  await storage.add([newJob('later', { priority: 5, delayMs: 100 }), newJob('low'), newJob('high', { priority: 3 })])
  assert.deepEqual(idOf(await claimOne(storage, 60_000)), ['high'])
  assert.deepEqual(idOf(await claimOne(storage, 60_000)), ['low'])
  assert.deepEqual(idOf(await claimOne(storage, 60_000)), [])
  await clock.advance(100)
  assert.deepEqual(idOf(await claimOne(storage, 60_000)), ['later'])
})
