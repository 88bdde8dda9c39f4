// kv lists: whole parts, one order, and pages that end and skip no lasting entry while others write.

import assert from 'node:assert/strict'
import { encodeKvKey } from 'holdfast/storage'
import type { KeyValue, KvKey } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'

const value = bytes('v')
const padded = (number: number): string => String(number).padStart(3, '0')

async function write(kv: KeyValue, keys: readonly KvKey[]): Promise<void> {
  for (const key of keys) await kv.set(key, value)
}

const listed = async (kv: KeyValue, prefix: KvKey): Promise<string[][]> =>
  (await kv.list(prefix, { limit: 1000 })).items.map(({ key }) => [...key])

/** Reads all keys by pages and calls `between` after each. */
async function pages(
  kv: KeyValue,
  prefix: KvKey,
  limit: number,
  between: (page: number, seen: readonly string[][]) => Promise<void> = async () => {},
): Promise<string[][]> {
  const keys: string[][] = []
  let cursor: string | undefined
  for (let page = 1; page <= 100; page++) {
    const answer = await kv.list(prefix, cursor === undefined ? { limit } : { limit, cursor })
    assert.ok(answer.items.length <= limit)
    keys.push(...answer.items.map(({ key }) => [...key]))
    cursor = answer.nextCursor
    if (cursor === undefined) return keys
    await between(page, keys)
  }
  return assert.fail('expected a last page, got cursors without end')
}

