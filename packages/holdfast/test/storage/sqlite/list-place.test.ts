// Lists by place: the work of a page, in steps of SQLite's virtual machine, does not grow with the number of records.

import assert from 'node:assert/strict'
import type { StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import type { JobState, ListQuery, Page } from 'holdfast/storage'
import type { SqliteStorage } from 'holdfast/sqlite'
import { stateNames } from '../../../src/storage/rules/job/codes.ts'
import { newListeners } from '../../../src/storage/rules/signals.ts'
import { SqliteMove } from '../../../src/storage/sqlite/rules/move.ts'
import { WorkingSet } from '../../../src/storage/sqlite/rules/working-set.ts'
import { list } from '../../../src/storage/sqlite/verbs/list.ts'
import { sized } from '../../full-size.ts'
import { bench, completed, newJob } from './bench.ts'

const batch = 1_000
const manyBatches = sized(20, 3)

/** Adds jobs of a type and brings them to a state. Those of one batch have the same instants. */
async function fill(storage: SqliteStorage, type: string, state: JobState, count: number): Promise<void> {
  if (state === 'blocked') await storage.add([newJob('blocker', { type: 'open' })])
  for (let start = 0; start < count; start += batch) {
    const fields = {
      type,
      ...(state === 'scheduled' && { delayMs: 3_600_000 }),
      ...(state === 'blocked' && { blockers: [{ type: 'open', id: 'blocker' }] }),
    }
    const jobs = Array.from({ length: Math.min(batch, count - start) }, (_, index) => {
      return newJob(`${state} ${start + index}`, { ...fields, priority: index % 3 })
    })
    await storage.add(jobs)
    if (state === 'cancelled') await storage.cancel(jobs)
    if (state === 'scheduled' || state === 'blocked' || state === 'queued' || state === 'cancelled') continue
    const types = [{ type, leaseMs: 3_600_000 }]
    const { jobs: leases } = await storage.claim({ worker: `${type} ${start}`, slots: jobs.length, types })
    if (state === 'processing') continue
    const kind = state === 'failing' ? 'retry' : state
    await storage.settle(leases.map((lease) => ({ ...completed(lease), kind, delayMs: 3_600_000 }) as never))
  }
}

/** The steps of the first page, and of one in the middle. */
function costs(look: ReturnType<typeof bench>['look'], query: ListQuery): { steps: number[]; page: Page } {
  const db = look()
  const set = new WorkingSet(db, newListeners)
  const statements = Object.values(set.statements) as (StatementSync & {
    stat(name: 'vmStep'): number
    resetStats(): void
  })[]
  const read = (cursor?: string): [number, Page] => {
    for (const statement of statements) statement.resetStats()
    set.forget()
    const page = list(new SqliteMove(set, Date.now()), { ...query, ...(cursor !== undefined && { cursor }) })
    return [statements.reduce((sum, statement) => sum + statement.stat('vmStep'), 0), page]
  }
  const [first, page] = read()
  const [second] = page.nextCursor === undefined ? [0] : read(page.nextCursor)
  db.close()
  return { steps: [first, second], page }
}

for (const state of stateNames) {
  test(`[F31] by place: pages of ${state} jobs cost the same at 1,000 and at ${manyBatches},000 records of the type`, async (t) => {
    const few = bench(t)
    const many = bench(t)
    const other = state === 'completed' ? 'queued' : 'completed'
    for (const [at, count] of [
      [few, batch],
      [many, manyBatches * batch],
    ] as const) {
      const storage = await at.open({ durability: 'relaxed' })
      await fill(storage, 'a', other, count)
      await fill(storage, 'b', state, count)
      await fill(storage, 'a', state, state === 'queued' || other === 'queued' ? 0 : 100)
    }
    for (const order of ['asc', 'desc'] as const) {
      for (const types of [['b'], ['a'], undefined]) {
        const query: ListQuery = { of: 'jobs', by: 'place', states: [state], limit: 50, order, ...(types && { types }) }
        const [small, large] = [costs(few.look, query), costs(many.look, query)]
        assert.equal(large.page.items.length, small.page.items.length)
        if (types?.[0] === 'b') assert.equal(large.page.items.length, 50)
        large.steps.forEach((steps, index) => {
          assert.ok(steps <= 1.2 * small.steps[index]!, `${order} ${types}: ${large.steps} and ${small.steps}`)
        })
      }
    }
  })
}

test('[F31] by place: filters that match nothing read a bounded number of rows per page', async (t) => {
  const { open, look } = bench(t)
  const storage = await open({ durability: 'relaxed' })
  await fill(storage, 'a', 'queued', 5 * batch)
  const query: ListQuery = { of: 'jobs', by: 'place', group: 'none', limit: 10 }
  const { page } = costs(look, query)
  assert.deepEqual(page.items, [])
  let pages = 0
  for (let cursor = page.nextCursor; cursor !== undefined; pages++) {
    const next = await storage.list({ ...query, cursor })
    assert.deepEqual(next.items, [])
    cursor = next.nextCursor
  }
  assert.ok(pages >= 8 && pages <= 11, `${pages}`)
})

test('[F31] by place: many types without a job of the state are passed over, some per page', async (t) => {
  const { open } = bench(t)
  const storage = await open({ durability: 'relaxed' })
  const types = Array.from({ length: 2_500 }, (_, index) => `t${index}`)
  await storage.add(types.map((type) => newJob('a', { type })))
  await storage.cancel([{ type: 't0', id: 'a' }])
  for (const order of ['asc', 'desc'] as const) {
    const found: string[] = []
    let [cursor, pages]: [string | undefined, number] = [undefined, 0]
    do {
      const query = { of: 'jobs', by: 'place', states: ['cancelled'], order, limit: 10 } as const
      const page: Page = await storage.list(cursor === undefined ? query : { ...query, cursor })
      found.push(...page.items.map(({ type }) => type))
      cursor = page.nextCursor
      pages++
    } while (cursor !== undefined)
    assert.deepEqual([found, pages], [['t0'], 5])
  }
})

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

test('[F31] by place: cursors of another kind, and cursors that were made up, are refused or find nothing wrong', async (t) => {
  const { open } = bench(t)
  const storage = await open()
  await storage.add(['a', 'b', 'c'].map((id) => newJob(id, { search: { x: id } })))
  const place = { of: 'jobs', by: 'place', limit: 1 } as const
  const search = { ...place, where: { x: ['a', 'b', 'c'] } } as const
  const { nextCursor: byPlace } = await storage.list(place)
  const { nextCursor: bySearch } = await storage.list(search)
  const { nextCursor: byCreation } = await storage.list({ of: 'jobs', limit: 1 })
  const refused: (readonly [ListQuery, string])[] = [
    [place, bySearch!],
    [place, byCreation!],
    [search, byPlace!],
    [{ ...search, where: { y: 1 } }, bySearch!],
    ...[
      [],
      [null],
      [null, [1, 2, 3], null],
      [null, [1, 2, 3, 'x'], null],
      [null, [1, 2, 3, 4], 7],
      [null, [1, 2, 3, 4], [1]],
      [null, [1, 2, 3, 4], [1, 'x']],
      [null, [1, 2, 3, 4], [null, 1]],
      [null, [1, 2, 3, 4], [{ bytes: 1 }, 1]],
      ['constructor', [1, 2], null],
      [7, [1, 2, 3, 4], null],
    ].map((value) => [place, encode(value)] as const),
  ]
  for (const [query, cursor] of refused) {
    await assert.rejects(storage.list({ ...query, cursor }), { code: 'INVALID_ARGUMENT' }, cursor)
  }
  for (const run of [
    [-1e300, 1e300, 0.5, -7],
    [1, 2, 0, 0],
    [2 ** 60, -5, 3, 1],
  ]) {
    for (const after of [null, ['x', 1], [1e300, -1e300], [{ bytes: '!' }, 0]]) {
      const { items } = await storage.list({ ...place, cursor: encode([null, run, after]) })
      assert.ok(items.length <= 1)
    }
  }
})

test('by creation: few jobs of a type or state among many others are found by their places, in the same order', async (t) => {
  const { open, look } = bench(t)
  const storage = await open({ durability: 'relaxed' })
  await fill(storage, 'a', 'completed', 5 * batch)
  for (const state of stateNames) await fill(storage, 'b', state, 5)
  await fill(storage, 'a', 'failed', 5)
  const all = await pagesOf(storage)
  const queries: readonly Pick<ListQuery, 'types' | 'states'>[] = [
    { types: ['b'] },
    { states: ['failed'] },
    ...stateNames.map((state) => ({ types: ['b'], states: [state] })),
  ]
  for (const query of queries) {
    const { steps, page } = costs(look, { of: 'jobs', limit: 100, ...query })
    const expected = all.filter(
      ({ type, state }) => (query.types?.includes(type) ?? true) && (query.states?.includes(state) ?? true),
    )
    assert.deepEqual(
      page.items.map(({ type, id }) => [type, id]),
      expected.map(({ type, id }) => [type, id]),
    )
    assert.ok(page.items.length >= 5 && steps[0]! < 50_000, `${steps[0]} for ${JSON.stringify(query)}`)
  }
})

/** All records, by creation. */
async function pagesOf(storage: SqliteStorage): Promise<Page['items'][number][]> {
  const items: Page['items'][number][] = []
  let cursor: string | undefined
  do {
    const query = { of: 'jobs', limit: 1_000 } as const
    const page: Page = await storage.list(cursor === undefined ? query : { ...query, cursor })
    items.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return items
}
