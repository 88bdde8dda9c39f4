// The storage's key-value store: values of the shared codec, compared by structure, and apart from the stores of other faces.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { StorageKvStore } from 'holdfast/tasks'
import { canonicalText } from '../../src/tasks/kv/canonical-value.ts'
import { faulty } from '../queue/faulty-storage.ts'
import { keepingLogger } from './fakes.ts'

function open(t: TestContext, storage = new MemoryStorage(), options = {}) {
  const store = new StorageKvStore(storage, options)
  t.after(() => store.close())
  return store
}

const key = ['k'] as const

const make = (): unknown => ({
  at: new Date(0),
  map: new Map<unknown, unknown>([['k', new Set([1n, NaN])]]),
  bytes: Buffer.from('é'),
  list: [undefined, -0],
})

test('values that JSON would lose come back equal, and cas compares them by structure', async (t) => {
  const store = open(t)
  await store.set(key, make())
  assert.deepStrictEqual(await store.get(key), make())
  const { list, bytes, map, at } = make() as Record<string, unknown>
  assert.equal(await store.cas(key, { list, bytes, map, at }, 'next'), true, 'members in another order')
  await store.set(key, new Date(0))
  assert.equal(await store.cas(key, '1970-01-01T00:00:00.000Z', 1), false, 'a Date is not its text')
  assert.equal(await store.cas(key, new Date(0), 1), true)
})

test('plain values are stored as JSON with sorted members, and for cas a member that is undefined is absent', () => {
  assert.equal(canonicalText({ b: 1, a: { d: null, c: [] } }), '{"a":{"c":[],"d":null},"b":1}')
  assert.equal(canonicalText({ b: undefined, a: { c: undefined, d: [{ e: undefined }] } }), '{"a":{"d":[{}]}}')
  assert.equal(canonicalText({ b: undefined, at: new Date(0) }), canonicalText({ at: new Date(0) }))
  assert.equal(canonicalText(undefined), undefined)
})

test('a value that looks like an envelope comes back as itself, in whatever order its members are', async (t) => {
  const store = open(t)
  for (const value of [
    { $holdfast: 1, types: { '': 'Date' }, value: 'x' },
    { value: 1, types: {}, $holdfast: 1 },
    { zone: 1, $holdfast: 1 },
  ]) {
    await store.set(key, value)
    assert.deepEqual(await store.get(key), JSON.parse(JSON.stringify(value)))
  }
})

test('a value that cannot be stored is refused with its path, and nothing is written', async (t) => {
  const store = open(t)
  await assert.rejects(store.set(key, { a: [() => {}] }), { code: 'SERIALIZATION_ERROR', path: 'value.a[0]' })
  await assert.rejects(store.cas(key, undefined, /class/), { code: 'SERIALIZATION_ERROR', path: 'value' })
  await assert.rejects(store.setIfAbsent(key, { a: { 'b c': undefined } }), {
    code: 'SERIALIZATION_ERROR',
    path: 'value.a["b c"]',
  })
  await assert.rejects(store.set(key, [{ at: { toJSON: () => 'text' } }]), { path: 'value[0].at' })
  await assert.rejects(store.set(key, new Map([['k', { gone: undefined }]])), { path: 'value.<value 0>.gone' })
  await assert.rejects(store.cas(key, undefined, new Set([{ gone: undefined }])), { path: 'value.<item 0>.gone' })
  assert.equal(await store.get(key), undefined)
})

test('stores of one name and different faces share no entry', async (t) => {
  const storage = new MemoryStorage()
  const [ours, theirs, other] = [
    open(t, storage),
    open(t, storage, { face: 'fedify' }),
    open(t, storage, { name: 'fedify' }),
  ]
  await ours.set(['default', 'k'], 1)
  await ours.set(key, 1)
  for (const store of [theirs, other]) {
    assert.equal(await store.get(key), undefined)
    for await (const entry of store.list()) assert.fail(JSON.stringify(entry))
  }
})

test('the logger receives the failure of a close', async () => {
  const [faults, logger] = [faulty(new MemoryStorage()), keepingLogger()]
  const store = new StorageKvStore(faults.storage, { logger })
  await store.set(key, 1)
  faults.on('disconnect', () => Promise.reject(new Error('stuck')))
  await store.close()
  assert.deepEqual(
    logger.records.map(({ level }) => level),
    ['error'],
  )
})
