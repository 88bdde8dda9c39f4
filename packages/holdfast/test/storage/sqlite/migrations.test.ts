// The steps of the schema: their texts never change, and a file of an earlier version is brought up to date with its jobs.

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { JobState } from 'holdfast/storage'
import { stateCodes } from '../../../src/storage/rules/job/codes.ts'
import { migrate } from '../../../src/storage/sqlite/migrations.ts'
import { bench, completed, newJob } from './bench.ts'
import { checkTables } from './check-tables.ts'

test('the checksums of published steps stay what they are', () => {
  const db = new DatabaseSync(':memory:')
  migrate(db)
  const rows = db.prepare('SELECT checksum FROM holdfast_migrations ORDER BY number').all()
  assert.deepEqual(
    rows.map(({ checksum }) => checksum),
    [
      'c44d9fd67a736e557981e9271915b9c3b3748116ca7aad34a039a4c9ddc165b8',
      '4fbe82a4e2e6beeb73b6b7abce18afe10a44d08d8581d80926b97a4d96129562',
      '7287aa4fd04e73909802127c4eef97c0dd969ceeabc0111683b46c830051e4a6',
      '3958f05f9372db8dbc94d35ea62f440ac33b6bb760a9d31ba83ae3adf5194ee4',
      'c2bcd78ed6b56581c32c85535b6b58aea1316be245e4399a072d25e72a71d872',
    ],
  )
})

/** Undoes the fifth step. */
const undoFifth = `
  DROP TABLE holdfast_claims;
  ALTER TABLE holdfast_jobs RENAME COLUMN line TO ready;
  DELETE FROM holdfast_migrations WHERE number = 5;`

/** Undoes the fifth and the fourth step: a group had the numbers of its running job and of its head, if that was ready. */
const undoFourth = `
  ${undoFifth}
  CREATE TABLE old (
    tid INTEGER NOT NULL, key TEXT NOT NULL, running INTEGER, placed INTEGER, paused_since INTEGER, paused_by TEXT,
    PRIMARY KEY (tid, key)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO old SELECT tid, key,
      (SELECT seq FROM holdfast_jobs AS job WHERE job.tid = grp.tid AND job.grp = grp.key AND lease_until IS NOT NULL),
      CASE WHEN turn_at IS NOT NULL THEN (
        SELECT min(seq) FROM holdfast_members AS member WHERE member.tid = grp.tid AND member.key = grp.key) END,
      paused_since, paused_by FROM holdfast_groups AS grp;
  UPDATE holdfast_jobs SET ready = 1 WHERE seq IN (SELECT placed FROM old);
  DROP TABLE holdfast_groups; ALTER TABLE old RENAME TO holdfast_groups;
  DROP TABLE holdfast_members;
  CREATE INDEX holdfast_members ON holdfast_jobs (tid, grp, seq) WHERE grp IS NOT NULL AND state < ${stateCodes.completed};
  ALTER TABLE holdfast_types DROP COLUMN has_groups; ALTER TABLE holdfast_types DROP COLUMN flow;
  DELETE FROM holdfast_migrations WHERE number = 4;`

/** Undoes the steps from the third on. */
const undoThird = `
  ${undoFourth}
  DROP INDEX holdfast_windows;
  ALTER TABLE holdfast_keys DROP COLUMN replaced_by; ALTER TABLE holdfast_keys DROP COLUMN version;
  CREATE INDEX holdfast_windows ON holdfast_keys (until) WHERE mode = 'throttle' AND until IS NOT NULL;
  DELETE FROM holdfast_migrations WHERE number = 3;`

/** Undoes the steps from the second on. */
const undo = `
  ${undoThird}
  DROP INDEX holdfast_ended;
  CREATE INDEX holdfast_ended ON holdfast_jobs (sweep_at) WHERE sweep_at IS NOT NULL;
  DROP TABLE holdfast_places; DROP TABLE holdfast_deadlines; DROP TABLE holdfast_search;
  DROP TABLE holdfast_progress; DROP TABLE holdfast_lines;
  DELETE FROM holdfast_migrations WHERE number = 2`

test('[V1] a file of the first step is migrated with its jobs: they are listed by place, and swept', async (t) => {
  const { open, look } = bench(t)
  const before = await open()
  const types = [{ type: 'a', leaseMs: 60_000 }]
  const kept = { completedMs: Infinity, failedMs: Infinity, cancelledMs: Infinity }
  await before.add(['completed', 'failing', 'kept'].map((id) => newJob(id, { type: 'a' })))
  const { jobs } = await before.claim({ worker: 'w', slots: 10, types })
  const [first, second, third] = jobs.map(completed)
  await before.settle([
    first!,
    { ...second!, kind: 'retry', delayMs: 60_000 },
    { ...third!, keepMs: Infinity } as never,
  ])
  await before.add([newJob('cancelled', { type: 'a', retention: kept }), newJob('queued', { type: 'b' })])
  await before.add([newJob('blocked', { type: 'a', blockers: [{ type: 'b', id: 'queued' }] })])
  await before.cancel([{ type: 'a', id: 'cancelled' }])
  await before.disconnect()
  const db = look()
  db.exec(undo)
  db.close()

  const storage = await open()
  const { items } = await storage.list({ of: 'jobs', by: 'place', limit: 100 })
  assert.deepEqual(
    items.map(({ id, state }) => [id, state] as [string, JobState]).toSorted(),
    [
      ['blocked', 'blocked'],
      ['cancelled', 'cancelled'],
      ['completed', 'completed'],
      ['failing', 'failing'],
      ['kept', 'completed'],
      ['queued', 'queued'],
    ].toSorted(),
  )
  const keep = [{ type: 'a', state: 'completed', count: 0 }] as const
  assert.equal((await storage.sweep({ limit: 10, keep })).jobs, 2)
  checkTables(look())
})

