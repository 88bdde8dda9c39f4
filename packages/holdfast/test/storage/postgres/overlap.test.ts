// Transactions that overlap: whoever comes second waits for the first, and then sees what it did. Each case is driven by a
// transaction that is held open until the other call is seen to wait for its locks.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { ClaimedJob, NewJob, Outcome, Signal } from '../../../src/storage/storage.ts'
import { PostgresStorage } from '../../../src/storage/postgres/index.ts'
import { newSchema, postgresPlace, postgresWay, stopPostgres } from '../../postgres-subject.ts'

after(stopPostgres)

const kept = { completedMs: 60_000, failedMs: 60_000, cancelledMs: 60_000 }

const job = (id: string, fields: Partial<NewJob> = {}): NewJob => ({
  type: 'mail',
  id,
  token: `token of ${id}`,
  retention: kept,
  maxAttempts: 3,
  ...fields,
})

const ref = (id: string): { type: string; id: string } => ({ type: 'mail', id })

async function open(schema = newSchema()): Promise<PostgresStorage> {
  // What is tested here is who waits for whom, not for how long.
  const storage = new PostgresStorage({ ...(await postgresWay()), schema, callTimeoutMs: 30_000 })
  await storage.connect()
  return storage
}

const claim = async (storage: PostgresStorage, slots = 100): Promise<readonly ClaimedJob[]> => {
  const request = { worker: `worker ${++workers}`, slots, types: [{ type: 'mail', leaseMs: 60_000 }] }
  return (await storage.claim(request)).jobs
}
let workers = 0

const done = ({ type, id, worker, attempt }: ClaimedJob): Outcome => ({ type, id, worker, attempt, kind: 'completed' })

/** A transaction of the app's. */
async function begin(): Promise<pg.PoolClient> {
  const client = await (await postgresPlace()).pool.connect()
  await client.query('BEGIN')
  return client
}

async function end(client: pg.PoolClient, how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
  await client.query(how)
  client.release()
}

/** Until somebody waits for a lock that somebody else has. */
async function someoneWaits(): Promise<void> {
  const { pool } = await postgresPlace()
  for (;;) {
    const { rows } = await pool.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    if (rows.length > 0) return
    await sleep(5)
  }
}

const stateOf = async (storage: PostgresStorage, id: string): Promise<string | undefined> =>
  (await storage.get([ref(id)]))[0]?.state

test('[chains trap 1] two blockers that end in overlapping transactions both count', async () => {
  const storage = await open()
  await storage.add([job('a'), job('b')])
  await storage.add([job('last', { blockers: [ref('a'), ref('b')] })])
  const [a, b] = await claim(storage)
  const [one, other] = [await begin(), await begin()]
  await storage.settle([done(a!)], one)
  const settling = storage.settle([done(b!)], other)
  await someoneWaits()
  await end(one, 'COMMIT')
  const [verdict] = await settling
  assert.ok(verdict?.verdict === 'settled')
  assert.deepEqual(verdict.unblocked, [ref('last')])
  await end(other, 'COMMIT')
  assert.deepEqual(
    (await claim(storage)).map(({ id }) => id),
    ['last'],
  )
  await storage.disconnect()
})

test('[chains trap 1] a blocker whose end is rolled back does not count', async () => {
  const storage = await open()
  await storage.add([job('a'), job('b')])
  await storage.add([job('last', { blockers: [ref('a'), ref('b')] })])
  const [a, b] = await claim(storage)
  const one = await begin()
  await storage.settle([done(a!)], one)
  const settling = storage.settle([done(b!)])
  await someoneWaits()
  await end(one, 'ROLLBACK')
  await settling
  assert.equal(await stateOf(storage, 'last'), 'blocked')
  await storage.settle([done(a!)])
  assert.equal(await stateOf(storage, 'last'), 'queued')
  await storage.disconnect()
})

test('[chains trap 1] 200 dependents of two blockers each, settled side by side: none is left blocked', async () => {
  const storage = await open()
  const count = 200
  const blockers = Array.from({ length: count }, (_, index) => [job(`a${index}`), job(`b${index}`)]).flat()
  await storage.add(blockers)
  await storage.add(
    Array.from({ length: count }, (_, index) =>
      job(`d${index}`, { blockers: [ref(`a${index}`), ref(`b${(7 * index) % count}`)] }),
    ),
  )
  const claimed = await claim(storage, 1_000)
  const parts = Array.from({ length: 8 }, (_, part) => claimed.filter((_job, index) => index % 8 === part))
  await Promise.all(parts.map((part) => storage.settle(part.map(done))))
  const { types } = await storage.count({ types: ['mail'] })
  assert.equal(types[0]!.states.blocked, 0)
  assert.equal(types[0]!.states.queued, count)
  await storage.disconnect()
})

for (const [how, state] of [
  ['COMMIT', 'queued'],
  ['ROLLBACK', 'blocked'],
] as const) {
  test(`[chains trap 2] a dependent added while its blocker ends (${how}) is ${state}`, async () => {
    const storage = await open()
    await storage.add([job('a')])
    const [a] = await claim(storage)
    const one = await begin()
    await storage.settle([done(a!)], one)
    const adding = storage.add([job('d', { blockers: [ref('a')] })])
    await someoneWaits()
    await end(one, how)
    assert.equal((await adding)[0]!.verdict, 'added')
    assert.equal(await stateOf(storage, 'd'), state)
    await storage.disconnect()
  })
}

