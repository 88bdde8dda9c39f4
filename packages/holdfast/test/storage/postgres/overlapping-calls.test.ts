// Calls that overlap with an open transaction: which one wins, what is skipped, when hints arrive, and what is left of the transaction.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Outcome, Signal } from '../../../src/storage/storage.ts'
import { sized } from '../../full-size.ts'
import { newSchema, postgresPlace, stopPostgres } from '../../postgres-subject.ts'
import { begin, claim, done, end, job, lockWait, open, ref, stateOf } from './overlap-fixtures.ts'

after(stopPostgres)

const rounds = sized(100, 30)

test(`[chains trap 13] an end without a worker and a continuation, concurrently, ${rounds} rounds: one of them wins`, async () => {
  const storage = await open()
  for (let round = 0; round < rounds; round++) {
    const first = job(`a${round}`)
    await storage.add([first])
    const [held] = await claim(storage, 1)
    const { type, id, worker, attempt } = held!
    const [[byWorker], [byHand]] = await Promise.all([
      storage.settle([{ type, id, worker, attempt, kind: 'continued', next: job(`next${round}`) }]),
      storage.settle([{ ...ref(first.id), chain: ref(first.id), token: 'by hand', kind: 'completed' }]),
    ])
    const settled = [byWorker, byHand].filter((verdict) => verdict!.verdict === 'settled')
    assert.equal(settled.length, 1)
    const [tail] = await storage.get([ref(first.id)], { parts: ['tail'] })
    assert.equal(tail!.tail!.id, byWorker!.verdict === 'settled' ? `next${round}` : first.id)
    await storage.remove([ref(first.id)], { trees: true })
  }
  await storage.disconnect()
})

test('[chains trap 18] a hint arrives with the commit, in this process and in others; a rollback sends none', async () => {
  const schema = newSchema()
  const [storage, other] = [await open(schema), await open(schema)]
  const received: Signal[] = []
  const unlisten = [
    await storage.listen([{ kind: 'wake', type: 'mail' }], (signal) => received.push(signal)),
    await other.listen([{ kind: 'wake', type: 'mail' }], (signal) => received.push(signal)),
  ]
  const one = await begin()
  await storage.add([job('a')], one)
  await end(one, 'ROLLBACK')
  const two = await begin()
  await storage.add([job('b')], two)
  await sleep(50)
  assert.equal(received.length, 0)
  await end(two, 'COMMIT')
  while (received.length < 2) await sleep(5)
  for (const stop of unlisten) await stop()
  await other.disconnect()
  await storage.disconnect()
})

test('[chains trap 19] a locked row: extend answers busy, claim and recover skip it, none of them waits', async () => {
  const storage = await open()
  await storage.add([job('a'), job('b')])
  const [a] = await claim(storage, 1)
  const one = await begin()
  await storage.get([ref('a'), ref('b')], { lock: true, tx: one })
  const { type, id, worker, attempt } = a!
  assert.deepEqual(await storage.extend([{ type, id, worker, attempt, leaseMs: 1 }]), [{ verdict: 'busy' }])
  assert.deepEqual(await claim(storage), [])
  assert.deepEqual(await storage.recover({ types: ['mail'], limit: 10, olderThanMs: -1 }), [])
  await end(one, 'COMMIT')
  assert.equal((await storage.extend([{ type, id, worker, attempt, leaseMs: 60_000 }]))[0]!.verdict, 'extended')
  assert.deepEqual(
    (await claim(storage)).map((claimed) => claimed.id),
    ['b'],
  )
  await storage.disconnect()
})

