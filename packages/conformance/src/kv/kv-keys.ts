// kv keys: parts of any content are returned as given, and no two keys collide.

import assert from 'node:assert/strict'
import { encodeKvKey } from 'holdfast/storage'
import type { KvKey } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'

const long = 'x'.repeat(8 * 1024 - 8)

/** Keys that a naive encoding would join, fold, truncate, decode or match to one another. */
const awkward: readonly KvKey[] = [
  [''],
  ['', ''],
  ['', '', ''],
  ['a'],
  ['a', ''],
  ['', 'a'],
  ['a', 'b'],
  ['a/b'],
  ['a', '/', 'b'],
  ['a//b'],
  ['a:b'],
  ['a', ':b'],
  ['a:', 'b'],
  ['a\\b'],
  ['a\0b'],
  ['a', '\0', 'b'],
  ['\0'],
  ['\0', '\0'],
  ['\0\0'],
  ['0'],
  ['a\nb'],
  ['a\tb'],
  ['a\r\nb'],
  [' '],
  [' a'],
  ['a '],
  ['a.'],
  ['.'],
  ['..'],
  ['..', '..', 'x'],
  ['../../x'],
  ['%'],
  ['%25'],
  ['%0000'],
  ['%002f'],
  ['a%002fb'],
  ['%2F'],
  ['%2f'],
  ['%s'],
  ['_'],
  ['*'],
  ['?'],
  ['[a]'],
  ['[::1]'],
  ['{a}'],
  ['}{'],
  ["'"],
  ["'; DROP TABLE kv; --"],
  ['"'],
  ['$$'],
  ['`'],
  ['A'],
  ['A', 'B'],
  ['A', 'b'],
  ['\u00e9'],
  ['e\u0301'],
  ['\u00df'],
  ['ss'],
  ['\u0130'],
  ['i'],
  ['\u{1f600}'],
  ['\ud83d'],
  ['\ude00'],
  ['\ude00\ud83d'],
  ['\ud83d', '\ude00'],
  ['\ufffd'],
  ['\ufffd\ufffd'],
  ['\ufeff'],
  ['\u202e'],
  ['1'],
  ['01'],
  ['1.0'],
  ['null'],
  ['undefined'],
  ['true'],
  ['[]'],
  ['["a","b"]'],
  ['a,b'],
  ['__proto__'],
  ['constructor'],
  ['toString'],
  ['hasOwnProperty', 'x'],
  ['CON'],
  ['kv'],
  ['job'],
  ['jobs', 'mail', 'job-1'],
  ['leases'],
  ['meta'],
  [long],
  [`${long}1`],
  [`${long}2`],
  [long.slice(0, 200)],
  [long.slice(0, 201)],
  Array.from({ length: 100 }, () => ''),
  Array.from({ length: 100 }, (_, index) => `${index}`),
]

/** A distinct text per key, made without the encoding under test. */
const name = (key: KvKey): string => JSON.stringify(key)

