// Lists: the work of a page by place is bounded, its cursors are checked, and no list sorts or scans all jobs.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Pool } from 'pg'
import { PostgresStorage } from '../../../src/storage/postgres/index.ts'
import { encodePlaceCursor } from '../../../src/storage/postgres/rules/place-cursor.ts'
import { makeSql } from '../../../src/storage/postgres/sql/statement.ts'
import { placeNames, places, scanStatement } from '../../../src/storage/postgres/sql/places.ts'
import { stateCodes, stateNames } from '../../../src/storage/rules/job/codes.ts'
import type { JobRecord, ListQuery } from '../../../src/storage/storage.ts'
import { newSchema, postgresPlace, postgresWay, stopPostgres } from '../../postgres-subject.ts'

after(stopPostgres)

const retention = { completedMs: 1e9, failedMs: 1e9, cancelledMs: 1e9 }

/** Fills the table itself: 20,000 jobs of one type, a tenth in each state, the rest completed. No statistics of it exist. */
async function filled(pool: Pool, schema: string): Promise<PostgresStorage> {
  const storage = new PostgresStorage({ client: pool, schema })
  await storage.connect()
  for (const type of ['mail', 'sms']) await storage.add([{ type, id: 'first', token: 't', retention }])
  const { scheduled, queued, failing, processing, blocked, completed } = stateCodes
  const waits = `state IN (${scheduled}, ${queued}, ${failing})`
  await pool.query(
    `ALTER TABLE "${schema}".jobs SET (autovacuum_enabled = false);
     INSERT INTO "${schema}".jobs (seq, ord, tid, state, kind, priority, ready, attempt, failures, keep_ms, created_at, run_at, worker,
       started_at, lease_until, finished_at, expires_at, sweep_at, id, token)
     SELECT n + 100, n + 100, tid, state, 0, 0, CASE WHEN ${waits} THEN 1 END, 0, 0, 1, at, CASE WHEN state = ${scheduled} THEN at + 1e10 ELSE at END,
       CASE WHEN state >= ${processing} THEN 'w' END, at, CASE WHEN state = ${processing} THEN at + 1e9 END,
       CASE WHEN state >= ${completed} THEN at END, CASE WHEN state >= ${completed} THEN at + 1e9 END,
       CASE WHEN state >= ${completed} THEN at + 1e9 END, 'job ' || n, 't'
     FROM (SELECT n, (SELECT tid FROM "${schema}".types WHERE name = 'mail') AS tid, ${Date.now()} - 20000 + n AS at,
       CASE WHEN n % 10 < 8 THEN n % 10 ELSE ${completed} END AS state FROM generate_series(1, 20000) AS n) AS s
     WHERE state <> ${blocked} OR n % 100 = 1`,
  )
  return storage
}

const fields = (value: string, count: number): string[] => Array.from({ length: count }, () => value)

const ids = (items: readonly JobRecord[]): number[] => items.map(({ id }) => Number(id)).toSorted((a, b) => a - b)

/** A pool of one connection, whose statistics cover all statements. */
async function oneConnection(run: (pool: Pool, schema: string) => Promise<void>): Promise<void> {
  const { server } = await postgresPlace()
  const pool = new Pool({ connectionString: server.url, max: 1 })
  pool.on('error', () => {})
  await run(pool, newSchema())
  await pool.end()
}

