// The index of search fields: what it finds is what the rules find, it costs as much as it finds, and it outlives no record.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JobState, SearchValue, Where } from 'holdfast/storage'
import { matchesWhere } from '../../../src/storage/rules/search.ts'
import { until } from '../../queue/driver.ts'
import { claim, ended, job, keptMs } from './every-verb.ts'
import { openStorage } from './storage-fixture.ts'

const texts = [
  '',
  '\0',
  '\0\0',
  '\0\u0001',
  '\u0001',
  'a',
  'a\0',
  'a\0b',
  'a\u0001',
  'aa',
  'b',
  'é',
  'ÿ',
  '\u00ff\u00ff',
]
const oddTexts = [
  '\ud7ff',
  '\ud800',
  '\udfff',
  '\ud83d\ude00',
  '\ude00\ud83d',
  '\uffff',
  '\ue000',
  '-',
  '+',
  '[a',
  '(a',
  'now',
]
const numbers = [0, -0.5, 9, 10, 1e300, -1e300, 5e-324, 2 ** 53, 0.1 + 0.2, 1_767_225_600_000]
const values: readonly SearchValue[] = [...texts, ...oddTexts, '10', '9', ...numbers, true, false]

const orderFields = (index: number) => ({ customer: `c-${index}`, country: 'at' })

test('where finds the same jobs as the rules: every value, every bound, both orders', async (t) => {
  const { storage } = await openStorage(t)
  // Names that must not be taken for a part of a key, or of an object.
  const names = ['x', 'a:b', '__proto__', '\ud800']
  for (const name of names) {
    const search = (value: SearchValue) => Object.fromEntries([[name, value]])
    // A type is a name, and must be well-formed text.
    const type = name.toWellFormed()
    await storage.add(values.map((value, index) => job(`${index}`, { type, search: search(value) })))
    const wanted: Where[string][] = [...values, values.slice(3, 9), [true, 'a', 10]]
    for (const value of values) {
      if (typeof value === 'boolean') continue
      wanted.push({ gt: value }, { gte: value }, { lt: value }, { lte: value }, { gte: value, lte: value } as never)
    }
    wanted.push({ gt: 'a', lt: 'b' }, { gt: 9, gte: 10 }, { gt: 'b', lt: 'a' }, { gt: 1, lt: 'a' })
    for (const each of wanted) {
      const where = search(each as SearchValue) as Where
      const expected = values.flatMap((value, index) => (matchesWhere(search(value), where) ? [`${index}`] : []))
      for (const query of [{ by: 'created' }, { by: 'place' }, { by: 'place', states: ['queued'] }] as const) {
        const { items } = await storage.list({ of: 'jobs', types: [type], where, ...query, limit: 100 })
        assert.deepEqual(items.map(({ id }) => id).toSorted(), expected.toSorted(), JSON.stringify([query, each]))
      }
    }
  }
})

test('a where of several fields reads the records of the one that has the fewest', async (t) => {
  const { storage, commandsOf } = await openStorage(t)
  await storage.add(Array.from({ length: 500 }, (_, index) => job(`${index}`, { search: orderFields(index) })))
  for (const by of ['created', 'place'] as const) {
    const commands = await commandsOf(async () => {
      const { items } = await storage.list({
        of: 'jobs',
        where: { country: 'at', customer: ['c-3', 'c-4'] },
        by,
        limit: 9,
      })
      assert.equal(items.length, 2)
    })
    assert.equal(commands.filter((line) => line.startsWith('"GET"')).length, 2, by)
    assert.ok(commands.length < 50, `${commands.length} commands`)
  }
})

test('a where by creation is complete behind more entries than are kept in memory', async (t) => {
  const { storage, setTime } = await openStorage(t, { manualTime: true })
  const [start, batches] = [1_800_000_000_000, 41]
  const scheduled: string[] = []
  for (let batch = 0; batch < batches; batch++) {
    // The instants are in another order than the entries of the index.
    const later = (batch * 16) % batches
    await setTime(start + later)
    const jobs = Array.from({ length: 1_000 }, (_, at) => {
      const isScheduled = later > 20 && at < 50
      const id = `${later} ${at}`
      if (isScheduled) scheduled.push(id)
      return job(id, { search: { n: batch * 1_000 + at }, ...(isScheduled && { delayMs: 3_600_000 }) })
    })
    await storage.add(jobs)
  }
  const query = { of: 'jobs', where: { n: { gte: 0 } }, order: 'asc', limit: 1_000 } as const
  const { items, nextCursor } = await storage.list({ ...query, states: ['scheduled'] })
  assert.equal(nextCursor, undefined)
  assert.deepEqual(items.map(({ id }) => id).toSorted(), scheduled.toSorted())
  const instants = items.map(({ createdAt }) => createdAt)
  assert.deepEqual(
    instants,
    instants.toSorted((a, b) => a - b),
  )
})

