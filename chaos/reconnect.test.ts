// Reconnect times: from the mark of a process to its first answered call, if nothing else prevented an answer.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at, historyWith } from './bad-histories.ts'
import type { Entry, Note } from './entries.ts'
import { returnsOf } from './reconnect.ts'

const times = (...entries: Entry[]): (number | undefined)[] =>
  returnsOf(historyWith(entries.toSorted((one, other) => one.at - other.at))).map(({ ms }) => ms)

const name = 'worker-1.2'
const by = (time: number, note: Note): Entry => at(time, 'supervisor', note)
const way: Entry[] = [
  at(0, name, { what: 'ready' }),
  by(100, { what: 'marked', process: name, mark: 3, after: 'proxy' }),
  at(180, name, { what: 'reached', mark: 3 }),
]

test('from the mark to the first answered call', () => assert.deepEqual(times(...way), [80]))

test('a fault that ended before the mark does not exclude the sample', () => {
  const cut = [
    by(99, { what: 'disturbed', slot: 'worker-1', fault: 'cut' }),
    by(100, { what: 'restored', slot: 'worker-1' }),
  ]
  assert.deepEqual(times(...cut, ...way), [80])
})

test('a fault of another process does not exclude the sample', () => {
  const other = [
    by(90, { what: 'disturbed', slot: 'worker-0', fault: 'halfOpen' }),
    by(120, { what: 'killed', process: 'worker-0.1' }),
  ]
  assert.deepEqual(times(...other, ...way), [80])
})

const reasons: [string, Entry[]][] = [
  ['it was stopped', [by(120, { what: 'stopped', process: name })]],
  ['it was killed', [by(120, { what: 'killed', process: name })]],
  ['the server went away again', [by(120, { what: 'serverKilled' }), by(130, { what: 'serverBack' })]],
  ['the server was still away', [by(50, { what: 'serverKilled' }), by(130, { what: 'serverBack' })]],
  ['it was disconnected again', [by(120, { what: 'disturbed', slot: 'worker-1', fault: 'cut' })]],
]
for (const [reason, entries] of reasons) {
  test(`no sample if ${reason}`, () => assert.deepEqual(times(...way, ...entries), []))
}

test('no sample before the process was ready', () => {
  assert.deepEqual(times(...way.slice(1), at(101, name, { what: 'ready' })), [])
})