export const kvListCases: readonly Case[] = [
  {
    name: 'a prefix matches whole parts: the key itself and the keys below it, not keys whose text only starts the same',
    proves: ['W20'],
    run: async ({ storage: { kv } }) => {
      const below = [['a'], ['a', ''], ['a', '', 'x'], ['a', 'b'], ['a', 'b', 'c']]
      await write(kv, [...below, ['ab'], ['ab', 'c'], ['aa'], ['A', 'b'], [''], ['', 'a'], ['b', 'a']])
      assert.deepEqual((await listed(kv, ['a'])).toSorted(), below.toSorted())
      assert.deepEqual(await listed(kv, ['a', 'b']), [
        ['a', 'b'],
        ['a', 'b', 'c'],
      ])
      assert.deepEqual(await listed(kv, ['a', '']), [
        ['a', ''],
        ['a', '', 'x'],
      ])
      assert.deepEqual((await listed(kv, [''])).length, 2)
      assert.deepEqual(await listed(kv, ['a', 'b', 'c', 'd']), [])
    },
  },
  {
    name: 'a prefix without parts lists every key',
    run: async ({ storage: { kv } }) => {
      await write(kv, [['a'], ['', 'b'], ['c', 'd', 'e']])
      assert.equal((await listed(kv, [])).length, 3)
    },
  },
  {
    name: 'a prefix is text, not a pattern',
    proves: ['W20'],
    run: async ({ storage: { kv } }) => {
      const odd = ['[::1]', '%', '_', '*', '?', '[a-z]', '\\', '^', '$', '.', '.*']
      await write(kv, [['x', 'y'], ...odd.map((part) => [part, 'y'])])
      for (const part of odd) assert.deepEqual(await listed(kv, [part]), [[part, 'y']])
    },
  },
  {
    name: 'keys are listed in the order of their encoding',
    run: async ({ storage: { kv } }) => {
      const keys = [
        ['b'],
        ['a', 'b'],
        ['a'],
        ['a!'],
        ['a0'],
        ['B'],
        ['a', ''],
        ['10'],
        ['9'],
        ['a b'],
        ['aa'],
        ['~'],
        ['\u00e9'],
      ]
      await write(kv, keys)
      const sorted = keys.map((key) => encodeKvKey(key)).toSorted((a, b) => (a < b ? -1 : 1))
      assert.deepEqual(
        (await listed(kv, [])).map((key) => encodeKvKey(key)),
        sorted,
      )
    },
  },
  {
    name: 'entries are listed with their values',
    run: async ({ storage: { kv } }) => {
      for (const part of ['a', 'b', 'c']) await kv.set(['p', part], bytes(`value of ${part}`))
      const { items } = await kv.list(['p'], { limit: 10 })
      assert.deepEqual(
        items.map((entry) => text(entry.value)),
        ['value of a', 'value of b', 'value of c'],
      )
    },
  },
  {
    name: 'pages of any size have every key of the prefix once, in order',
    proves: ['W20'],
    run: async ({ storage: { kv } }) => {
      const keys = Array.from({ length: 12 }, (_, index) => ['p', padded(index)])
      await write(kv, keys.toReversed())
      await write(kv, [['o', 'x'], ['p2', 'x'], ['q']])
      for (const limit of [1, 5, 6, 12, 13, 1000]) assert.deepEqual(await pages(kv, ['p'], limit), keys)
    },
  },
  {
    name: 'the last page has no cursor',
    run: async ({ storage: { kv } }) => {
      await write(kv, [['a'], ['b'], ['c']])
      const first = await kv.list([], { limit: 2 })
      assert.equal(first.items.length, 2)
      const last = await kv.list([], { limit: 2, cursor: first.nextCursor! })
      assert.deepEqual([last.items.length, last.nextCursor], [1, undefined])
    },
  },
  {
    name: 'expired entries are on no page and do not end the list early',
    proves: ['W20'],
    run: async ({ storage: { kv }, advance, unit }) => {
      const live: string[][] = []
      for (let index = 0; index < 20; index++) {
        const key = ['p', padded(index)]
        const stays = index % 10 === 9
        await kv.set(key, value, stays ? {} : { ttlMs: 10 * unit })
        if (stays) live.push(key)
      }
      await advance(10 * unit)
      for (const limit of [1, 2, 3]) assert.deepEqual(await pages(kv, ['p'], limit), live)
    },
  },
  {
    name: 'entries that expire between two pages are not on the second',
    run: async ({ storage: { kv }, advance, unit }) => {
      for (let index = 0; index < 4; index++) await kv.set(['p', padded(index)], value, { ttlMs: 20 * unit })
      await kv.set(['p', padded(4)], value)
      const keys = await pages(kv, ['p'], 2, async (page) => (page === 1 ? advance(20 * unit) : undefined))
      assert.deepEqual(
        keys.map(([, part]) => part),
        ['000', '001', '004'],
      )
    },
  },
  {
    name: 'pages skip no lasting entry and repeat none while others write, overwrite and delete',
    proves: ['W20'],
    run: async ({ storage: { kv } }) => {
      const keys = Array.from({ length: 12 }, (_, index) => ['p', padded(index * 10)])
      await write(kv, keys)
      const found = await pages(kv, ['p'], 3, async (page, seen) => {
        await kv.delete(seen.at(-1)!)
        await kv.delete(seen[0]!)
        await kv.set(seen[1]!, bytes('again'))
        await kv.set(['p', `00${page}`], value)
        await kv.set(['p', padded(100 + page)], value)
        if (page === 1) await kv.delete(keys[9]!)
      })
      assert.equal(new Set(found.map(encodeKvKey)).size, found.length, 'no row twice')
      const parts = found.map(([, part]) => part)
      for (const [index, key] of keys.entries()) assert.equal(parts.includes(key[1]!), index !== 9, key[1])
    },
  },
  {
    name: 'the pages end although others write as many entries behind every cursor as were read',
    proves: ['tasks §6'],
    run: async ({ storage: { kv } }) => {
      await write(kv, [
        ['p', padded(0)],
        ['p', padded(1)],
        ['p', padded(2)],
        ['p', padded(3)],
      ])
      const found = await pages(kv, ['p'], 2, async (page) =>
        write(kv, [
          ['p', padded(2 * page + 2)],
          ['p', padded(2 * page + 3)],
        ]),
      )
      assert.deepEqual(
        found.slice(0, 4).map(([, part]) => part),
        ['000', '001', '002', '003'],
      )
    },
  },
  {
    name: 'two concurrent lists do not affect each other',
    run: async ({ storage: { kv } }) => {
      const keys = Array.from({ length: 6 }, (_, index) => ['p', padded(index)])
      await write(kv, keys)
      await write(kv, [['q', 'x']])
      const found = await pages(kv, ['p'], 2, async () => {
        assert.deepEqual(await pages(kv, ['p'], 4), keys)
        assert.deepEqual(await pages(kv, ['q'], 1), [['q', 'x']])
      })
      assert.deepEqual(found, keys)
    },
  },
  {
    name: 'a cursor is valid on another handle',
    run: async ({ storage, another }) => {
      await write(storage.kv, [['a'], ['b'], ['c']])
      const other = await another()
      await other.connect()
      const { nextCursor } = await storage.kv.list([], { limit: 2 })
      const { items } = await other.kv.list([], { limit: 2, cursor: nextCursor! })
      assert.deepEqual(
        items.map(({ key }) => [...key]),
        [['c']],
      )
      await other.disconnect()
    },
  },
]
