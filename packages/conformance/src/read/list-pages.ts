// Pages of a list: every row once, in order, while other rows are added, removed and changed.

import assert from 'node:assert/strict'
import type { ListQuery, Storage } from 'holdfast/storage'
import type { Case } from '../case.ts'
import { idsOf } from '../records.ts'

/** Pages of an index over creation have every job. Without one, a storage says that it has not looked at all. */
async function assertPages(storage: Storage, query: ListQuery, all: readonly string[]): Promise<void> {
  const { truncated } = await storage.list(query)
  const ids = await pages(storage, query)
  assert.ok(!truncated || !storage.settings.createdIndexed)
  assert.deepEqual(ids, truncated ? all.filter((id) => ids.includes(id)) : all, `${query.maxScanned}, ${query.limit}`)
}

/** Reads all pages and calls `between` after each. */
async function pages(storage: Storage, query: ListQuery, between: (page: number) => Promise<void> = async () => {}) {
  const ids: string[] = []
  let cursor: string | undefined
  for (let page = 1; page <= 100; page++) {
    const answer = await storage.list(cursor === undefined ? query : { ...query, cursor })
    assert.ok(answer.items.length <= query.limit)
    ids.push(...idsOf(answer.items))
    cursor = answer.nextCursor
    if (cursor === undefined) return ids
    await between(page)
  }
  return assert.fail('expected a last page, got cursors without end')
}

export const listPageCases: readonly Case[] = [
  ...(['asc', 'desc'] as const).flatMap((order) =>
    (['jobs', 'chains'] as const).map((of): Case => ({
      name: `pages of ${of} in order ${order} have every row once, also rows of one instant`,
      proves: ['chains trap 30'],
      run: async ({ storage, job, advance, unit }) => {
        for (const type of ['a', 'b', 'a']) {
          await storage.add(Array.from({ length: 4 }, () => job({ type })))
          await advance(unit)
        }
        const all = idsOf((await storage.list({ of, order, limit: 100 })).items)
        assert.equal(all.length, 12)
        for (const limit of [1, 4, 5, 12, 1000]) assert.deepEqual(await pages(storage, { of, order, limit }), all)
      },
    })),
  ),
  ...(['asc', 'desc'] as const).map((order): Case => ({
    name: `pages in order ${order} that may look at few jobs have every row once, also rows of one instant`,
    proves: ['F30'],
    run: async ({ storage, job, advance, unit }) => {
      for (const delayMs of [1_000_000, 0, 1_000_000, 0, 0, 1_000_000]) {
        const group = delayMs > 0 && { group: { key: 'g' } }
        await storage.add(Array.from({ length: 4 }, () => job({ delayMs, ...group })))
        await advance(unit)
      }
      // A storage may have an index for the one and not for the other.
      for (const filter of [{ states: ['scheduled'] }, { group: 'g' }] as const) {
        const query = { of: 'jobs', order, ...filter } as const
        const { items } = await storage.list({ ...query, limit: 100 })
        const all = idsOf(items)
        assert.equal(all.length, 12)
        for (const maxScanned of [1, 3, 4, 5, 9, 1000]) {
          for (const limit of [1, 3, 100]) {
            await assertPages(storage, { ...query, limit, maxScanned }, all)
          }
        }
        const at = items[4]!.createdAt
        const half = order === 'asc' ? { createdFrom: at } : { createdTo: at + 1 }
        await assertPages(storage, { ...query, ...half, limit: 2, maxScanned: 2 }, all.slice(4))
      }
    },
  })),
  {
    name: 'a page has no more rows than its limit, and the last page has no cursor',
    run: async ({ storage, added }) => {
      for (let count = 0; count < 3; count++) await added()
      const first = await storage.list({ of: 'jobs', limit: 2 })
      assert.equal(first.items.length, 2)
      const last = await storage.list({ of: 'jobs', limit: 2, cursor: first.nextCursor! })
      assert.deepEqual([last.items.length, last.nextCursor], [1, undefined])
    },
  },
  {
    name: 'filters apply before the limit: every page but the last is full',
    run: async ({ storage, added, job }) => {
      const wanted = []
      for (let count = 0; count < 5; count++) {
        await storage.add(Array.from({ length: 5 }, () => job()))
        wanted.push((await added({ delayMs: 1_000_000 })).id)
      }
      const query = { of: 'jobs', states: ['scheduled'], limit: 2 } as const
      assert.equal((await storage.list(query)).items.length, 2)
      assert.deepEqual((await pages(storage, query)).toSorted(), wanted.toSorted())
    },
  },
  ...(['asc', 'desc'] as const).map((order): Case => ({
    name: `pages in order ${order} skip and repeat no row while rows are added and removed, also the row of the cursor`,
    proves: ['chains trap 30'],
    run: async (context) => {
      const { storage, added, advance, unit } = context
      const rows: string[] = []
      for (let count = 0; count < 12; count++) {
        rows.push((await added({ id: `row-${String(count).padStart(2, '0')}` })).id)
        await advance(unit / 10)
      }
      if (order === 'desc') rows.reverse()
      const gone = new Set<string>()
      const ids = await pages(storage, { of: 'jobs', order, limit: 3 }, async (page) => {
        // The row of the cursor, one before it and one after it.
        const removed = [rows[page * 3 - 1]!, rows[page * 3 - 3]!, ...(page === 1 ? [rows[10]!] : [])]
        for (const id of removed) gone.add(id)
        await storage.remove(
          removed.map((id) => ({ type: 'mail', id })),
          { trees: true },
        )
        if (page <= 3) await added({ id: `new-${page}` })
      })
      assert.equal(new Set(ids).size, ids.length, 'no row twice')
      for (const id of rows) if (!gone.has(id)) assert.ok(ids.includes(id), `${id} was skipped`)
      assert.ok(!ids.includes(rows[10]!), 'a row removed before its page is absent')
    },
  })),
  {
    name: 'rows that change their state between pages are neither skipped nor repeated',
    proves: ['chains trap 30'],
    run: async (context) => {
      const { storage, added, claim } = context
      const rows = []
      for (let count = 0; count < 6; count++) rows.push((await added()).id)
      const ids = await pages(storage, { of: 'jobs', limit: 2 }, async () => void (await claim({ slots: 2 })))
      assert.deepEqual(ids.toSorted(), rows.toSorted())
    },
  },
  {
    name: 'a cursor is valid on another handle',
    run: async ({ storage, another, added }) => {
      const rows = [await added(), await added(), await added()]
      const other = await another()
      await other.connect()
      const first = await storage.list({ of: 'jobs', limit: 2 })
      const second = await other.list({ of: 'jobs', limit: 2, cursor: first.nextCursor! })
      assert.deepEqual(idsOf([...first.items, ...second.items]).toSorted(), idsOf(rows).toSorted())
      await other.disconnect()
    },
  },
]
