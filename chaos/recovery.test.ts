// Recovery times: from the kill or the stop to the job's next run, if that was its reason.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asked, at, completed, historyWith, started } from './bad-histories.ts'
import type { Entry, Note } from './entries.ts'
import { durationsOf, recoveryOf } from './recovery.ts'

const one = 'one/x/1#1'
const two = 'two/x/1#2'

const none = { afterKill: [], afterStop: [], whileBlocked: [], whileAway: [], claimLost: [], blocked: [] }

const recovery = (...entries: Entry[]) => recoveryOf(historyWith([at(0, 'producer', asked('a')), ...entries]), 1_000)

test('from the kill to the next run elsewhere', () => {
  const found = recovery(
    at(100, 'one', started('a', one)),
    at(150, 'supervisor', { what: 'killed', process: 'one' }),
    at(1_100, 'two', started('a', two)),
  )
  assert.deepEqual(found.afterKill, [950])
  assert.deepEqual(found.afterStop, [])
})

test('from the kill point', () => {
  const found = recovery(
    at(100, 'one', started('a', one)),
    at(200, 'one', { what: 'crashing', point: 'handler:end:1' }),
    at(1_100, 'two', started('a', two)),
  )
  assert.deepEqual(found.afterKill, [900])
})

test('from the stop to the next run elsewhere', () => {
  const found = recovery(
    at(100, 'one', started('a', one)),
    at(150, 'supervisor', { what: 'stopped', process: 'one' }),
    ...[500, 900, 1_200].map((time) => at(time, 'two', completed('b', two))),
    at(1_210, 'two', started('a', two)),
    at(1_600, 'supervisor', { what: 'continued', process: 'one' }),
  )
  assert.deepEqual(found, { ...none, afterStop: [1_060] })
})

test('reported separately while a stopped process blocked the storage', () => {
  const found = recovery(
    at(100, 'one', started('a', one)),
    at(150, 'supervisor', { what: 'killed', process: 'one' }),
    at(200, 'supervisor', { what: 'stopped', process: 'three' }),
    at(210, 'three', completed('b', two)),
    at(1_700, 'supervisor', { what: 'continued', process: 'three' }),
    at(1_750, 'two', started('a', two)),
  )
  assert.deepEqual(found, { ...none, whileBlocked: [1_600], blocked: [1_500] })
})

test('with a server, a stopped process blocks nothing', () => {
  const history = historyWith([
    at(0, 'producer', asked('a')),
    at(100, 'one', started('a', one)),
    at(150, 'supervisor', { what: 'killed', process: 'one' }),
    at(200, 'supervisor', { what: 'stopped', process: 'three' }),
    at(1_700, 'supervisor', { what: 'continued', process: 'three' }),
    at(1_750, 'two', started('a', two)),
  ])
  assert.deepEqual(recoveryOf(history, 1_000, false), { ...none, afterKill: [1_600] })
})

test('reported separately while the server was away and until the last process reconnected', () => {
  const events = [
    at(10, 'supervisor', { what: 'serverKilled' }),
    at(90, 'supervisor', { what: 'serverBack' }),
    at(90, 'supervisor', { what: 'marked', process: 'two', mark: 7, after: 'server' }),
  ]
  const killed = [
    at(100, 'one', started('a', one)),
    at(150, 'supervisor', { what: 'killed', process: 'one' }),
    at(1_100, 'two', started('a', two)),
  ]
  assert.deepEqual(recovery(...events, ...killed), { ...none, afterKill: [950] })
  const late = at(151, 'two', { what: 'reached', mark: 7 })
  assert.deepEqual(recovery(...events, ...killed, late), { ...none, whileAway: [950] })
})

test('reported separately when the next claim was lost too', () => {
  const found = recovery(
    at(100, 'one', started('a', one)),
    at(150, 'supervisor', { what: 'killed', process: 'one' }),
    at(2_100, 'two', started('a', 'two/x/1#3')),
  )
  assert.deepEqual(found, { ...none, claimLost: [1_950] })
})

test('a run whose outcome was recorded was not interrupted', () => {
  const found = recovery(
    at(100, 'one', started('a', one)),
    at(110, 'one', { ...completed('a', one), state: 'failing', kind: 'retry' } as Note),
    at(150, 'supervisor', { what: 'killed', process: 'one' }),
    at(1_100, 'two', started('a', two)),
  )
  assert.deepEqual([...found.afterKill, ...found.afterStop], [])
})

test('a kill after the start of the next run is not its reason', () => {
  const found = recovery(
    at(100, 'one', started('a', one)),
    at(1_100, 'two', started('a', two)),
    at(1_200, 'supervisor', { what: 'killed', process: 'one' }),
  )
  assert.deepEqual([...found.afterKill, ...found.afterStop], [])
})

test('the percentiles of many samples and of none', () => {
  const samples = Array.from({ length: 100 }, (_, index) => 100 - index)
  assert.deepEqual(durationsOf(samples), { count: 100, p50: 50, p99: 99, max: 100 })
  assert.deepEqual(durationsOf([]), { count: 0, p50: 0, p99: 0, max: 0 })
})
