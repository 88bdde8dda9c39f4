// The value codec: a value comes back deeply equal, or it is refused with its path.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { SerializationError } from 'holdfast'
import { decodeValue, encodeValue, parseValue, ValueSerde, valueText } from '../../../src/engine/job/values.ts'

const copy = (value: unknown): unknown => parseValue(valueText(value))

const plainValues: readonly unknown[] = [
  null,
  true,
  0,
  1.5e300,
  '',
  'é👍\u0000\ud800',
  [],
  [[null]],
  {},
  { 'b c': [null], '': 1, '0': 2, 'a/b': { '~': 3 } },
  ['undefined', 'array', ['object', 'a', 1]],
]

const typedValues: readonly unknown[] = [
  undefined,
  -0,
  NaN,
  Infinity,
  -Infinity,
  10n ** 40n,
  -1n,
  new Date(0),
  new Date(8.64e15),
  new Date(-8.64e15),
  new Date(NaN),
  new URL('https://example.com/ä?b#c'),
  [[undefined]],
  { a: undefined },
  new Map<unknown, unknown>([
    [{ a: 1 }, new Set([1, 'x', undefined])],
    [NaN, -0],
    [new Map([[undefined, null]]), new Date(1)],
  ]),
  new Set([new Map(), new Set([new Set()])]),
  Buffer.from('é'),
  new Uint8Array([0, 255]),
  new Uint8Array(),
  new Int8Array([-1]),
  new Uint8ClampedArray([255]),
  new Int16Array([-2]),
  new Int32Array([-3]),
  new Uint32Array([4]),
  new Float32Array([0.5]),
  new Float64Array([NaN, -0]),
  new BigInt64Array([-1n]),
  new BigUint64Array([2n ** 64n - 1n]),
  new Uint16Array(new Uint8Array([1, 2, 3, 4, 5, 6]).buffer, 2, 2),
  { 'a/b': { '~1': [new Date(2)] }, '': { '': 3n } },
]

test('plain JSON values are stored as their JSON text', () => {
  for (const value of plainValues) {
    assert.equal(valueText(value), JSON.stringify(value))
    assert.deepStrictEqual(copy(value), value)
  }
})

test('values that JSON would lose or change come back deeply equal', () => {
  for (const value of typedValues) assert.deepStrictEqual(copy(value), value)
  const all = { list: [...typedValues, ...plainValues], map: new Map([['inside', typedValues]]) }
  assert.deepStrictEqual(copy(all), all)
})

test('bytes, text and the serde agree', () => {
  const serde = new ValueSerde<unknown>()
  for (const value of [...plainValues, ...typedValues]) {
    assert.equal(encodeValue(value).toString(), valueText(value))
    assert.deepStrictEqual(decodeValue(Uint8Array.from(encodeValue(value))), value)
    assert.deepStrictEqual(serde.deserialize(Buffer.from(serde.serialize(value))), value)
  }
})

test('the envelope names each type by JSON pointer, beside readable JSON', () => {
  assert.equal(
    valueText({ at: new Date(0), n: 1 }),
    '{"$holdfast":1,"types":{"/at":"Date"},"value":{"at":"1970-01-01T00:00:00.000Z","n":1}}',
  )
})

test('a value that looks like an envelope comes back as itself', () => {
  const values: readonly unknown[] = [
    { $holdfast: 1, types: { '/a': 'Date' }, value: { a: 'x' } },
    { $holdfast: 2 },
    { $holdfast: undefined },
    { $holdfast: { $holdfast: 1, types: {}, value: null } },
    [{ $holdfast: 1, types: {}, value: new Date(0) }],
    '{"$holdfast":1,"types":{},"value":1}',
  ]
  for (const value of values) assert.deepStrictEqual(copy(value), value)
})

test('prototype names are ordinary names, in plain and in typed values', () => {
  for (const json of [
    '{"__proto__":{"polluted":true},"constructor":1,"toString":2,"hasOwnProperty":3}',
    '{"__proto__":{"__proto__":null,"prototype":[]}}',
  ]) {
    for (const extra of [{}, { when: new Date(0) }]) {
      const value = Object.assign(JSON.parse(json) as object, extra)
      const inside = { ...extra, ['__proto__']: extra, list: [JSON.parse(json)] }
      for (const item of [value, inside]) {
        const back = copy(item) as Record<string, unknown>
        assert.deepStrictEqual(Object.keys(back), Object.keys(item))
        assert.deepStrictEqual(back, item)
        assert.equal(Object.getPrototypeOf(back), Object.prototype)
      }
    }
  }
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
})

test('objects without a prototype come back as plain objects', () => {
  const bare = Object.assign(Object.create(null) as object, { a: 1, d: new Date(0) })
  assert.deepStrictEqual(copy(bare), { a: 1, d: new Date(0) })
})

