// The numbers that the scripts and the codec exchange.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeCodes, reasonCodes, refusalCodes, stateCodes } from '../../../src/storage/rules/job/codes.ts'
import * as codes from '../../../src/storage/redis/codec/codes.ts'
import {
  completedByHolder,
  completedInBatch,
  leasedByClaim,
  queuedInLot,
} from '../../../src/storage/redis/codec/record.ts'
import { serverScripts } from '../../../src/storage/redis/lua/scripts.ts'

const { wordsOf, ...tables } = codes

for (const [name, table] of Object.entries({ ...tables, stateCodes, outcomeCodes, refusalCodes, reasonCodes })) {
  test(`${name}: each word has a number of its own, and is found by it`, () => {
    const words = wordsOf(table as Readonly<Record<string, number>>)
    assert.deepEqual(
      [...words].map(([code, word]) => [word, code]),
      Object.entries(table),
    )
  })
}

test('the last bytes of records that are no states are numbers of their own, and fit in a byte', () => {
  const bytes = [...Object.values<number>(stateCodes), completedByHolder, completedInBatch, leasedByClaim, queuedInLot]
  assert.equal(new Set(bytes.map((byte) => byte & 255)).size, bytes.length)
  assert.ok(bytes.every((byte) => (byte & 255) === byte))
})

test('no script contains a code that is missing from its table', () => {
  for (const { name, source } of Object.values(serverScripts)) assert.doesNotMatch(source, /undefined|NaN/, name)
})
