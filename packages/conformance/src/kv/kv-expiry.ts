// Expiry of kv entries: an expired entry is absent at once for every verb, swept or not; each write sets the TTL again.

import assert from 'node:assert/strict'
import type { KeyValue, KvKey, KvWrite } from 'holdfast/storage'
import { bytes, text } from '../case.ts'
import type { Case } from '../case.ts'

const [a, b] = [bytes('a'), bytes('b')]

/** Every way to write `a`. */
const writers: Readonly<Record<string, (kv: KeyValue, key: KvKey, options?: KvWrite) => Promise<void>>> = {
  set: (kv, key, options) => kv.set(key, a, options),
  'set over another': async (kv, key, options) => {
    await kv.set(key, b)
    await kv.set(key, a, options)
  },
  setIfAbsent: async (kv, key, options) => assert.equal(await kv.setIfAbsent(key, a, options), true),
  'a cas that creates': async (kv, key, options) => assert.equal(await kv.cas(key, undefined, a, options), true),
  'a cas that replaces': async (kv, key, options) => {
    await kv.set(key, b)
    assert.equal(await kv.cas(key, b, a, options), true)
  },
}

/** Every way to see that a key that held `a` is absent. Some of them write, so each has a key of its own. */
const absence: Readonly<Record<string, (kv: KeyValue, key: KvKey) => Promise<boolean>>> = {
  get: async (kv, key) => (await kv.get(key)) === undefined,
  setIfAbsent: (kv, key) => kv.setIfAbsent(key, b),
  'cas that creates': (kv, key) => kv.cas(key, undefined, b),
  'cas that expects absence': (kv, key) => kv.cas(key, undefined, undefined),
  'cas that expects the value': async (kv, key) => !(await kv.cas(key, a, b)),
  'cas that deletes': async (kv, key) => !(await kv.cas(key, a, undefined)),
  delete: async (kv, key) => !(await kv.delete(key)),
  list: async (kv, key) => (await kv.list(key, { limit: 10 })).items.length === 0,
}

const everyVerb = Object.entries(absence)

