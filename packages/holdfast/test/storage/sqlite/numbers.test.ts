// A connection reserves numbers of jobs ahead. Whoever adds next, and whatever was rolled back, no number is taken twice, and the jobs
// of one instant are claimed in the order in which they were added.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SqliteStorage } from 'holdfast/sqlite'
import { fakeClock } from 'holdfast/testing'
import { bench, newJob, types } from './bench.ts'

const ids = (name: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${name}-${n}`)

const add = (storage: SqliteStorage, ...names: string[]) => storage.add(names.map((id) => newJob(id)))

async function claimed(storage: SqliteStorage): Promise<string[]> {
  const found: string[] = []
  for (;;) {
    const { jobs } = await storage.claim({ worker: 'w', slots: 1_000, types })
    if (jobs.length === 0) return found
    found.push(...jobs.map(({ id }) => id))
  }
}

test('most adds do not write the number', async (t) => {
  const { open, look } = bench(t)
  const storage = await open()
  const number = (): unknown => look().prepare("SELECT value FROM holdfast_numbers WHERE name = 'last'").get()!.value
  await add(storage, 'first')
  const reserved = number()
  for (const id of ids('job', 20)) await add(storage, id)
  assert.equal(number(), reserved)
  await add(storage, ...ids('many', 1_500))
  assert.notEqual(number(), reserved)
})

test('connections that add in turn take no number twice, and keep the order', async (t) => {
  const { open } = bench(t)
  const clock = fakeClock()
  const storages = [await open({ clock }), await open({ clock })]
  const expected: string[] = []
  for (const [turn, count] of [1, 3, 1_200, 2, 1, 1, 999, 1_001, 5, 1].entries()) {
    const names = ids(`turn-${turn}`, count)
    expected.push(...names)
    await add(storages[turn % 2]!, ...names)
  }
  // A third one, which knows nothing of what the others have reserved.
  await add(await open({ clock }), 'late')
  await add(storages[0]!, 'last')
  assert.deepEqual(await claimed(storages[1]!), [...expected, 'late', 'last'])
})

test('a commit of another connection that takes no number costs none', async (t) => {
  const { open, look } = bench(t)
  const clock = fakeClock()
  const [one, other] = [await open({ clock }), await open({ clock })]
  await add(one, 'a')
  const number = (): unknown => look().prepare("SELECT value FROM holdfast_numbers WHERE name = 'last'").get()!.value
  const reserved = number()
  assert.equal((await claimed(other)).length, 1)
  await add(one, 'b')
  assert.equal(number(), reserved)
})

test('numbers that were reserved in a transaction that was rolled back are free', async (t) => {
  const { open } = bench(t)
  const clock = fakeClock()
  const [one, other] = [await open({ clock }), await open({ clock })]
  const undone = async (count: number): Promise<void> => {
    const run = one.transaction(async (tx) => {
      await one.add(
        ids('undone', count).map((id) => newJob(id)),
        tx,
      )
      throw new Error('undone')
    })
    await assert.rejects(run, /undone/)
  }
  await undone(3)
  await add(other, ...ids('a', 3))
  await add(one, ...ids('b', 3))
  // Beyond what is reserved, so that the transaction reserves more; the other then reserves as much.
  await undone(1_500)
  await add(other, ...ids('c', 1_500))
  await undone(2)
  await add(one, ...ids('d', 5))
  assert.deepEqual(await claimed(one), [...ids('a', 3), ...ids('b', 3), ...ids('c', 1_500), ...ids('d', 5)])
})
