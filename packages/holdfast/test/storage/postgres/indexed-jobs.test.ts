// Jobs with rows in other tables: deadlines, search fields and reports. What plain jobs cost, what the fast paths do with the others,
// and that nothing is left behind.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { appendLines } from '../../../src/storage/rules/job/report.ts'
import { PostgresStorage } from '../../../src/storage/postgres/index.ts'
import type { ClaimedJob, NewJob, Outcome } from '../../../src/storage/storage.ts'
import { newSchema, postgresPlace, postgresWay, stopPostgres } from '../../postgres-subject.ts'

after(stopPostgres)

const hour = 3_600_000
const retention = { completedMs: hour, failedMs: hour, cancelledMs: hour }
const bytes = (text: string): Uint8Array => Buffer.from(text)
let made = 0
const job = (fields: Partial<NewJob> = {}): NewJob => {
  const id = `job ${++made}`
  return { type: 'mail', id, token: id, retention, ...fields }
}

interface Bench {
  readonly storage: PostgresStorage
  /** Rows of the first column, as numbers. */
  numbers(text: string): Promise<number[]>
  /** Number of rows of a table. */
  rows(table: string): Promise<number>
  claim(slots?: number): Promise<readonly ClaimedJob[]>
}

async function bench(run: (bench: Bench) => Promise<void>): Promise<void> {
  const { pool } = await postgresPlace()
  const schema = newSchema()
  const storage = new PostgresStorage({ ...(await postgresWay()), schema })
  schemas.set(storage, schema)
  await storage.connect()
  const numbers = async (text: string): Promise<number[]> => {
    const { rows } = await pool.query<{ n: string }>(text.replaceAll('$.', `"${schema}".`))
    return rows.map(({ n }) => Number(n))
  }
  await run({
    storage,
    numbers,
    rows: async (table) => (await numbers(`SELECT count(*) AS n FROM $.${table}`))[0]!,
    claim: async (slots = 100) => {
      const types = [{ type: 'mail', leaseMs: hour }]
      return (await storage.claim({ worker: `worker ${++made}`, slots, types })).jobs
    },
  })
  await storage.disconnect()
}

const fenceOf = ({ type, id, worker, attempt }: ClaimedJob) => ({ type, id, worker, attempt })
const completed = (lease: ClaimedJob, keepMs = hour): Outcome => ({ ...fenceOf(lease), kind: 'completed', keepMs })

test('[F5] [F27] [F30] plain jobs write nothing to the tables of deadlines, reports and search, nor to their index', () =>
  bench(async ({ storage, numbers, rows, claim }) => {
    await storage.add(Array.from({ length: 500 }, () => job({ timeoutMs: 1_000 })))
    const leases = await claim(500)
    await storage.extend(leases.map((lease) => ({ ...fenceOf(lease), leaseMs: hour })))
    await storage.settle(leases.map((lease) => completed(lease)))
    for (const table of ['deadlines', 'reports', 'log', 'search']) assert.equal(await rows(table), 0, table)
    assert.deepEqual(await numbers("SELECT pg_relation_size('$.jobs_seldom') / 8192 AS n"), [1], 'its metapage alone')
    assert.deepEqual(await numbers('SELECT DISTINCT kind AS n FROM $.jobs'), [0])
  }))

test('[F5] [F30] jobs with a deadline or search fields are claimed and settled by the fast paths', () =>
  bench(async ({ storage, numbers, claim }) => {
    await storage.add([job({ expiresInMs: hour }), job({ search: { customer: 'x' } }), job({ expiresInMs: Infinity })])
    const before = await numbers('SELECT (SELECT last_value FROM $.numbers) + 0 * count(*) AS n FROM $.jobs')
    const leases = await claim()
    assert.equal(leases.length, 3)
    await storage.settle(leases.map((lease) => completed(lease)))
    assert.deepEqual(await numbers('SELECT DISTINCT kind AS n FROM $.jobs WHERE state = 5'), [3], 'as they were added')
    assert.deepEqual(await numbers('SELECT last_value AS n FROM $.numbers'), before)
    for (const record of await storage.get(leases)) assert.equal(record!.deadlineAt, undefined)
  }))

test('[F5] a deadline of Infinity is none', () =>
  bench(async ({ storage, claim }) => {
    const endless = job({ expiresInMs: Infinity })
    await storage.add([endless])
    assert.deepEqual((await storage.sweep({ limit: 10 })).ended, [])
    assert.equal((await storage.get([endless]))[0]!.deadlineAt, Infinity)
    assert.equal((await claim()).length, 1)
  }))

for (const [way, keepMs] of [
  ['with its end', 0],
  ['by a sweep', 1],
] as const) {
  test(`[F27] [F30] rows in other tables are deleted with the record: ${way}`, () =>
    bench(async ({ storage, rows, claim, numbers }) => {
      const fields = { expiresInMs: hour, search: { a: 1, b: 'x' } }
      await storage.add([job(fields), job(fields), job()])
      const leases = await claim()
      const log = [{ at: 1, line: bytes('line') }]
      await storage.extend(leases.map((lease) => ({ ...fenceOf(lease), leaseMs: hour, progress: bytes('1'), log })))
      for (const [table, count] of Object.entries({ deadlines: 2, reports: 3, log: 3, search: 4 })) {
        assert.equal(await rows(table), count, table)
      }
      await storage.settle(leases.map((lease) => completed(lease, keepMs)))
      if (keepMs > 0) await numbers('UPDATE $.jobs SET expires_at = 1, sweep_at = 1')
      await storage.sweep({ limit: 100 })
      for (const table of ['jobs', 'deadlines', 'reports', 'log', 'search']) assert.equal(await rows(table), 0, table)
    }))
}

