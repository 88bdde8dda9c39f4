// The checks of a run for volume, each with a bad history.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VolumeHistory, type VolumeRecord } from './volume-history.ts'
import { entryOf } from './volume-log.ts'

const record = (job: number, attempt = 1, state = 'completed'): VolumeRecord => {
  return { id: `v${job}`, job, state, attempt, result: attempt }
}

/** @param logs one after the other, each as lines */
function historyOf(logs: readonly (readonly string[])[], records: readonly VolumeRecord[], jobs = 2): VolumeHistory {
  const history = new VolumeHistory(jobs)
  for (const lines of [['p producer-0.1', `a 0 ${jobs}`, `k 0 ${jobs}`], ...logs]) {
    let process = ''
    for (const line of lines) {
      const entry = entryOf(line, process)!
      if (entry.what === 'process') process = entry.process
      history.add(entry)
    }
    history.endLog()
  }
  for (const one of records) history.addRecord(one)
  return history
}

const plain = ['p worker-0.1', 'c 10.0 0#1 1#1', 's 12.0 0#1 1#1']

test('a good history has no violation, also where a killed process left a job to another', () => {
  assert.deepEqual(historyOf([plain], [record(0), record(1)]).violations().counts, {})
  const killed = [
    ['p worker-0.1', 'c 10.0 0#1 1#1', 's 12.0 0#1', 'p worker-0.2'],
    ['p worker-1.1', 'c 2010.0 1#2', 'f 2011.0 1#2', 'c 2050.0 1#3', 's 2060.0 1#3'],
  ]
  const history = historyOf(killed, [record(0), record(1, 3)])
  assert.deepEqual(history.violations().counts, {})
  assert.deepEqual(history.interrupted, [
    { run: { job: 1, attempt: 1, process: 'worker-0.1' }, next: { attempt: 2, at: 2_010 } },
  ])
  assert.deepEqual([history.acked, history.runs], [2, 4])
})

for (const [name, logs, records] of [
  ['lost', [plain], [record(0)]],
  ['invented', [plain], [record(0), record(1), record(2)]],
  ['invented', [plain], [record(0), record(1), record(1)]],
  ['live', [plain], [record(0), record(1, 1, 'processing')]],
  // Told to two of them.
  ['doubleRecorded', [plain, ['p worker-1.1', 'c 20.0 1#2', 's 21.0 1#2']], [record(0), record(1, 2)]],
  // Told to one, and the record is of another.
  ['doubleRecorded', [['p worker-0.1', 'c 1.0 0#1 1#1', 's 2.0 0#1', 's 3.0 1#1']], [record(0), record(1, 2)]],
  // Accepted from the first, although another had the job.
  ['stale', [plain, ['p worker-1.1', 'c 11.0 1#2', 'r 13.0 1#2']], [record(0), record(1)]],
  ['stale', [plain], [record(0), { ...record(1), result: 2 }]],
  ['fence', [plain, ['p worker-1.1', 'c 11.0 1#1']], [record(0), record(1)]],
  ['fence', [plain, ['p worker-1.1', 'c 11.0 1#2', 'p worker-1.2', 'c 12.0 1#2']], [record(0), record(1, 2)]],
] as const) {
  test(`${name} is found`, () => {
    const { counts, sentences } = historyOf(logs, records).violations()
    assert.ok(counts[name]! > 0, JSON.stringify(counts))
    assert.ok(sentences.some((sentence) => sentence.startsWith(name)))
  })
}

test('a job that no producer was told of is unresolved', () => {
  const history = new VolumeHistory(2)
  history.add(entryOf('a 0 2', 'producer-0.1')!)
  history.add(entryOf('k 0 1', 'producer-0.1')!)
  history.addRecord(record(0))
  assert.deepEqual(history.violations().counts, { unresolved: 1 })
})

test('what is no line of a log is left out', () => {
  assert.equal(entryOf('', ''), undefined)
  assert.equal(entryOf('x 1 2', ''), undefined)
})
