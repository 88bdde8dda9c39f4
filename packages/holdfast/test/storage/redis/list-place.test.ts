// list by place: its cost does not grow with the number of jobs, and jobs that leave a set between two pages hide no others.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JobState, ListQuery } from 'holdfast/storage'
import { bytes, claim, ended, job } from './every-verb.ts'
import { openStorage } from './storage-fixture.ts'

const states: readonly (JobState | undefined)[] = [
  ...(['queued', 'scheduled', 'processing', 'completed', 'failed', 'cancelled', 'blocked', 'failing'] as const),
  undefined,
]

test('the first page sends as many commands with 20,000 jobs as with 200', async (t) => {
  const { storage, commandsOf } = await openStorage(t)
  const ms = 3_600_000
  const counts: number[][] = []
  let made = 0
  for (const size of [200, 19_800]) {
    const part = size / 4
    const addMany = async (number: number, fields = {}): Promise<void> => {
      for (let left = number; left > 0; left -= 1_000) {
        const jobs = Array.from({ length: Math.min(left, 1_000) }, () => job(`${made++}`, fields, ms))
        await storage.add(jobs)
      }
    }
    await addMany(2 * part)
    for (let left = part; left > 0; left -= 450) {
      const jobs = await claim(storage, Math.min(left, 450))
      await storage.settle(jobs.map((each, index) => ended(each, index % 2 === 0 ? 'completed' : 'failed')))
    }
    await claim(storage, 20)
    await addMany(part, { delayMs: ms })
    counts.push([])
    for (const state of states) {
      const query: ListQuery = {
        of: 'jobs',
        by: 'place',
        types: ['mail'],
        limit: 10,
        ...(state && { states: [state] }),
      }
      // The first list of jobs that were added or completed together takes their entries apart, once.
      await storage.list(query)
      const commands = await commandsOf(() => storage.list(query))
      counts.at(-1)!.push(commands.length)
    }
  }
  assert.deepEqual(counts[1], counts[0])
  assert.ok(Math.max(...counts[1]!) < 80, String(counts[1]))
})

for (const order of ['asc', 'desc'] as const) {
  test(`${order}: jobs of one instant are listed once each while those of the last page leave the set`, async (t) => {
    const { storage, direct } = await openStorage(t, { manualTime: true })
    const ids = Array.from({ length: 60 }, (_, index) => `${index}`)
    await storage.add(ids.map((id) => job(id)))
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const query = { of: 'jobs', by: 'place', states: ['queued'], order, limit: 7 } as const
      const page = await storage.list({ ...query, ...(cursor !== undefined && { cursor }) })
      seen.push(...page.items.map(({ id }) => id))
      // Also the member that the cursor names.
      await storage.cancel(page.items)
      cursor = page.nextCursor
    } while (cursor !== undefined)
    assert.deepEqual(seen.toSorted(), ids.toSorted())
    assert.equal(await direct.send('ZCARD', '{p}:mail:ready:0'), 0)
  })
}

test('waiting jobs are listed in the order of their claim', async (t) => {
  const { storage } = await openStorage(t)
  await storage.add([job('low', { priority: -1 }), job('b'), job('a'), job('high', { priority: 5 })])
  const { items } = await storage.list({ of: 'jobs', by: 'place', order: 'asc', states: ['queued'], limit: 10 })
  const claimed = await claim(storage)
  assert.deepEqual(
    items.map(({ id }) => id),
    claimed.map(({ id }) => id),
  )
})

test('more types than one page looks at are listed over pages, some of them empty', async (t) => {
  const { storage } = await openStorage(t)
  const types = Array.from({ length: 300 }, (_, index) => `type ${index}`)
  await storage.add(types.map((type) => job('a', { type })))
  const seen: string[] = []
  let [pages, cursor]: [number, string | undefined] = [0, undefined]
  do {
    const page = await storage.list({ of: 'jobs', by: 'place', limit: 1_000, ...(cursor !== undefined && { cursor }) })
    seen.push(...page.items.map(({ type }) => type))
    pages++
    cursor = page.nextCursor
  } while (cursor !== undefined)
  assert.deepEqual(seen.toSorted(), types.toSorted())
  assert.ok(pages > 1, `${pages} pages`)
})

test('a where without fields is no filter', async (t) => {
  const { storage } = await openStorage(t)
  await storage.add([job('a', { search: { x: 1 } }), job('b')])
  for (const by of ['created', 'place'] as const) {
    assert.equal((await storage.list({ of: 'jobs', where: {}, by, limit: 10 })).items.length, 2)
  }
})

const cursorOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

test('a hostile cursor is refused, or finds nothing that it should not', async (t) => {
  const { storage } = await openStorage(t)
  await storage.add([job('a', { search: { x: 'y' }, payload: bytes('p') })])
  const list = (cursor: string, where?: { x: string }) =>
    storage.list({ of: 'jobs', by: 'place', cursor, limit: 10, ...(where && { where }) })
  const bad = [
    null,
    'text',
    [1, 'mail', 'a'],
    ['mail'],
    ['mail', 1.5],
    ['mail', '1'],
    ['mail', 100, '5'],
    ['mail', 100, 5, 'YQ=='],
    ['mail', 100, '5', 7],
    ['mail', 100, '5', 'YQ==', 'more'],
    ['mail', 100, '+inf 1', 'YQ=='],
    ['mail', 100, '(5', 'YQ=='],
    ['mail', 100, '1e', 'YQ=='],
    ['mail', 100, 'nan', 'YQ=='],
    ['mail', 2 ** 60, '5', 'YQ=='],
  ]
  for (const value of bad)
    await assert.rejects(list(cursorOf(value)), { code: 'INVALID_ARGUMENT' }, JSON.stringify(value))
  const strange = [
    ['', 0],
    ['mail', -5],
    ['mail', 100, '-inf', ''],
    ['mail', 100, '9'.repeat(32), 'AAAA'],
    ['mail', 5_000_000, '0', 'AAAA'],
    ['mail', 1e15],
    ['zzz', 100, '0', 'AAAA'],
  ]
  for (const value of strange) {
    for (const where of [undefined, { x: 'y' }]) {
      const { items } = await list(cursorOf(value), where)
      assert.ok(items.every(({ id }) => id === 'a'))
    }
  }
})
