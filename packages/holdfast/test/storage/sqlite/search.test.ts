// Search fields in their index: it finds what the rule finds, and its rows live as long as their jobs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ListQuery, NewJob, SearchFields, SearchValue, Where } from 'holdfast/storage'
import { matchesWhere } from '../../../src/storage/rules/search.ts'
import { compareKeys, searchKey } from '../../../src/storage/sqlite/rules/search-keys.ts'
import { defaultType } from '../../../src/storage/stored-type.ts'
import { bench, newJob } from './bench.ts'
import { checkTables, inspect, rowCounts } from './check-tables.ts'

const texts = [
  '',
  'a',
  'A',
  'ab',
  'b',
  'é',
  '\u0000',
  'a\u0000',
  '\uffff',
  '\ue000',
  '😀',
  '\ud800',
  '\udc00a',
  '100',
  'true',
]
const numbers = [0, -0, -1, 1, 1.5, 100, 2 ** 53, -1e300, 5e-324]
const values: readonly SearchValue[] = [...texts, ...numbers, true, false]

test('[F30] keys of texts compare as JavaScript compares texts, and those of numbers as numbers', () => {
  for (const all of [texts, numbers]) {
    for (const a of all) {
      for (const b of all) {
        const expected = a < b ? -1 : a > b ? 1 : 0
        assert.equal(Math.sign(compareKeys(searchKey(a), searchKey(b))) || 0, expected, JSON.stringify([a, b]))
      }
    }
  }
})

const wheres: readonly Where[string][] = [
  ...values,
  [...values.slice(0, 4), 100, true],
  [],
  ...[...texts, ...numbers].flatMap((bound) => [{ gt: bound }, { gte: bound }, { lt: bound }, { lte: bound }]),
  { gt: 'a', lt: '\uffff' },
  { gte: -1, lte: 1.5 },
  { gt: 1, lt: 'z' },
]

for (const by of ['created', 'place'] as const) {
  test(`[F30] by ${by}: the index finds exactly what the rule finds, over pages of any size and in both orders`, async (t) => {
    const { open } = bench(t)
    const storage = await open({ durability: 'relaxed' })
    const jobs: NewJob[] = values.flatMap((value, index) => [
      newJob(`x${index}`, { search: { x: value } }),
      newJob(`y${index}`, { search: { x: value, 'née\ud800': index }, type: `other ${index % 3}` }),
    ])
    await storage.add([...jobs, newJob('none')])
    const found = async (where: Where, more = {}): Promise<string[]> => {
      const ids: string[] = []
      let cursor: string | undefined
      do {
        const query = { of: 'jobs', by, where, limit: 7, ...(cursor !== undefined && { cursor }), ...more } as const
        const page = await storage.list(query)
        ids.push(...page.items.map(({ id }) => id))
        cursor = page.nextCursor
      } while (cursor !== undefined)
      return ids.toSorted()
    }
    for (const wanted of wheres) {
      for (const where of [{ x: wanted }, { x: wanted, 'née\ud800': { lt: 10 } }] as Where[]) {
        const matching = jobs.filter(({ search }) => matchesWhere(search as SearchFields, where))
        const expected = matching.map(({ id }) => id).toSorted()
        const order = expected.length % 2 ? 'asc' : 'desc'
        assert.deepEqual(await found(where, { order }), expected, `${JSON.stringify(where)} ${order}`)
        const ofType = matching.filter(({ type }) => type === defaultType).map(({ id }) => id)
        assert.deepEqual(await found(where, { types: [defaultType, 'unknown'] }), ofType.toSorted())
      }
    }
  })
}