async function all(storage: PostgresStorage, query: Partial<ListQuery>): Promise<JobRecord[]> {
  const items: JobRecord[] = []
  let cursor: string | undefined
  do {
    const page = await storage.list({ of: 'jobs', by: 'place', limit: 1000, ...query, ...(cursor && { cursor }) })
    items.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return items
}

test('[F31] a page by place scans a bounded number of rows, for every type and state, without statistics', () =>
  oneConnection(async (pool, schema) => {
    const storage = await filled(pool, schema)
    const fetched = async (): Promise<number[]> => {
      await pool.query('SELECT pg_stat_force_next_flush()')
      const { rows } = await pool.query<{ fetched: string; scans: string }>(
        'SELECT idx_tup_fetch AS fetched, seq_scan AS scans FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = $2',
        [schema, 'jobs'],
      )
      return [Number(rows[0]!.fetched), Number(rows[0]!.scans)]
    }
    for (const types of [['mail'], ['sms'], undefined]) {
      for (const state of [...stateNames, undefined]) {
        for (const order of ['asc', 'desc'] as const) {
          const query = {
            of: 'jobs',
            by: 'place',
            limit: 20,
            order,
            ...(types && { types }),
            ...(state && { states: [state] }),
          } as const
          const [before, scansBefore] = await fetched()
          await storage.list(query)
          const [now, scans] = await fetched()
          assert.ok(now! - before! <= 2_500, `${JSON.stringify(query)} fetched ${now! - before!} rows`)
          assert.equal(scans! - scansBefore!, 0, JSON.stringify(query))
        }
      }
    }
    for (const state of stateNames) {
      const found = await all(storage, { types: ['mail'], states: [state] })
      assert.ok(found.every((record) => record.state === state))
      assert.equal(new Set(found.map(({ id }) => id)).size, found.length)
      assert.equal(found.length, (await storage.count({ types: ['mail'] })).types[0]!.states[state], state)
    }
    await storage.disconnect()
  }))

test('[F31] a list by creation reads the index, also after many calls and without statistics', () =>
  oneConnection(async (pool, schema) => {
    const storage = await filled(pool, schema)
    for (let round = 0; round < 10; round++) await storage.list({ of: 'jobs', limit: 20 })
    await pool.query('SELECT pg_stat_force_next_flush()')
    const fetched = async () =>
      Number(
        (
          await pool.query(
            'SELECT idx_tup_fetch AS n FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = $2',
            [schema, 'jobs'],
          )
        ).rows[0].n,
      )
    const before = await fetched()
    await storage.list({ of: 'jobs', limit: 20 })
    await pool.query('SELECT pg_stat_force_next_flush()')
    assert.ok((await fetched()) - before < 200)
    await storage.disconnect()
  }))

test('[F31] a list by creation sorts the jobs of its types or states if they are few', () =>
  oneConnection(async (pool, schema) => {
    const storage = await filled(pool, schema)
    const fetched = async (): Promise<number> => {
      await pool.query('SELECT pg_stat_force_next_flush()')
      const { rows } = await pool.query<{ n: string }>(
        'SELECT idx_tup_fetch AS n FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = $2',
        [schema, 'jobs'],
      )
      return Number(rows[0]!.n)
    }
    for (const order of ['asc', 'desc'] as const) {
      for (const [query, count] of [
        [{ types: ['sms'] }, 1],
        [{ types: ['none'] }, 0],
        [{ states: ['blocked'] }, 200],
        [{ types: ['mail'], states: ['blocked'] }, 200],
        [{ types: ['sms'], states: ['failed'] }, 0],
      ] as const) {
        const before = await fetched()
        const { items } = await storage.list({ of: 'jobs', limit: 1000, order, ...query })
        const rows = (await fetched()) - before
        const name = JSON.stringify([query, order])
        assert.equal(items.length, count, name)
        assert.ok(rows < 3_000, `${name} fetched ${rows} rows`)
        const instants = items.map(({ createdAt }) => createdAt)
        const sorted = instants.toSorted((a, b) => (order === 'asc' ? a - b : b - a))
        assert.deepEqual(instants, sorted, name)
      }
    }
    await storage.disconnect()
  }))

test('[F31] a search in a state scans the jobs of the state if the search index rarely matches', async () => {
  const storage = new PostgresStorage({ ...(await postgresWay()), schema: newSchema() })
  await storage.connect()
  const add = (from: number, count: number) =>
    storage.add(
      Array.from({ length: count }, (_, at) => {
        const search = { odd: (from + at) % 2 === 1, number: (from + at) % 600 }
        return { type: 'mail', id: `${from + at}`, token: 't', retention, search }
      }),
    )
  await add(0, 600)
  const { jobs } = await storage.claim({ worker: 'w', slots: 600, types: [{ type: 'mail', leaseMs: 60_000 }] })
  await storage.settle(jobs.map(({ type, id, worker, attempt }) => ({ type, id, worker, attempt, kind: 'failed' })))
  // Newer jobs that wait: the search index has them first.
  for (let from = 600; from < 12_600; from += 1_000) await add(from, 1_000)
  const expected = Array.from({ length: 300 }, (_, at) => 2 * at + 1)
  for (const order of ['asc', 'desc'] as const) {
    const query = { states: ['failed'], where: { odd: true }, order } as const
    const first = await storage.list({ of: 'jobs', by: 'place', limit: 50, ...query })
    assert.equal(first.items.length, 50, order)
    assert.deepEqual(ids(await all(storage, { ...query, limit: 50 })), expected, order)
    assert.deepEqual(ids(await all(storage, { ...query, where: { odd: [true, false], number: { lt: 3 } } })), [0, 1, 2])
    assert.deepEqual(ids(await all(storage, { ...query, states: ['completed', 'cancelled'] })), [], order)
    const waiting = await all(storage, { ...query, states: ['queued'] })
    assert.equal(new Set(ids(waiting)).size, 6_000, order)
    assert.equal(waiting.length, 6_000, order)
  }
  await storage.disconnect()
})

test('[F31] the first page of a type or a group is full, however many jobs of others have ended', () =>
  oneConnection(async (pool, schema) => {
    const storage = await filled(pool, schema)
    const jobs = Array.from({ length: 80 }, (_, n) => ({
      type: 'sms',
      id: `${n}`,
      token: 't',
      retention,
      ...(n % 2 === 1 && { group: { key: n % 4 === 1 ? 'a' : 'b', ordered: false } }),
    }))
    await storage.add(jobs)
    const { jobs: claimed } = await storage.claim({
      worker: 'w',
      slots: 8,
      types: [{ type: 'sms', leaseMs: 60_000, slots: 8 }],
    })
    // Groups take turns, so at least one of each group runs.
    const first = claimed.find(({ group }) => group === 'a')!
    await storage.settle([{ type: 'sms', id: first.id, worker: 'w', attempt: 1, kind: 'failed' }])
    for (const order of ['asc', 'desc'] as const) {
      const type = await storage.list({ of: 'jobs', by: 'place', types: ['sms'], order, limit: 50 })
      assert.equal(type.items.length, 50, order)
      const group = await storage.list({ of: 'jobs', by: 'place', group: 'a', order, limit: 15 })
      assert.equal(group.items.length, 15, order)
      const expected = Array.from({ length: 20 }, (_, n) => 4 * n + 1)
      assert.deepEqual(ids(await all(storage, { group: 'a', order, limit: 7 })), expected, order)
      const running = claimed.filter(({ group: key, id }) => key === 'a' && id !== first.id).map(({ id }) => Number(id))
      const listed = ids(await all(storage, { group: 'a', states: ['processing'], order }))
      assert.deepEqual(
        listed,
        running.toSorted((a, b) => a - b),
      )
      assert.deepEqual(ids(await all(storage, { group: 'a', states: ['failed'], order })), [Number(first.id)])
    }
    await storage.disconnect()
  }))

test('[F31] every scan of a place goes along an index in its order: nothing but ties is sorted', () =>
  oneConnection(async (pool, schema) => {
    const storage = await filled(pool, schema)
    await pool.query('SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; SET jit = off')
    const common = ['{1}', '{0}', 10, '{1}', null, 'false', null, 0, 'Infinity']
    for (const name of placeNames) {
      for (const order of ['asc', 'desc'] as const) {
        for (const [hasStart, hasFields] of [
          [false, false],
          [true, false],
          [false, name !== 'search'],
          [true, name !== 'search'],
        ] as const) {
          const search = name === 'search' ? ['x', ...fields('{}', 6)] : fields('{}', hasFields ? 4 : 0)
          const start = hasStart ? places[name].keys.map(([, type]) => (type === 'text' ? 'x' : '10')) : []
          const { text } = scanStatement(makeSql(schema), name, { order, hasStart, hasFields })
          const { rows } = await pool.query<Record<string, string>>(`EXPLAIN ${text}`, [...common, ...search, ...start])
          const plan = rows.map((row) => row['QUERY PLAN']!).join('\n')
          assert.doesNotMatch(plan, /Seq Scan on (jobs|search)|Bitmap/, `${name}: ${plan}`)
          assert.match(plan, /Index (Only )?Scan/, name)
        }
      }
    }
    await storage.disconnect()
  }))

test('[F31] cursors that are none are refused, whatever they contain', async () => {
  const storage = new PostgresStorage({ ...(await postgresWay()), schema: newSchema() })
  await storage.connect()
  const hostile: unknown[] = [
    ['ready', 1, 0],
    ['ready', 1, 0, '1', '1', '1'],
    ['nowhere', 1, 0, '1', '1'],
    ['constructor', 1, 0, '1', '1'],
    ['ready', 1.5, 0, '1', '1'],
    ['ready', 2 ** 40, 0, '1', '1'],
    ['ready', 1, '0', '1', '1'],
    ['ready', 1, 0, 1, 1],
    ['ready', 1, 0, 'x', '1'],
    ['ready', 1, 0, '1e+999', '1'],
    ['ready', 1, 0, 'NaN', '1'],
    ['ready', 1, 0, '1', '99999999999999999999'],
    ['ready', 1, 0, "1'; DROP TABLE jobs", '1'],
    ['aside', 1, 0, 'a\u0000b', '1'],
    ['aside', 1, 0, '\ud800', '1'],
    ['search', 1, 0, 'zz', '1', '1'],
    ['search', 1, 0, '', '1', '1'],
  ]
  for (const parts of hostile) {
    const cursor = Buffer.from(JSON.stringify(parts)).toString('base64url')
    const refused = { name: 'TypeError', code: 'INVALID_ARGUMENT' }
    await assert.rejects(storage.list({ of: 'jobs', by: 'place', cursor, limit: 10 }), refused, JSON.stringify(parts))
  }
  // A cursor of another query is no error.
  const cursor = encodePlaceCursor({ place: 'aside', tid: 77, sub: 0, keys: ["it's", '5'] })
  assert.deepEqual((await storage.list({ of: 'jobs', by: 'place', cursor, limit: 10 })).items, [])
  assert.deepEqual((await storage.list({ of: 'jobs', by: 'place', states: ['failed'], cursor, limit: 10 })).items, [])
  await storage.disconnect()
})
