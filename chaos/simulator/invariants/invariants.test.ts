// Each invariant passes the good histories and flags the bad ones, all written by hand.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { historyOf } from '../history/write-history.ts'
import { handWritten } from './hand-written.ts'
import { invariants, notSimulated } from './index.ts'

test('every invariant of the reliability rules is checked, or has a reason why not', () => {
  const numbers = [
    ...Array.from({ length: 27 }, (_, index) => `S${index + 1}`),
    ...Array.from({ length: 6 }, (_, index) => `L${index + 1}`),
  ]
  const known = [...invariants.map(({ name }) => name), ...Object.keys(notSimulated)]
  assert.deepEqual(known.toSorted(), numbers.toSorted())
})

for (const { name, title, check } of invariants) {
  const { good, bad, facts } = handWritten[name]!
  test(`${name}, ${title}: passes good histories`, () => {
    for (const entries of good) assert.deepEqual(check(historyOf(entries, facts)), [])
  })
  test(`${name}, ${title}: flags bad histories`, () => {
    for (const [index, entries] of bad.entries()) {
      const found = check(historyOf(entries, facts))
      assert.ok(found.length > 0, `bad history ${index} passed`)
      assert.ok(found.every(({ invariant }) => invariant === name))
      assert.ok(found.every((one) => one.entries.length <= 20))
    }
  })
}