test('[F5] a sweep deletes the deadlines of jobs that have started, and says that there may be more', () =>
  bench(async ({ storage, rows, claim, numbers }) => {
    await storage.add(Array.from({ length: 25 }, () => job({ expiresInMs: hour })))
    await claim()
    await numbers('UPDATE $.deadlines SET at = 1')
    const first = await storage.sweep({ limit: 10 })
    assert.deepEqual([first.ended.length, first.more], [0, true])
    while ((await storage.sweep({ limit: 10 })).more);
    assert.equal(await rows('deadlines'), 0)
  }))

test('[F5] a late job that another transaction has locked is left, and a sweep does not promise more', () =>
  bench(async ({ storage, numbers }) => {
    const late = job({ expiresInMs: 1 })
    await storage.add([late])
    await numbers('UPDATE $.deadlines SET at = 1')
    await storage.transaction(async (tx) => {
      await storage.get([late], { lock: true, tx })
      const { ended, more } = await storage.sweep({ limit: 10 })
      assert.deepEqual([ended, more], [[], false])
    })
    await numbers('UPDATE $.jobs SET more = regexp_replace(more, \'"deadlineAt":[0-9]+\', \'"deadlineAt":1\')')
    assert.equal((await storage.sweep({ limit: 10 })).ended.length, 1)
  }))

test('[F27] the log keeps the bounds in the table too, and reads as the rules say, whatever the sizes of reports', () =>
  bench(async ({ storage, claim, numbers }) => {
    await storage.add([job()])
    const [lease] = await claim()
    let expected = appendLines(undefined, [])
    for (let round = 0; round < 120; round++) {
      const sizes = Array.from(
        { length: (round * 7) % 40 },
        (_, index) => ((round * 31 + index * 17) % 97) * (round % 9 === 0 ? 40 : 1),
      )
      const log = sizes.map((size, index) => ({ at: round, line: Buffer.alloc(size, index) }))
      await storage.extend([{ ...fenceOf(lease!), leaseMs: hour, log }])
      expected = appendLines(
        expected,
        log.map((line) => ({ attempt: 1, ...line })),
      )
      if (round % 10 !== 9) continue
      const [record] = await storage.get([lease!], { parts: ['log'] })
      assert.equal(record!.log!.dropped, expected.dropped)
      assert.deepEqual(record!.log, expected)
    }
    assert.ok(expected.dropped > 0)
    const [lines] = await numbers('SELECT count(*) AS n FROM $.log')
    const [size] = await numbers('SELECT sum(octet_length(line)) AS n FROM $.log')
    assert.ok(lines! < 1_100, `${lines} lines`)
    assert.ok(size! < 200_000, `${size} bytes`)
  }))

test('[F27] one report from two connections at once is stored once, also where a statement waited for the other', (t) =>
  bench(async ({ storage, claim }) => {
    await storage.add([job()])
    const [lease] = await claim()
    const other = await bothOn(storage)
    let both = 0
    for (let round = 0; round < 80; round++) {
      const log = [{ at: round, line: bytes(`${round}`) }]
      const verdicts = await Promise.all(
        [storage, other].map((handle) => handle.extend([{ ...fenceOf(lease!), leaseMs: hour, log }])),
      )
      // A report on a row that the other call has locked, or has just changed, is `busy`, and nothing of it is stored.
      const told = verdicts.map(([verdict]) => verdict!.verdict)
      assert.ok(told.includes('extended') && told.every((verdict) => verdict === 'extended' || verdict === 'busy'))
      if (told.every((verdict) => verdict === 'extended')) both++
    }
    const [record] = await storage.get([lease!], { parts: ['log'] })
    assert.deepEqual(
      record!.log!.lines.map(({ at }) => at),
      Array.from({ length: 80 }, (_, round) => round),
    )
    assert.equal(record!.log!.dropped, 0)
    t.diagnostic(`${both} of 80 were stored by the one, and known to the other`)
    await other.disconnect()
  }))

test('[F27] an extend with a report waits for no lock, and stores nothing while the job is locked', () =>
  bench(async ({ storage, claim, rows }) => {
    await storage.add([job()])
    const [lease] = await claim()
    await storage.transaction(async (tx) => {
      await storage.get([lease!], { lock: true, tx })
      const [verdict] = await storage.extend([{ ...fenceOf(lease!), leaseMs: hour, progress: bytes('1') }])
      assert.deepEqual(verdict, { verdict: 'busy' })
      assert.equal(await rows('reports'), 0)
    })
  }))

test('[F4] two calls that replace one waiting job at once: one job is left, and both were added or replaced', () =>
  bench(async ({ storage, claim }) => {
    const other = await bothOn(storage)
    for (let round = 0; round < 20; round++) {
      const { id } = job()
      await storage.add([job({ id })])
      const verdicts = await Promise.all(
        [storage, other].map((handle, index) =>
          handle.add([job({ id, token: `${round}/${index}`, onDuplicate: 'replace', search: { round } })]),
        ),
      )
      assert.deepEqual(
        verdicts.map(([verdict]) => verdict!.verdict),
        ['replaced', 'replaced'],
      )
      const { items } = await storage.list({ of: 'jobs', where: { round }, limit: 10 })
      assert.deepEqual(
        items.map((item) => item.id),
        [id],
      )
    }
    assert.equal((await claim(100)).length, 20)
    await other.disconnect()
  }))

const schemas = new WeakMap<PostgresStorage, string>()
async function bothOn(storage: PostgresStorage): Promise<PostgresStorage> {
  const other = new PostgresStorage({ ...(await postgresWay()), schema: schemas.get(storage)! })
  await other.connect()
  return other
}
