// Text for a terminal: what is escaped, how wide it is, and tables that fit.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { table } from '../../src/cli/table.ts'
import { cut, escaped, escapedJson, render, textOf, widthOf } from '../../src/cli/text.ts'
import { ageText, durationText, instantText } from '../../src/cli/time.ts'

test('every character that a terminal acts on is escaped', () => {
  assert.equal(escaped('a\x1b[2Jb\x07\n\t\r\x7f\x9b'), 'a\\x1b[2Jb\\x07\\n\\t\\r\\x7f\\x9b')
  assert.equal(escaped('\u202eevil\u2066\u200f\u2028\ufeff'), '\\u{202e}evil\\u{2066}\\u{200f}\\u{2028}\\u{feff}')
  assert.equal(escaped('\ud83d'), '\ufffd')
  assert.equal(escaped('grüße 你好 👍🏽 é'), 'grüße 你好 👍🏽 é')
  for (let code = 0; code < 0xa0; code++) {
    const isControl = code < 0x20 || code >= 0x7f
    assert.equal(escaped(String.fromCharCode(code)).length > 1, isControl, String(code))
  }
})

test('escaped JSON is the same value', () => {
  const value = { '\x9b\u202e': ['\x1b\n\u{e0041}', '你好'] }
  const json = escapedJson(JSON.stringify(value, null, 2))
  assert.deepEqual(JSON.parse(json), value)
  assert.match(json.replaceAll('\n', ''), /^[^\p{Cf}\p{Cc}]*$/u)
})

test('a style has no effect on what is escaped, and no code without colours', () => {
  assert.equal(render(['a\x1b', { text: '\x1b[0m', style: 'red' }], true), 'a\\x1b\x1b[31m\\x1b[0m\x1b[0m')
  assert.equal(render([{ text: 'x', style: 'red' }], false), 'x')
})

test('the width is in columns, and a cut text never has more', () => {
  assert.deepEqual(['', 'abc', '你好', '👍🏽', 'é', '🇩🇪'].map(widthOf), [0, 3, 4, 2, 1, 2])
  for (const text of ['abcdef', '你好你好', 'a👍🏽b👍🏽c', 'é'.repeat(9), 'x'.repeat(1_000_000)]) {
    for (let columns = 0; columns < 9; columns++) assert.ok(widthOf(cut(text, columns)) <= columns, `${columns}`)
    assert.equal(cut(text, Infinity), text)
  }
  assert.equal(cut('abcdef', 4), 'abc…')
})

test('a table fits: texts are cut, the longest first; numbers never', () => {
  const rows = [
    { id: 'i'.repeat(100), type: 'queue.mail', n: '123456' },
    { id: 'short', type: 't'.repeat(40), n: '1' },
  ]
  const columns = [
    { title: 'ID', of: (row: (typeof rows)[0]) => row.id },
    { title: 'TYPE', of: (row: (typeof rows)[0]) => row.type },
    { title: 'N', kind: 'number' as const, of: (row: (typeof rows)[0]) => row.n },
  ]
  const drawn = (width: number): string[] => table(rows, columns, width).map((parts) => parts.map(textOf).join(''))
  for (const width of [80, 40, 30]) {
    for (const line of drawn(width)) assert.equal(line.length, width)
    assert.match(drawn(width)[1]!, /123456$/)
  }
  assert.match(drawn(Infinity)[1]!, /^i{100} /)
  assert.match(drawn(80)[2]!, /^short {2,}t+… +1$/)
})

test('durations and instants', () => {
  const texts = [0, 999, 1_500, 59_999, 60_000, 3_725_000, 90_000_000, -1_500].map(durationText)
  assert.deepEqual(texts, ['0 ms', '999 ms', '1.5 s', '59 s', '1 m', '1 h 2 m', '1 d 1 h', '-1.5 s'])
  assert.deepEqual([ageText(undefined, 5), ageText(0, 500), ageText(500, 0)], ['', '500 ms ago', 'in 500 ms'])
  assert.equal(instantText(0), '1970-01-01 00:00:00Z')
  assert.equal(instantText(8.64e15), '8640000000000000')
  assert.equal(instantText(Infinity), 'Infinity')
})
