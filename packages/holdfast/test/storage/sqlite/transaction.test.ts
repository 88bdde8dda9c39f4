// transaction(): rows of the user and jobs are committed together; no call hangs, or writes outside its transaction.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Queue, StorageError } from 'holdfast'
import { SqliteStorage, type SqliteTransaction } from 'holdfast/sqlite'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { bench, completed, newJob, types } from './bench.ts'
import { checkTables } from './check-tables.ts'

async function withOrders(
  t: TestContext,
  callTimeoutMs = 5_000,
): Promise<{ storage: SqliteStorage; orders(): number }> {
  const { open, look } = bench(t)
  const storage = await open({ callTimeoutMs })
  const db = look()
  db.exec('CREATE TABLE orders (id TEXT PRIMARY KEY)')
  const count = db.prepare('SELECT count(*) AS number FROM orders')
  return { storage, orders: () => (count.get() as { number: number }).number }
}

const order = (tx: SqliteTransaction, id: string): unknown =>
  tx.database.prepare('INSERT INTO orders VALUES (?)').run(id)

const stateOf = async (storage: SqliteStorage, id: string): Promise<string | undefined> =>
  (await storage.get([{ type: defaultType, id }]))[0]?.state

test('a row and a job become visible together', async (t) => {
  const { storage, orders } = await withOrders(t)
  const answer = await storage.transaction(async (tx) => {
    order(tx, 'a')
    const [verdict] = await storage.add([newJob('a')], tx)
    assert.equal(orders(), 0)
    assert.equal(await stateOf(storage, 'a'), undefined)
    assert.equal((await storage.count({})).types.length, 0)
    const [inside] = await storage.get([{ type: defaultType, id: 'a' }], { tx })
    assert.equal(inside!.state, 'queued')
    return verdict!.verdict
  })
  assert.equal(answer, 'added')
  assert.equal(orders(), 1)
  assert.equal(await stateOf(storage, 'a'), 'queued')
})

test('a function that throws, at once or later: neither is written, and the next transaction works', async (t) => {
  const { storage, orders } = await withOrders(t)
  const oops = new Error('oops')
  await assert.rejects(
    storage.transaction(async (tx) => {
      order(tx, 'a')
      await storage.add([newJob('a', { group: { key: 'g', ordered: true } })], tx)
      throw oops
    }),
    oops,
  )
  await assert.rejects(
    storage.transaction(() => {
      throw oops
    }),
    oops,
  )
  assert.equal(orders(), 0)
  assert.equal(await stateOf(storage, 'a'), undefined)
  await storage.transaction(async (tx) => {
    order(tx, 'a')
    await storage.add([newJob('a')], tx)
  })
  await storage.transaction(async (tx) => void (await storage.add([newJob('b')], tx)))
  assert.equal(orders(), 1)
  const { jobs } = await storage.claim({ worker: 'w', slots: 5, types })
  assert.deepEqual(
    jobs.map(({ id }) => id),
    ['a', 'b'],
  )
})

test('a settle in it, rolled back: the lease is as it was, and settles again', async (t) => {
  const { storage } = await withOrders(t)
  await storage.add([newJob('a')])
  const { jobs } = await storage.claim({ worker: 'w', slots: 1, types })
  const failed = storage.transaction(async (tx) => {
    const [verdict] = await storage.settle(jobs.map(completed), tx)
    assert.equal(verdict!.verdict, 'settled')
    throw new Error('no')
  })
  await assert.rejects(failed, /no/)
  assert.equal(await stateOf(storage, 'a'), 'processing')
  const [verdict] = await storage.settle(jobs.map(completed))
  assert.deepEqual([verdict!.verdict, 'state' in verdict! && verdict.state], ['settled', 'completed'])
})

test('writes without `tx` wait until the transaction has ended; hints are sent after the commit', async (t) => {
  const { storage } = await withOrders(t)
  const said: string[] = []
  await storage.listen([{ kind: 'wake', type: defaultType }], () => said.push('wake'))
  const gate = Promise.withResolvers<void>()
  const long = storage.transaction(async (tx) => {
    await storage.add([newJob('a')], tx)
    await gate.promise
    said.push('end')
  })
  const other = storage.add([newJob('b')]).then(() => said.push('other'))
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.equal(said.length, 0)
  gate.resolve()
  await Promise.all([long, other])
  assert.equal(said[0], 'end')
  assert.ok(said.includes('wake'))
})

test('an ended transaction, another object and a transaction of another storage are refused, and nothing is written', async (t) => {
  const { storage } = await withOrders(t)
  const { open } = bench(t)
  const another = await open()
  let ended: SqliteTransaction | undefined
  await storage.transaction(async (tx) => void (ended = tx))
  const refused = { name: 'TypeError', code: 'INVALID_ARGUMENT' }
  await assert.rejects(storage.add([newJob('a')], ended), { ...refused, message: /has not ended/ })
  for (const foreign of [{}, null, 'tx', another]) {
    await assert.rejects(storage.add([newJob('a')], foreign as never), refused)
    await assert.rejects(storage.get([{ type: defaultType, id: 'a' }], { tx: foreign as never }), refused)
    await assert.rejects(storage.remove([{ type: defaultType, id: 'a' }], { tx: foreign as never }), refused)
  }
  await another.transaction(async (tx) => {
    await assert.rejects(storage.add([newJob('a')], tx), { ...refused, message: /of this storage/ })
  })
  assert.equal(await stateOf(storage, 'a'), undefined)
  assert.equal(await stateOf(another, 'a'), undefined)
})