test('a search in a state reads the search index or the set of the state, whichever fills the page', async (t) => {
  const { storage, commandsOf } = await openStorage(t)
  const hourMs = 3_600_000
  const rows = (from: number, count: number) =>
    Array.from({ length: count }, (_, at) =>
      job(`${from + at}`, { search: { odd: `${(from + at) % 2}`, id: `${at % 600}` } }, hourMs),
    )
  await storage.add(rows(0, 600))
  const failed = await claim(storage, 600)
  await storage.settle(failed.map((each) => ended(each, 'failed')))
  // Newer jobs that wait: the search index has them first.
  await storage.add(rows(600, 600))
  const pages = async (where: Where, order: 'asc' | 'desc', states: readonly JobState[]) => {
    const found: (readonly string[])[] = []
    let cursor: string | undefined
    do {
      const page = await storage.list({
        of: 'jobs',
        states,
        where,
        by: 'place',
        order,
        limit: 40,
        ...(cursor && { cursor }),
      })
      found.push(page.items.map(({ id }) => id))
      cursor = page.nextCursor
    } while (cursor !== undefined)
    return found
  }
  const odd = failed.flatMap(({ id }) => (Number(id) % 2 === 1 ? [id] : [])).toSorted()
  for (const order of ['asc', 'desc'] as const) {
    const found = await pages({ odd: '1' }, order, ['failed'])
    assert.deepEqual(found.flat().toSorted(), odd, order)
    assert.equal(found[0]!.length, 40, order)
    const waiting = (await pages({ odd: '1' }, order, ['queued'])).flat()
    assert.deepEqual([waiting.length, new Set(waiting).size], [300, 300], order)
    assert.deepEqual((await pages({ odd: ['0', '1'] }, order, ['completed'])).flat(), [], order)
  }
  // The index has two jobs, the state 600: only the record of the one that matches is read.
  const commands = await commandsOf(async () => assert.deepEqual(await pages({ id: '7' }, 'asc', ['failed']), [['7']]))
  assert.equal(commands.filter((line) => line.startsWith('"GET"')).length, 1)
})

test('entries of a record that the server expired are absent, and a sweep deletes them', async (t) => {
  const { storage, keys } = await openStorage(t)
  const search = { customer: 'c-1', total: 5, paid: true }
  await storage.add([job('a', { search })])
  assert.deepEqual(
    (await keys()).filter((key) => /find|searched/.test(key)),
    ['mail:find:b:paid', 'mail:find:n:total', 'mail:find:t:customer', 'mail:searched'],
  )
  await storage.settle([ended((await claim(storage))[0]!, 'completed')])
  const found = async () =>
    (await storage.list({ of: 'jobs', where: { customer: 'c-1' }, by: 'place', limit: 9 })).items
  await until(async () => (await found()).length === 0, `the expiry, after ${keptMs} ms`)
  // The next life of the id is found once, by its own fields, before and after the sweep of the first.
  await storage.add([job('a', { search: { customer: 'c-1', total: 6 } })])
  for (const by of ['created', 'place'] as const) {
    for (const [where, count] of [
      [{ customer: 'c-1' }, 1],
      [{ total: 5 }, 0],
      [{ total: 6 }, 1],
    ] as const) {
      assert.equal((await storage.list({ of: 'jobs', where, by, limit: 9 })).items.length, count)
      await storage.sweep({ limit: 10 })
      assert.equal((await storage.list({ of: 'jobs', where, by, limit: 9 })).items.length, count)
    }
  }
  await storage.remove([{ type: 'mail', id: 'a' }], { trees: true })
  await storage.sweep({ limit: 10 })
  assert.deepEqual(await keys(), [':n'])
})
