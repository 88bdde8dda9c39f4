// What limits cost: the round trips of a claim, the counts of adds with a largest depth, and the scan of a ring with many dead entries.

import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { Pool, type PoolConfig } from 'pg'
import { systemClock } from '../../../src/clock.ts'
import { PostgresStorage } from '../../../src/storage/postgres/index.ts'
import { RingCursor } from '../../../src/storage/postgres/rules/ring-cursor.ts'
import type { ClaimedJob, Limits, NewJob, Outcome } from '../../../src/storage/storage.ts'
import { newSchema, postgresPlace, stopPostgres } from '../../postgres-subject.ts'

after(stopPostgres)

interface Watched {
  readonly storage: PostgresStorage
  readonly pool: Pool
  readonly schema: string
  /** Names of all statements that were sent. To be emptied by the test. */
  readonly names: string[]
  /** How many times the work waits for the server. */
  roundTrips(work: () => Promise<unknown>): Promise<number>
  claim(limits: Limits, slots?: number, outcomes?: readonly Outcome[]): Promise<readonly ClaimedJob[]>
  /** Moves the clock of the storage. */
  advance(ms: number): Promise<void>
  /** How many pages of the index over the ring the work reads. */
  pagesOfRing(work: () => Promise<void>): Promise<number>
}

/** A storage on one connection that pipelines, with a monotonic clock that stands still. */
async function watched(t: TestContext): Promise<Watched> {
  const { server, pool: other } = await postgresPlace()
  const schema = newSchema()
  await other.query('INSERT INTO clocks VALUES ($1, $2)', [schema, 1_000_000])
  const time = `(SELECT at FROM public.clocks WHERE name = '${schema}')`
  const pool = new Pool({ connectionString: server.url, max: 1, pipeline: true } as PoolConfig)
  pool.on('error', () => {}) // the server may stop first
  const names: string[] = []
  let [trips, pending] = [0, 0]
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    client.query = ((...args: unknown[]) => {
      names.push((args[0] as { name?: string }).name?.replace(/^holdfast_[0-9a-f]+_/, '') ?? '')
      const answer = query(...args)
      // A call of the pool itself has a callback instead.
      if (!(answer instanceof Promise)) return answer
      if (pending++ === 0) trips++
      return answer.finally(() => pending--)
    }) as typeof client.query
  })
  const clock = { ...systemClock, monotonic: () => 0 }
  const storage = new PostgresStorage({ client: pool, schema, callTimeoutMs: 60_000, clock }, time)
  await storage.connect()
  t.after(async () => {
    await storage.disconnect()
    await pool.end()
  })
  const readPages = async (): Promise<number> => {
    await pool.query('SELECT pg_stat_force_next_flush()')
    const { rows } = await pool.query<{ pages: number }>(
      `SELECT idx_blks_hit + idx_blks_read AS pages FROM pg_statio_user_indexes
         WHERE schemaname = $1 AND indexrelname = 'groups_ring'`,
      [schema],
    )
    return Number(rows[0]!.pages)
  }
  let claims = 0
  return {
    storage,
    pool,
    schema,
    names,
    async roundTrips(work) {
      trips = 0
      await work()
      return trips
    },
    async claim(limits, slots = 1, outcomes = []) {
      const types = [{ type: 'mail', leaseMs: 3_600_000, limits }]
      return (await storage.claim({ worker: `worker ${++claims}`, slots, types, outcomes })).jobs
    },
    advance: async (ms) => void (await other.query('UPDATE clocks SET at = at + $2 WHERE name = $1', [schema, ms])),
    async pagesOfRing(work) {
      const before = await readPages()
      await work()
      return (await readPages()) - before
    },
  }
}

let made = 0
const jobs = (count: number, fields: Partial<NewJob> = {}): NewJob[] =>
  Array.from({ length: count }, () => {
    const id = `job ${++made}`
    const retention = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
    return { type: 'mail', id, token: id, retention, ...fields }
  })
const completed = ({ type, id, worker, attempt }: ClaimedJob): Outcome => {
  return { type, id, worker, attempt, kind: 'completed' }
}

test('[F20] a claim of a type with limits takes few round trips', async (t) => {
  const { storage, claim, roundTrips } = await watched(t)
  const limits: Limits = { concurrency: 10, rate: { limit: 1_000, perMs: 60_000 } }
  await storage.add(jobs(10))
  const [first] = await claim(limits)
  // Lock and count, read the due jobs, write and commit.
  assert.equal(await roundTrips(() => claim(limits)), 3)
  // The job of the outcome is locked first.
  assert.equal(await roundTrips(() => claim(limits, 1, [completed(first!)])), 5)
})

