// What a plain job costs: its keys, its bytes and its commands. Deadlines, reports, search and lists must not add to them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClaimedJob, Limits } from 'holdfast/storage'
import { bytes, claim, ended, job } from './every-verb.ts'
import { openStorage } from './storage-fixture.ts'

const namesOf = (commands: readonly string[]): string => commands.map((line) => line.split('"')[1]).join(' ')

/** Of all jobs; and of a type, that `:types` has it. */
const shared = [':n', ':types', 'mail:type']

test('a plain job has a record and a place, and nothing else', async (t) => {
  const { storage, keys } = await openStorage(t)
  await storage.add([job('a', { payload: bytes('p') })])
  assert.deepEqual(await keys(), [...shared, 'mail:job:a', 'mail:ready:0'].toSorted())
  const claimed = await claim(storage)
  assert.deepEqual(await keys(), [...shared, 'mail:job:a', 'mail:leases'].toSorted())
  await storage.settle([ended(claimed[0]!, 'completed')])
  assert.deepEqual(await keys(), [...shared, 'mail:done:5', 'mail:job:a'].toSorted())
})

test('a type is registered with its first job, and again after a sweep removed it', async (t) => {
  const { storage, commandsOf, keys, direct } = await openStorage(t)
  // One of them is written with escapes where it stands in keys.
  for (const type of ['mail', 'mail:later%', '']) {
    for (const round of [1, 2]) {
      const first = await commandsOf(() => storage.add([{ ...job('a'), type }]))
      assert.equal(namesOf(first), 'TIME HMGET INCR SETNX ZADD SADD HSET PUBLISH', `${type} ${round}`)
      const second = await commandsOf(() => storage.add([{ ...job('b'), type }]))
      assert.equal(namesOf(second), 'TIME HMGET INCR SETNX ZADD PUBLISH')
      assert.deepEqual(await direct.send('SMEMBERS', '{p}::types'), [type])
      // Its id is taken: the rules answer, and find the type by its name.
      const [again] = await storage.add([{ ...job('b'), type, token: 'other' }])
      assert.equal(again!.verdict, 'duplicate')
      const { jobs } = await storage.claim({ worker: `w${round}`, slots: 2, types: [{ type, leaseMs: 30_000 }] })
      await storage.settle(jobs.map((each) => ({ ...ended(each, 'completed'), keepMs: 0 })))
      await storage.sweep({ limit: 10 })
      assert.deepEqual(await keys(), [':n'])
    }
  }
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
  assert.equal(namesOf(claimed), 'TIME HMGET ZRANGE ZRANGE ZRANGE ZRANGEBYSCORE MGET ZREM MSET ZADD')
  const settled = await commandsOf(() => storage.settle(outcomes))
  assert.equal(namesOf(settled), 'TIME HMGET MGET MSET PEXPIREAT PEXPIREAT PEXPIREAT ZREM ZADD PUBSUB PUBLISH')
})

test('a claim of jobs of one add writes none of their records', async (t) => {
  const { storage, commandsOf } = await openStorage(t)
  await storage.add(['a', 'b', 'c', 'd'].map((id) => job(id)))
  const types = [{ type: 'mail', leaseMs: 30_000 }]
  let outcomes: ReturnType<typeof ended>[] = []
  const claimed = await commandsOf(async () => {
    const { jobs } = await storage.claim({ worker: 'w', slots: 4, types })
    outcomes = jobs.map((each) => ended(each, 'completed'))
  })
  const due = 'TIME HMGET ZRANGEBYSCORE ZRANGEBYSCORE ZRANGEBYSCORE ZRANGEBYSCORE HEXISTS MGET'
  assert.equal(namesOf(claimed), `${due} ZREM HINCRBY HDEL HSET SETNX ZADD HSET HSET`)
  const settled = await commandsOf(() => storage.settle(outcomes))
  const records = 'MGET HGET MSET PEXPIREAT PEXPIREAT PEXPIREAT PEXPIREAT'
  assert.equal(namesOf(settled), `TIME HMGET ${records} HINCRBY HDEL HDEL HDEL ZREM ZADD HINCRBY PUBSUB PUBLISH`)
})

test('a claim of one job, with one outcome or none, sends the commands of the shortest path', async (t) => {
  const { storage, commandsOf } = await openStorage(t)
  const types = [{ type: 'mail', leaseMs: 30_000 }]
  let number = 0
  const claimOne = async (slots: number, outcomes: ReturnType<typeof ended>[] = []) => {
    let jobs: readonly ClaimedJob[] = []
    const commands = await commandsOf(async () => {
      ;({ jobs } = await storage.claim({ worker: `w${number++}`, slots, types, outcomes }))
    })
    return { jobs, commands: namesOf(commands) }
  }
  await storage.add([job('a', {}, 60_000)])
  const first = await claimOne(1)
  assert.equal(first.commands, 'TIME HMGET ZRANGE ZRANGE ZRANGE GET ZREM SET ZADD')
  await storage.add([job('b', {}, 60_000)])
  const second = await claimOne(
    1,
    first.jobs.map((each) => ended(each, 'completed')),
  )
  assert.equal(second.commands, 'TIME HMGET ZRANGE ZRANGE ZRANGE MGET SET ZREM ZADD PUBLISH ZREM SET ZADD')
  const third = await claimOne(
    10,
    second.jobs.map((each) => ended(each, 'completed')),
  )
  assert.deepEqual(third, { jobs: [], commands: 'TIME HMGET ZRANGE ZRANGE ZRANGE GET SET ZREM ZADD PUBLISH' })
})

