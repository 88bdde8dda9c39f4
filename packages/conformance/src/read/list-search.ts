// list with `where` and `group`: jobs are found by the fields they were added with.

import assert from 'node:assert/strict'
import type { Where } from 'holdfast/storage'
import type { Case, CaseContext } from '../case.ts'
import { idsOf } from '../records.ts'
import { inState } from '../scenarios.ts'

const found = async ({ storage }: CaseContext, where: Where, more = {}): Promise<string[]> =>
  idsOf((await storage.list({ of: 'jobs', where, limit: 100, ...more })).items).toSorted()

async function addOrders({ added }: CaseContext): Promise<void> {
  await added({ id: 'a', search: { customer: 'c-1', total: 50, paid: true } })
  await added({ id: 'b', search: { customer: 'c-1', total: 100, paid: false } })
  await added({ id: 'c', search: { customer: 'c-2', total: 150.5 } })
  await added({ id: 'd', search: { customer: '100' } })
  await added({ id: 'e' })
}

const table: readonly (readonly [what: string, where: Where, ids: string])[] = [
  ['a text', { customer: 'c-1' }, 'ab'],
  ['a number', { total: 100 }, 'b'],
  ['a fraction', { total: 150.5 }, 'c'],
  ['a boolean', { paid: false }, 'b'],
  ['one of several values', { customer: ['c-2', '100', 'none'] }, 'cd'],
  ['one of no values', { customer: [] }, ''],
  ['a lower bound', { total: { gte: 100 } }, 'bc'],
  ['an exclusive lower bound', { total: { gt: 100 } }, 'c'],
  ['an upper bound', { total: { lte: 100 } }, 'ab'],
  ['an exclusive upper bound', { total: { lt: 100 } }, 'a'],
  ['both bounds', { total: { gt: 50, lt: 150 } }, 'b'],
  ['a range of texts', { customer: { gte: 'c-1', lt: 'c-2' } }, 'ab'],
  ['several fields', { customer: 'c-1', total: { gte: 60 } }, 'b'],
  ['a text that looks like a number, not the number', { customer: 100 }, ''],
  ['a number, not a text that looks like it', { total: '100' }, ''],
  ['a range of texts, no numbers', { total: { gte: '' } }, ''],
  ['a field that no job has', { nothing: 1 }, ''],
  ['a name of a property of objects', { constructor: 'x' }, ''],
]

const whereCases: readonly Case[] = table.map(([what, where, ids]) => ({
  name: `where finds ${what}`,
  proves: ['F30'],
  run: async (context) => {
    await addOrders(context)
    assert.equal((await found(context, where)).join(''), ids)
    assert.equal((await found(context, where, { by: 'place' })).join(''), ids)
  },
}))

const group = (key: string) => ({ group: { key, ordered: true as const } })

export const listSearchCases: readonly Case[] = [
  ...whereCases,
  {
    name: 'where can be combined with type, state and time, and pages of it are complete',
    proves: ['F30'],
    run: async (context) => {
      const { storage, added, now } = context
      const search = { customer: 'x' }
      await inState(context, 'failed', { id: 'failed', search })
      await added({ id: 'other', type: 'other', search })
      for (let index = 0; index < 7; index++) await added({ id: `w${index}`, search })
      assert.deepEqual(await found(context, search, { states: ['failed'] }), ['failed'])
      assert.deepEqual(await found(context, search, { types: ['other'] }), ['other'])
      assert.deepEqual(await found(context, search, { createdFrom: (await now()) + 1 }), [])
      const seen: string[] = []
      let cursor: string | undefined
      do {
        const page = await storage.list({
          of: 'jobs',
          where: search,
          types: ['mail'],
          states: ['queued'],
          limit: 3,
          ...(cursor !== undefined && { cursor }),
        })
        seen.push(...idsOf(page.items))
        cursor = page.nextCursor
      } while (cursor !== undefined)
      assert.deepEqual(seen.toSorted(), ['w0', 'w1', 'w2', 'w3', 'w4', 'w5', 'w6'])
    },
  },
  {
    name: 'fields are in the record, stay through its states, and are gone with it',
    proves: ['F30'],
    run: async (context) => {
      const { storage } = context
      const search = { customer: 'x', n: -0.5, yes: true, error: 'e', 'née\u0000': '\ud800' }
      const { id } = await inState(context, 'completed', { search })
      const [record] = await storage.get([{ type: 'mail', id }])
      assert.deepEqual({ ...record!.search }, search)
      assert.deepEqual(await found(context, { customer: 'x' }), [id])
      assert.deepEqual(await found(context, { 'née\u0000': '\ud800' }), [id])
      await storage.remove([{ type: 'mail', id }])
      assert.deepEqual(await found(context, { customer: 'x' }), [])
    },
  },
  {
    name: 'a replaced job is found by its new fields only',
    proves: ['F30', 'F4'],
    run: async (context) => {
      const { id } = await context.added({ search: { customer: 'old' } })
      await context.storage.add([context.job({ id, search: { customer: 'new' }, onDuplicate: 'replace' })])
      assert.deepEqual(await found(context, { customer: 'old' }), [])
      assert.deepEqual(await found(context, { customer: 'new' }), [id])
    },
  },
  {
    name: 'a list can be filtered by group',
    run: async ({ storage, added }) => {
      const jobs = [await added(group('g')), await added(group('g')), await added(group('h')), await added()]
      for (const by of ['created', 'place'] as const) {
        const { items } = await storage.list({ of: 'jobs', group: 'g', by, limit: 100 })
        assert.deepEqual(idsOf(items).toSorted(), idsOf(jobs.slice(0, 2)).toSorted())
      }
    },
  },
  ...(
    [
      ['a field that is no value', { search: { x: null } }],
      ['a field that is not finite', { search: { x: Infinity } }],
      ['a text of more than 256 characters', { search: { x: 'x'.repeat(257) } }],
      ['more than 16 fields', { search: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`f${n}`, n])) }],
      ['a field without a name', { search: { '': 1 } }],
    ] as const
  ).map(([what, fields]): Case => ({
    name: `${what} is refused, and nothing is written`,
    proves: ['F30'],
    run: async ({ storage, job }) => {
      await assert.rejects(storage.add([job(), job(fields as never)]), { code: 'INVALID_ARGUMENT' })
      assert.deepEqual((await storage.list({ of: 'jobs', limit: 10 })).items, [])
    },
  })),
  {
    name: 'bad bounds of a where are refused',
    proves: ['F30'],
    run: async ({ storage }) => {
      for (const wanted of [null, {}, { above: 1 }, { gt: true }, { gt: NaN }, [null]]) {
        const query = { of: 'jobs', where: { x: wanted as never }, limit: 10 } as const
        await assert.rejects(storage.list(query), { code: 'INVALID_ARGUMENT' }, JSON.stringify(wanted))
      }
    },
  },
]
