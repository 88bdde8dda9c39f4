// The marks on the axes of charts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { timeTicks, valueTicks } from '../src/shared/ticks.ts'

test('values: from 0 in round steps to one that is not below the highest', () => {
  assert.deepEqual(valueTicks(0, 'count'), [0, 1])
  assert.deepEqual(valueTicks(3, 'count'), [0, 1, 2, 3])
  assert.deepEqual(valueTicks(307, 'count'), [0, 100, 200, 300, 400])
  assert.deepEqual(valueTicks(2_100, 'length'), [0, 1_000, 2_000, 3_000])
  assert.deepEqual(valueTicks(95_000, 'length'), [0, 30_000, 60_000, 90_000, 120_000])
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), fc.constantFrom('count', 'length'), (highest, kind) => {
      const ticks = valueTicks(highest, kind as 'count' | 'length')
      assert.ok(ticks.length >= 2 && ticks.length <= 5 && ticks[0] === 0, ticks.join())
      assert.ok(ticks.at(-1)! >= highest && ticks.at(-2)! < Math.max(1, highest), ticks.join())
      assert.ok(ticks.every((tick) => Number.isInteger(tick)))
    }),
  )
})

test('times: round by the clock of the zone, not too many of them', () => {
  const [minute, hour] = [60_000, 3_600_000]
  const at = Date.UTC(2026, 0, 1, 10, 7)
  const shown = timeTicks(at, at + hour, 6, 0).map((tick) => new Date(tick).toISOString().slice(11, 16))
  assert.deepEqual(shown, ['10:10', '10:20', '10:30', '10:40', '10:50', '11:00'])
  // In a zone of 5 h 30 min a day begins at 18:30 by UTC.
  const day = 24 * hour
  const [first] = timeTicks(at, at + 3 * day, 4, 5.5 * hour)
  assert.equal(new Date(first!).toISOString(), '2026-01-01T18:30:00.000Z')
  fc.assert(
    fc.property(fc.integer({ min: minute, max: 40 * day }), fc.integer({ min: 1, max: 10 }), (length, most) => {
      const ticks = timeTicks(at, at + length, most, 0)
      assert.ok(ticks.length <= most + 1, `${ticks.length} of ${most}`)
      assert.ok(ticks.every((tick) => tick >= at && tick <= at + length))
    }),
  )
})
