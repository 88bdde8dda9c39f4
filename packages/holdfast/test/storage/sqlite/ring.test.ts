// A connection remembers when the next group of a type has a turn, so that claims beside full groups do not read the ring. What
// makes a turn come earlier must be noticed, whoever did it.

import assert from 'node:assert/strict'
import type { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import type { ClaimedJob, Outcome } from 'holdfast/storage'
import { SqliteStorage } from 'holdfast/sqlite'
import { fakeClock } from 'holdfast/testing'
import { add } from '../../../src/storage/rules/add.ts'
import { claim } from '../../../src/storage/rules/claim.ts'
import { settle } from '../../../src/storage/rules/settle.ts'
import { newListeners } from '../../../src/storage/rules/signals.ts'
import { SqliteMove } from '../../../src/storage/sqlite/rules/move.ts'
import { WorkingSet } from '../../../src/storage/sqlite/rules/working-set.ts'
import { type Bench, bench, completed, newJob, types } from './bench.ts'

const onePerGroup = types.map((type) => ({ ...type, limits: { group: { limit: 1 } } }))
const inGroup = (id: string, key: string) => newJob(id, { group: { key, ordered: false } })
const claimed = (move: SqliteMove) => claim(move, { worker: 'w', slots: 1, types: onePerGroup }).jobs
const idsOf = (jobs: readonly ClaimedJob[]) => jobs.map(({ id }) => id)

test('beside full groups, a claim does not read the ring', async (t) => {
  const { open, look } = bench(t)
  await open()
  const db = look()
  const set = new WorkingSet(db, newListeners)
  let reads = 0
  const { groups } = set
  const read = groups.ring.bind(groups)
  groups.ring = (...args) => {
    reads++
    return read(...args)
  }
  const run = <T>(work: (move: SqliteMove) => T, fails = false): T => inTransaction(db, set, work, fails)
  const jobs = ['a', 'b', 'c'].flatMap((id) => [inGroup(`${id}1`, id), inGroup(`${id}2`, id)])
  run((move) => add(move, [...jobs, ...Array.from({ length: 10 }, (_, n) => newJob(`line${n}`))]))

  // The groups take turns with the line, so it may take one claim more than there are groups until all are full.
  const first = Array.from({ length: 5 }, () => run(claimed)).flat()
  const before = reads
  assert.deepEqual(idsOf(Array.from({ length: 3 }, () => run(claimed)).flat()), ['line2', 'line3', 'line4'])
  assert.equal(reads, before)

  // A transaction that is rolled back gives a group its turn back, and takes it away again.
  const ofA = first.find(({ id }) => id === 'a1')!
  assert.throws(() => run((move) => settle(move, [completed(ofA)]), true), /rolled back/)
  assert.match(idsOf(run(claimed))[0]!, /^line/)
  run((move) => settle(move, [completed(ofA)]))
  // The line may go first.
  assert.ok(idsOf([...run(claimed), ...run(claimed)]).includes('a2'))
})

test('a group whose turn another connection has brought is claimed', async (t) => {
  const mine = await filled(t, bench(t))
  const { storage, other, running } = mine
  await other.settle([completed(running)])
  assert.deepEqual(idsOf(await claimedBy(storage)), ['a2'])
  await other.add([inGroup('b1', 'b')])
  assert.deepEqual(idsOf(await claimedBy(storage)), ['b1'])
})

test('a group that is slowed is claimed when its time has come', async (t) => {
  const { storage, running, clock } = await filled(t, bench(t))
  const { type, id, worker, attempt } = running
  const slowed: Outcome = { type, id, worker, attempt, kind: 'released', delayMs: 500, slowDown: 'group' }
  await storage.settle([slowed])
  assert.deepEqual(await claimedBy(storage), [])
  await clock.advance(499)
  assert.deepEqual(await claimedBy(storage), [])
  await clock.advance(1)
  assert.equal((await claimedBy(storage)).length, 1)
})

function inTransaction<T>(db: DatabaseSync, set: WorkingSet, work: (move: SqliteMove) => T, fails: boolean): T {
  db.exec('BEGIN IMMEDIATE')
  set.begin()
  const answer = work(new SqliteMove(set, Date.now()))
  set.end()
  if (fails) {
    set.forget()
    db.exec('ROLLBACK')
    throw new Error('rolled back')
  }
  db.exec('COMMIT')
  return answer
}

/** Two connections, and a group of two jobs of which one runs: the first connection knows that no group has a turn. */
async function filled(t: TestContext, { open, path }: Bench) {
  const clock = fakeClock()
  const storage = await open({ clock })
  const other = new SqliteStorage({ path, clock })
  await other.connect()
  t.after(() => other.disconnect())
  await storage.add([inGroup('a1', 'a'), inGroup('a2', 'a')])
  const [running] = await claimedBy(storage)
  for (let n = 0; n < 3; n++) assert.deepEqual(await claimedBy(storage), [])
  return { storage, other, running: running!, clock }
}

const claimedBy = async (storage: SqliteStorage): Promise<readonly ClaimedJob[]> =>
  (await storage.claim({ worker: 'w', slots: 1, types: onePerGroup })).jobs
