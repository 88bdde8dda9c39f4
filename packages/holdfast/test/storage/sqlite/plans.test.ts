// No call reads more rows than it must: every statement uses an index, and the cost of a claim, in steps of SQLite's virtual
// machine, is the same at a short backlog and at a long one.

import assert from 'node:assert/strict'
import type { StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import type { NewJob } from 'holdfast/storage'
import { add } from '../../../src/storage/rules/add.ts'
import { claim } from '../../../src/storage/rules/claim.ts'
import { settle } from '../../../src/storage/rules/settle.ts'
import { newListeners } from '../../../src/storage/rules/signals.ts'
import { SqliteMove } from '../../../src/storage/sqlite/rules/move.ts'
import { count } from '../../../src/storage/sqlite/verbs/count.ts'
import { nextDueAt } from '../../../src/storage/sqlite/verbs/next-due-at.ts'
import { WorkingSet } from '../../../src/storage/sqlite/rules/working-set.ts'
import { sized } from '../../full-size.ts'
import { bench, completed, newJob, types } from './bench.ts'

/** Lists and counts are for people: these read all types, or expired records, or page along an index and filter. */
const forPeople = new Set(['listUp', 'listDown', 'candidatesUp', 'candidatesDown', 'typeNames', 'countExpired'])
/** A sweep, and a list by creation, read all types. */
const ofTypes = new Set(['typesWithEnded', 'typesWithFlow', 'countAll'])

test('every statement of a move uses an index, and none sorts', async (t) => {
  const { open, look } = bench(t)
  await open()
  const db = look()
  const { statements } = new WorkingSet(db, newListeners)
  let explained = 0
  for (const [name, statement] of Object.entries(statements)) {
    const sql = statement.sourceSQL
    if (forPeople.has(name) || ofTypes.has(name) || sql.startsWith('PRAGMA')) continue
    const rows = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as unknown as { detail: string }[]
    const plan = rows.map(({ detail }) => detail)
    // The ids and the new rows of the call itself are scanned, and the rows that a limited search has found.
    for (const detail of plan)
      assert.doesNotMatch(
        detail,
        /\bSCAN (?!json_each|CONSTANT|\(subquery|\d+-ROW VALUES)|TEMP B-TREE/,
        `${name}: ${plan.join('; ')}`,
      )
    if (!sql.startsWith('INSERT')) assert.match(plan.join(), /SEARCH/, name)
    explained++
  }
  assert.ok(explained > 30, `${explained}`)
})

test('the lists for people page along the index over createdAt, and do not scan all jobs', async (t) => {
  const { open, look } = bench(t)
  await open()
  const db = look()
  const { listUp, listDown } = new WorkingSet(db, newListeners).statements
  for (const { sourceSQL } of [listUp, listDown]) {
    const rows = db.prepare(`EXPLAIN QUERY PLAN ${sourceSQL}`).all() as unknown as { detail: string }[]
    assert.match(rows[0]!.detail, /SEARCH job USING INDEX holdfast_created/)
  }
})

type Counted = StatementSync & { stat(counter: 'vmStep'): number; resetStats(): void }

const backlogs: Record<string, (index: number) => Partial<NewJob>> = {
  waiting: () => ({}),
  delayed: () => ({ delayMs: 3_600_000 }),
  'in two busy groups': (index) => ({ group: { key: `${index % 2}`, ordered: true } }),
  'in two unordered groups': (index) => ({ group: { key: `${index % 2}` } }),
  'in groups of their own': (index) => ({ group: { key: `${index}`, ordered: index % 2 === 0 } }),
}

/** The steps of a claim of ten jobs, of their settle, of nextDueAt, of a count of the next start and of an add, at this backlog. */
async function cost(t: Parameters<typeof bench>[0], size: number, fields: (index: number) => Partial<NewJob>) {
  const { open, look } = bench(t)
  const storage = await open({ durability: 'relaxed' })
  for (let start = 0; start < size; start += 1_000) {
    await storage.add(Array.from({ length: 1_000 }, (_, index) => newJob(`j${start + index}`, fields(start + index))))
  }
  // From here on the groups are busy.
  await storage.claim({ worker: 'first', slots: 2, types })
  await storage.add(Array.from({ length: 20 }, (_, index) => newJob(`due${index}`)))
  const db = look()
  const set = new WorkingSet(db, newListeners)
  const all = Object.values(set.statements) as Counted[]
  const steps = (run: () => void): number => {
    for (const statement of all) statement.resetStats()
    run()
    set.end()
    return all.reduce((sum, statement) => sum + statement.stat('vmStep'), 0)
  }
  db.exec('BEGIN IMMEDIATE')
  set.begin()
  const move = (): SqliteMove => Object.assign(new SqliteMove(set, Date.now()), { slots: 10 })
  let jobs: ReturnType<typeof claim>['jobs'] = []
  const costs = {
    claim: steps(() => ({ jobs } = claim(move(), { worker: 'w', slots: 10, types }))),
    settle: steps(() => settle(move(), jobs.map(completed))),
    nextDueAt: steps(() => nextDueAt(move(), types)),
    next: steps(() => count(move(), { types: [], next: { type: types[0]!.type, limits: {}, group: '0' } })),
    add: steps(() => add(move(), [newJob('one more')])),
  }
  assert.equal(jobs.length, 10)
  db.exec('ROLLBACK')
  return costs
}

for (const [what, fields] of Object.entries(backlogs)) {
  const many = sized(100_000, 10_000)
  test(`[trap 39] claim, settle, nextDueAt, the next start and add take as many steps with ${many} ${what} as with a thousand`, async (t) => {
    const few = await cost(t, 1_000, fields)
    const lots = await cost(t, many, fields)
    for (const verb of ['claim', 'settle', 'nextDueAt', 'next', 'add'] as const) {
      assert.ok(few[verb] > 0, verb)
      assert.ok(lots[verb] <= 1.1 * few[verb], `${verb}: ${lots[verb]} steps and ${few[verb]}`)
    }
  })
}
