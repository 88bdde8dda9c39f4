import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { array, assert as check, constantFrom, integer, property, string } from 'fast-check'
import { instantsOf, shiftOf } from '../../../src/engine/schedule/rule.ts'
import { dueSlots } from '../../../src/engine/schedule/slots.ts'

const everyMs = 1_000
const instants = await instantsOf({ everyMs, cron: undefined, timeZone: 'UTC' })
const rule = { catchUp: 'latest', catchUpLimit: 100, graceMs: 5_000 } as const
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => (from + n) * everyMs)

describe('due slots', () => {
  test('[F9] within the grace period all are fired, whatever catchUp is', () => {
    for (const catchUp of ['skip', 'latest', 'all'] as const) {
      assert.deepEqual(dueSlots(instants, { ...rule, catchUp }, 10_000, 15_000), { fire: range(11, 15), skipped: 0 })
      assert.deepEqual(dueSlots(instants, { ...rule, catchUp }, 10_000, 10_999), { fire: [], skipped: 0 })
    }
  })

  test('[F9] before it: none, the newest, or all up to the limit', () => {
    const now = 30_000
    assert.deepEqual(dueSlots(instants, { ...rule, catchUp: 'skip' }, 10_000, now), {
      fire: range(25, 30),
      skipped: 14,
    })
    assert.deepEqual(dueSlots(instants, rule, 10_000, now), { fire: range(24, 30), skipped: 13 })
    assert.deepEqual(dueSlots(instants, { ...rule, catchUp: 'all' }, 10_000, now), { fire: range(11, 30), skipped: 0 })
    const limited = { ...rule, catchUp: 'all', catchUpLimit: 3 } as const
    assert.deepEqual(dueSlots(instants, limited, 10_000, now), { fire: range(22, 30), skipped: 11 })
  })

  test('[F9] of a long downtime at most 100 are counted and 100 fired at once; the next call goes on after them', () => {
    const all = { ...rule, catchUp: 'all', catchUpLimit: 250 } as const
    const now = 1e9
    let from = 0
    const fired: number[] = []
    for (let call = 0; call < 3; call++) {
      const { fire, skipped } = dueSlots(instants, all, from, now)
      assert.equal(skipped, call === 0 ? 100 : 0)
      assert.ok(fire.length <= 100)
      fired.push(...fire)
      from = fire.at(-1)!
    }
    const last = now / everyMs
    assert.deepEqual(fired, range(last - 5 - 250, last))
    assert.deepEqual(dueSlots(instants, all, from, now), { fire: [], skipped: 0 })
  })

  test('[F9] every slot is either fired or skipped, once, in whatever steps time passes', () => {
    const catchUps = constantFrom('skip' as const, 'latest' as const, 'all' as const)
    const steps = array(integer({ min: 1, max: 40_000 }), { minLength: 1, maxLength: 20 })
    check(
      property(catchUps, steps, integer({ min: 0, max: 10_000 }), (catchUp, jumps, graceMs) => {
        let [from, now, fired, skipped] = [500, 500, 0, 0]
        for (const jump of jumps) {
          now += jump
          const due = dueSlots(instants, { ...rule, catchUp, graceMs }, from, now)
          for (const slot of due.fire) {
            assert.ok(slot > from && slot <= now)
            from = slot
          }
          fired += due.fire.length
          skipped += due.skipped
          from = Math.max(from, due.fire.length === 0 && due.skipped > 0 ? now : from)
        }
        assert.equal(fired + skipped, Math.floor(now / everyMs))
        if (catchUp === 'all') assert.equal(skipped, 0)
      }),
    )
  })

  test('[F6] an interval counts from the epoch', async () => {
    const weekly = await instantsOf({ everyMs: 604_800_000, cron: undefined, timeZone: 'UTC' })
    assert.equal(weekly.next(0), 604_800_000)
    assert.equal(weekly.previous(604_800_000), 0)
    assert.equal(weekly.previous(604_800_001), 604_800_000)
    assert.equal(weekly.previous(0), undefined)
  })

  test('[F10] the shift of a name is the same everywhere, and within jitterMs', () => {
    // FNV-1a. A change moves the jobs of every schedule with jitterMs.
    assert.deepEqual(
      ['nightly', 'hourly', 'ünïcode'].map((name) => shiftOf(name, 60_000)),
      [29_578, 41_792, 24_043],
    )
    check(
      property(string(), integer({ min: 1, max: 1e9 }), (name, jitterMs) => {
        const shift = shiftOf(name, jitterMs)
        assert.ok(Number.isInteger(shift) && shift >= 0 && shift < jitterMs)
      }),
    )
    assert.equal(shiftOf('a', 0), 0)
  })
})
