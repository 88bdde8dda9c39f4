// Limits while several storages claim at once: they are never exceeded, nothing is left behind, and no wake is lost.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { PostgresStorage } from '../../../src/storage/postgres/index.ts'
import type { ClaimedJob, Limits, NewJob, Signal } from '../../../src/storage/storage.ts'
import { sized } from '../../full-size.ts'
import { newSchema, postgresPlace, stopPostgres } from '../../postgres-subject.ts'
import { begin, done, end, job, lockWait, open } from './overlap-fixtures.ts'

after(stopPostgres)

let workers = 0

async function claim(storage: PostgresStorage, limits: Limits, slots = 3): Promise<readonly ClaimedJob[]> {
  const types = [{ type: 'mail', leaseMs: 60_000, limits }]
  return (await storage.claim({ worker: `worker ${++workers}`, slots, types })).jobs
}

/** Runs all jobs on several storages. Returns the largest number of jobs that were held at once, in all and in one group. */
async function drain(schema: string, limits: Limits, total: number): Promise<{ inAll: number; inGroup: number }> {
  const storages = await Promise.all(Array.from({ length: 4 }, () => open(schema)))
  const held = new Map<string, number>()
  let [ended, inAll, inGroup] = [0, 0, 0]
  const count = ({ group = '' }: ClaimedJob, by: number): void => {
    held.set(group, (held.get(group) ?? 0) + by)
    inAll = Math.max(
      inAll,
      [...held.values()].reduce((sum, number) => sum + number, 0),
    )
    inGroup = Math.max(inGroup, ...[...held].map(([key, number]) => (key === '' ? 0 : number)))
  }
  const work = async (storage: PostgresStorage): Promise<void> => {
    while (ended < total) {
      const jobs = await claim(storage, limits)
      for (const one of jobs) count(one, 1)
      // Before the settle: a job may be claimed as soon as another has ended.
      for (const one of jobs) {
        count(one, -1)
        ended++
        const [verdict] = await storage.settle([done(one)])
        assert.equal(verdict!.verdict, 'settled')
      }
    }
  }
  await Promise.all(storages.flatMap((storage) => [work(storage), work(storage)]))
  for (const storage of storages) await storage.disconnect()
  return { inAll, inGroup }
}

const kinds: Readonly<Record<string, (index: number) => Partial<NewJob>>> = {
  'without groups': () => ({}),
  'in unordered groups': (index) => ({ group: { key: `g${index % 3}` } }),
  'in ordered groups and without one': (index) =>
    index % 2 === 0 ? {} : { group: { key: `g${index % 3}`, ordered: true } },
}

for (const [name, fieldsOf] of Object.entries(kinds)) {
  test(`[F20] eight claimers, jobs ${name}: neither the concurrency nor a group limit is exceeded`, async () => {
    const schema = newSchema()
    const storage = await open(schema)
    const jobs = Array.from({ length: sized(150, 50) }, (_, index) => job(`j${index}`, fieldsOf(index)))
    await storage.add(jobs)
    const { inAll, inGroup } = await drain(schema, { concurrency: 5, group: { limit: 2 } }, jobs.length)
    assert.ok(inAll <= 5, `${inAll} at once`)
    assert.ok(inGroup <= 2, `${inGroup} of a group at once`)
    const counts = await storage.count({ types: ['mail'] })
    assert.equal(counts.types[0]!.states.completed, jobs.length)
    const { pool } = await postgresPlace()
    const { rows } = await pool.query(`SELECT * FROM "${schema}".groups`)
    assert.deepEqual(rows, [], 'a group was left')
    await storage.disconnect()
  })
}

test('[F22] eight claimers under a rate: no more starts than the rate allows', async () => {
  const schema = newSchema()
  const storages = await Promise.all(Array.from({ length: 8 }, () => open(schema)))
  await storages[0]!.add(Array.from({ length: 60 }, (_, index) => job(`j${index}`)))
  const limits = { rate: { limit: 20, perMs: 3_600_000 } }
  const rounds = await Promise.all(
    storages.flatMap((storage) => [claim(storage, limits, 4), claim(storage, limits, 4), claim(storage, limits, 4)]),
  )
  assert.equal(rounds.flat().length, 20)
  for (const storage of storages) await storage.disconnect()
})

