// What the statements cost: no sequential scan over the jobs, whatever is stored and whenever the plans were made; and a claim fetches
// about as many rows as it returns, whatever the backlog.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'pg'
import { PostgresStorage } from '../../../src/storage/postgres/index.ts'
import type { ClaimedJob, NewJob, Outcome } from '../../../src/storage/storage.ts'
import { newSchema, postgresPlace, stopPostgres } from '../../postgres-subject.ts'

after(stopPostgres)

/** For batches of many jobs on a busy machine. */
const callTimeoutMs = 60_000

/** The major version of the server. */
async function versionOf(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ version: number }>(
    "SELECT current_setting('server_version_num')::integer AS version",
  )
  return Math.floor(rows[0]!.version / 10_000)
}

/** Makes the statistics of the pool's one connection visible. */
async function flushStatistics(pool: Pool): Promise<void> {
  if ((await versionOf(pool)) >= 15) return void (await pool.query('SELECT pg_stat_force_next_flush()'))
  // A connection reports at most every 500 ms, after a statement, to a process that then writes a file.
  await sleep(600)
  await pool.query('SELECT 1')
  await sleep(1_500)
  await pool.query('SELECT pg_stat_clear_snapshot()')
}

const kept = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
let made = 0
const job = (fields: Partial<NewJob> = {}): NewJob => {
  const id = `job ${++made}`
  return { type: 'mail', id, token: id, retention: kept, maxAttempts: 3, ...fields }
}

const completed = ({ type, id, worker, attempt }: ClaimedJob): Outcome => {
  return { type, id, worker, attempt, kind: 'completed', keepMs: 60_000 }
}
const retried = ({ type, id, worker, attempt }: ClaimedJob): Outcome => {
  return { type, id, worker, attempt, kind: 'retry', delayMs: 60_000 }
}

test('[trap 39] statements planned on empty tables do not scan the jobs sequentially once there are many', async () => {
  const { server } = await postgresPlace()
  const schema = newSchema()
  // One connection, so that plans are made once, and its statistics cover all statements.
  const pool = new Pool({ connectionString: server.url, max: 1 })
  pool.on('error', () => {}) // the server may stop first
  const storage = new PostgresStorage({ client: pool, schema, callTimeoutMs })
  await storage.connect()

  const claim = async (slots: number, outcomes: Outcome[] = []): Promise<readonly ClaimedJob[]> => {
    const types = [{ type: 'mail', leaseMs: 60_000 }]
    return (await storage.claim({ worker: `worker ${++made}`, slots, types, outcomes })).jobs
  }
  /** Every verb, by its fast path and by the rules. */
  const life = async (): Promise<void> => {
    // With a higher priority than the many that wait in the second half.
    const first = job({ priority: 9 })
    const second = job({ priority: 9, group: { key: `g${made}`, ordered: true } })
    const third = job({ priority: 9 })
    await storage.add([first])
    await storage.add([second])
    await storage.add([third, job({ deduplication: { key: `k${made}`, mode: 'simple' } })])
    const blocked = job({ blockers: [{ type: 'mail', id: third.id }] })
    await storage.add([blocked])
    const offer = { by: 'worker', slots: 5 }
    await storage.claim({ worker: `worker ${++made}`, slots: 0, offer, types: [{ type: 'mail', leaseMs: 60_000 }] })
    await storage.add([job()])
    const mine = [first, second, third]
    const claimed = (await claim(100)).filter(({ id }) => mine.some((one) => one.id === id))
    const { type, id, worker, attempt } = claimed[0]!
    await storage.extend([{ type, id, worker, attempt, leaseMs: 60_000 }])
    await claim(1, claimed.slice(0, 1).map(retried))
    await storage.settle(claimed.slice(1).map(completed))
    await storage.cancel([blocked], { force: true })
    await storage.revive([blocked])
    await storage.get([first, second, blocked], { parts: ['tail', 'attempts'] })
    await storage.recover({ types: ['mail'], limit: 10 })
    await storage.nextDueAt([{ type: 'mail', leaseMs: 1 }])
    await storage.count({ types: [], next: { type: 'mail', limits: {} } })
    await storage.remove([third], { afterMs: 0 })
    await storage.sweep({ limit: 10 })
    await storage.list({ of: 'jobs', limit: 10 })
    await storage.list({ of: 'chains', limit: 10, order: 'asc' })
  }
  const scans = async (): Promise<Record<string, number>> => {
    await flushStatistics(pool)
    const { rows } = await pool.query(
      `SELECT relname AS name, seq_scan::integer AS scans, idx_tup_fetch::integer AS fetched FROM pg_stat_user_tables
       WHERE schemaname = $1 AND relname = 'jobs'`,
      [schema],
    )
    return rows[0]
  }

  for (let round = 0; round < 8; round++) await life()
  for (let batch = 0; batch < 20; batch++) await storage.add(Array.from({ length: 1_000 }, () => job({ priority: 5 })))
  const before = await scans()
  for (let round = 0; round < 3; round++) await life()
  const filled = await scans()
  assert.ok(filled.fetched! > before.fetched!, 'the statistics are not visible')
  assert.equal(filled.scans! - before.scans!, 0, 'a statement scanned all jobs')
  await claim(100)
  const claimed = (await scans()).fetched! - filled.fetched!
  assert.ok(claimed < 1_000, `a claim of 100 fetched ${claimed} rows`)
  await storage.disconnect()
  await pool.end()
})

