// The steps of the schema: their texts never change, and a file of an earlier version is brought up to date with its jobs.

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { JobState } from 'holdfast/storage'
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
    ],
  )
})

/** Undoes the third step. */
const undoThird = `
  DROP INDEX holdfast_windows;
  ALTER TABLE holdfast_keys DROP COLUMN replaced_by; ALTER TABLE holdfast_keys DROP COLUMN version;
  CREATE INDEX holdfast_windows ON holdfast_keys (until) WHERE mode = 'throttle' AND until IS NOT NULL;
  DELETE FROM holdfast_migrations WHERE number = 3;`

/** Undoes the third and the second step. */
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
