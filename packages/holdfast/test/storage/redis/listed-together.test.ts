// Jobs that are leased or completed together stand in one entry. Every verb finds them there.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Storage } from 'holdfast'
import type { ClaimedJob, JobState } from 'holdfast/storage'
import { ended, job } from './every-verb.ts'
import { openStorage } from './storage-fixture.ts'

const ids = ['a', 'b', 'c', 'd', 'e', 'f']
const types = [{ type: 'mail', leaseMs: 30_000 }]
const start = 1_800_000_000_000
const hourMs = 3_600_000
const ref = (id: string) => ({ type: 'mail', id })

async function claimAll(storage: Storage, worker = 'w', names = ids, slots = 100): Promise<readonly ClaimedJob[]> {
  await storage.add(names.map((id) => job(id, {}, hourMs)))
  return (await storage.claim({ worker, slots, types })).jobs
}

const completeAll = async (storage: Storage, jobs: readonly ClaimedJob[]) =>
  storage.settle(jobs.map((each) => ended(each, 'completed')))

async function countOf(storage: Storage, state: JobState): Promise<number> {
  return (await storage.count({ types: ['mail'] })).types[0]?.states[state] ?? 0
}

async function listed(storage: Storage, state: JobState, order: 'asc' | 'desc' = 'asc', limit = 2): Promise<string[]> {
  const found: string[] = []
  for (let cursor: string | undefined; ;) {
    const query = { of: 'jobs', by: 'place', states: [state], order, limit } as const
    const page = await storage.list(cursor === undefined ? query : { ...query, cursor })
    found.push(...page.items.map(({ id }) => id))
    if (page.nextCursor === undefined) return found
    cursor = page.nextCursor
  }
}

test('a claim of several jobs has one entry, which goes with the last of them', async (t) => {
  const { storage, keys, direct } = await openStorage(t)
  const jobs = await claimAll(storage)
  const entries = ['claims', 'claims:held', 'claims:ids', 'claims:left'].map((key) => `mail:${key}`)
  const others = (await keys()).filter((key) => !key.startsWith('mail:job:'))
  assert.deepEqual(others, [':layout', ':n', ':types', ...entries])
  assert.equal(await direct.send('ZCARD', '{p}:mail:claims'), 1)
  await completeAll(storage, jobs.slice(0, 5))
  assert.equal(await countOf(storage, 'processing'), 1)
  await completeAll(storage, jobs.slice(5))
  const left = (await keys()).filter((key) => !key.startsWith('mail:job:'))
  assert.deepEqual(left, [':layout', ':n', ':types', 'mail:done:5', 'mail:ends', 'mail:type'])
  assert.deepEqual([await countOf(storage, 'processing'), await countOf(storage, 'completed')], [0, 6])
})

test('a second claim of the same worker does not mix with the first', async (t) => {
  const { storage } = await openStorage(t)
  const first = await claimAll(storage)
  const second = await claimAll(storage, 'w', ['g', 'h', 'i', 'j'])
  await completeAll(storage, first)
  assert.equal(await countOf(storage, 'processing'), 4)
  const verdicts = await completeAll(storage, second)
  assert.deepEqual(new Set(verdicts.map(({ verdict }) => verdict)), new Set(['settled']))
  assert.deepEqual([await countOf(storage, 'processing'), await countOf(storage, 'completed')], [0, 10])
})

test('lost leases of a claim are taken back, by claims and by recover, those that were extended are not', async (t) => {
  const { storage, setTime } = await openStorage(t, { manualTime: true })
  await setTime(start)
  const jobs = await claimAll(storage)
  await completeAll(storage, jobs.slice(0, 1))
  const { worker, attempt } = jobs[1]!
  const [extended] = await storage.extend([{ ...ref('b'), worker, attempt, leaseMs: 90_000 }])
  assert.equal(extended!.verdict, 'extended')
  assert.equal((await storage.nextDueAt(types))?.at, start + 30_000)
  await setTime(start + 30_000)
  assert.equal((await storage.count({ types: ['mail'] })).types[0]!.due, 4)
  const recovered = await storage.recover({ types: ['mail'], limit: 2 })
  assert.deepEqual(
    recovered.map(({ id, state }) => [id, state]),
    [
      ['c', 'queued'],
      ['d', 'queued'],
    ],
  )
  const claim = await storage.claim({ worker: 'other', slots: 100, types })
  assert.deepEqual(
    claim.recovered.map(({ id }) => id),
    ['e', 'f'],
  )
  assert.deepEqual(claim.jobs.map(({ id }) => id).toSorted(), ['c', 'd', 'e', 'f'])
  assert.equal(await countOf(storage, 'processing'), 5)
  const late = await completeAll(storage, [jobs[2]!, jobs[1]!])
  assert.deepEqual(
    late.map(({ verdict }) => verdict),
    ['taken_by_another_worker', 'settled'],
  )
})

