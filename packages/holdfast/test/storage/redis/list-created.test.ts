// list by creation: bounded by the sets of the wanted states, and by a number of jobs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claim, ended, job } from './every-verb.ts'
import { openStorage } from './storage-fixture.ts'

const hour = 3_600_000

test('[F31] a list by creation of one state reads only the jobs in it, and the records of the page', async (t) => {
  const { storage, commandsOf } = await openStorage(t)
  await storage.add(Array.from({ length: 20 }, (_, n) => job(`ended ${n}`, {}, hour)))
  await storage.settle((await claim(storage)).map((each) => ended(each, 'completed')))
  await storage.add(Array.from({ length: 30 }, (_, n) => job(`waiting ${n}`, {}, hour)))
  const commands = await commandsOf(() => storage.list({ of: 'jobs', states: ['completed'], limit: 5 }))
  const sent = (name: string): string[] => commands.filter((command) => command.startsWith(`"${name}"`))
  assert.equal(sent('GETRANGE').length, 20)
  assert.ok(sent('GET').length <= 50 && sent('GET').every((command) => command.includes('ended')), sent('GET').join())
})

test('[F31] of more than 100,000 jobs the newest ends are read, and the list is truncated', async (t) => {
  const { storage, direct } = await openStorage(t)
  const ids = ['a', 'b', 'c']
  for (const id of ids) await storage.add([job(id, {}, hour)])
  await storage.settle((await claim(storage)).map((each) => ended(each, 'completed')))
  const query = { of: 'jobs', types: ['mail'], states: ['completed'], limit: 10 } as const
  assert.equal((await storage.list(query)).truncated, undefined)
  // Entries whose records are gone: the work is the same, and the test is fast.
  const { now } = await storage.count({})
  for (let from = 0; from < 100_000; from += 10_000) {
    const entries = Array.from({ length: 10_000 }, (_, n) => [String(now + hour / 2), `gone ${from + n}`]).flat()
    await direct.send('ZADD', '{p}:mail:done:5', ...entries)
  }
  const newest = await storage.list(query)
  assert.deepEqual([newest.items.map(({ id }) => id).toSorted(), newest.truncated], [ids, true])
  const oldest = await storage.list({ ...query, order: 'asc' })
  assert.deepEqual(oldest, { items: [], truncated: true })
})