test('[F30] many matches: pages by creation follow the index over createdAt, and pages by place the fields', async (t) => {
  const { open } = bench(t)
  const storage = await open({ durability: 'relaxed' })
  for (let start = 0; start < 3_000; start += 1_000) {
    await storage.add(
      Array.from({ length: 1_000 }, (_, index) =>
        newJob(`${start + index}`, { search: { all: true, n: start + index } }),
      ),
    )
  }
  for (const by of ['created', 'place'] as const) {
    const seen = new Set<string>()
    let cursor: string | undefined
    do {
      const query = {
        of: 'jobs',
        by,
        where: { all: true },
        limit: 700,
        ...(cursor !== undefined && { cursor }),
      } as const
      const page = await storage.list(query)
      for (const { id } of page.items) seen.add(id)
      cursor = page.nextCursor
    } while (cursor !== undefined)
    assert.equal(seen.size, 3_000)
    const both = { of: 'jobs', by, where: { all: true, n: { gte: 2_990, lt: 2_992 } }, limit: 10 } as const
    const { items, nextCursor } = await storage.list(both)
    assert.deepEqual([items.map(({ id }) => id).toSorted(), nextCursor], [['2990', '2991'], undefined])
  }
})

test('[F30] a search in a state follows the index of the state if the search index rarely matches', async (t) => {
  const { open } = bench(t)
  const storage = await open({ durability: 'relaxed' })
  const retention = { completedMs: 1e9, failedMs: 1e9, cancelledMs: 1e9 }
  const add = (from: number, count: number) =>
    storage.add(
      Array.from({ length: count }, (_, at) =>
        newJob(`${from + at}`, { retention, search: { odd: (from + at) % 2 === 1, number: (from + at) % 600 } }),
      ),
    )
  await add(0, 600)
  const types = [{ type: newJob('0').type, leaseMs: 60_000 }]
  const { jobs } = await storage.claim({ worker: 'w', slots: 600, types })
  await storage.settle(jobs.map(({ type, id, worker, attempt }) => ({ type, id, worker, attempt, kind: 'failed' })))
  // Newer jobs that wait: the search index has them first.
  for (let from = 600; from < 12_600; from += 1_000) await add(from, 1_000)
  const find = async (query: Partial<ListQuery>) => {
    const pages: number[][] = []
    let cursor: string | undefined
    do {
      const page = await storage.list({ of: 'jobs', by: 'place', limit: 50, ...query, ...(cursor && { cursor }) })
      pages.push(page.items.map(({ id }) => Number(id)))
      cursor = page.nextCursor
    } while (cursor !== undefined)
    return { first: pages[0]!, all: pages.flat().toSorted((a, b) => a - b) }
  }
  for (const order of ['asc', 'desc'] as const) {
    const query = { states: ['failed'], where: { odd: true }, order } as const
    const failed = await find(query)
    assert.equal(failed.first.length, 50, order)
    const odd = Array.from({ length: 300 }, (_, at) => 2 * at + 1)
    assert.deepEqual(failed.all, odd, order)
    assert.deepEqual((await find({ ...query, where: { odd: [true, false], number: { lt: 3 } } })).all, [0, 1, 2], order)
    assert.deepEqual((await find({ ...query, states: ['completed', 'cancelled'] })).all, [], order)
    const waiting = (await find({ ...query, states: ['queued'] })).all
    assert.deepEqual([waiting.length, new Set(waiting).size], [6_000, 6_000], order)
  }
})

test('[F30] [F4] fields are replaced and deleted with their jobs, also by two connections at once', async (t) => {
  const { open } = bench(t)
  const [one, other] = [await open({ durability: 'relaxed' }), await open({ durability: 'relaxed' })]
  await one.add([newJob('a', { search: { n: -1 } })])
  const replaced = await Promise.all(
    Array.from({ length: 40 }, (_, n) => {
      const job = newJob('a', { token: `${n}`, search: { n }, onDuplicate: 'replace' })
      return (n % 2 ? one : other).add([job])
    }),
  )
  assert.deepEqual(new Set(replaced.map(([verdict]) => verdict!.verdict)), new Set(['replaced']))
  await inspect(one, checkTables)
  assert.equal((await inspect(one, rowCounts)).holdfast_search, 1)
  const { items } = await other.list({ of: 'jobs', where: { n: { gte: -1 } }, limit: 100 })
  assert.deepEqual(
    items.map(({ token, search }) => token === String(search!.n)),
    [true],
  )
  await one.remove([{ type: defaultType, id: 'a' }], { trees: true })
  assert.equal((await inspect(other, rowCounts)).holdfast_search, 0)
})