test('[chains trap 20] no refusal aborts the transaction: what the app writes after it is committed', async () => {
  const { pool } = await postgresPlace()
  await pool.query('CREATE TABLE orders (id text PRIMARY KEY)')
  const storage = await open()
  const deduplication = { key: 'k', mode: 'simple' } as const
  await storage.add([job('taken'), job('key', { deduplication })])
  const held = (await claim(storage)).find(({ id }) => id === 'taken')!
  await storage.settle([done(held)])
  const stale: Outcome = { ...ref('key'), worker: 'unknown', attempt: 7, kind: 'completed' }
  const refusals: readonly [name: string, run: (tx: pg.PoolClient) => Promise<unknown>, verdict?: string][] = [
    ['duplicate id', (tx) => storage.add([job('taken', { token: 'other' })], tx), 'duplicate'],
    ['duplicate key', (tx) => storage.add([job('new', { deduplication })], tx), 'duplicate'],
    ['no such blocker', (tx) => storage.add([job('d', { blockers: [ref('none')] })], tx), 'blocker_not_found'],
    ['stale fence', (tx) => storage.settle([stale], tx), 'taken_by_another_worker'],
    ['not found', (tx) => storage.settle([{ ...stale, id: 'none' }], tx), 'not_found'],
    ['completed', (tx) => storage.settle([{ ...stale, id: 'taken' }], tx), 'already_completed'],
    ['not revivable', (tx) => storage.revive([ref('taken')], { tx }), 'not_revivable'],
    ['not terminal', (tx) => storage.remove([ref('key')], { tx }), 'not_terminal'],
    ['invalid', (tx) => storage.add([job('bad', { priority: 1_000 })], tx)],
  ]
  for (const [name, run, verdict] of refusals) {
    const tx = await begin()
    if (verdict === undefined) {
      await assert.rejects(run(tx), { code: 'INVALID_ARGUMENT' })
    } else {
      const [answer] = (await run(tx)) as { verdict: string }[]
      assert.equal(answer!.verdict, verdict, name)
    }
    await tx.query('INSERT INTO orders VALUES ($1)', [name])
    await end(tx, 'COMMIT')
  }
  const { rows } = await pool.query('SELECT count(*)::integer AS count FROM orders')
  assert.equal(rows[0].count, refusals.length)
  await storage.disconnect()
})

test('transaction(): jobs and rows together or not at all, and signals after the commit', async () => {
  const storage = await open()
  const { pool } = await postgresPlace()
  await pool.query('CREATE TABLE notes (id text PRIMARY KEY)')
  const signals: Signal[] = []
  const unlisten = await storage.listen([{ kind: 'events', type: 'mail' }], (signal) => signals.push(signal))
  await assert.rejects(
    storage.transaction(async (tx) => {
      await storage.add([job('a')], tx)
      await tx.query('INSERT INTO notes VALUES ($1)', ['a'])
      throw new Error('no')
    }),
    /no/,
  )
  await storage.transaction(async (tx) => {
    await storage.add([job('b')], tx)
    await tx.query('INSERT INTO notes VALUES ($1)', ['b'])
    assert.equal((await storage.get([ref('b')], { tx }))[0]!.state, 'queued')
    assert.equal(await stateOf(storage, 'b'), undefined)
    assert.equal(signals.length, 0)
  })
  assert.equal(await stateOf(storage, 'a'), undefined)
  assert.equal(await stateOf(storage, 'b'), 'queued')
  const { rows } = await pool.query('SELECT id FROM notes')
  assert.deepEqual(rows, [{ id: 'b' }])
  while (signals.length === 0) await sleep(1)
  assert.deepEqual(
    signals[0]!.events?.map(({ id, event }) => [id, event]),
    [['b', 'queued']],
  )
  await unlisten()
  await storage.disconnect()
})

test('a claim with an outcome that the server aborts to break a deadlock is repeated, and no error is seen', async () => {
  const schema = newSchema()
  const storage = await open(schema)
  await storage.add([job('a')])
  const [held] = await claim(storage, 1)
  await storage.add([job('b')])
  const lock = (id: string): string => `SELECT 1 FROM "${schema}".jobs WHERE id = '${id}' FOR UPDATE`

  const app = await begin()
  // The claim is the first to wait, so it is the one that the server aborts.
  await app.query("SET LOCAL deadlock_timeout = '20s'")
  await app.query(lock('a'))
  const request = { worker: 'other', slots: 1, types: [{ type: 'mail', leaseMs: 60_000 }] }
  const claiming = storage.claim({ ...request, outcomes: [{ ...done(held!), keepMs: 60_000 } as Outcome] })
  await lockWait()
  // The claim has locked b and waits for a.
  await app.query(lock('b'))
  await end(app, 'COMMIT')

  const { jobs, settled } = await claiming
  assert.deepEqual(
    jobs.map(({ id }) => id),
    ['b'],
  )
  assert.equal(settled[0]!.verdict, 'settled')
  assert.equal(await stateOf(storage, 'a'), 'completed')
  await storage.disconnect()
})
