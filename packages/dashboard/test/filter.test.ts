// The filter language: what each condition means, and that any text is parsed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { formatFilter, longestFilter, hasPattern, parseFilter, type Token } from '../src/shared/filter.ts'
import { instantText } from '../src/shared/instant-text.ts'

const meaning = (text: string) => {
  const { filter, errors } = parseFilter(text)
  assert.deepEqual(errors, [], text)
  return filter
}

test('conditions: states, types, face, group, age, ids and search fields', () => {
  const filter = meaning(
    'state:failed,failing type:mail type:"a b" face:queue group:t-7 age>1h age<2d customerId:c-42 total>=100 total<200 x-1',
  )
  assert.deepEqual(filter, {
    states: ['failed', 'failing'],
    types: ['mail', 'a b'],
    ids: ['x-1'],
    where: { customerId: ['c-42'], total: { gte: 100, lt: 200 } },
    face: 'queue',
    group: 't-7',
    olderThanMs: 3_600_000,
    newerThanMs: 172_800_000,
  })
})

test('a value that looks like a number or a boolean matches both as text and as what it looks like', () => {
  assert.deepEqual(meaning('n:42 b:true s:abc').where, { n: ['42', 42], b: ['true', true], s: ['abc'] })
})

test('a reserved word is a search field after where.', () => {
  const { where, states } = meaning('where.state:berlin where.__proto__:x')
  assert.deepEqual(states, [])
  assert.deepEqual(Object.entries(where), [
    ['state', ['berlin']],
    ['__proto__', ['x']],
  ])
  assert.equal(({} as { x?: unknown }).x, undefined)
})

for (const [text, expected] of [
  ['state:broken', /no state 'broken'/],
  ['age:1h', /age>1h/],
  ['age>soon', /age>1h/],
  ['type>mail', /takes a colon/],
  ['group:', /no value/],
  ['group:a group:b', /twice/],
  ['x '.repeat(51), /51 conditions/],
  ['x'.repeat(longestFilter + 1), /characters/],
] as const) {
  test(`'${text.slice(0, 20)}' is refused with a sentence`, () => {
    assert.match(parseFilter(text).errors.join(' '), expected)
  })
}

test('any text is parsed, and twice with the same meaning', () => {
  const pieces = fc.constantFrom(
    'state:',
    'failed',
    '"',
    '\\',
    ' ',
    ':',
    '>',
    '<=',
    '=',
    'age>',
    '1h',
    '\u202e',
    '<b>',
    '\u0000',
    'é',
    '1',
    '.',
    '\n',
  )
  const texts = fc.oneof(
    fc.array(fc.nat(0xffff), { maxLength: 100 }).map((units) => String.fromCharCode(...units)),
    fc.array(pieces, { maxLength: 60 }).map((all) => all.join('')),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const { tokens, filter } = parseFilter(text)
      const again = parseFilter(formatFilter(tokens))
      assert.deepEqual(again.tokens, tokens)
      assert.deepEqual(again.filter, filter)
    }),
    { numRuns: 500 },
  )
})

test('tokens survive being written and parsed', () => {
  const key = fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_.-]{0,10}$/)
  const value = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
  const operator = fc.constantFrom(':', '>', '>=', '<', '<=')
  const token: fc.Arbitrary<Token> = fc.oneof(
    fc
      .tuple(key, operator, fc.oneof(value, fc.constant('')))
      .map(([of, how, what]) => ({ key: of, operator: how, value: what })),
    value.map((word) => ({ key: '', operator: ':' as const, value: word })),
  )
  fc.assert(
    fc.property(fc.array(token, { maxLength: 10 }), (tokens) => {
      assert.deepEqual(parseFilter(formatFilter(tokens)).tokens, tokens)
    }),
    { numRuns: 300 },
  )
})

test('a text at the bound that is nothing but beginnings of quotes is parsed in linear time', () => {
  // A parser that goes back at each of them would take seconds per text, and the runner would end the test.
  for (const piece of ['"', '\\"', 'a:"', '"\\', ' "a', '>=']) {
    for (let round = 0; round < 10; round++) parseFilter(piece.repeat(longestFilter / piece.length))
  }
})

test('a pattern matches any part of a text, whatever its letters, with * for any text', () => {
  const error = 'Error: connect ECONNREFUSED 10.0.0.7:25'
  for (const pattern of ['ECONN*', 'econnrefused', 'connect*:25', '*', '10.0.0.7']) {
    assert.equal(hasPattern(error, pattern), true, pattern)
  }
  for (const pattern of ['ETIMEDOUT', 'refused*connect', '7:25*7:25'])
    assert.equal(hasPattern(error, pattern), false, pattern)
})

const at = (text: string): number => Date.parse(text)
const createdOf = (text: string) => {
  const { filter, errors } = parseFilter(text)
  return errors.length > 0 ? errors : [filter.createdFrom, filter.createdTo]
}

test('created takes instants: in UTC unless they say another offset', () => {
  assert.deepEqual(createdOf('created>=2026-03-29T03:00 created<2026-03-30'), [
    at('2026-03-29T03:00Z'),
    at('2026-03-30'),
  ])
  assert.deepEqual(createdOf('created>2026-03-29T03:00:00.5+02:00'), [at('2026-03-29T01:00:00.500Z') + 1, undefined])
  assert.deepEqual(createdOf('created<=2026-03-29'), [undefined, at('2026-03-29') + 1])
  for (const wrong of ['created:2026-03-29', 'created>yesterday', 'created<2026-13-40', 'created>1h']) {
    assert.match(String(createdOf(wrong)), /created>=2026-03-29T03:00Z/, wrong)
  }
  // What a click in the histogram writes.
  for (const time of [0, 1, 60_000, at('2026-03-29T03:00:17Z'), at('2026-12-31T23:59:59.999Z')]) {
    assert.deepEqual(createdOf(`created>=${instantText(time)}`), [time, undefined])
  }
  assert.equal(instantText(at('2026-03-29T03:00:00Z')), '2026-03-29T03:00Z')
  assert.deepEqual(parseFilter('where.created:x').filter.where, { created: ['x'] })
})
