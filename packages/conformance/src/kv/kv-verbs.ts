// Guards what each kv verb answers and leaves behind: bytes exactly as given, conditions decided inside the call.

import assert from 'node:assert/strict'
import type { Bytes } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'

const key = ['k']
const [a, b] = [bytes('a'), bytes('b')]
const none = new Uint8Array()

/** Values that a lazy comparison or a text column would confuse with one another. */
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

/** What `cas` answers, and what stands afterwards. */
const casTable: readonly (readonly [
  name: string,
  stands: Bytes | undefined,
  expected: Bytes | undefined,
  next: Bytes | undefined,
  answer: boolean,
])[] = [
  ['creates what is absent', undefined, undefined, a, true],
  ['does not create what is there', b, undefined, a, false],
  ['does not create what is there with no bytes', none, undefined, a, false],
  ['replaces the value expected', a, a, b, true],
  ['replaces by no bytes', a, a, none, true],
  ['replaces a value by itself', a, a, a, true],
  ['leaves another value alone', b, a, bytes('c'), false],
  ['does not take no bytes for absence', undefined, none, a, false],
  ['replaces no bytes', none, none, a, true],
  ['writes nothing where a value is expected and there is none', undefined, a, b, false],
  ['deletes the value expected', a, a, undefined, true],
  ['does not delete another value', b, a, undefined, false],
  ['does not delete what is absent', undefined, a, undefined, false],
  ['agrees that what is absent is absent', undefined, undefined, undefined, true],
  ['does not agree that what is there is absent', a, undefined, undefined, false],
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
    name: 'set writes and overwrites, one key and no other',
    run: async ({ storage: { kv } }) => {
      await kv.set(key, a)
      await kv.set(['other'], a)
      await kv.set(key, b)
      assert.deepEqual([text(await kv.get(key)), text(await kv.get(['other']))], ['b', 'a'])
    },
  },
  {
    name: 'setIfAbsent writes once and leaves what is there',
    run: async ({ storage: { kv } }) => {
      assert.equal(await kv.setIfAbsent(key, a), true)
      assert.equal(await kv.setIfAbsent(key, b), false)
      assert.equal(text(await kv.get(key)), 'a')
    },
  },
  {
    name: 'delete says whether there was one, and leaves none',
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
    name: 'no bytes are a value: there for every verb',
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
    name: 'cas compares byte for byte: no value is taken for another',
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
    name: `every value written by ${verb} comes back byte for byte, from get and from list`,
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
    name: 'of a view into a larger buffer only what it shows is kept, and compared',
    proves: ['S2'],
    run: async ({ storage: { kv } }) => {
      const view = bytes('--shown--').subarray(2, 7)
      await kv.set(key, view)
      assert.equal(text(await kv.get(key)), 'shown')
      assert.equal(await kv.cas(key, bytes('(shown)').subarray(1, 6), a), true)
    },
  },
  {
    name: 'a value of a megabyte comes back whole',
    run: async ({ storage: { kv } }) => {
      const value = Uint8Array.from({ length: 1 << 20 }, (_, index) => (index * 31) & 255)
      await kv.set(key, value)
      assert.ok(Buffer.from((await kv.get(key))!).equals(value))
      assert.equal(await kv.cas(key, value, undefined), true)
    },
  },
  {
    name: 'of a hundred setIfAbsent at once one writes, and its value stands',
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
    name: 'of many cas from one value one succeeds: no write is lost',
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
    name: 'of many deletes at once one finds the entry; so of many cas that delete',
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
    name: 'what one handle writes, another reads',
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