// The server analyzes a table by itself, at any time.
for (const isAnalyzed of [false, true]) {
  const when = isAnalyzed ? 'by statistics of few jobs' : 'on empty tables'
  test(`[F20] statements on groups and limits, planned ${when}, do not scan jobs or groups once there are many`, async () => {
    const { server } = await postgresPlace()
    const schema = newSchema()
    const pool = new Pool({ connectionString: server.url, max: 1 })
    pool.on('error', () => {}) // the server may stop first
    const storage = new PostgresStorage({ client: pool, schema, callTimeoutMs })
    await storage.connect()
    const limits = { concurrency: 1_000, group: { limit: 2, rate: { limit: 1_000, perMs: 1_000 } } }
    const claim = async (slots: number): Promise<readonly ClaimedJob[]> => {
      const types = [{ type: 'mail', leaseMs: 60_000, limits }]
      return (await storage.claim({ worker: `worker ${++made}`, slots, types })).jobs
    }
    /** @returns the number of jobs that run: they are counted */
    const nextStart = async (): Promise<number> => {
      const { next } = await storage.count({ types: [], next: { type: 'mail', limits, group: 'busy 1' } })
      return next!.running
    }
    const life = async (): Promise<void> => {
      await storage.add([
        job({ group: { key: `o${made}`, ordered: true } }),
        job({ group: { key: `u${made}` } }),
        job(),
      ])
      await storage.add([job({ group: { key: 'busy 1' }, maxWaiting: { group: 100_000 } })])
      const claimed = await claim(5)
      assert.ok(claimed.length > 0)
      await storage.settle(claimed.map(completed))
      // The fast path, of a type that has groups.
      const types = [{ type: 'mail', leaseMs: 60_000 }]
      const others = await storage.claim({ worker: `worker ${++made}`, slots: 1, types })
      await storage.settle(others.jobs.map(completed))
      await storage.nextDueAt([{ type: 'mail', leaseMs: 1, limits }])
      await storage.recover({ types: ['mail'], limit: 10 })
    }
    const read = async (): Promise<{ scans: number; fetched: number }> => {
      await flushStatistics(pool)
      const { rows } = await pool.query(
        `SELECT sum(seq_scan)::integer AS scans, sum(idx_tup_fetch)::integer AS fetched FROM pg_stat_user_tables
       WHERE schemaname = $1 AND relname IN ('jobs', 'groups')`,
        [schema],
      )
      return rows[0]
    }
    for (let round = 0; round < 10; round++) {
      await life()
      await nextStart()
    }
    if (isAnalyzed) await pool.query(`ANALYZE "${schema}".jobs, "${schema}".groups`)
    for (let batch = 0; batch < 10; batch++) {
      const many = Array.from({ length: 1_000 }, (_, index) => job({ group: { key: `busy ${index % 2}` } }))
      await storage.add(many)
      await storage.add(Array.from({ length: 200 }, () => job({ group: { key: `g${made}` } })))
    }
    // Both groups are at their limit.
    await claim(100)
    const before = await read()
    for (let round = 0; round < 3; round++) await life()
    const later = await read()
    assert.equal(later.scans - before.scans, 0, 'a statement scanned all jobs or groups')
    assert.ok(later.fetched - before.fetched < 2_000, `${later.fetched - before.fetched} rows were fetched`)
    let running = 0
    for (let call = 0; call < 3; call++) running += await nextStart()
    const { scans, fetched } = await read()
    assert.equal(scans - later.scans, 0, 'the next start scanned all jobs or groups')
    assert.ok(fetched - later.fetched < running + 100, `${fetched - later.fetched} rows were fetched, ${running} run`)
    await storage.disconnect()
    await pool.end()
  })
}

