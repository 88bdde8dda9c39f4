// The suite for key-value stores as tasks use them. Values are JSON here; the storage's own key-value contract, of bytes,
// has its own cases (kv/).

import assert from 'node:assert/strict'
import { systemClock } from 'holdfast/storage'
import type { KvKey as StoreKey, KvStore } from 'holdfast/tasks'
import { nameWithIds, registerCase, type SuiteRunner } from './register-case.ts'
import { listOf } from './message-queue/queue-case.ts'

export interface KvStoreSubject {
  /** The empty store under test. Without `setIfAbsent` or `cas` their cases are skipped. */
  readonly store: KvStore
  /** Moves the store's clock. @default waits in real time */
  readonly advance?: (ms: number) => Promise<void>
  close?(): Promise<void>
}

interface KvStoreCase {
  /** A sentence that states what holds. */
  readonly name: string
  readonly needs?: readonly ('setIfAbsent' | 'cas')[]
  readonly proves?: readonly string[]
  run(store: Required<KvStore>, advance: (ms: number) => Promise<void>): Promise<void>
}

const key: StoreKey = ['k']

const awkward: readonly StoreKey[] = [
  [''],
  ['', ''],
  ['a', 'b'],
  ['ab'],
  ['a:b'],
  ['a/b'],
  ['a', '..', 'b'],
  ['a\0b'],
  ['a\nb'],
  ['a*?[b]'],
  ["a%_'b"],
  ['\ud800'],
  ['\udc00'],
  ['\ufffd'],
  ['é'],
  ['e\u0301'],
  ['A', 'b'],
  ['a', 'B'],
  ['[::1]'],
  ['x'.repeat(8_000)],
  ['x'.repeat(7_999), 'y'],
]

const all = async (store: KvStore, prefix?: StoreKey): Promise<StoreKey[]> =>
  (await listOf(store.list(prefix))).map((entry) => entry.key)

