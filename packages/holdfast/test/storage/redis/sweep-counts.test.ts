// Counts to keep: records that are kept for ever are deleted by their end, and a sweep that can delete nothing says so.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KeepCount } from 'holdfast/storage'
import { claim, ended, job } from './every-verb.ts'
import { openStorage } from './storage-fixture.ts'

const keep = (count: number): readonly KeepCount[] => [{ type: 'mail', state: 'completed', count }]
const start = 1_800_000_000_000

test('of records that are kept for ever, those that ended first are deleted', async (t) => {
  const { storage, setTime } = await openStorage(t, { manualTime: true })
  for (const [index, id] of ['z', 'm', 'a', 'q'].entries()) {
    await setTime(start + index)
    await storage.add([job(id, {}, Infinity)])
    await storage.settle([ended((await claim(storage))[0]!, 'completed')])
  }
  const { jobs, more } = await storage.sweep({ limit: 100, keep: keep(2) })
  assert.deepEqual([jobs, more], [2, false])
  const { items } = await storage.list({ of: 'jobs', by: 'place', order: 'asc', limit: 10 })
  assert.deepEqual(
    items.map(({ id }) => id),
    ['a', 'q'],
  )
})

test('a sweep ends although records beyond the count are needed, and deletes the others', async (t) => {
  const { storage } = await openStorage(t)
  await storage.add([job('open', { type: 'open' }), ...['a', 'b', 'c', 'd'].map((id) => job(id, {}, 3_600_000))])
  await storage.settle((await claim(storage)).map((each) => ended(each, 'completed')))
  const needed = ['a', 'c'].map((id) => ({ type: 'mail', id }))
  await storage.add([job('after', { type: 'after', blockers: [...needed, { type: 'open', id: 'open' }] })])
  let rounds = 0
  for (let more = true; more; rounds++) {
    assert.ok(rounds < 10, 'expected the sweep to end')
    more = (await storage.sweep({ limit: 1, keep: keep(0) })).more
  }
  const { items } = await storage.list({ of: 'jobs', types: ['mail'], limit: 10 })
  assert.deepEqual(items.map(({ id }) => id).toSorted(), ['a', 'c'])
})

test('a chain goes with all its jobs, counted by those that are in the state', async (t) => {
  const { storage, keys } = await openStorage(t)
  await storage.add([job('first', {}, 3_600_000)])
  const [first] = await claim(storage)
  const { type, id, worker, attempt } = first!
  await storage.settle([{ type, id, worker, attempt, kind: 'continued', next: job('second', {}, 3_600_000) }])
  assert.equal((await storage.sweep({ limit: 10, keep: keep(0) })).jobs, 0, 'the chain is not ended')
  await storage.settle([ended((await claim(storage))[0]!, 'completed')])
  const swept = await storage.sweep({ limit: 10, keep: keep(1) })
  assert.deepEqual([swept.jobs, swept.more], [2, false])
  assert.deepEqual(await keys(), [':n'])
})
