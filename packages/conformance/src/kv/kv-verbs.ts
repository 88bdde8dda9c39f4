// The kv verbs: what each answers and writes. Bytes are exact, and conditions are decided inside the call.

import assert from 'node:assert/strict'
import type { Bytes } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'

const key = ['k']
const [a, b] = [bytes('a'), bytes('b')]
const none = new Uint8Array()

/** Values that a loose comparison or a text column would confuse. */
const values: Readonly<Record<string, Bytes>> = {
  'no bytes': none,
  'one zero': Uint8Array.of(0),
  'two zeros': Uint8Array.of(0, 0),
  text: bytes('text'),
  'its beginning': bytes('tex'),
  'in capitals': bytes('TEXT'),
  'with a space': bytes('text '),
  quoted: bytes('"text"'),
  null: bytes('null'),
  'a number': bytes('1'),
  'the same number': bytes('1.0'),
  'not UTF-8': Uint8Array.of(0xff, 0xfe, 0xc0, 0x80),
  'the replacement character twice': bytes('\ufffd\ufffd'),
  composed: bytes('\u00e9'),
  decomposed: bytes('e\u0301'),
  'every byte': Uint8Array.from({ length: 256 }, (_, index) => index),
}

/** The answer of `cas` and the value afterwards. */
const casTable: readonly (readonly [
  name: string,
  stands: Bytes | undefined,
  expected: Bytes | undefined,
  next: Bytes | undefined,
  answer: boolean,
])[] = [
  ['creates an absent entry', undefined, undefined, a, true],
  ['does not create an existing entry', b, undefined, a, false],
  ['does not create an existing entry of zero bytes', none, undefined, a, false],
  ['replaces the expected value', a, a, b, true],
  ['replaces a value by zero bytes', a, a, none, true],
  ['replaces a value by itself', a, a, a, true],
  ['does not replace another value', b, a, bytes('c'), false],
  ['distinguishes zero bytes from absence', undefined, none, a, false],
  ['replaces zero bytes', none, none, a, true],
  ['writes nothing when the expected value is absent', undefined, a, b, false],
  ['deletes the expected value', a, a, undefined, true],
  ['does not delete another value', b, a, undefined, false],
  ['does not delete an absent entry', undefined, a, undefined, false],
  ['confirms that an absent entry is absent', undefined, undefined, undefined, true],
  ['denies that an existing entry is absent', a, undefined, undefined, false],
]