test('attempts over an age are taken back out of a claim', async (t) => {
  const { storage, setTime } = await openStorage(t, { manualTime: true })
  await setTime(start)
  await claimAll(storage)
  await setTime(start + 5_000)
  assert.equal((await storage.recover({ types: ['mail'], limit: 100, olderThanMs: 4_000 })).length, 6)
  assert.equal(await countOf(storage, 'queued'), 6)
})

test('outcomes of other kinds, and a cancelled job, leave the entry of their claim', async (t) => {
  const { storage, keys } = await openStorage(t)
  const jobs = await claimAll(storage)
  const [failed, released] = jobs.map(({ type, id, worker, attempt }) => ({ type, id, worker, attempt }))
  await storage.settle([
    { ...failed!, kind: 'failed' },
    { ...released!, kind: 'released' },
  ])
  await storage.cancel([ref('c')], { force: true })
  assert.equal(await countOf(storage, 'processing'), 3)
  await completeAll(storage, jobs.slice(3))
  assert.equal(await countOf(storage, 'processing'), 0)
  assert.deepEqual(
    (await keys()).filter((key) => /claims|leases/.test(key)),
    [],
  )
})

test('a list by place shows jobs of a claim and jobs that completed together, page by page, in both orders', async (t) => {
  const { storage, setTime } = await openStorage(t, { manualTime: true })
  await setTime(start)
  const first = await claimAll(storage, 'w1', ['d', 'a', 'c', 'b'])
  await setTime(start + 1)
  const second = await claimAll(storage, 'w2', ['h', 'e', 'g', 'f'])
  await storage.add([job('single', {}, hourMs)])
  const third = (await storage.claim({ worker: 'w3', slots: 1, types })).jobs
  const inOrder = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'single']
  assert.deepEqual(await listed(storage, 'processing', 'desc', 3), inOrder.toReversed())
  assert.deepEqual(await listed(storage, 'processing'), inOrder)
  await completeAll(storage, first)
  await setTime(start + 2)
  await completeAll(storage, third)
  await setTime(start + 3)
  await completeAll(storage, second)
  const ends = ['a', 'b', 'c', 'd', 'single', 'e', 'f', 'g', 'h']
  assert.deepEqual(await listed(storage, 'completed', 'desc', 1), ends.toReversed())
  assert.deepEqual(await listed(storage, 'completed'), ends)
  assert.equal(await countOf(storage, 'completed'), 9)
})

test('a list by creation shows them too', async (t) => {
  const { storage } = await openStorage(t)
  await completeAll(storage, await claimAll(storage))
  await claimAll(storage, 'w2', ['g', 'h', 'i', 'j'])
  const { items } = await storage.list({ of: 'jobs', limit: 100 })
  assert.deepEqual(items.map(({ id }) => id).toSorted(), [...ids, 'g', 'h', 'i', 'j'])
})

