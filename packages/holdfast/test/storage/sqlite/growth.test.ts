// Payloads of any size, and no growth without end: of the tables, and of the heap.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Bytes, Outcome } from 'holdfast/storage'
import { systemClock } from '../../../src/clock.ts'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { bench, completed, newJob, types } from './bench.ts'
import { checkTables, inspect, rowCounts } from './check-tables.ts'

const bytes = (length: number, first: number): Bytes => Buffer.alloc(length, first)
const sizes: readonly (number | undefined)[] = [1_000_000, 1_025, 1_024, 0, undefined]
const hour = 3_600_000
const payloadOf = (size: number | undefined): Bytes | undefined => (size === undefined ? undefined : bytes(size, 7))

test('a payload of any size: added, claimed, replaced by one of any other size, claimed again, read, and deleted', async (t) => {
  const { open } = bench(t)
  let now = 1_767_225_600_000
  const storage = await open({ clock: { ...systemClock, now: () => now } })
  const pairs = sizes.flatMap((size, first) =>
    sizes.map((other, second) => ({ size, other, id: `${first}-${second}` })),
  )
  await storage.add(pairs.map(({ size, id }) => newJob(id, { payload: payloadOf(size) })))
  const first = await storage.claim({ worker: 'a', slots: 100, types })
  assert.deepEqual(
    first.jobs.map(({ payload }) => payload?.byteLength),
    pairs.map(({ size }) => size),
  )
  await storage.settle(
    first.jobs.map((job, index): Outcome => ({
      ...completed(job),
      kind: 'released',
      payload: payloadOf(pairs[index]!.other),
    })),
  )
  await inspect(storage, checkTables)
  const expected = pairs.map(({ size, other }) => other ?? size)
  const second = await storage.claim({ worker: 'b', slots: 100, types })
  assert.deepEqual(
    second.jobs.map(({ payload }) => payload?.byteLength),
    expected,
  )
  const found = await storage.get(
    pairs.map(({ id }) => ({ type: defaultType, id })),
    { parts: ['payload'] },
  )
  for (const [index, record] of found.entries()) {
    assert.deepEqual(record!.payload && Buffer.from(record!.payload), payloadOf(expected[index]))
  }
  await storage.settle(second.jobs.map(completed))
  now += 60_001
  while ((await storage.sweep({ limit: 10 })).more) await inspect(storage, checkTables)
  const left = await inspect(storage, rowCounts)
  assert.deepEqual({ ...left, holdfast_types: 0 }, Object.fromEntries(Object.keys(left).map((table) => [table, 0])))
})

test('[trap 36] [trap 38] 2,000 jobs with retries, keys, groups, blockers and cancels: after a sweep every table but that of types is empty', async (t) => {
  const { open } = bench(t)
  let now = 1_767_225_600_000
  const storage = await open({ durability: 'relaxed', clock: { ...systemClock, now: () => now } })
  for (let round = 0; round < 20; round++) {
    const id = (index: number): string => `${round}-${index}`
    await storage.add(
      Array.from({ length: 100 }, (_, index) =>
        newJob(id(index), {
          token: `round ${round}`,
          retention: { completedMs: hour, failedMs: hour, cancelledMs: hour },
          group: index % 3 === 0 ? { key: `g${index % 9}`, ordered: true } : undefined,
          deduplication:
            index % 5 === 0
              ? { key: `k${round}-${index}`, mode: index % 2 ? 'simple' : 'throttle', windowMs: 5_000 }
              : undefined,
          blockers: index % 10 === 4 ? [index + 1, index + 2] : undefined,
          maxAttempts: 3,
          payload: index % 7 === 0 ? bytes(2_000, index) : undefined,
          delayMs: index % 11 === 0 ? 1_000 : undefined,
        }),
      ),
    )
    await storage.cancel(Array.from({ length: 10 }, (_, index) => ({ type: defaultType, id: id(index * 9) })))
    for (let turn = 0; turn < 100; turn++) {
      now += 500
      const { jobs } = await storage.claim({ worker: `w${round}-${turn}`, slots: 30, types })
      if (jobs.length === 0 && turn > 20) break
      const outcomes = jobs.map((job, index): Outcome => {
        const fence = completed(job)
        if (job.failures < 1 && index % 2) return { ...fence, kind: 'retry', error: bytes(20, 1), delayMs: 100 }
        if (index % 9 === 8) return { ...fence, kind: 'failed', error: bytes(2_000, 1) }
        return fence
      })
      await storage.settle(outcomes)
      if (turn % 5 === 0) await inspect(storage, checkTables)
    }
  }
  const { types: counts } = await storage.count({})
  const { completed: done, failed, cancelled, ...live } = counts[0]!.states
  assert.equal(done + failed + cancelled + Object.values(live).reduce((sum, number) => sum + number), 2_000)
  assert.deepEqual(Object.values(live), [0, 0, 0, 0, 0])
  assert.ok(done > 500 && failed > 20 && cancelled > 20, JSON.stringify(counts[0]!.states))
  now += hour
  while ((await storage.sweep({ limit: 500 })).more) await inspect(storage, checkTables)
  await inspect(storage, checkTables)
  const left = await inspect(storage, rowCounts)
  assert.deepEqual(
    { ...left },
    { ...Object.fromEntries(Object.keys(left).map((table) => [table, 0])), holdfast_types: 1 },
  )
  assert.deepEqual((await storage.count({})).types, [])
})

test('ended jobs take no memory of the process while their records are kept', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const { open } = bench(t)
  const storage = await open({ durability: 'relaxed' })
  const round = async (number: number): Promise<void> => {
    const ids = Array.from({ length: 500 }, (_, index) => `${number}-${index}`)
    await storage.add(ids.map((id) => newJob(id, { payload: bytes(10_000, 1) })))
    const { jobs } = await storage.claim({ worker: `w${number}`, slots: 500, types })
    await storage.settle(jobs.map(completed))
  }
  const bytesUsed = async (): Promise<number> => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    collect()
    await new Promise((resolve) => setTimeout(resolve, 20))
    collect()
    return process.memoryUsage().arrayBuffers
  }
  await round(0)
  const before = await bytesUsed()
  for (let number = 1; number <= 8; number++) await round(number)
  const grown = (await bytesUsed()) - before
  assert.ok(grown < 8_000_000, `${grown} of 40,000,000 bytes`)
})