export const kvVerbCases: readonly Case[] = [
  {
    name: 'a key that was never written is absent for every verb',
    run: async ({ storage: { kv } }) => {
      assert.equal(await kv.get(key), undefined)
      assert.equal(await kv.delete(key), false)
      assert.equal(await kv.cas(key, a, b), false)
      const { items, nextCursor } = await kv.list([], { limit: 10 })
      assert.deepEqual([items, nextCursor], [[], undefined])
    },
  },
  {
    name: 'set writes and overwrites one key and no other',
    run: async ({ storage: { kv } }) => {
      await kv.set(key, a)
      await kv.set(['other'], a)
      await kv.set(key, b)
      assert.deepEqual([text(await kv.get(key)), text(await kv.get(['other']))], ['b', 'a'])
    },
  },
  {
    name: 'setIfAbsent writes once and keeps an existing value',
    run: async ({ storage: { kv } }) => {
      assert.equal(await kv.setIfAbsent(key, a), true)
      assert.equal(await kv.setIfAbsent(key, b), false)
      assert.equal(text(await kv.get(key)), 'a')
    },
  },
  {
    name: 'delete says whether there was an entry and removes it',
    run: async ({ storage: { kv } }) => {
      await kv.set(key, a)
      await kv.set(['other'], b)
      assert.deepEqual([await kv.delete(key), await kv.delete(key)], [true, false])
      assert.deepEqual([await kv.get(key), text(await kv.get(['other']))], [undefined, 'b'])
      assert.equal((await kv.list([], { limit: 10 })).items.length, 1)
      assert.equal(await kv.setIfAbsent(key, a), true)
    },
  },
  {
    name: 'zero bytes are a value for every verb',
    proves: ['W20'],
    run: async ({ storage: { kv } }) => {
      await kv.set(key, none)
      assert.equal((await kv.get(key))?.length, 0)
      assert.equal(await kv.setIfAbsent(key, a), false)
      assert.equal((await kv.list([], { limit: 10 })).items[0]?.value.length, 0)
      assert.equal(await kv.delete(key), true)
    },
  },
  ...casTable.map(([name, stands, expected, next, answer]): Case => ({
    name: `cas ${name}`,
    proves: ['W20'],
    run: async ({ storage: { kv } }) => {
      if (stands) await kv.set(key, stands)
      await kv.set(['other'], bytes('other'))
      assert.equal(await kv.cas(key, expected, next), answer)
      assert.equal(text(await kv.get(key)), text(answer ? next : stands))
      assert.equal((await kv.list([], { limit: 10 })).items.length, (answer ? next : stands) ? 2 : 1)
    },
  })),
  {
    name: 'cas compares byte for byte',
    proves: ['W20'],
    run: async ({ storage: { kv } }) => {
      for (const [name, value] of Object.entries(values)) {
        await kv.set(key, value)
        for (const [other, expected] of Object.entries(values)) {
          if (other !== name) assert.equal(await kv.cas(key, expected, bytes('wrong')), false, `${other} for ${name}`)
        }
        assert.equal(await kv.cas(key, new Uint8Array(value), value), true, name)
      }
    },
  },
  ...(['set', 'setIfAbsent', 'cas'] as const).map((verb): Case => ({
    name: `get and list return every value written by ${verb} byte for byte`,
    proves: ['trap 27', 'S2'],
    run: async ({ storage: { kv } }) => {
      for (const [name, value] of Object.entries(values)) {
        if (verb === 'cas') assert.equal(await kv.cas([name], undefined, value), true)
        else await kv[verb]([name], value)
      }
      for (const [name, value] of Object.entries(values)) {
        assert.deepEqual([...(await kv.get([name]))!], [...value], name)
      }
      const { items } = await kv.list([], { limit: 100 })
      assert.equal(items.length, Object.keys(values).length)
      for (const { key: parts, value } of items) assert.deepEqual([...value], [...values[parts[0]!]!], parts[0])
    },
  })),
  {
    name: 'of a view into a larger buffer only the view is stored and compared',
    proves: ['S2'],
    run: async ({ storage: { kv } }) => {
      const view = bytes('--shown--').subarray(2, 7)
      await kv.set(key, view)
      assert.equal(text(await kv.get(key)), 'shown')
      assert.equal(await kv.cas(key, bytes('(shown)').subarray(1, 6), a), true)
    },
  },
  {
    name: 'a value of a megabyte is returned completely',
    run: async ({ storage: { kv } }) => {
      const value = Uint8Array.from({ length: 1 << 20 }, (_, index) => (index * 31) & 255)
      await kv.set(key, value)
      assert.ok(Buffer.from((await kv.get(key))!).equals(value))
      assert.equal(await kv.cas(key, value, undefined), true)
    },
  },
  {
    name: 'of a hundred concurrent setIfAbsent calls one writes, and its value stays',
    proves: ['W20', 'S11'],
    run: async ({ storage: { kv } }) => {
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) => kv.setIfAbsent(key, bytes(`${index}`))),
      )
      assert.equal(answers.filter(Boolean).length, 1)
      assert.equal(text(await kv.get(key)), String(answers.indexOf(true)))
    },
  },
  {
    name: 'of many concurrent cas calls from one value one succeeds: no write is lost',
    proves: ['W20'],
    run: async ({ storage: { kv } }) => {
      await kv.set(key, bytes('0'))
      const add = async (): Promise<void> => {
        for (;;) {
          const current = (await kv.get(key))!
          if (await kv.cas(key, current, bytes(String(Number(text(current)) + 1)))) return
        }
      }
      await Promise.all(Array.from({ length: 20 }, add))
      assert.equal(text(await kv.get(key)), '20')
    },
  },
  {
    name: 'of many concurrent deletes, or cas calls that delete, one finds the entry',
    proves: ['W20', 'E5'],
    run: async ({ storage: { kv } }) => {
      await kv.set(key, a)
      const deleted = await Promise.all(Array.from({ length: 20 }, () => kv.delete(key)))
      assert.equal(deleted.filter(Boolean).length, 1)
      await kv.set(key, a)
      const spent = await Promise.all(Array.from({ length: 20 }, () => kv.cas(key, a, undefined)))
      assert.equal(spent.filter(Boolean).length, 1)
    },
  },
  {
    name: 'a value written through one handle is read through another',
    run: async ({ storage, another }) => {
      const other = await another()
      await other.connect()
      await storage.kv.set(key, a)
      assert.equal(text(await other.kv.get(key)), 'a')
      assert.equal(await other.kv.cas(key, a, b), true)
      assert.equal(text(await storage.kv.get(key)), 'b')
      await other.disconnect()
    },
  },
]