test('limits of groups, and a far concurrency, add nothing to a claim beside full groups, or next to nothing', async (t) => {
  const { storage, commandsOf } = await openStorage(t)
  const claimOne = async (limits?: Limits): Promise<string> => {
    const types = [{ type: 'mail', leaseMs: 30_000, limits }]
    return namesOf(await commandsOf(() => storage.claim({ worker: `w${number++}`, slots: 1, types })))
  }
  let number = 0
  await storage.add(['a', 'b', 'c', 'd'].map((key) => job(key, { group: { key: key > 'b' ? 'x' : 'y' } })))
  const types = [{ type: 'mail', leaseMs: 30_000, limits: { group: { limit: 1 } } }]
  assert.equal((await storage.claim({ worker: 'w', slots: 10, types })).jobs.length, 2)
  for (const id of ['1', '2', '3']) await storage.add([job(id)])
  const plain = 'TIME HMGET ZRANGE ZRANGE ZRANGE GET ZREM SET ZADD'
  assert.equal(await claimOne(), plain)
  assert.equal(await claimOne({ group: { limit: 1 } }), plain)
  assert.equal(await claimOne({ concurrency: 10, group: { limit: 1 } }), plain.replace('HMGET', 'HMGET ZCARD HVALS'))
  // Nothing is left to claim: the next call would be nextDueAt, which the answer has.
  const { jobs, nextDue } = await storage.claim({ worker: 'last', slots: 1, types })
  assert.equal(jobs.length, 0)
  assert.equal(nextDue?.at, (await storage.nextDueAt(types))?.at)
})

test('a claim of one job answers when the next may be claimed: by a lease, a delay or a claim, not by a paused group', async (t) => {
  const { storage, setTime } = await openStorage(t, { manualTime: true })
  const start = 1_800_000_000_000
  await setTime(start)
  let number = 0
  const claimWith = async (leaseMs: number, outcomes: ReturnType<typeof ended>[] = [], slots = 10) => {
    return storage.claim({ worker: `w${number++}`, slots, outcomes, types: [{ type: 'mail', leaseMs }] })
  }
  const dueIn = ({ nextDue }: { nextDue?: { at: number } | null | undefined }) => nextDue && nextDue.at - start
  assert.equal(dueIn(await claimWith(30_000)), null)
  await storage.add([job('later', { delayMs: 50_000 })])
  assert.equal(dueIn(await claimWith(30_000)), 50_000)
  await storage.add([job('a', {}, 60_000)])
  const a = await claimWith(30_000)
  assert.equal(dueIn(a), 30_000)
  await storage.add([job('b', {}, 60_000)])
  const b = await claimWith(20_000, [ended(a.jobs[0]!, 'completed')])
  assert.equal(dueIn(b), 20_000)
  assert.equal(dueIn(await claimWith(30_000, [ended(b.jobs[0]!, 'completed')])), 50_000)
  // One of several that were leased together: the others keep their entry, until the last has ended.
  await storage.add(['c', 'd', 'e', 'f'].map((id) => job(id, {}, 60_000)))
  const { jobs } = await claimWith(10_000)
  assert.equal(jobs.length, 4)
  for (const [index, each] of jobs.entries()) {
    assert.equal(dueIn(await claimWith(30_000, [ended(each, 'completed')])), index < 3 ? 10_000 : 50_000)
  }
  // The lease of a paused group is none to wait for: then the storage is asked.
  await storage.add([job('g', { group: { key: 'group' } }, 60_000)])
  assert.equal((await claimWith(5_000)).jobs[0]!.id, 'g')
  await storage.pause({ type: 'mail', group: 'group', paused: true })
  assert.equal(dueIn(await claimWith(30_000)), undefined)
  assert.equal((await storage.nextDueAt([{ type: 'mail', leaseMs: 1 }]))!.at - start, 50_000)
})

test('an add that hands its job over, and the claim that offers a slot, send these commands', async (t) => {
  const { storage, commandsOf, keys } = await openStorage(t)
  const request = { slots: 1, types: [{ type: 'mail', leaseMs: 30_000 }], offer: { by: 'w', slots: 1 } }
  const offered = await commandsOf(() => storage.claim({ worker: 'w1', ...request }))
  assert.equal(namesOf(offered), 'TIME HMGET ZRANGE ZRANGE ZRANGE HSET')
  const added = await commandsOf(() => storage.add([job('a')]))
  assert.equal(namesOf(added), 'TIME HMGET ZRANGE INCR SETNX ZADD HDEL SADD HSET PUBLISH')
  // As after a claim: of the offer nothing is left.
  assert.deepEqual(await keys(), [...shared, 'mail:job:a', 'mail:leases'].toSorted())
})