test('values of other realms come back as values of this one', () => {
  const source = '({ a: [1, new Map([[1, new Set([2n])]])], d: new Date(0), b: new Uint8Array([1]), n: null })'
  const expected = { a: [1, new Map([[1, new Set([2n])]])], d: new Date(0), b: new Uint8Array([1]), n: null }
  assert.deepStrictEqual(copy(runInNewContext(source)), expected)
  assert.deepStrictEqual(copy(runInNewContext('({ a: [1, "x"] })')), { a: [1, 'x'] })
})

test('an object with toJSON is stored as what that returns', () => {
  class Money {
    readonly cents = 5n
    toJSON(): unknown {
      return { cents: this.cents, at: new Date(0) }
    }
  }
  assert.deepStrictEqual(copy({ price: new Money() }), { price: { cents: 5n, at: new Date(0) } })
  assert.deepStrictEqual(copy({ toJSON: () => [1, 2] }), [1, 2])
  assert.deepStrictEqual(copy(new Map([['k', { toJSON: () => undefined }]])), new Map([['k', undefined]]))
  assert.equal(valueText({ a: { toJSON: () => 'plain' } }), '{"a":"plain"}')
})

test('an object that occurs twice is stored twice', () => {
  const shared = { date: new Date(1) }
  const back = copy({ list: [shared, shared] }) as { list: unknown[] }
  assert.deepStrictEqual(back, { list: [shared, shared] })
  assert.notEqual(back.list[0], back.list[1])
})

class Own {
  a = 1
}
class OwnList extends Array {}
class OwnMap extends Map {}
class OwnDate extends Date {}
class OwnBytes extends Uint8Array {}

test('every other value is refused, with its path', () => {
  const throwing = {
    get secret() {
      throw new Error('no')
    },
  }
  const cycle: Record<string, unknown> = { list: [] }
  ;(cycle.list as unknown[]).push({ back: cycle })
  const mapCycle = new Map<unknown, unknown>()
  mapCycle.set('self', mapCycle)
  const toItself: { toJSON(): unknown } = { toJSON: () => ({ again: toItself }) }
  const refused: readonly (readonly [value: unknown, path: string])[] = [
    [() => {}, 'data'],
    [Symbol('s'), 'data'],
    [{ a: [1, { b: () => {} }] }, 'data.a[1].b'],
    [{ 'a b': Symbol('s') }, 'data["a b"]'],
    [{ own: new Own() }, 'data.own'],
    [{ list: OwnList.from([1]) }, 'data.list'],
    [{ map: new OwnMap() }, 'data.map'],
    [{ at: new OwnDate(0) }, 'data.at'],
    [{ bytes: new OwnBytes(1) }, 'data.bytes'],
    [{ at: Object.assign(new Date(0), { extra: 1 }) }, 'data.at'],
    [{ map: Object.assign(new Map(), { extra: 1 }) }, 'data.map'],
    [[new Error('x')], 'data[0]'],
    [[/x/], 'data[0]'],
    [[new WeakMap()], 'data[0]'],
    [[Promise.resolve()], 'data[0]'],
    [[new ArrayBuffer(1)], 'data[0]'],
    [[new DataView(new ArrayBuffer(1))], 'data[0]'],
    [[Object(1)], 'data[0]'],
    [{ throwing }, 'data.throwing.secret'],
    [new Map([['k', Symbol('s')]]), 'data.<value 0>'],
    [new Map([[Symbol('s'), 1]]), 'data.<key 0>'],
    [new Set([1, () => {}]), 'data.<item 1>'],
    [{ [Symbol('s')]: 1 }, 'data'],
    // oxlint-disable-next-line no-sparse-arrays
    [[1, , 3], 'data'],
    [Object.assign([1], { name: 1 }), 'data'],
    [{ args: runInNewContext('(function () { return arguments })(1)') as unknown }, 'data.args'],
    [{ list: [new Proxy({}, { ownKeys: () => assert.fail('no') })] }, 'data.list[0]'],
    [cycle, 'data.list[0].back'],
    [mapCycle, 'data.<value 0>'],
    [toItself, 'data.again'],
    [{ toJSON: () => () => {} }, 'data'],
  ]
  for (const [value, path] of refused) {
    assert.throws(
      () => valueText(value, 'data'),
      (error) => {
        assert.ok(error instanceof SerializationError)
        assert.deepEqual([error.code, error.path], ['SERIALIZATION_ERROR', path])
        assert.ok(error.message.startsWith(`${path}: `), error.message)
        return true
      },
    )
  }
})

function nested(levels: number, end: unknown): unknown {
  let value = end
  for (let depth = 0; depth < levels; depth++) value = depth % 2 ? [value] : { value }
  return value
}

