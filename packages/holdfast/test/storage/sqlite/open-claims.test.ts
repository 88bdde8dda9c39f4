// Open claims (src/storage/sqlite/rules/open-claims.ts): no row says that their jobs are leased, and nothing that is asked shows it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DatabaseSync } from 'node:sqlite'
import type { Claim, ListQuery, Outcome } from 'holdfast/storage'
import { fakeClock } from 'holdfast/testing'
import type { SqliteStorage } from 'holdfast/sqlite'
import { statementsOf } from '../../../src/storage/sqlite/connection/statements.ts'
import { OpenClaims } from '../../../src/storage/sqlite/rules/open-claims.ts'
import { bench, completed, newJob, types } from './bench.ts'
import { checkTables } from './check-tables.ts'

const claim = (storage: SqliteStorage, slots: number, worker = 'w/1'): Promise<Claim> =>
  storage.claim({ worker, slots, types })

const idsOf = ({ jobs }: Claim): string[] => jobs.map(({ id }) => id)

const held = (db: DatabaseSync): number[] =>
  db
    .prepare('SELECT json_array_length(seqs) AS number FROM holdfast_claims ORDER BY cid')
    .all()
    .map(({ number }) => number as number)

const names = (count: number, first = 0): string[] => Array.from({ length: count }, (_, n) => `job-${first + n}`)

/** Every way to read jobs, page by page. */
const queries: readonly Omit<ListQuery, 'limit' | 'cursor'>[] = [
  ...(['place', undefined] as const).flatMap((by) =>
    ([undefined, ['processing'], ['queued'], ['queued', 'processing', 'completed']] as const).flatMap((states) =>
      (['asc', 'desc'] as const).flatMap((order) => [
        { of: 'jobs', by, states, order } as const,
        { of: 'jobs', by, states, order, where: { even: true } } as const,
      ]),
    ),
  ),
  { of: 'chains', states: ['processing'] },
]

async function readAll(storage: SqliteStorage): Promise<unknown> {
  const lists: string[][] = []
  for (const query of queries) {
    const items: string[] = []
    for (let cursor: string | undefined, more = true; more;) {
      const page = await storage.list({ ...query, limit: 7, cursor } as ListQuery)
      items.push(...page.items.map((item) => JSON.stringify(item)))
      cursor = page.nextCursor
      more = cursor !== undefined
    }
    lists.push(items)
  }
  const refs = names(40).map((id) => ({ type: types[0]!.type, id }))
  return {
    lists,
    records: await storage.get(refs, { parts: ['attempts', 'payload', 'result'] }),
    counts: (await storage.count({})).types,
    next: (await storage.count({ types: [], next: { type: types[0]!.type, limits: {} } })).next,
    nextDueAt: await storage.nextDueAt(types),
  }
}

test('lists, records, counts and the next due time are those of the same jobs with the leases in their rows', async (t) => {
  const clock = fakeClock()
  const { open, look } = bench(t)
  const storage = await open({ clock })
  await storage.add(names(40).map((id, n) => newJob(id, { search: { even: n % 2 === 0 }, priority: n < 30 ? 0 : 1 })))
  await clock.advance(1)
  const { jobs } = await claim(storage, 10)
  await clock.advance(1)
  const { jobs: more } = await claim(storage, 5, 'w/2')
  await storage.settle([...jobs.slice(2, 4), more[1]!].map(completed))
  const db = look()
  assert.deepEqual(held(db), [8, 4])
  const reads = async (): Promise<unknown[]> => {
    const before = await readAll(storage)
    // The leases have run out.
    await clock.advance(types[0]!.leaseMs)
    const after = await readAll(storage)
    await clock.advance(-types[0]!.leaseMs)
    return [before, after]
  }
  const asClaimed = await reads()
  assert.deepEqual(held(db), [8, 4])
  checkTables(db)
  new OpenClaims(statementsOf(db)).writeOut()
  assert.deepEqual(held(db), [])
  assert.deepEqual(await reads(), asClaimed)
})

test('a job that comes before those of open claims is claimed next, and none of them twice', async (t) => {
  const { open, look } = bench(t)
  const storage = await open()
  await storage.add(names(6).map((id) => newJob(id)))
  const { jobs } = await claim(storage, 3)
  // Back at its old place.
  await storage.settle([{ ...completed(jobs[0]!), kind: 'released' } as Outcome])
  await storage.add([newJob('high', { priority: 5 })])
  assert.deepEqual(idsOf(await claim(storage, 3)), ['high', 'job-0', 'job-3'])
  checkTables(look())
  assert.deepEqual(idsOf(await claim(storage, 9)), ['job-4', 'job-5'])
  assert.deepEqual(idsOf(await claim(storage, 9)), [])
  checkTables(look())
})