test('a call without `tx` inside the function is rejected in time, and never runs', async (t) => {
  const { storage, orders } = await withOrders(t, 500)
  const began = performance.now()
  for (const stuck of [
    () => storage.add([newJob('a')]),
    () => storage.transaction(async (tx) => void (await storage.add([newJob('a')], tx))),
  ]) {
    const failed = storage.transaction(async (tx) => {
      order(tx, 'a')
      await stuck()
    })
    await assert.rejects(failed, (error: unknown) => {
      assert.ok(error instanceof StorageError)
      assert.match(error.message, /pass `tx` to every call/)
      assert.equal(error.maybeApplied, false)
      return true
    })
  }
  assert.ok(performance.now() - began < 5_000)
  await storage.add([newJob('b')])
  assert.equal(orders(), 0)
  assert.equal(await stateOf(storage, 'a'), undefined)
})

test('a Queue that is used inside without `tx` rejects with the same error', async (t) => {
  const { storage } = await withOrders(t, 500)
  const queue = new Queue<string>({ storage })
  t.after(() => queue.stop())
  await queue.start()
  const failed = storage.transaction(async () => void (await queue.enqueue('a', 'x')))
  await assert.rejects(failed, { code: 'STORAGE_ERROR', maybeApplied: false, message: /pass `tx` to every call/ })
  assert.equal(await queue.getStatus('a'), null)
})

test('a failed call inside writes nothing, even if the function goes on', async (t) => {
  const { storage, orders } = await withOrders(t)
  const circular = { toString: () => 'x' } as unknown as string
  await storage.transaction(async (tx) => {
    order(tx, 'a')
    await storage.add([newJob('a')], tx)
    // The second job cannot be bound to a statement.
    await assert.rejects(storage.add([newJob('b'), newJob('c', { trace: 'x', token: circular })], tx))
    await storage.add([newJob('d')], tx)
  })
  assert.equal(orders(), 1)
  assert.deepEqual(await Promise.all(['a', 'b', 'c', 'd'].map((id) => stateOf(storage, id))), [
    'queued',
    undefined,
    undefined,
    'queued',
  ])
  assert.equal((await storage.count({})).types[0]!.states.queued, 2)
})

test('calls that a savepoint of the user undoes: their jobs keep their leases, and no number is taken twice', async (t) => {
  const { open, look } = bench(t)
  const storage = await open()
  const undone = (work: (tx: SqliteTransaction) => Promise<unknown>, more?: typeof work): Promise<void> =>
    storage.transaction(async (tx) => {
      tx.database.exec('SAVEPOINT mine')
      await work(tx)
      tx.database.exec('ROLLBACK TO mine; RELEASE mine')
      await more?.(tx)
    })
  await undone((tx) => storage.add([newJob('never')], tx))
  await storage.add(['a', 'b', 'c', 'd'].map((id) => newJob(id)))
  // Another storage takes its numbers from the file.
  const other = await open()
  await other.add(Array.from({ length: 16 }, (_, index) => newJob(`other ${index}`)))
  checkTables(look())
  const { jobs } = await storage.claim({ worker: 'w/1', slots: 3, types })
  const [first, second, third] = jobs.map(completed)
  await undone((tx) => storage.settle([first!], tx))
  const claimed = await storage.claim({ worker: 'w/2', slots: 1, types })
  assert.deepEqual(
    claimed.jobs.map(({ id }) => id),
    ['d'],
  )
  await undone(
    (tx) => storage.settle([first!], tx),
    (tx) => storage.settle([second!], tx),
  )
  checkTables(look())
  const verdicts = await storage.settle([first!, second!, third!])
  assert.deepEqual(
    verdicts.map(({ verdict }) => verdict),
    ['settled', 'settled', 'settled'],
  )
  checkTables(look())
})

test('a transaction that was rolled back under its function refuses further calls', async (t) => {
  const { storage } = await withOrders(t)
  const failed = storage.transaction(async (tx) => {
    tx.database.exec('ROLLBACK')
    await assert.rejects(storage.add([newJob('a')], tx), { code: 'STORAGE_ERROR', message: /rolled back/ })
  })
  await assert.rejects(failed)
  assert.equal(await stateOf(storage, 'a'), undefined)
  await storage.add([newJob('b')])
})

test('a function that closes the connection: every call rejects, none hangs', async (t) => {
  const { path } = bench(t)
  const storage = new SqliteStorage({ path })
  await storage.connect()
  await assert.rejects(storage.transaction(async (tx) => tx.database.close()))
  await assert.rejects(storage.add([newJob('a')]))
  await assert.rejects(Promise.all([storage.add([newJob('b')]), storage.add([newJob('c')])]))
})
