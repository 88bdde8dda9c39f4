// Jobs that a claim takes from one add: their records do not say that they are leased. Every verb knows it all the same.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Storage } from 'holdfast'
import type { ClaimedJob } from 'holdfast/storage'
import { ended, job } from './every-verb.ts'
import { openStorage } from './storage-fixture.ts'

const ids = ['a', 'b', 'c', 'd', 'e', 'f']
const types = [{ type: 'mail', leaseMs: 30_000 }]
const start = 1_800_000_000_000
const ref = (id: string) => ({ type: 'mail', id })

const claimed = async (storage: Storage, worker: string, slots = 100) =>
  (await storage.claim({ worker, label: 'host-1', slots, types })).jobs

const completeAll = async (storage: Storage, jobs: readonly ClaimedJob[]) =>
  (await storage.settle(jobs.map((each) => ended(each, 'completed')))).map(({ verdict }) => verdict)

async function held(storage: Storage, worker = 'w', names = ids): Promise<readonly ClaimedJob[]> {
  await storage.add(names.map((id) => job(id, {}, 3_600_000)))
  return claimed(storage, worker)
}

test('a job is answered with its lease, and read with it, while its record is as the add wrote it', async (t) => {
  const { storage, direct, setTime } = await openStorage(t, { manualTime: true })
  await setTime(start)
  await storage.add(ids.map((id) => job(id)))
  const before = await direct.send('GET', '{p}:mail:job:b')
  await setTime(start + 5)
  const jobs = await claimed(storage, 'w')
  assert.equal(await direct.send('GET', '{p}:mail:job:b'), before)
  const { worker, attempt, startedAt, leaseUntil } = jobs[1]!
  assert.deepEqual([worker, attempt, startedAt, leaseUntil], ['w', 1, start + 5, start + 30_005])
  const [record] = await storage.get([ref('b')])
  const { state, label } = record!
  assert.deepEqual([state, label, record!.worker, record!.attempt], ['processing', 'host-1', 'w', 1])
  assert.deepEqual([record!.startedAt, record!.leaseUntil], [start + 5, start + 30_005])
  await completeAll(storage, jobs)
  const [done] = await storage.get([ref('b')], { parts: ['attempts'] })
  assert.deepEqual([done!.state, done!.attempt, done!.label, done!.startedAt], ['completed', 1, 'host-1', start + 5])
  assert.deepEqual(
    done!.attempts?.map((each) => [each.attempt, each.worker, each.label, each.startedAt, each.endedAt]),
    [[1, 'w', 'host-1', start + 5, start + 5]],
  )
})

test('only the claim that holds a job ends it, and only its first attempt', async (t) => {
  const { storage } = await openStorage(t)
  const [a, b, ...others] = await held(storage)
  const second = await held(storage, 'w2', ['g', 'h', 'i', 'j'])
  const strange = [
    { ...a!, worker: 'w2' },
    { ...second[0]!, worker: 'w' },
    { ...b!, attempt: 2 },
    { ...b!, worker: 'gone' },
  ]
  for (const each of strange) {
    assert.deepEqual(await completeAll(storage, [each]), ['taken_by_another_worker'])
  }
  const mixed = await completeAll(storage, [a!, strange[1]!, b!, ...others, ...second])
  assert.deepEqual(new Set(mixed.filter((_, index) => index !== 1)), new Set(['settled']))
  assert.equal(mixed[1], 'taken_by_another_worker')
  assert.equal((await storage.count({ types: ['mail'] })).types[0]!.states.completed, 10)
})

test('an id that left its claim, and was added again, is not in that claim', async (t) => {
  const { storage } = await openStorage(t)
  const jobs = await held(storage)
  await storage.settle([{ ...ref('a'), worker: 'w', attempt: 1, kind: 'failed' }])
  await storage.remove([ref('a')])
  // Its new record ends as the old one did, with another order.
  await storage.add(['a', 'x', 'y', 'z'].map((id) => job(id, {}, 3_600_000)))
  assert.deepEqual(
    (await storage.get([ref('a'), ref('b')])).map((each) => each!.state),
    ['queued', 'processing'],
  )
  assert.deepEqual(await completeAll(storage, jobs.slice(0, 1)), ['taken_by_another_worker'])
  assert.deepEqual(
    (await claimed(storage, 'w2')).map(({ id }) => id),
    ['a', 'x', 'y', 'z'],
  )
  assert.deepEqual(new Set(await completeAll(storage, jobs.slice(1))), new Set(['settled']))
})

test('parts of several entries are held by one claim, the rest waits', async (t) => {
  const { storage, keys } = await openStorage(t)
  await storage.add(ids.map((id) => job(id, {}, 3_600_000)))
  await storage.add([job('other', { type: 'a:b' })])
  await storage.add(['g', 'h', 'i', 'j', 'k'].map((id) => job(id, {}, 3_600_000)))
  const first = await claimed(storage, 'w1', 4)
  const second = await claimed(storage, 'w2', 5)
  const third = await claimed(storage, 'w3', 5)
  assert.deepEqual(
    [first, second, third].map((jobs) => jobs.map(({ id }) => id).join('')),
    ['abcd', 'efghi', 'jk'],
  )
  assert.deepEqual(
    (await storage.get([ref('d'), ref('g'), ref('k')])).map((each) => each!.worker),
    ['w1', 'w2', 'w3'],
  )
  assert.deepEqual(new Set(await completeAll(storage, [...third, ...first, ...second])), new Set(['settled']))
  assert.deepEqual(
    (await keys()).filter((key) => /claims|leases|lots/.test(key)),
    [],
  )
})

test('a retry, a snooze, a cancel and an extension write the whole record', async (t) => {
  const { storage, setTime } = await openStorage(t, { manualTime: true })
  await setTime(start)
  await held(storage)
  const lease = { worker: 'w', attempt: 1 }
  await setTime(start + 10)
  await storage.settle([
    { ...ref('a'), ...lease, kind: 'retry', delayMs: 0 },
    { ...ref('b'), ...lease, kind: 'released', delayMs: 0 },
  ])
  const [cancelled] = await storage.cancel([ref('c')], { abort: true })
  assert.equal(cancelled!.verdict, 'cancelling')
  const extended = await storage.extend(['c', 'd'].map((id) => ({ ...ref(id), ...lease, leaseMs: 60_000 })))
  assert.deepEqual(
    extended.map(({ verdict }) => verdict),
    ['cancelling', 'extended'],
  )
  const records = await storage.get(ids.map(ref))
  assert.deepEqual(
    records.map((each) => `${each!.state} ${each!.failures} ${(each!.leaseUntil ?? start) - start}`),
    [
      'failing 1 0',
      'queued 0 0',
      'processing 0 60010',
      'processing 0 60010',
      'processing 0 30000',
      'processing 0 30000',
    ],
  )
  const again = await claimed(storage, 'w2')
  assert.deepEqual(
    again.map(({ id, attempt }) => `${id}${attempt}`),
    ['a2', 'b2'],
  )
})