test('jobs that were added while the clock was behind are claimed before those that wait behind open claims', async (t) => {
  const clock = fakeClock()
  const storage = await bench(t).open({ clock })
  await storage.add(names(6).map((id) => newJob(id)))
  await claim(storage, 3)
  await clock.advance(-1_000)
  await storage.add([newJob('behind')])
  await clock.advance(1_000)
  assert.deepEqual(idsOf(await claim(storage, 2)), ['behind', 'job-3'])
})

test('another storage on the file leaves the jobs of open claims alone, and may read, cancel and recover them', async (t) => {
  const clock = fakeClock()
  const { open, look } = bench(t)
  const [one, other] = [await open({ clock }), await open({ clock })]
  await one.add(names(8).map((id) => newJob(id)))
  const first = await claim(one, 3)
  assert.deepEqual(idsOf(await claim(other, 3, 'w/2')), ['job-3', 'job-4', 'job-5'])
  assert.deepEqual(held(look()), [3, 3])
  const refs = names(8).map((id) => ({ type: types[0]!.type, id }))
  const states = (await other.get(refs)).map((job) => job!.state)
  assert.deepEqual(states, [...Array<string>(6).fill('processing'), 'queued', 'queued'])
  await other.cancel([refs[1]!], { force: true })
  assert.deepEqual(held(look()), [2, 3])
  const verdicts = await one.settle(first.jobs.map(completed))
  assert.deepEqual(
    verdicts.map(({ verdict }) => verdict),
    ['settled', 'cancelled', 'settled'],
  )
  assert.deepEqual(held(look()), [3])
  await clock.advance(types[0]!.leaseMs + 1)
  const { recovered, jobs } = await claim(one, 9, 'w/3')
  assert.deepEqual(recovered.map(({ id }) => id).toSorted(), ['job-3', 'job-4', 'job-5'])
  assert.equal(jobs.length, 5)
  checkTables(look())
})

test('what is rolled back inside of a transaction leaves the claims as they are stored', async (t) => {
  const { open, look } = bench(t)
  const storage = await open()
  await storage.add(names(4).map((id) => newJob(id)))
  const { jobs } = await claim(storage, 2)
  await storage.transaction(async (tx) => {
    const { database } = tx
    database.exec(`CREATE TEMP TRIGGER refuse BEFORE UPDATE ON main.holdfast_jobs WHEN new.id = 'job-1'
      BEGIN SELECT RAISE(ABORT, 'refused'); END`)
    await assert.rejects(() => storage.settle(jobs.map(completed), tx), /refused/)
    database.exec('DROP TRIGGER refuse')
    await storage.settle([completed(jobs[1]!)], tx)
  })
  assert.deepEqual(held(look()), [1])
  await assert.rejects(() =>
    storage.transaction(async (tx) => {
      await storage.settle([completed(jobs[0]!)], tx)
      throw new Error('no')
    }),
  )
  checkTables(look())
  assert.equal((await storage.settle([completed(jobs[0]!)]))[0]!.verdict, 'settled')
  assert.deepEqual(idsOf(await claim(storage, 9)), ['job-2', 'job-3'])
})

test('claims that hold many jobs are written out, so that a later claim does not pass over all of them', async (t) => {
  const { open, look } = bench(t)
  const storage = await open()
  await storage.add(names(1_200).map((id) => newJob(id)))
  const claimed = await claim(storage, 600)
  assert.deepEqual(held(look()), [600])
  const next = await claim(storage, 2)
  assert.deepEqual(idsOf(next), ['job-600', 'job-601'])
  assert.deepEqual(held(look()), [2])
  const verdicts = await storage.settle([...claimed.jobs, ...next.jobs].map(completed))
  assert.ok(verdicts.every(({ verdict }) => verdict === 'settled'))
  assert.deepEqual(held(look()), [])
  checkTables(look())
})

test('there are never many open claims: beyond them, the leases are in the rows', async (t) => {
  const { open, look } = bench(t)
  const storage = await open()
  const typeNames = names(150)
  const all = typeNames.map((type) => ({ type, leaseMs: 60_000 }))
  await storage.add(typeNames.flatMap((type) => ['x', 'y'].map((id) => newJob(id, { type }))))
  const first = await storage.claim({ worker: 'w/1', slots: 150, types: all })
  assert.equal(held(look()).length, 100)
  const second = await storage.claim({ worker: 'w/2', slots: 150, types: all })
  assert.deepEqual([first.jobs.length, second.jobs.length], [150, 150])
  assert.equal(held(look()).length, 100)
  checkTables(look())
  const verdicts = await storage.settle([...first.jobs, ...second.jobs].map(completed))
  assert.ok(verdicts.every(({ verdict }) => verdict === 'settled'))
  checkTables(look())
})
