// Jobs that are handed over: what the hint of another process carries, and that no call waits for the row of an offer.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { PostgresStorage } from '../../../src/storage/postgres/index.ts'
import type { ClaimedJob, NewJob } from '../../../src/storage/storage.ts'
import { until } from './fixtures.ts'
import { newSchema, postgresPlace, postgresWay, stopPostgres } from '../../postgres-subject.ts'

after(stopPostgres)

const hour = 3_600_000
const retention = { completedMs: hour, failedMs: hour, cancelledMs: hour }
let made = 0
const job = (fields: Partial<NewJob> = {}): NewJob => {
  const id = `job ${++made}`
  return { type: 'mail', id, token: id, retention, ...fields }
}

interface Bench {
  readonly schema: string
  readonly worker: PostgresStorage
  readonly producer: PostgresStorage
  /** What was handed over, by the hints that the worker's and the producer's process received. */
  readonly handed: { readonly worker: ClaimedJob[]; readonly producer: ClaimedJob[] }
  offer(slots?: number): Promise<void>
  stateOf(job: NewJob): Promise<string>
}

async function bench(run: (bench: Bench) => Promise<void>): Promise<void> {
  const schema = newSchema()
  const way = await postgresWay()
  const [worker, producer] = [new PostgresStorage({ ...way, schema }), new PostgresStorage({ ...way, schema })]
  const handed: Bench['handed'] = { worker: [], producer: [] }
  for (const [storage, list] of [[worker, handed.worker] as const, [producer, handed.producer] as const]) {
    await storage.connect()
    await storage.listen([{ kind: 'wake', type: 'mail' }], (signal) => signal.handed && list.push(signal.handed))
  }
  let hasSeen = false
  await run({
    schema,
    worker,
    producer,
    handed,
    // With a job by which the producer sees the offer.
    async offer(slots = 5) {
      const first = job()
      const types = [{ type: 'mail', leaseMs: hour }]
      const label = 'label "1"'
      const claim = { worker: `worker ${++made}`, label, slots: 0, types, offer: { by: 'it', slots } }
      await worker.claim(claim)
      if (hasSeen) return
      hasSeen = true
      await producer.add([first])
      await producer.cancel([first])
    },
    stateOf: async (given) => (await producer.get([given]))[0]!.state,
  })
  await worker.disconnect()
  await producer.disconnect()
}

test('[P6] the hint of another process carries all of the job, as a claim would', () =>
  bench(async ({ worker, producer, offer, handed }) => {
    const given: Partial<NewJob>[] = [
      {},
      { payload: new Uint8Array([0, 1, 255]), maxAttempts: 3, timeoutMs: 500, trace: 'a "trace"' },
      { retention: { completedMs: 5, failedMs: 6, cancelledMs: 7 }, id: 'a \0 and %', token: '\u0001 "' },
      { retention: { completedMs: Infinity, failedMs: Infinity, cancelledMs: Infinity }, maxAttempts: Infinity },
    ]
    for (const fields of given) {
      await offer()
      await producer.add([job(fields)])
      await until(() => handed.worker.length === handed.producer.length)
    }
    assert.equal(handed.worker.length, given.length)
    assert.deepEqual(handed.worker, handed.producer)
    for (const lease of handed.worker) {
      const { type, id, worker: name, attempt } = lease
      await worker.settle([{ type, id, worker: name, attempt, kind: 'released' }])
      const types = [{ type: 'mail', leaseMs: 1_000 }]
      const { jobs } = await worker.claim({ worker: name, label: 'label "1"', slots: 1, types })
      const { startedAt, leaseUntil, attempt: second, ...claimed } = jobs[0]!
      const { startedAt: _, leaseUntil: __, attempt: first, ...rest } = lease
      assert.deepEqual([first, second], [1, 2])
      assert.deepEqual({ error: undefined, ...rest }, claimed)
      assert.equal(leaseUntil - startedAt, lease.leaseUntil - lease.startedAt)
    }
  }))

test('[P6] a large payload is not handed over: every process that listens would receive it', () =>
  bench(async ({ producer, offer, stateOf }) => {
    await offer()
    const [small, large] = [job({ payload: new Uint8Array(1_024) }), job({ payload: new Uint8Array(1_025) })]
    await producer.add([large])
    assert.equal(await stateOf(large), 'queued')
    await producer.remove([large])
    await producer.cancel([large])
    await offer()
    await producer.add([small])
    assert.equal(await stateOf(small), 'processing')
  }))

test('[P6] an offer that another transaction has locked is waited for by no add and no claim', () =>
  bench(async ({ schema, worker, producer, offer, stateOf }) => {
    await offer()
    const { pool } = await postgresPlace()
    const client = await pool.connect()
    await client.query(`BEGIN; SELECT 1 FROM "${schema}".offers FOR UPDATE`)
    const given = job()
    await producer.add([given])
    assert.equal(await stateOf(given), 'queued')
    const types = [{ type: 'mail', leaseMs: hour }]
    const { jobs } = await worker.claim({ worker: 'another', slots: 5, types, offer: { by: 'it', slots: 5 } })
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [given.id],
    )
    await client.query('ROLLBACK')
    client.release()
  }))

test('[P6] the offers of workers that are gone are swept', () =>
  bench(async ({ schema, producer, offer }) => {
    await offer()
    const { pool } = await postgresPlace()
    const rows = async (): Promise<number> => (await pool.query(`SELECT 1 FROM "${schema}".offers`)).rows.length
    await producer.sweep({ limit: 10 })
    assert.equal(await rows(), 1)
    await pool.query(`UPDATE "${schema}".offers SET until = until - 1000`)
    await producer.sweep({ limit: 10 })
    assert.equal(await rows(), 0)
  }))
