import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { SerializationError } from 'holdfast'
import { deserializeValue, serializeValue } from '../../../src/engine/job/value-serde.ts'

const copy = (value: unknown): unknown => deserializeValue(serializeValue(value))

test('values come back as they were', () => {
  const values: readonly unknown[] = [
    undefined,
    null,
    true,
    0,
    -0,
    NaN,
    Infinity,
    -Infinity,
    1.5e300,
    'é👍\u0000\ud800',
    10n ** 40n,
    -1n,
    new Date(0),
    new Date(8.64e15),
    new Date(NaN),
    new URL('https://example.com/ä?b#c'),
    [],
    [[undefined]],
    {},
    { a: undefined, 'b c': [null], '': 1, '0': 2 },
    new Map<unknown, unknown>([
      [{ a: 1 }, new Set([1, 'x', undefined])],
      [NaN, -0],
    ]),
    new Set([new Map()]),
    new Uint8Array([0, 255]),
    new Float64Array([NaN, -0]),
    new BigInt64Array([-1n]),
    new Uint16Array(new Uint8Array([1, 2, 3, 4, 5, 6]).buffer, 2, 2),
    ['undefined', 'array', ['object', 'a', 1]],
  ]
  for (const value of values) assert.deepStrictEqual(copy(value), value)
})

test('shared references stay shared, and cycles closed', () => {
  const shared = { date: new Date(1) }
  const cycle: Record<string, unknown> = { list: [shared, shared], map: new Map([[shared, shared]]) }
  cycle.self = cycle
  const back = copy(cycle) as { list: unknown[]; map: Map<unknown, unknown>; self: unknown }
  assert.equal(back.list[0], back.list[1])
  assert.deepEqual([...back.map.entries()][0], [back.list[0], back.list[0]])
  assert.equal(back.self, back)
})

test('names that are dangerous elsewhere are names', () => {
  const value = JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"toString":2}') as object
  const back = copy(value) as Record<string, unknown>
  assert.deepEqual(Object.keys(back), ['__proto__', 'constructor', 'toString'])
  assert.equal(Object.getPrototypeOf(back), Object.prototype)
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
})

test('objects without a prototype and of other realms are plain objects', () => {
  assert.deepEqual(copy(Object.assign(Object.create(null), { a: 1 })), { a: 1 })
  assert.deepEqual(copy(runInNewContext('({ a: [1, new Map([[1, 2]])] })')), { a: [1, new Map([[1, 2]])] })
})

test('no depth is too deep', () => {
  let value: unknown = 'end'
  for (let depth = 0; depth < 50_000; depth++) value = depth % 2 ? [value] : { value }
  let back = copy(value)
  for (let depth = 0; depth < 50_000; depth++) back = Object.values(back as object)[0]
  assert.equal(back, 'end')
})

class Own {
  a = 1
}

test('everything else is refused, with its path', () => {
  const throwing = {
    get secret() {
      throw new Error('no')
    },
  }
  const refused: readonly (readonly [value: unknown, path: string])[] = [
    [() => {}, 'data'],
    [Symbol('s'), 'data'],
    [{ a: [1, { b: () => {} }] }, 'data.a[1].b'],
    [{ 'a b': Symbol('s') }, 'data["a b"]'],
    [{ own: new Own() }, 'data.own'],
    [[new Error('x')], 'data[0]'],
    [[/x/], 'data[0]'],
    [[new WeakMap()], 'data[0]'],
    [[Promise.resolve()], 'data[0]'],
    [[new ArrayBuffer(1)], 'data[0]'],
    [{ throwing }, 'data.throwing.secret'],
    [new Map([['k', Symbol('s')]]), 'data.<value 0>'],
    [new Map([[Symbol('s'), 1]]), 'data.<key 0>'],
    [new Set([1, () => {}]), 'data.<item 1>'],
    [{ [Symbol('s')]: 1 }, 'data'],
    // oxlint-disable-next-line no-sparse-arrays
    [[1, , 3], 'data'],
    [new Proxy({}, { ownKeys: () => assert.fail('no') }), 'data'],
  ]
  for (const [value, path] of refused) {
    assert.throws(
      () => serializeValue(value),
      (error) => {
        assert.ok(error instanceof SerializationError)
        assert.deepEqual([error.code, error.path], ['SERIALIZATION_ERROR', path])
        return true
      },
    )
  }
})

test('text that is not ours is refused', () => {
  for (const text of [
    '',
    '{}',
    '[]',
    '[{}]',
    '[["unknown"]]',
    '[["array",7]]',
    '[["bytes","Own","AA=="]]',
    '[["bigint","x"]]',
    'x',
  ]) {
    assert.throws(() => deserializeValue(text), { code: 'SERIALIZATION_ERROR' }, text)
  }
})
