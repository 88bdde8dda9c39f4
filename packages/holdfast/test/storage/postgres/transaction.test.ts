// Transactions of storage.transaction(): how many statements they take, and that no statement in them waits for a lock longer than a call
// may take.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type pg from 'pg'
import { Pool } from 'pg'
import { isHoldfastError } from '../../../src/errors.ts'
import { PostgresStorage } from '../../../src/storage/postgres/index.ts'
import type { ClaimedJob, NewJob, Outcome } from '../../../src/storage/storage.ts'
import { newSchema, postgresPlace, stopPostgres } from '../../postgres-subject.ts'

after(stopPostgres)

const kept = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
const ref = (id: string) => ({ type: 'mail', id })
const job = (id: string, fields: Partial<NewJob> = {}): NewJob => {
  return { ...ref(id), token: `token of ${id}`, retention: kept, maxAttempts: 3, ...fields }
}
const done = ({ type, id, worker, attempt }: ClaimedJob): Outcome => ({ type, id, worker, attempt, kind: 'completed' })

/** With the first words of all statements that its connections were sent. */
async function open(callTimeoutMs = 30_000) {
  const { server } = await postgresPlace()
  const pool = new Pool({ connectionString: server.url })
  pool.on('error', () => {}) // the server may stop first
  const sent: string[] = []
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    client.query = ((...args: unknown[]) => {
      const text = typeof args[0] === 'string' ? args[0] : (args[0] as { text: string }).text
      sent.push(...text.split(';').map((statement) => statement.trim().split(/\s+/, 2).join(' ')))
      return query(...args)
    }) as typeof client.query
  })
  const storage = new PostgresStorage({ client: pool, schema: newSchema(), callTimeoutMs })
  await storage.connect()
  const claim = async (): Promise<ClaimedJob> => {
    const request = { worker: 'worker 1', slots: 1, types: [{ type: 'mail', leaseMs: 60_000 }] }
    return (await storage.claim(request)).jobs[0]!
  }
  const close = async (): Promise<void> => {
    await storage.disconnect()
    await pool.end()
  }
  return { storage, sent, claim, pool, close }
}

test('a job that is locked and then settled is read once', async () => {
  const { storage, sent, claim, close } = await open()
  await storage.add([job('a')])
  const claimed = await claim()
  sent.length = 0
  await storage.transaction(async (tx) => {
    assert.equal((await storage.get([ref('a')], { lock: true, tx }))[0]!.state, 'processing')
    const [verdict] = await storage.settle([done(claimed)], tx)
    assert.equal(verdict!.verdict, 'settled')
  })
  assert.deepEqual(sent.map((statement) => statement.split(' ')[0]).toSorted(), ['BEGIN', 'COMMIT', 'WITH', 'WITH'])
  const [record] = await storage.get([ref('a')])
  assert.equal(record!.state, 'completed')
  assert.ok(record!.finishedAt! >= record!.startedAt!)
  await close()
})

test('locked rows are read again after another call in the transaction', async () => {
  const { storage, claim, close } = await open()
  await storage.add([job('a')])
  const claimed = await claim()
  await storage.transaction(async (tx) => {
    await storage.get([ref('a')], { lock: true, tx })
    assert.deepEqual(
      (await storage.settle([done(claimed)], tx)).map(({ verdict }) => verdict),
      ['settled'],
    )
    await storage.remove([ref('a')], { tx })
    assert.deepEqual(await storage.settle([{ ...done(claimed), attempt: 7 }], tx), [{ verdict: 'not_found' }])
  })
  await close()
})

for (const [what, fields] of [
  ['a key', { deduplication: { key: 'k', mode: 'simple' } }],
  ['a group', { group: { key: 'g', ordered: true } }],
] as const) {
  test(`a job with ${what}, locked and then settled, frees it`, async () => {
    const { storage, claim, close } = await open()
    await storage.add([job('a', fields)])
    const claimed = await claim()
    await storage.transaction(async (tx) => {
      await storage.get([ref('a')], { lock: true, tx })
      await storage.settle([done(claimed)], tx)
    })
    const [verdict] = await storage.add([job('b', fields)])
    assert.equal(verdict!.verdict, 'added')
    assert.equal((await claim()).id, 'b')
    await close()
  })
}

test('dependents of a job that is locked and then settled are unblocked', async () => {
  const { storage, claim, close } = await open()
  await storage.add([job('a')])
  const claimed = await claim()
  await storage.add([job('d', { blockers: [ref('a')] })])
  await storage.transaction(async (tx) => {
    await storage.get([ref('a')], { lock: true, tx })
    const [verdict] = await storage.settle([done(claimed)], tx)
    assert.deepEqual(verdict!.verdict === 'settled' && verdict!.unblocked, [ref('d')])
  })
  assert.equal((await claim()).id, 'd')
  await close()
})

const isLocked = (error: unknown): boolean =>
  isHoldfastError(error, 'STORAGE_ERROR') && /locked by another transaction/.test(error.message)

test('a call waits for a lock at most its timeout, and can be repeated', async () => {
  const { storage, claim, pool, close } = await open(1_000)
  await pool.query('CREATE TABLE IF NOT EXISTS held (n integer)')
  await pool.query('INSERT INTO held VALUES (1)')
  await storage.add([job('a')])
  const claimed = await claim()
  await storage.transaction(async (holder) => {
    await storage.get([ref('a')], { lock: true, tx: holder })
    await holder.query('UPDATE held SET n = 2')
    await assert.rejects(storage.cancel([ref('a')], { force: true }), isLocked)
    await assert.rejects(
      storage.transaction((tx) => storage.get([ref('a')], { lock: true, tx })),
      isLocked,
    )
    await assert.rejects(
      storage.transaction((tx) => tx.query('UPDATE held SET n = 3')),
      isLocked,
    )
    await assert.rejects(
      storage.transaction((tx) => (tx.client as pg.PoolClient).query('UPDATE held SET n = 3')),
      /lock timeout/,
    )
    await storage.settle([done(claimed)], holder)
  })
  assert.equal((await storage.get([ref('a')]))[0]!.state, 'completed')
  await close()
})

test('the lock timeout of a user’s transaction is left alone', async () => {
  const { storage, pool, close } = await open()
  const client = await pool.connect()
  await client.query("BEGIN; SET LOCAL lock_timeout = '77s'")
  await storage.add([job('a')], client)
  const { rows } = await client.query('SHOW lock_timeout')
  assert.deepEqual(rows, [{ lock_timeout: '77s' }])
  await client.query('COMMIT')
  client.release()
  await close()
})