export const kvStoreCases: readonly KvStoreCase[] = [
  {
    name: 'get returns the value that was set; null is a value, undefined is absence',
    proves: ['E5'],
    run: async (store) => {
      for (const value of [null, 0, '', false, 'é\ud800', [], {}, { a: [1, { b: null }] }]) {
        await store.set(key, value)
        assert.deepEqual(await store.get(key), value)
      }
      await store.set(key, undefined)
      assert.equal(await store.get(key), undefined)
      assert.deepEqual(await all(store), [])
      await store.set(key, 1)
      await store.delete(key)
      await store.delete(key)
      assert.equal(await store.get(key), undefined)
    },
  },
  {
    name: 'setIfAbsent writes once and does not overwrite null',
    needs: ['setIfAbsent'],
    run: async (store) => {
      assert.equal(await store.setIfAbsent(key, null), true)
      assert.equal(await store.setIfAbsent(key, 1), false)
      assert.equal(await store.get(key), null)
    },
  },
  {
    name: 'cas compares structure, not the order of members',
    needs: ['cas'],
    proves: ['E5', 'W20'],
    run: async (store) => {
      await store.set(key, { a: 1, b: { c: [1], d: null } })
      assert.equal(await store.cas(key, { b: { d: null, c: [1] }, a: 1, e: undefined }, 'next'), true)
      assert.equal(await store.cas(key, 'other', 'no'), false)
      assert.equal(await store.get(key), 'next')
    },
  },
  {
    name: 'cas with undefined creates, deletes or checks for absence, and leaves no entry',
    needs: ['cas'],
    proves: ['W20'],
    run: async (store) => {
      assert.equal(await store.cas(key, undefined, undefined), true)
      assert.equal(await store.cas(key, undefined, null), true)
      assert.equal(await store.cas(key, undefined, 1), false)
      assert.equal(await store.cas(key, undefined, undefined), false)
      assert.equal(await store.cas(key, null, undefined), true)
      assert.deepEqual(await all(store), [])
    },
  },
  {
    name: 'of fifty concurrent cas(k, true, undefined) calls one spends the nonce',
    needs: ['cas'],
    proves: ['E5'],
    run: async (store) => {
      await store.set(key, true)
      const spent = await Promise.all(Array.from({ length: 50 }, () => store.cas(key, true, undefined)))
      assert.equal(spent.filter(Boolean).length, 1)
    },
  },
  {
    name: 'of a hundred concurrent setIfAbsent calls on an expired key one succeeds, and its value stays',
    needs: ['setIfAbsent'],
    proves: ['W20'],
    run: async (store, advance) => {
      await store.set(key, 'old', { ttl: 1 })
      await advance(20)
      const answers = await Promise.all(Array.from({ length: 100 }, (_, number) => store.setIfAbsent(key, number)))
      assert.equal(answers.filter(Boolean).length, 1)
      assert.equal(await store.get(key), answers.indexOf(true))
    },
  },
  {
    name: 'of a hundred concurrent cas calls from one value one succeeds',
    needs: ['cas'],
    proves: ['W20'],
    run: async (store) => {
      await store.set(key, 'from')
      const answers = await Promise.all(Array.from({ length: 100 }, (_, number) => store.cas(key, 'from', number)))
      assert.equal(answers.filter(Boolean).length, 1)
    },
  },
  {
    name: 'an entry is present for its TTL and absent right after it, for every verb',
    proves: ['W20'],
    run: async (store, advance) => {
      await store.set(key, 1, { ttl: 1_500 })
      await store.set(['kept'], 1, { ttl: 'PT1H' })
      await store.set(['gone'], 1, { ttl: 0 })
      await store.set(['cleared'], 1, { ttl: 1 })
      await store.set(['cleared'], 2)
      assert.equal(await store.get(key), 1)
      assert.equal(await store.get(['gone']), undefined)
      await advance(1_600)
      assert.equal(await store.get(key), undefined)
      assert.deepEqual((await all(store)).toSorted(), [['cleared'], ['kept']])
      assert.equal(await store.get(['cleared']), 2)
    },
  },
  {
    name: 'a negative TTL and an invalid key are refused',
    proves: ['tasks §9'],
    run: async (store) => {
      await assert.rejects(async () => store.set(key, 1, { ttl: -1 }))
      await assert.rejects(async () => store.set([] as unknown as StoreKey, 1))
      await assert.rejects(async () => store.set(['x'.repeat(8_193)], 1))
      assert.deepEqual(await all(store), [])
    },
  },
  {
    name: 'awkward keys are returned unchanged and are distinct',
    proves: ['W20'],
    run: async (store) => {
      for (const [number, one] of awkward.entries()) await store.set(one, number)
      for (const [number, one] of awkward.entries()) assert.equal(await store.get(one), number, JSON.stringify(one))
      const keys = (await all(store)).map((one) => JSON.stringify(one)).toSorted()
      assert.deepEqual(keys, awkward.map((one) => JSON.stringify(one)).toSorted())
    },
  },
  {
    name: 'a list has every key whose first parts equal the prefix',
    proves: ['W20'],
    run: async (store) => {
      for (let number = 0; number < 250; number++) await store.set(['[::1]', String(number)], number)
      await store.set(['[::1]'], 'itself')
      await store.set(['[::1]x', 'y'], 'another')
      await store.set(['[', '::1]'], 'another')
      const keys = await all(store, ['[::1]'])
      assert.equal(keys.length, 251)
      assert.ok(keys.every(([first]) => first === '[::1]'))
    },
  },
]

export interface TestKvStoreOptions extends SuiteRunner {
  /** Returns an empty store; called once for each case, and once to see which methods the store has. */
  readonly create: () => KvStoreSubject | Promise<KvStoreSubject>
}

/** Registers every key-value case with the runner and returns their number. */
export async function testKvStore({ create, ...runner }: TestKvStoreOptions): Promise<number> {
  const probe = await create()
  await probe.close?.()
  for (const item of kvStoreCases) {
    const missing = item.needs?.find((verb) => typeof probe.store[verb] !== 'function')
    const skipReason = missing && `the store has no ${missing}`
    const name = nameWithIds('kv store', item.name, item.proves)
    registerCase(runner, name, skipReason, async () => runKvStoreCase(item, await create()))
  }
  return kvStoreCases.length
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => void systemClock.after(ms, resolve))

/** Runs one case. Rejects if it fails. */
export async function runKvStoreCase(item: KvStoreCase, { store, advance, close }: KvStoreSubject): Promise<void> {
  try {
    await item.run(store as Required<KvStore>, advance ?? wait)
  } finally {
    await close?.()
  }
}