export const kvExpiryCases: readonly Case[] = [
  ...Object.entries(writers).flatMap(([name, write]): Case[] => [
    {
      name: `an entry written by ${name} with a TTL is present before its end and absent from its end on, for every verb`,
      proves: ['W20', 'trap 31'],
      run: async ({ storage: { kv }, advance, unit }) => {
        for (const [verb] of everyVerb) await write(kv, [verb], { ttlMs: 20 * unit })
        await advance(unit)
        for (const [verb] of everyVerb) assert.equal(text(await kv.get([verb])), 'a')
        assert.equal((await kv.list([], { limit: 100 })).items.length, everyVerb.length)
        await advance(19 * unit)
        for (const [verb, isAbsent] of everyVerb) assert.equal(await isAbsent(kv, [verb]), true, verb)
      },
    },
    {
      name: `an entry written by ${name} with a TTL of 0 is absent at once for every verb`,
      proves: ['W20'],
      run: async ({ storage: { kv } }) => {
        for (const [verb, isAbsent] of everyVerb) {
          await write(kv, [verb], { ttlMs: 0 })
          assert.equal(await isAbsent(kv, [verb]), true, verb)
        }
      },
    },
    {
      name: `an entry written by ${name} without a TTL is kept`,
      run: async ({ storage, advance, unit }) => {
        await write(storage.kv, ['k'])
        await advance(20 * unit)
        await storage.sweep({ limit: 100 })
        assert.equal(text(await storage.kv.get(['k'])), 'a')
      },
    },
    {
      name: `an entry written by ${name} with a TTL of thirty days or a hundred years is present`,
      proves: ['trap 50'],
      run: async ({ storage, advance, unit }) => {
        const day = 86_400_000
        for (const ttlMs of [2 ** 31 - 1, 2 ** 31, 2 ** 32 + 1, 30 * day, 36_525 * day]) {
          await write(storage.kv, [`${ttlMs}`], { ttlMs })
        }
        await advance(unit)
        await storage.sweep({ limit: 100 })
        assert.equal((await storage.kv.list([], { limit: 10 })).items.length, 5)
      },
    },
  ]),
  ...(['set', 'cas'] as const).map((verb): Case => ({
    name: `a write by ${verb} without a TTL clears an earlier TTL, and a sweep keeps the entry`,
    proves: ['tasks §6'],
    run: async ({ storage, advance, unit }) => {
      const { kv } = storage
      await kv.set(['k'], a, { ttlMs: 10 * unit })
      await (verb === 'set' ? kv.set(['k'], b) : kv.cas(['k'], a, b))
      await advance(11 * unit)
      await storage.sweep({ limit: 10 })
      assert.equal(text(await kv.get(['k'])), 'b')
    },
  })),
  ...(['set', 'cas'] as const).map((verb): Case => ({
    name: `a write by ${verb} with another TTL, longer or shorter, replaces the earlier one`,
    run: async ({ storage, advance, unit }) => {
      const { kv } = storage
      const write = (key: KvKey, ttlMs: number) =>
        verb === 'set' ? kv.set(key, a, { ttlMs }) : kv.cas(key, a, a, { ttlMs })
      await kv.set(['later'], a, { ttlMs: 10 * unit })
      await kv.set(['sooner'], a, { ttlMs: 100 * unit })
      await kv.set(['from none'], a)
      await write(['later'], 100 * unit)
      await write(['sooner'], 10 * unit)
      await write(['from none'], 10 * unit)
      await advance(10 * unit)
      await storage.sweep({ limit: 10 })
      assert.equal(text(await kv.get(['later'])), 'a')
      assert.deepEqual([await kv.get(['sooner']), await kv.get(['from none'])], [undefined, undefined])
    },
  })),
  {
    name: 'a refused setIfAbsent or cas does not change the TTL',
    run: async ({ storage: { kv }, advance, unit }) => {
      const refused = async (key: string, options: KvWrite) => {
        assert.equal(await kv.setIfAbsent([key], b, options), false)
        assert.equal(await kv.cas([key], undefined, b, options), false)
        assert.equal(await kv.cas([key], b, a, options), false)
      }
      await kv.set(['kept'], a)
      await kv.set(['short'], a, { ttlMs: 10 * unit })
      await refused('kept', { ttlMs: 0 })
      await refused('kept', { ttlMs: unit })
      await refused('short', {})
      await refused('short', { ttlMs: 100 * unit })
      await advance(10 * unit)
      assert.deepEqual([text(await kv.get(['kept'])), await kv.get(['short'])], ['a', undefined])
    },
  },
  {
    name: 'an entry written after a deleted or expired one does not inherit its TTL',
    run: async ({ storage, advance, unit }) => {
      const { kv } = storage
      for (const key of ['deleted', 'cas', 'expired']) await kv.set([key], a, { ttlMs: 10 * unit })
      await kv.delete(['deleted'])
      await kv.set(['deleted'], b)
      await kv.cas(['cas'], a, undefined)
      await kv.cas(['cas'], undefined, b)
      await advance(11 * unit)
      assert.equal(await kv.setIfAbsent(['expired'], b), true)
      await storage.sweep({ limit: 10 })
      for (const key of ['deleted', 'cas', 'expired']) assert.equal(text(await kv.get([key])), 'b', key)
    },
  },
  {
    name: 'of a hundred concurrent setIfAbsent calls on an expired key one writes',
    proves: ['W20'],
    run: async ({ storage: { kv }, advance, unit }) => {
      await kv.set(['k'], a, { ttlMs: 10 * unit })
      await advance(10 * unit)
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) => kv.setIfAbsent(['k'], bytes(`${index}`), { ttlMs: 100 * unit })),
      )
      assert.equal(answers.filter(Boolean).length, 1)
      assert.equal(text(await kv.get(['k'])), String(answers.indexOf(true)))
    },
  },
  {
    name: 'of many concurrent cas calls on an expired key one that creates succeeds and none that expects the old value',
    proves: ['W20'],
    run: async ({ storage: { kv }, advance, unit }) => {
      await kv.set(['k'], a, { ttlMs: 10 * unit })
      await advance(10 * unit)
      const old = await Promise.all(Array.from({ length: 10 }, () => kv.cas(['k'], a, b)))
      const created = await Promise.all(Array.from({ length: 10 }, () => kv.cas(['k'], undefined, b)))
      assert.deepEqual([old.filter(Boolean).length, created.filter(Boolean).length], [0, 1])
    },
  },
  {
    name: 'the expiry of one entry affects neither its neighbours nor the keys below it',
    run: async ({ storage, advance, unit }) => {
      const { kv } = storage
      await kv.set(['k'], a, { ttlMs: 10 * unit })
      for (const key of [['k', 'below'], ['k2'], ['j']]) await kv.set(key, a)
      await advance(11 * unit)
      await storage.sweep({ limit: 10 })
      assert.equal((await kv.list([], { limit: 10 })).items.length, 3)
    },
  },
]
