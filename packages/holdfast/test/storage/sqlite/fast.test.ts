// The fast paths of claim, settle and add (src/storage/sqlite/fast): what the rules change between a claim and its outcomes counts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Claim, ClaimedJob, Outcome } from 'holdfast/storage'
import type { SqliteStorage } from 'holdfast/sqlite'
import { fakeClock } from 'holdfast/testing'
import { bench, completed, newJob, types } from './bench.ts'
import { checkTables, inspect } from './check-tables.ts'

const claim = (storage: SqliteStorage, slots = 1_000, worker = 'w/1'): Promise<Claim> =>
  storage.claim({ worker, slots, types })

const names = (count: number) => Array.from({ length: count }, (_, n) => `job-${n}`)

/** The same permutation each time. */
const mixed = <T>(items: readonly T[]): T[] => items.map((_, n) => items[(n * 37 + 11) % items.length]!)

const result = (text: string) => Buffer.from(text)

test('jobs that end in any order, alike or each with a result of its own, end as their outcomes say', async (t) => {
  const storage = await bench(t).open()
  await storage.add(names(100).map((id) => newJob(id)))
  const { jobs } = await claim(storage)
  const ends = mixed(jobs).map((job, n) => {
    const keepMs = n % 10 === 0 ? 1_000 + n : undefined
    return { job, keepMs, text: n < 50 ? 'alike' : job.id }
  })
  const verdicts = await storage.settle(
    ends.map(
      ({ job, keepMs, text }) => ({ ...completed(job), kind: 'completed', keepMs, result: result(text) }) as Outcome,
    ),
  )
  const records = await storage.get(
    ends.map(({ job }) => job),
    { parts: ['result', 'attempts'] },
  )
  ends.forEach(({ keepMs, text }, n) => {
    const record = records[n]!
    assert.deepEqual([verdicts[n]!.verdict, record.state], ['settled', 'completed'])
    assert.equal(Buffer.from(record.result!).toString(), text)
    assert.equal(record.expiresAt! - record.finishedAt!, keepMs ?? record.retention.completedMs)
    assert.deepEqual(
      record.attempts!.map(({ worker, outcome }) => [worker, outcome]),
      [['w/1', 'completed']],
    )
  })
  assert.equal((await storage.count({})).types[0]!.states.completed, 100)
})

test('an outcome that is repeated, or has another fence, is decided by the rules among plain ones', async (t) => {
  const storage = await bench(t).open()
  await storage.add(names(4).map((id) => newJob(id)))
  const { jobs } = await claim(storage)
  const [a, b, c, d] = jobs.map((job) => completed(job)) as [Outcome, Outcome, Outcome, Outcome]
  const verdicts = await storage.settle([
    a,
    a,
    { ...b, worker: 'w/2' } as Outcome,
    c,
    b,
    { ...d, attempt: 2 } as Outcome,
  ])
  assert.deepEqual(
    verdicts.map(({ verdict }) => verdict),
    ['settled', 'settled', 'taken_by_another_worker', 'settled', 'settled', 'taken_by_another_worker'],
  )
  assert.equal((await storage.settle([d]))[0]!.verdict, 'settled')
})

test('what changes a running job before its outcome counts: an extension, a cancel, a dependent', async (t) => {
  const storage = await bench(t).open()
  await storage.add(names(3).map((id) => newJob(id)))
  const { jobs } = await claim(storage)
  const [extended, cancelled, blocker] = jobs as [ClaimedJob, ClaimedJob, ClaimedJob]
  await storage.extend([{ ...extended, leaseMs: 90_000, progress: result('half') }])
  await storage.cancel([cancelled], { force: true })
  await storage.add([newJob('dependent', { blockers: [{ type: blocker.type, id: blocker.id }] })])
  const verdicts = await storage.settle(jobs.map((job) => completed(job)))
  assert.deepEqual(
    verdicts.map(({ verdict }) => verdict),
    ['settled', 'cancelled', 'settled'],
  )
  assert.deepEqual((verdicts[2] as { unblocked: unknown }).unblocked, [{ type: blocker.type, id: 'dependent' }])
  assert.deepEqual(
    (await claim(storage)).jobs.map(({ id }) => id),
    ['dependent'],
  )
})

test('types of one claim take turns, each within its slots, and jobs of two types may have one id', async (t) => {
  const storage = await bench(t).open()
  const add = (type: string, ids: readonly string[]) => storage.add(ids.map((id) => newJob(id, { type })))
  await add('x', ['1', '2', '3', '4'])
  await add('y', ['1'])
  await add('z', ['1', '2', '3'])
  const wanted = ['x', 'y', 'none', 'z'].map((type) => ({
    type,
    leaseMs: 60_000,
    ...(type === 'z' ? { slots: 2 } : {}),
  }))
  const { jobs } = await storage.claim({ worker: 'w/1', slots: 6, types: wanted })
  assert.deepEqual(
    jobs.map(({ type, id }) => type + id),
    ['x1', 'y1', 'z1', 'x2', 'z2', 'x3'],
  )
  const verdicts = await storage.settle(jobs.toReversed().map((job) => completed(job)))
  assert.deepEqual(new Set(verdicts.map(({ verdict }) => verdict)), new Set(['settled']))
  const { jobs: rest } = await storage.claim({ worker: 'w/1', slots: 6, types: wanted })
  assert.deepEqual(
    rest.map(({ type, id }) => type + id),
    ['x4', 'z3'],
  )
})

