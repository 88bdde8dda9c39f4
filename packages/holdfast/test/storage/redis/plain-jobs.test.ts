// What a plain job costs: its keys, its bytes and its commands. Deadlines, reports, search and lists must not add to them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytes, claim, ended, job } from './every-verb.ts'
import { openStorage } from './storage-fixture.ts'

const namesOf = (commands: readonly string[]): string => commands.map((line) => line.split('"')[1]).join(' ')

test('a plain job has a record and a place, and nothing else', async (t) => {
  const { storage, keys } = await openStorage(t)
  await storage.add([job('a', { payload: bytes('p') })])
  assert.deepEqual(await keys(), [':n', ':types', 'mail:job:a', 'mail:ready:0'])
  const claimed = await claim(storage)
  assert.deepEqual(await keys(), [':n', ':types', 'mail:job:a', 'mail:leases'])
  await storage.settle([ended(claimed[0]!, 'completed')])
  assert.deepEqual(await keys(), [':n', ':types', 'mail:done:5', 'mail:job:a'])
})

test('the record of a plain job has the layout of codec/record.ts, byte by byte', async (t) => {
  const { storage, direct, setTime } = await openStorage(t, { manualTime: true })
  await setTime(1_800_000_000_000)
  await storage.add([job('a', { token: 'tok', payload: bytes('p'), maxAttempts: 3 }, 60_000)])
  const head = ['00', '000000', '01a3185c5000']
  const body = ['95', 'a3746f6b', '00', '03', 'ce0000ea60', 'a170']
  const tail = ['000000000001', '00000000', '02']
  // DUMP would compress it: the hex digits come from a script.
  const script = "return (redis.call('GET', KEYS[1]):gsub('.', function(c) return ('%02x'):format(c:byte()) end))"
  assert.equal(await direct.send('EVAL', script, '1', '{p}:mail:job:a'), [...head, ...body, ...tail].join(''))
})

test('adds, claims and settles of plain jobs send the commands of their fast paths', async (t) => {
  const { storage, commandsOf } = await openStorage(t)
  const jobs = ['a', 'b', 'c'].map((id) => job(id, { timeoutMs: 5_000 }))
  assert.equal(namesOf(await commandsOf(() => storage.add(jobs))), 'TIME HGET INCRBY MSETNX ZADD SADD PUBLISH')
  const types = [{ type: 'mail', leaseMs: 30_000 }]
  let outcomes: ReturnType<typeof ended>[] = []
  const claimed = await commandsOf(async () => {
    const claimedNow = await storage.claim({ worker: 'w', slots: 3, types })
    outcomes = claimedNow.jobs.map((each) => ended(each, 'completed'))
    assert.equal(claimedNow.jobs[0]!.timeoutMs, 5_000)
  })
  assert.equal(namesOf(claimed), 'TIME HMGET ZRANGEBYSCORE ZRANGEBYSCORE ZRANGEBYSCORE MGET ZREM MSET ZADD')
  const settled = await commandsOf(() => storage.settle(outcomes))
  assert.equal(namesOf(settled), 'TIME HMGET MGET SET SET SET ZREM ZADD PUBSUB PUBLISH')
})