test('[F21] a claim of a group takes few round trips', async (t) => {
  const { storage, claim, roundTrips } = await watched(t)
  const limits: Limits = { group: { limit: 1 } }
  for (let n = 0; n < 5; n++) await storage.add(jobs(2, { group: { key: `g${n}` } }))
  const [first] = await claim(limits)
  const trips = await roundTrips(() => claim(limits))
  assert.ok(trips <= 4, `${trips} round trips`)
  const tripsWithOutcome = await roundTrips(() => claim(limits, 1, [completed(first!)]))
  assert.ok(tripsWithOutcome <= 7, `${tripsWithOutcome} round trips`)
})

test('[F24] adds with a largest depth count the waiting jobs once, and exactly where it matters', async (t) => {
  const { storage, names, claim } = await watched(t)
  const maxWaiting = { type: 100 }
  const add = async (count: number) => (await storage.add(jobs(count, { maxWaiting }))).map(({ verdict }) => verdict)
  names.length = 0
  for (let n = 0; n < 9; n++) assert.deepEqual(new Set(await add(10)), new Set(['added']))
  assert.equal(names.filter((name) => name === 'depths').length, 1)
  // Ten of them run: as many may wait more, and not one more than that.
  await storage.add(jobs(5))
  const running = await claim({}, 10)
  assert.equal(running.length, 10)
  for (let n = 0; n < 15; n++) assert.deepEqual(await add(1), ['added'])
  const [full] = await storage.add(jobs(1, { maxWaiting }))
  assert.deepEqual([full!.verdict, (full as { waiting?: number }).waiting], ['queue_full', 100])
  // Jobs that come back are counted, although the last count has not seen them wait.
  await claim(
    {},
    0,
    running.slice(0, 4).map((job) => ({ ...completed(job), kind: 'retry', delayMs: 60_000 })),
  )
  assert.equal((await claim({}, 6)).length, 6)
  assert.deepEqual([await add(2), await add(1)], [['added', 'added'], ['queue_full']])
})

test('[F24] groups that became full cost the claims of others no pages of the ring', async (t) => {
  const { storage, claim, advance, pagesOfRing } = await watched(t)
  const limits: Limits = { group: { limit: 1 } }
  const full = 3_000
  // Each group becomes full by a claim, and leaves a dead entry in the index.
  for (let n = 0; n < full; n += 1_000) {
    await storage.add(Array.from({ length: 1_000 }, (_, at) => jobs(1, { group: { key: `g${n + at}` } })[0]!))
    assert.equal((await claim(limits, 1_000)).length, 1_000)
  }
  await storage.add(Array.from({ length: full }, (_, n) => jobs(1, { group: { key: `g${n}` } })[0]!))
  await advance(60_000)
  await storage.add(jobs(5, { group: { key: 'other' } }))
  // The first scan begins at the head.
  const [first] = await claim({ group: { limit: 2 } })
  assert.equal(first!.group, 'other')
  const pages = await pagesOfRing(async () => {
    const [job] = await claim({ group: { limit: 2 } })
    assert.equal(job!.group, 'other')
  })
  t.diagnostic(`${pages} pages`)
  assert.ok(pages <= 10, `${pages} pages`)
})

test('the scan of a ring begins at the head again after 10 s, after a claim that found nothing, and if the clock was set back', () => {
  const cursor = new RingCursor()
  assert.equal(cursor.startOf(1, 100_000), -Infinity)
  cursor.onScanned(1, 100_000, 99_000)
  // Transactions may take 10 s.
  assert.equal(cursor.startOf(1, 100_000), 90_000)
  assert.equal(cursor.startOf(2, 100_000), -Infinity)
  assert.equal(cursor.startOf(1, 109_999), 90_000)
  assert.equal(cursor.startOf(1, 110_000), -Infinity)
  assert.equal(cursor.startOf(1, 99_999), -Infinity)
  cursor.onScanned(1, 100_000, 70_000)
  assert.equal(cursor.startOf(1, 100_001), 70_000)
  cursor.forget(1)
  assert.equal(cursor.startOf(1, 100_001), -Infinity)
})

test('a group that another transaction put into the ring late is found by the claim after one that found nothing', async (t) => {
  const { storage, pool, schema, claim, advance } = await watched(t)
  const limits: Limits = { group: { limit: 1 } }
  await storage.add(jobs(1, { group: { key: 'a' } }))
  await storage.add(jobs(1, { group: { key: 'late' } }))
  const [first] = await claim(limits)
  assert.equal(first!.group, 'a')
  await pool.query(`UPDATE "${schema}".groups SET turn_at = NULL WHERE key = 'late'`)
  await advance(60_000)
  assert.deepEqual(await claim(limits), [])
  // As a transaction that began a minute ago would write it.
  await pool.query(`UPDATE "${schema}".groups SET turn_at = 0 WHERE key = 'late'`)
  assert.deepEqual(await claim(limits), [])
  assert.equal((await claim(limits)).length, 1)
})