test('[F25] [V1] a file of the second step is migrated with its keys, and takes the later modes', async (t) => {
  const { open, look } = bench(t)
  const before = await open()
  const window = { key: 'window', mode: 'throttle', windowMs: 600_000 } as const
  const simple = { key: 'simple', mode: 'simple' } as const
  await before.add([newJob('first', { deduplication: window }), newJob('second', { deduplication: simple })])
  await before.disconnect()
  const db = look()
  db.exec(undoThird)
  db.close()

  const storage = await open()
  const debounce = { key: 'k', mode: 'debounce', windowMs: 600_000 } as const
  const ascending = { key: 'version', mode: 'ascending', version: 7, ttlMs: 600_000 } as const
  const verdicts = await storage.add([
    newJob('a', { deduplication: window }),
    newJob('b', { deduplication: simple }),
    newJob('c', { deduplication: debounce }),
    newJob('d', { deduplication: debounce }),
    newJob('e', { deduplication: ascending }),
    newJob('f', { deduplication: ascending }),
  ])
  assert.deepEqual(
    verdicts.map(({ verdict }) => verdict),
    ['duplicate', 'duplicate', 'added', 'replaced', 'added', 'stale'],
  )
  checkTables(look())
})

const members = (key: string, ...ids: string[]) =>
  ids.map((id) => newJob(id, { type: 'a', group: { key, ordered: true } }))

test('[F20] [V1] a file of the third step is migrated with its groups: they go on where they were', async (t) => {
  const { open, look } = bench(t)
  const before = await open()
  const types = [{ type: 'a', leaseMs: 60_000 }]
  await before.add(members('running', 'r1', 'r2'))
  const { jobs } = await before.claim({ worker: 'w', slots: 1, types })
  await before.pause({ type: 'a', group: 'paused', paused: true })
  await before.pause({ type: 'a', group: 'empty', paused: true })
  const [later] = members('later', 'l1')
  const [blocked] = members('blocked', 'b1')
  await before.add([
    ...members('second', 's1', 's2'),
    ...members('third', 't1', 't2'),
    ...members('paused', 'p1'),
    { ...later!, delayMs: 3_600_000 },
  ])
  await before.add([{ ...blocked!, blockers: [{ type: 'a', id: 's1' }] }, ...members('blocked', 'b2')])
  await before.disconnect()
  const db = look()
  db.exec(undoFourth)
  db.close()

  const storage = await open()
  checkTables(look())
  const claim = async () => {
    const answer = await storage.claim({ worker: 'x', slots: 10, types })
    checkTables(look())
    return answer.jobs
  }
  const claimed = await claim()
  assert.deepEqual(
    claimed.map(({ id }) => id),
    ['s1', 't1'],
  )
  await storage.settle([completed(jobs[0]!), completed(claimed[0]!)])
  assert.deepEqual(
    (await claim()).map(({ id }) => id),
    ['r2', 's2', 'b1'],
  )
  const { types: counts } = await storage.count({ types: ['a'] })
  assert.deepEqual(
    counts[0]!.pausedGroups.map(({ group }) => group),
    ['empty', 'paused'],
  )
  await storage.pause({ type: 'a', group: 'paused', paused: false })
  assert.deepEqual(
    (await claim()).map(({ id }) => id),
    ['p1'],
  )
})

test('[V1] a file of the fourth step is migrated with its leases, and an earlier version that has it open can neither claim nor add', async (t) => {
  const { open, look } = bench(t)
  const before = await open()
  const types = [{ type: 'a', leaseMs: 60_000 }]
  await before.add(['a', 'b', 'c', 'd'].map((id) => newJob(id, { type: 'a' })))
  const [first, second] = (await before.claim({ worker: 'w', slots: 2, types })).jobs
  // Has the lease written into the rows, as an earlier version did.
  await before.extend([first!, second!].map((job) => ({ ...job, leaseMs: 60_000 })))
  await before.disconnect()
  const db = look()
  db.exec(undoFifth)
  const claimOfEarlier = db.prepare('SELECT seq FROM holdfast_jobs WHERE tid = 1 AND ready = 1')
  assert.equal(claimOfEarlier.all().length, 2)

  const storage = await open()
  checkTables(look())
  const { jobs } = await storage.claim({ worker: 'x', slots: 1, types })
  assert.deepEqual(
    jobs.map(({ id }) => id),
    ['c'],
  )
  assert.throws(() => claimOfEarlier.all(), /no such column: ready/)
  const verdicts = await storage.settle([first!, second!, jobs[0]!].map(completed))
  assert.deepEqual(
    verdicts.map(({ verdict }) => verdict),
    ['settled', 'settled', 'settled'],
  )
  checkTables(look())
})