test('[F21] a claim with limits reads few of the jobs that run', async () => {
  const { server } = await postgresPlace()
  const schema = newSchema()
  const pool = new Pool({ connectionString: server.url, max: 1 })
  pool.on('error', () => {}) // the server may stop first
  const storage = new PostgresStorage({ client: pool, schema, callTimeoutMs })
  await storage.connect()
  const claim = async (slots: number): Promise<readonly ClaimedJob[]> => {
    const types = [{ type: 'mail', leaseMs: 60_000, limits: { group: { limit: 1 } } }]
    return (await storage.claim({ worker: `worker ${++made}`, slots, types })).jobs
  }
  const fetched = async (): Promise<number> => {
    await flushStatistics(pool)
    const { rows } = await pool.query<{ fetched: number }>(
      `SELECT idx_tup_fetch::integer AS fetched FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'jobs'`,
      [schema],
    )
    return rows[0]!.fetched
  }
  // From the sixth call on, the server has a plan for any parameters.
  for (let round = 0; round < 10; round++) await claim(1)
  const running = 1_000
  await storage.add(Array.from({ length: running + 3 }, () => job()))
  assert.equal((await claim(running)).length, running)
  const before = await fetched()
  for (let round = 0; round < 3; round++) assert.equal((await claim(1)).length, 1)
  const count = (await fetched()) - before
  assert.ok(count < running, `${count} rows were fetched`)
  await storage.disconnect()
  await pool.end()
})

test('the server keeps a generic plan of a claim and of an add that hands its job over, whatever the number of jobs', async () => {
  const { server } = await postgresPlace()
  const pool = new Pool({ connectionString: server.url, max: 1 })
  pool.on('error', () => {}) // the server may stop first
  const storage = new PostgresStorage({ client: pool, schema: newSchema() })
  await storage.connect()
  let outcomes: Outcome[] = []
  for (let round = 1; round <= 20; round++) {
    const slots = round % 2 === 0 ? 1 : 3 * round
    await storage.add(Array.from({ length: slots }, () => job()))
    const types = [{ type: 'mail', leaseMs: 60_000 }]
    const { jobs } = await storage.claim({ worker: `worker ${++made}`, slots, types, outcomes })
    assert.equal(jobs.length, slots)
    outcomes = jobs.map(completed)
  }
  for (let round = 1; round <= 20; round++) {
    const offer = { by: 'worker', slots: round }
    const types = [{ type: 'mail', leaseMs: 60_000 }]
    await storage.claim({ worker: `worker ${++made}`, slots: round, types, outcomes, offer })
    const given = job()
    await storage.add([given])
    const [record] = await storage.get([given])
    assert.equal(record!.state, 'processing')
    outcomes = []
  }
  const { rows } = await pool.query<{ custom: number; generic: number }>(
    `SELECT custom_plans::integer AS custom, generic_plans::integer AS generic FROM pg_prepared_statements
     WHERE name LIKE '%fast\\_claim\\_0' OR name LIKE '%fast\\_claim\\_32' OR name LIKE '%handing\\_add'`,
  )
  assert.equal(rows.length, 3)
  for (const row of rows) assert.ok(row.custom <= 6 && row.generic >= 14, JSON.stringify(row))
  await storage.disconnect()
  await pool.end()
})

for (const few of [0, 1, 3]) {
  test(`[trap 39] nextDueAt, planned for a table with statistics of ${few} jobs, reads few pages once there are many`, async () => {
    const { server } = await postgresPlace()
    const schema = newSchema()
    // One connection, which keeps the plan.
    const pool = new Pool({ connectionString: server.url, max: 1 })
    pool.on('error', () => {}) // the server may stop first
    const storage = new PostgresStorage({ client: pool, schema, callTimeoutMs })
    await storage.connect()
    const types = [{ type: 'mail', leaseMs: 60_000 }]
    const add = (count: number) => storage.add(Array.from({ length: count }, () => job()))
    await add(Math.max(few, 1))
    if (few === 0) await storage.clear()
    await pool.query(`VACUUM ANALYZE "${schema}".jobs`)
    // The server keeps a plan from the sixth call on.
    for (let call = 0; call < 8; call++) await storage.nextDueAt(types)
    for (let batch = 0; batch < 20; batch++) await add(1_000)
    // As claims would leave them. Claims are not used: they would be part of what is measured.
    await pool.query(
      `UPDATE "${schema}".jobs SET state = 3, ready = NULL, lease_until = run_at + 60000 + ord
       WHERE ord > (SELECT avg(ord) FROM "${schema}".jobs)`,
    )
    const { rows } = await pool.query<{ name: string; plans: number }>(
      `SELECT name, generic_plans::integer AS plans FROM pg_prepared_statements WHERE name LIKE '%next\\_due\\_at'`,
    )
    assert.ok(rows[0]!.plans > 0, 'expected a plan that is kept')
    const explained = await pool.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE "${rows[0]!.name}" ('{1}', '{}', '{}', '{}', '{}', '{-Infinity}', '{10}')`,
    )
    const { Plan: plan } = explained.rows[0]!['QUERY PLAN'][0]
    const pages = plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
    assert.ok(pages < 50, `it read ${pages} pages`)
    await storage.disconnect()
    await pool.end()
  })
}