test('[chains trap 2] a blocker that ends while its dependent is being added unblocks it', async () => {
  const storage = await open()
  await storage.add([job('a')])
  const [a] = await claim(storage)
  const one = await begin()
  await storage.add([job('d', { blockers: [ref('a')] })], one)
  const settling = storage.settle([done(a!)])
  await someoneWaits()
  await end(one, 'COMMIT')
  const [verdict] = await settling
  assert.ok(verdict?.verdict === 'settled')
  assert.deepEqual(verdict.unblocked, [ref('d')])
  assert.equal(await stateOf(storage, 'd'), 'queued')
  await storage.disconnect()
})

test('[chains trap 2] 200 rounds of both at once: the dependent is queued in the end', async () => {
  const storage = await open()
  for (let round = 0; round < 200; round++) {
    await storage.add([job(`a${round}`)])
    const [a] = await claim(storage, 1)
    await Promise.all([storage.settle([done(a!)]), storage.add([job(`d${round}`, { blockers: [ref(`a${round}`)] })])])
    const [d] = await claim(storage)
    assert.equal(d?.id, `d${round}`)
    await storage.settle([done(d)])
  }
  await storage.disconnect()
})

test('[chains trap 3] 30 who add with one key at once: one is added, and the others are told of it', async () => {
  const storage = await open()
  for (const deduplication of [
    { key: 'simple', mode: 'simple' },
    { key: 'window', mode: 'simple', windowMs: 60_000 },
    { key: 'all', mode: 'throttle', windowMs: 60_000 },
  ] as const) {
    const jobs = Array.from({ length: 30 }, (_, index) => job(`${deduplication.key} ${index}`, { deduplication }))
    const verdicts = (await Promise.all(jobs.map((one) => storage.add([one])))).flat()
    const added = verdicts.filter(({ verdict }) => verdict === 'added')
    assert.equal(added.length, 1)
    const ids = new Set(verdicts.map((verdict) => ('job' in verdict ? verdict.job.id : undefined)))
    assert.equal(ids.size, 1)
  }
  await storage.disconnect()
})

test('[Q4.06] [chains trap 3] 30 who add one id at once: one is added', async () => {
  const storage = await open()
  const verdicts = await Promise.all(
    Array.from({ length: 30 }, (_, index) => storage.add([job('same', { token: `token ${index}` })])),
  )
  assert.equal(verdicts.flat().filter(({ verdict }) => verdict === 'added').length, 1)
  await storage.disconnect()
})

for (const [how, verdict] of [
  ['COMMIT', 'duplicate'],
  ['ROLLBACK', 'added'],
] as const) {
  test(`[chains trap 3] a key that an open transaction takes is waited for (${how}): ${verdict}`, async () => {
    const storage = await open()
    const deduplication = { key: 'k', mode: 'simple' } as const
    const [one, other] = [await begin(), await begin()]
    await storage.add([job('a', { deduplication })], one)
    const adding = storage.add([job('b', { deduplication })], other)
    await someoneWaits()
    await end(one, how)
    assert.equal((await adding)[0]!.verdict, verdict)
    await end(other, 'COMMIT')
    await storage.disconnect()
  })

  test(`[chains trap 3] an id that an open transaction takes is waited for (${how}): ${verdict}`, async () => {
    const storage = await open()
    const one = await begin()
    await storage.add([job('a')], one)
    const adding = storage.add([job('a', { token: 'another' })])
    await someoneWaits()
    await end(one, how)
    assert.equal((await adding)[0]!.verdict, verdict)
    await storage.disconnect()
  })
}

test('[chains trap 13] an end without a worker against a continuation, 100 rounds: one of them, and one continuation', async () => {
  const storage = await open()
  for (let round = 0; round < 100; round++) {
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

test('[chains trap 18] a hint comes with the commit, to this process and to others; with a rollback none does', async () => {
  const schema = newSchema()
  const [storage, other] = [await open(schema), await open(schema)]
  const heard: Signal[] = []
  const unlisten = [
    await storage.listen([{ kind: 'wake', type: 'mail' }], (signal) => heard.push(signal)),
    await other.listen([{ kind: 'wake', type: 'mail' }], (signal) => heard.push(signal)),
  ]
  const one = await begin()
  await storage.add([job('a')], one)
  await end(one, 'ROLLBACK')
  const two = await begin()
  await storage.add([job('b')], two)
  await sleep(50)
  assert.equal(heard.length, 0)
  await end(two, 'COMMIT')
  while (heard.length < 2) await sleep(5)
  for (const stop of unlisten) await stop()
  await other.disconnect()
  await storage.disconnect()
})

test('[chains trap 19] a row that a transaction has locked: extend says busy, claim and recover pass it over, none of them waits', async () => {
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

test('[chains trap 20] no refusal spoils the transaction: what the app writes after it is committed', async () => {
  const { pool } = await postgresPlace()
  await pool.query('CREATE TABLE orders (id text PRIMARY KEY)')
  const storage = await open()
  const deduplication = { key: 'k', mode: 'simple' } as const
  await storage.add([job('taken'), job('key', { deduplication })])
  const held = (await claim(storage)).find(({ id }) => id === 'taken')!
  await storage.settle([done(held)])
  const stale: Outcome = { ...ref('key'), worker: 'nobody', attempt: 7, kind: 'completed' }
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

test('transaction(): jobs and rows together or not at all, and told of once it is committed', async () => {
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
