// Transactions of storage.transaction(): how many statements they take, and that no statement in them waits for a lock longer than a call
// may take.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type pg from 'pg'
import { isHoldfastError } from '../../../src/errors.ts'
import type { ClaimedJob, NewJob, Outcome } from '../../../src/storage/storage.ts'
import { stopPostgres } from '../../postgres-subject.ts'
import { countedStorage } from './counted-storage.ts'
import { until } from './fixtures.ts'

after(stopPostgres)

const kept = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }
const ref = (id: string) => ({ type: 'mail', id })
const job = (id: string, fields: Partial<NewJob> = {}): NewJob => {
  return { ...ref(id), token: `token of ${id}`, retention: kept, maxAttempts: 3, ...fields }
}
const done = ({ type, id, worker, attempt }: ClaimedJob): Outcome => ({ type, id, worker, attempt, kind: 'completed' })

async function open(callTimeoutMs = 30_000) {
  const counted = await countedStorage({ callTimeoutMs })
  const claim = async (): Promise<ClaimedJob> => {
    const request = { worker: 'worker 1', slots: 1, types: [{ type: 'mail', leaseMs: 60_000 }] }
    return (await counted.storage.claim(request)).jobs[0]!
  }
  return { ...counted, claim }
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

test('an add that meets the ids of an open transaction waits for it, and its own transaction goes on', async () => {
  const { storage, pool, close } = await open()
  await storage.add([job('first')])
  const [own, other] = [await pool.connect(), await pool.connect()]
  for (const client of [own, other]) await client.query('BEGIN')
  await storage.add([job('b', { token: 'other' })], other)
  const adding = storage.add([job('a'), job('b'), job('c')], own)
  const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
  await until(async () => (await pool.query(waiting)).rows.length > 0)
  await other.query('COMMIT')
  const verdicts = await adding
  assert.deepEqual(
    verdicts.map((verdict) => [verdict.verdict, 'job' in verdict && verdict.job.token]),
    [
      ['added', 'token of a'],
      ['duplicate', 'other'],
      ['added', 'token of c'],
    ],
  )
  await own.query('COMMIT')
  for (const client of [own, other]) client.release()
  const stored = await storage.get(['a', 'b', 'c'].map(ref))
  assert.deepEqual(
    stored.map((record) => record!.token),
    ['token of a', 'other', 'token of c'],
  )
  await close()
})

test('an add in a transaction wakes listeners after its commit, and none after a rollback', async () => {
  const { storage, close } = await open()
  await storage.add([job('first')])
  let wakes = 0
  const stop = await storage.listen([{ kind: 'wake', type: 'mail' }], () => wakes++)
  await storage.transaction(async (tx) => {
    await storage.add([job('a')], tx)
    assert.equal(wakes, 0)
  })
  assert.equal(wakes, 1)
  const boom = new Error('boom')
  const rolledBack = storage.transaction(async (tx) => {
    await storage.add([job('b')], tx)
    throw boom
  })
  await assert.rejects(rolledBack, boom)
  assert.equal(wakes, 1)
  assert.deepEqual(await storage.get([ref('b')]), [undefined])
  await stop()
  await close()
})

test('a continuation whose id another job has is a conflict, and the transaction goes on', async () => {
  const { storage, claim, close } = await open()
  await storage.add([job('a')])
  const { type, id, worker, attempt } = await claim()
  const next = (name: string): Outcome => {
    return { type, id, worker, attempt, kind: 'continued', next: job(name, { token: 'next' }), add: [] }
  }
  await storage.add([job('taken')])
  await storage.transaction(async (tx) => {
    await storage.get([ref('a')], { lock: true, tx })
    assert.equal((await storage.settle([next('taken')], tx))[0]!.verdict, 'conflict')
    assert.equal((await storage.settle([next('b')], tx))[0]!.verdict, 'settled')
  })
  assert.deepEqual(
    (await storage.get(['a', 'taken', 'b'].map(ref))).map((record) => [record!.state, record!.token]),
    [
      ['completed', 'token of a'],
      ['queued', 'token of taken'],
      ['queued', 'next'],
    ],
  )
  await close()
})

test('a statement by itself is sent alone, and its error is one of the storage', async () => {
  const { storage, sent, close } = await open()
  sent.length = 0
  assert.deepEqual(await storage.query('SELECT ($1::text)::text AS c0, NULL AS c1', ['a']), [['a', null]])
  assert.deepEqual(sent, ['SELECT ($1::text)::text'])
  await assert.rejects(storage.query('SELECT no_such_column'), (error) => isHoldfastError(error, 'STORAGE_ERROR'))
  await close()
})