test('a job is removed, kept longer, and blocked upon, out of an entry of ends', async (t) => {
  const { storage, setTime } = await openStorage(t, { manualTime: true })
  await setTime(start)
  await completeAll(storage, await claimAll(storage))
  assert.equal((await storage.remove([ref('a')]))[0]!.verdict, 'removed')
  assert.equal(await countOf(storage, 'completed'), 5)
  await storage.remove([ref('b')], { afterMs: 2 * hourMs })
  await storage.add([
    job('after', { blockers: [ref('c'), ref('open')], token: 'both' }, hourMs),
    job('open', { token: 'both', delayMs: 10 * hourMs }, hourMs),
  ])
  assert.equal(await countOf(storage, 'completed'), 5)
  await setTime(start + hourMs)
  assert.equal(await countOf(storage, 'completed'), 2)
  assert.deepEqual([await listed(storage, 'completed')].flat().toSorted(), ['b', 'c'])
  const swept = await storage.sweep({ limit: 2 })
  assert.deepEqual([swept.jobs, swept.more], [2, true])
  const rest = await storage.sweep({ limit: 2 })
  assert.deepEqual([rest.jobs, rest.more], [1, false])
  assert.equal(await countOf(storage, 'completed'), 2)
})

test('an id of an expired entry that was added again stays', async (t) => {
  const { storage, setTime, direct } = await openStorage(t, { manualTime: true })
  await setTime(start)
  await completeAll(storage, await claimAll(storage))
  await setTime(start + hourMs)
  // As when Redis expires the records by itself.
  for (const id of ids) await direct.send('DEL', `{p}:mail:job:${id}`)
  await completeAll(storage, await claimAll(storage, 'w2', ids.slice(0, 4)))
  await storage.add([job('e', {}, hourMs)])
  assert.equal(await countOf(storage, 'completed'), 4)
  await storage.sweep({ limit: 100 })
  assert.deepEqual([await countOf(storage, 'completed'), await countOf(storage, 'queued')], [4, 1])
  assert.deepEqual(await listed(storage, 'completed'), ['a', 'b', 'c', 'd'])
  await setTime(start + 2 * hourMs)
  assert.equal((await storage.sweep({ limit: 100 })).jobs, 4)
})

test('a sweep deletes an entry whose records Redis has expired as a whole', async (t) => {
  const { storage, setTime, direct, keys } = await openStorage(t, { manualTime: true })
  await setTime(start)
  await completeAll(storage, await claimAll(storage))
  await setTime(start + hourMs)
  for (const id of ids) await direct.send('DEL', `{p}:mail:job:${id}`)
  const swept = await storage.sweep({ limit: 100 })
  assert.deepEqual([swept.jobs, swept.more], [6, false])
  assert.deepEqual(await keys(), [':layout', ':n'])
})

test('a count to keep reaches jobs that completed together', async (t) => {
  const { storage, setTime } = await openStorage(t, { manualTime: true })
  await setTime(start)
  const first = await claimAll(storage, 'w1', ['a', 'b', 'c', 'd'])
  const second = await claimAll(storage, 'w2', ['e', 'f', 'g', 'h'])
  await completeAll(storage, first)
  await setTime(start + 1)
  await completeAll(storage, second)
  const swept = await storage.sweep({ limit: 100, keep: [{ type: 'mail', state: 'completed', count: 3 }] })
  assert.deepEqual([swept.jobs, swept.more], [5, false])
  assert.deepEqual(await listed(storage, 'completed'), ['f', 'g', 'h'])
})

for (const order of ['asc', 'desc'] as const) {
  test(`${order}: a page that ends where an entry ends has a next page`, async (t) => {
    const { storage, setTime } = await openStorage(t, { manualTime: true })
    const halves = [ids.slice(0, 3), ids.slice(3)].map((half) => half.flatMap((id) => [`${id}1`, `${id}2`]))
    for (const [index, names] of halves.entries()) {
      await setTime(start + index)
      await storage.add(names.map((id) => job(id, {}, hourMs)))
    }
    const inOrder = order === 'asc' ? halves.flat() : halves.flat().toReversed()
    assert.deepEqual(await listed(storage, 'queued', order, 6), inOrder)
    const jobs = []
    for (const index of halves.keys()) {
      await setTime(start + 10 + index)
      jobs.push((await storage.claim({ worker: `w-${index}`, slots: 6, types })).jobs)
    }
    assert.deepEqual(await listed(storage, 'processing', order, 6), inOrder)
    for (const [index, some] of jobs.entries()) {
      await setTime(start + 20 + index)
      await completeAll(storage, some)
    }
    assert.deepEqual(await listed(storage, 'completed', order, 6), inOrder)
  })
}
