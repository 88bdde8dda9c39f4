// Deadlines: the set that lists them, and calls of two connections that race for the same jobs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytes, claim, ended, job } from './every-verb.ts'
import { openStorage } from './storage-fixture.ts'

const start = 1_800_000_000_000

test('a deadline is listed until the job begins, ends or is deleted', async (t) => {
  const { storage, direct, setTime } = await openStorage(t, { manualTime: true })
  await setTime(start)
  const listed = async () => ((await direct.send('ZRANGE', '{p}:mail:deadlines', '0', '-1')) as string[]).join(' ')
  const expiresInMs = 10_000
  await storage.add(['a', 'b', 'c', 'd', 'e'].map((id) => job(id, { expiresInMs }, 60_000)))
  assert.equal(await listed(), 'a b c d e')
  await claim(storage, 1)
  assert.equal(await listed(), 'b c d e')
  await storage.cancel([{ type: 'mail', id: 'b' }])
  await storage.remove([{ type: 'mail', id: 'c' }], { trees: true })
  await storage.add([job('d', { onDuplicate: 'replace' })])
  assert.equal(await listed(), 'e')
  await setTime(start + expiresInMs)
  const { ended: late } = await storage.sweep({ limit: 10 })
  assert.deepEqual(
    late.map(({ id, state, reason }) => [id, state, reason]),
    [['e', 'cancelled', 'expired']],
  )
  assert.equal(await listed(), '')
})

test('a claim ends more late jobs than it has slots, and still fills them', async (t) => {
  const { storage, setTime } = await openStorage(t, { manualTime: true })
  await setTime(start)
  await storage.add(Array.from({ length: 30 }, (_, index) => job(`late ${index}`, { expiresInMs: 5 }, 60_000)))
  await storage.add([job('in time', {}, 60_000)])
  await setTime(start + 5)
  const { jobs, ended: late } = await storage.claim({
    worker: 'w',
    slots: 1,
    types: [{ type: 'mail', leaseMs: 1_000 }],
  })
  assert.deepEqual([jobs.map(({ id }) => id), late.length], [['in time'], 30])
})

test('claims and sweeps of two connections end each late job once, and run none', async (t) => {
  const { storage, another, setTime } = await openStorage(t, { manualTime: true })
  const other = await another()
  await setTime(start)
  const ids = Array.from({ length: 200 }, (_, index) => `late ${index}`)
  await storage.add(ids.map((id) => job(id, { expiresInMs: 5 }, 60_000)))
  await setTime(start + 5)
  const types = [{ type: 'mail', leaseMs: 1_000 }]
  const calls = Array.from({ length: 40 }, async (_, index) => {
    const handle = index % 2 === 0 ? storage : other
    if (index % 3 === 0) return (await handle.sweep({ limit: 7 })).ended
    const answer = await handle.claim({ worker: `w${index}`, slots: 1, types })
    assert.deepEqual(answer.jobs, [])
    return answer.ended
  })
  const late = (await Promise.all(calls)).flat().map(({ id }) => id)
  assert.deepEqual(late.toSorted(), ids.toSorted())
})

test('a job that is replaced and claimed by two connections at once runs with one payload', async (t) => {
  const { storage, another } = await openStorage(t)
  const other = await another()
  for (let round = 0; round < 50; round++) {
    const id = `job ${round}`
    await storage.add([job(id, { payload: bytes('old') })])
    const [[verdict], claimed] = await Promise.all([
      other.add([job(id, { payload: bytes('new'), onDuplicate: 'replace' })]),
      claim(storage),
    ])
    const replaced = verdict!.verdict === 'replaced'
    assert.ok(replaced || verdict!.verdict === 'duplicate')
    const leases = [...claimed, ...(await claim(storage))]
    assert.deepEqual(
      leases.map(({ payload }) => Buffer.from(payload!).toString()),
      [replaced ? 'new' : 'old'],
    )
    await storage.settle(leases.map((lease) => ended(lease, 'completed')))
  }
})