test('[F23] eight adds at once with a largest depth: none is added beyond it', async () => {
  const schema = newSchema()
  const storages = await Promise.all(Array.from({ length: 8 }, () => open(schema)))
  const verdicts = await Promise.all(
    storages.flatMap((storage, worker) =>
      Array.from({ length: 5 }, (_, index) => {
        const group = index % 2 === 0 ? { group: { key: 'g' } } : {}
        return storage.add([job(`${worker} ${index}`, { ...group, maxWaiting: { type: 12, group: 6 } })])
      }),
    ),
  )
  const added = verdicts.flat().filter(({ verdict }) => verdict === 'added')
  assert.equal(added.length, 12)
  const [counts] = (await storages[0]!.count({ types: ['mail'] })).types
  assert.equal(counts!.states.queued, 12)
  for (const storage of storages) await storage.disconnect()
})

test('[F20] a settle that commits while a claim finds the type full sends a wake', async () => {
  const schema = newSchema()
  const [storage, other] = [await open(schema), await open(schema)]
  const wakes: Signal[] = []
  const unlisten = await storage.listen([{ kind: 'wake', type: 'mail' }], (signal) => wakes.push(signal))
  await storage.add([job('a'), job('b')])
  const limits = { concurrency: 1 }
  for (let round = 0; round < sized(50, 20); round++) {
    const [held] = await claim(storage, limits, 1)
    assert.ok(held, `round ${round}`)
    wakes.length = 0
    const [jobs] = await Promise.all([claim(other, limits, 1), storage.settle([done(held)])])
    // The claim came before the settle, and found the type full; or after it, and has the other job.
    if (jobs.length === 0) assert.ok(await isWoken(wakes), `round ${round}: no wake`)
    else await other.settle([done(jobs[0]!)])
    await storage.add([job(`c${round}`), job(`d${round}`)])
  }
  await unlisten()
  await other.disconnect()
  await storage.disconnect()
})

/** Signals are sent in microtasks after the answer. */
async function isWoken(wakes: readonly Signal[]): Promise<boolean> {
  await new Promise((resolve) => setImmediate(resolve))
  return wakes.length > 0
}

test('[F20] a settle in an open transaction does not keep others from claiming its type', async () => {
  const storage = await open()
  await storage.add([job('a'), job('b'), job('c')])
  const limits = { concurrency: 2 }
  const [held] = await claim(storage, limits, 1)
  const tx = await begin()
  await storage.settle([done(held!)], tx)
  // The first job still counts until the commit.
  assert.equal((await claim(storage, limits)).length, 1)
  await end(tx, 'COMMIT')
  assert.equal((await claim(storage, limits)).length, 1)
  await storage.disconnect()
})

test('[F20] a claim passes over a group that another call has locked, and takes the next', async () => {
  const storage = await open()
  await storage.add([job('a', { group: { key: 'one' } }), job('b', { group: { key: 'two', ordered: true } })])
  const tx = await begin()
  await storage.add([job('c', { group: { key: 'one' } })], tx)
  const jobs = await claim(storage, { group: { limit: 1 } })
  assert.deepEqual(
    jobs.map(({ id }) => id),
    ['b'],
  )
  await end(tx, 'COMMIT')
  assert.equal((await claim(storage, { group: { limit: 1 } })).length, 1)
  await storage.disconnect()
})

test('[F20] a claim under a concurrency waits for the one before, and counts its jobs', async () => {
  const storage = await open()
  await storage.add([job('a'), job('b')])
  const { pool } = await postgresPlace()
  await claim(storage, { concurrency: 1 }, 0)
  const { rows } = await pool.query<{ table: string }>(
    `SELECT format('%I.types', table_schema) AS table FROM information_schema.tables WHERE table_name = 'types'
     ORDER BY table_schema`,
  )
  const tx = await begin()
  for (const { table } of rows) await tx.query(`SELECT 1 FROM ${table} FOR UPDATE`)
  const both = Promise.all([claim(storage, { concurrency: 1 }), claim(storage, { concurrency: 1 })])
  await lockWait()
  await end(tx, 'COMMIT')
  assert.equal((await both).flat().length, 1)
  await storage.disconnect()
})