export const kvKeyCases: readonly Case[] = [
  {
    name: 'awkward keys are distinct, and each has its own value',
    proves: ['W20', 'S24'],
    run: async ({ storage: { kv } }) => {
      assert.equal(new Set(awkward.map(name)).size, awkward.length)
      for (const key of awkward) assert.equal(await kv.setIfAbsent(key, bytes(name(key))), true, name(key))
      for (const key of awkward) assert.equal(text(await kv.get(key)), name(key))
    },
  },
  {
    name: 'list returns awkward keys part by part',
    proves: ['W20'],
    run: async ({ storage: { kv } }) => {
      for (const key of awkward) await kv.set(key, bytes(name(key)))
      const { items } = await kv.list([], { limit: 1000 })
      assert.deepEqual(items.map(({ key }) => name(key)).toSorted(), awkward.map(name).toSorted())
      for (const { key, value } of items) assert.equal(text(value), name(key))
    },
  },
  {
    name: 'list returns awkward keys in pages of one: a cursor may be at any key',
    proves: ['W20'],
    run: async ({ storage: { kv } }) => {
      for (const key of awkward) await kv.set(key, bytes('v'))
      const found: string[] = []
      let cursor: string | undefined
      do {
        const page = await kv.list([], cursor === undefined ? { limit: 1 } : { limit: 1, cursor })
        found.push(...page.items.map(({ key }) => name(key)))
        cursor = page.nextCursor
      } while (cursor !== undefined && found.length <= awkward.length)
      assert.deepEqual(found.toSorted(), awkward.map(name).toSorted())
    },
  },
  {
    name: 'deleting one awkward key keeps every other',
    proves: ['S24'],
    run: async ({ storage: { kv } }) => {
      for (const key of awkward) await kv.set(key, bytes('v'))
      let left = awkward.length
      for (const key of awkward) {
        assert.equal(await kv.delete(key), true, name(key))
        assert.equal((await kv.list([], { limit: 1000 })).items.length, --left, name(key))
      }
    },
  },
  {
    name: 'cas of one awkward key compares its own value',
    proves: ['S24'],
    run: async ({ storage: { kv } }) => {
      for (const key of awkward) await kv.set(key, bytes(name(key)))
      for (const key of awkward) {
        assert.equal(await kv.cas(key, bytes(name(key)), bytes(`new ${name(key)}`)), true, name(key))
      }
      for (const key of awkward) assert.equal(text(await kv.get(key)), `new ${name(key)}`)
    },
  },
  {
    name: 'every awkward key is a prefix that lists exactly the keys below it',
    proves: ['W20'],
    run: async ({ storage: { kv } }) => {
      const expected = new Map<string, string[]>()
      for (const key of awkward) {
        await kv.set([...key, 'below'], bytes('v'))
        expected.set(name(key), [])
      }
      for (const prefix of awkward) {
        for (const key of awkward) {
          const below = [...key, 'below']
          if (prefix.every((part, index) => below[index] === part)) expected.get(name(prefix))!.push(name(below))
        }
        const { items } = await kv.list(prefix, { limit: 1000 })
        assert.deepEqual(
          items.map(({ key }) => name(key)).toSorted(),
          expected.get(name(prefix))!.toSorted(),
          name(prefix),
        )
      }
    },
  },
  {
    name: 'two keys of 8 KiB that differ only in their last character are distinct',
    proves: ['tasks §6'],
    run: async ({ storage: { kv } }) => {
      const keys = ['1', '2'].map((end) => ['p', `${'\u00e9'.repeat(4 * 1024 - 8)}${end}`])
      for (const key of keys) await kv.set(key, bytes(key[1]!.slice(-1)))
      assert.deepEqual([text(await kv.get(keys[0]!)), text(await kv.get(keys[1]!))], ['1', '2'])
      const { items } = await kv.list(['p'], { limit: 10 })
      assert.deepEqual(
        items.map(({ key }) => [...key]),
        keys,
      )
    },
  },
  {
    name: 'kv keys and jobs never collide, whatever their names',
    proves: ['S24'],
    run: async ({ storage, added, claimOne }) => {
      const job = await added({ type: 'mail', id: 'x', payload: bytes('payload') })
      const keys = [['mail', 'x'], ['job', 'mail', 'x'], ['x'], ['mail'], ['jobs', 'mail', 'x'], ['mail:x'], ['mail/x']]
      for (const key of keys) {
        assert.equal(await storage.kv.setIfAbsent(key, bytes('v')), true)
        assert.equal(await storage.kv.delete(key), true)
      }
      const { id, payload } = await claimOne()
      assert.deepEqual([id, text(payload)], [job.id, 'payload'])
    },
  },
  {
    name: 'the encoding of a prefix is a prefix of the encodings of its keys and of no others',
    run: async () => {
      for (const key of awkward) {
        for (const other of awkward) {
          const isPrefix = key.every((part, index) => other[index] === part)
          assert.equal(encodeKvKey(other).startsWith(encodeKvKey(key)), isPrefix, `${name(key)} of ${name(other)}`)
        }
      }
    },
  },
]