test('a value nested a thousand levels deep comes back; one too deep for the stack is refused', () => {
  for (const end of ['end', new Date(0)]) assert.deepStrictEqual(copy(nested(1_000, end)), nested(1_000, end))
  for (const end of ['end', new Date(0), () => {}]) {
    assert.throws(() => valueText(nested(200_000, end)), { code: 'SERIALIZATION_ERROR' })
  }
})

const envelope = (types: unknown, value: unknown): string => JSON.stringify({ $holdfast: 1, types, value })

test('text that the codec did not write is refused, or read as the JSON that it is', () => {
  for (const text of [
    '',
    'x',
    '{"$holdfast":1,',
    '{"$holdfast":1,"value":1}',
    envelope(null, 1),
    envelope('x', 1),
    envelope({ '': 'Own' }, 1),
    envelope({ '': 5 }, 1),
    envelope({ '': '__proto__' }, 1),
    envelope({ '/a': 'Date' }, {}),
    envelope({ '/a/b': 'Date' }, { a: 1 }),
    envelope({ '/length': 'number' }, [1]),
    envelope({ '/__proto__': 'Date' }, {}),
    envelope({ '/constructor': 'Date' }, {}),
    envelope({ '': 'bigint' }, 'x'),
    envelope({ '': 'bigint' }, {}),
    envelope({ '': 'number' }, 'x'),
    envelope({ '': 'Date' }, 'yesterday'),
    envelope({ '': 'Date' }, 5),
    envelope({ '': 'URL' }, 'no url'),
    envelope({ '': 'Map' }, 5),
    envelope({ '': 'Map' }, [1]),
    envelope({ '': 'Map' }, 'text'),
    envelope({ '': 'Set' }, null),
    envelope({ '': 'Set' }, 'text'),
    envelope({ '': 'Buffer' }, { length: 2 ** 31 }),
    envelope({ '': 'Uint8Array' }, { length: 2 ** 31 }),
    envelope({ '': 'Uint8Array' }, [1, 2]),
    envelope({ '': 'Uint16Array' }, 'AA=='),
    envelope({ '': 'Uint8Array' }, null),
  ]) {
    assert.throws(() => parseValue(text), { code: 'SERIALIZATION_ERROR' }, text)
  }
  assert.deepStrictEqual(parseValue('{"$holdfast":2}'), { $holdfast: 2 })
  assert.throws(() => decodeValue(Uint8Array.of(0xff, 0xfe)), { code: 'SERIALIZATION_ERROR' })
})

test('hostile text never pollutes a prototype and never throws another error', () => {
  const anyText = fc.oneof(
    fc.json(),
    fc
      .tuple(fc.dictionary(fc.string(), fc.anything()), fc.jsonValue())
      .map(([types, value]) => JSON.stringify({ $holdfast: 1, types: JSON.parse(JSON.stringify(types)), value })),
    fc
      .tuple(fc.array(fc.tuple(hostilePointer, hostileType)), fc.jsonValue())
      .map(([types, value]) => JSON.stringify({ $holdfast: 1, types: Object.fromEntries(types), value })),
  )
  fc.assert(
    fc.property(anyText, (text) => {
      try {
        parseValue(text)
      } catch (error) {
        assert.ok(error instanceof SerializationError, String(error))
      }
      assert.deepEqual(Object.keys(Object.prototype), [])
    }),
    { numRuns: 1_000 },
  )
})

const hostilePointer = fc.constantFrom('', '/', '/0', '/a', '/__proto__', '/constructor/prototype', '/0/0', '/length')
const hostileType = fc.constantFrom(
  'undefined',
  'number',
  'bigint',
  'Date',
  'URL',
  'Map',
  'Set',
  'Buffer',
  'Uint8Array',
  'x',
)

test('any value comes back deeply equal or is refused with its path', () => {
  const anything = fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withObjectString: true,
    withSparseArray: true,
    withTypedArray: true,
    withUnicodeString: true,
    key: fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toJSON', '$holdfast', '', '/', '~', '~1')),
    maxDepth: 3,
  })
  let refusals = 0
  let returns = 0
  fc.assert(
    fc.property(anything, (value) => {
      let text: string
      try {
        text = valueText(value, 'data')
      } catch (error) {
        refusals++
        assert.ok(error instanceof SerializationError && error.path?.startsWith('data'), String(error))
        return
      }
      returns++
      assert.ok(isDeepStrictEqual(parseValue(text), value), text)
    }),
    { numRuns: 1_000 },
  )
  assert.ok(refusals > 20 && returns > 200, `${refusals} refused, ${returns} returned`)
})

test('plain JSON of any shape is stored as JSON.stringify writes it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value)
      // fast-check makes -0, which JSON would change.
      if (isDeepStrictEqual(JSON.parse(json), value) && !json.startsWith('{"$holdfast":')) {
        assert.equal(valueText(value), json)
      }
    }),
    { numRuns: 1_000 },
  )
})
