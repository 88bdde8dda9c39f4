import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contentId } from 'holdfast'

const symbolKey = Symbol('key')

test('32 hex digits, the same in every version', () => {
  assert.match(contentId({ a: 1 }), /^[0-9a-f]{32}$/)
  assert.equal(contentId({ to: 'ada', n: [1, null, undefined, true] }), 'dcc90210c5107a696e4d445b56e017e7')
})

test('the order of keys does not matter, that of a list does', () => {
  assert.equal(contentId({ a: 1, b: { c: 2, d: 3 } }), contentId({ b: { d: 3, c: 2 }, a: 1 }))
  assert.notEqual(contentId([1, 2]), contentId([2, 1]))
})

test('what is equal has one id', () => {
  const shared = { x: 1 }
  for (const [one, other] of [
    [
      [shared, shared],
      [{ x: 1 }, { x: 1 }],
    ],
    [new Date(5), new Date(5)],
    [Buffer.from('ab'), new Uint8Array([97, 98])],
    [Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    [NaN, 0 / 0],
    [{ [symbolKey]: 1 }, {}],
  ]) {
    assert.equal(contentId(one), contentId(other))
  }
})

test('no two of these have one id', () => {
  const values: unknown[] = [
    undefined,
    null,
    true,
    false,
    0,
    -0,
    1,
    '1',
    1n,
    -1n,
    NaN,
    Infinity,
    '',
    'null',
    'u',
    'n1;',
    's""',
    [],
    {},
    [undefined],
    [null],
    [[]],
    [[], []],
    [1, 2],
    ['1', 2],
    ['1,2'],
    ['1', '2'],
    { a: undefined },
    { a: null },
    { a: 1 },
    { a: '1' },
    { 'a"': 1 },
    { a: { b: 1 } },
    { a: {}, b: 1 },
    { 0: 1, 1: 2 },
    new Date(1),
    new Date(2),
    new Date(NaN),
    new Uint8Array(0),
    new Uint8Array([1]),
    new Uint8Array([1, 2]),
    'é',
    'e\u0301',
    '\uD83D',
  ]
  const ids = new Map<string, unknown>()
  for (const value of values) {
    const id = contentId(value)
    assert.ok(!ids.has(id), `${String(ids.get(id))} and ${String(value)}`)
    ids.set(id, value)
  }
})

test('functions, symbols and cycles are refused, at any depth', () => {
  const cycle: Record<string, unknown> = { list: [] }
  ;(cycle.list as unknown[]).push(cycle)
  for (const value of [() => {}, Symbol('s'), cycle, { a: [() => {}] }, [{ s: Symbol('s') }], { deep: { cycle } }]) {
    assert.throws(() => contentId(value), { name: 'TypeError', message: /^contentId: expected data, got / })
  }
})

test('so are objects that hide their content: they would all be one', () => {
  class Hidden {
    #n = 1
    n(): number {
      return this.#n
    }
  }
  for (const value of [new Map([[1, 2]]), new Set([1]), /x/, new ArrayBuffer(2), Promise.resolve(), new Hidden()]) {
    assert.throws(() => contentId({ value }), { name: 'TypeError', message: /got an instance of / })
  }
  class Open {
    n = 1
  }
  assert.equal(contentId(new Open()), contentId({ n: 1 }))
})