test('jobs that are released wait in their old place, with a record of each attempt, and may be claimed and end', async (t) => {
  const clock = fakeClock()
  const storage = await bench(t).open({ clock })
  const ids = names(40)
  await storage.add(ids.map((id) => newJob(id)))
  for (const worker of ['w/1', 'w/2']) {
    const { jobs } = await claim(storage, 30, worker)
    const verdicts = await storage.settle(
      mixed(jobs).map((job) => ({ ...completed(job), kind: 'released' }) as Outcome),
    )
    assert.deepEqual(new Set(verdicts.map((one) => 'state' in one && one.state)), new Set(['queued']))
    const [repeat] = await storage.settle([{ ...completed(jobs[0]!), kind: 'released' } as Outcome])
    assert.deepEqual(repeat!.verdict, 'settled')
  }
  const { jobs } = await claim(storage, 30, 'w/3')
  assert.deepEqual(
    jobs.map(({ id, attempt, failures }) => [id, attempt, failures]),
    ids.slice(0, 30).map((id) => [id, 3, 0]),
  )
  await storage.settle(jobs.map((job) => completed(job)))
  const [record] = await storage.get([jobs[7]!], { parts: ['attempts'] })
  assert.deepEqual(
    record!.attempts!.map(({ worker, attempt, outcome, state }) => [worker, attempt, outcome, state]),
    [
      ['w/1', 1, 'released', 'queued'],
      ['w/2', 2, 'released', 'queued'],
      ['w/3', 3, 'completed', 'completed'],
    ],
  )
  const { queued, completed: ended, processing } = (await storage.count({})).types[0]!.states
  assert.deepEqual([queued, ended, processing], [10, 30, 0])
})

test('a lease that another connection took back ends nothing', async (t) => {
  const clock = fakeClock()
  const { open } = bench(t)
  const [one, other] = [await open({ clock }), await open({ clock })]
  await one.add([newJob('a'), newJob('b')])
  const { jobs } = await claim(one)
  await clock.advance(types[0]!.leaseMs + 1)
  assert.equal((await claim(other, 1, 'w/2')).recovered.length, 2)
  const verdicts = await one.settle(jobs.map((job) => completed(job)))
  assert.deepEqual(
    verdicts.map(({ verdict }) => verdict),
    ['taken_by_another_worker', 'taken_by_another_worker'],
  )
})

test('an id that is taken is noticed in the middle of a plain batch, and the others are added', async (t) => {
  const storage = await bench(t).open()
  await storage.add([newJob('old')])
  const verdicts = await storage.add([
    newJob('a'),
    newJob('old', { token: 'new' }),
    newJob('b'),
    newJob('a', { token: 'other' }),
    newJob('c'),
  ])
  assert.deepEqual(
    verdicts.map(({ verdict }) => verdict),
    ['added', 'duplicate', 'added', 'duplicate', 'added'],
  )
  assert.deepEqual(
    (await claim(storage)).jobs.map(({ id }) => id),
    ['old', 'a', 'b', 'c'],
  )
})

const typeOfRow = (n: number): string => (n % 5 === 0 ? 'b' : 'a')

test('rows are written sixteen, four and one at a time: a taken id at any position has its verdict, and all others are added', async (t) => {
  const storage = await bench(t).open()
  const size = 23
  for (let at = 0; at < size; at++) {
    const id = (n: number): string => `${at}-${n}`
    await storage.add([newJob(id(at), { type: typeOfRow(at), token: 'before' })])
    const jobs = Array.from({ length: size }, (_, n) => newJob(id(n), { type: typeOfRow(n), delayMs: n % 2 }))
    // Twice in the call, by another token: a duplicate too.
    const last = newJob(id(0), { type: typeOfRow(0), token: 'again' })
    const verdicts = (await storage.add([...jobs, last])).map(({ verdict }) => verdict)
    const expected = Array.from({ length: size + 1 }, (_, n) => (n === at || n === size ? 'duplicate' : 'added'))
    assert.deepEqual(verdicts, expected)
    const tokens = (await storage.get(jobs)).map((job) => job!.token)
    assert.deepEqual(
      tokens,
      expected.slice(0, size).map((verdict, n) => (verdict === 'added' ? jobs[n]!.token : 'before')),
    )
  }
  const { types: counts } = await storage.count({})
  assert.equal(
    counts.reduce((sum, { states }) => sum + states.queued + states.scheduled, 0),
    size * size,
  )
  await inspect(storage, checkTables)
})

test('jobs that are added together are claimed in their order, whatever statement wrote them', async (t) => {
  const storage = await bench(t).open()
  for (const size of [3, 4, 15, 16, 21, 100]) {
    const ids = names(size).map((name) => `${size} ${name}`)
    const verdicts = await storage.add(ids.map((id) => newJob(id)))
    assert.ok(verdicts.every(({ verdict }) => verdict === 'added'))
    const { jobs } = await claim(storage, size, `w/${size}`)
    assert.deepEqual(
      jobs.map(({ id }) => id),
      ids,
    )
  }
})
