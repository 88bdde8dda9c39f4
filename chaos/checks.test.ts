// Each check finds the bad history written for it and accepts legal histories that look similar.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  acked,
  asked,
  askedFor,
  at,
  completed,
  ended,
  entriesBy,
  historyWith,
  ordered,
  recordOf,
  refused,
  run,
  started,
  startedAt,
  toRetry,
} from './bad-histories.ts'
import { check } from './checks/index.ts'
import type { Entry, Note } from './entries.ts'
import { type FinalRecord, historyOf } from './history.ts'

const first = 'worker-0.1/x/1#1'
const second = 'worker-1.1/x/7#2'

const found = (notes: readonly Note[], ...records: FinalRecord[]): string[] =>
  check(historyWith(entriesBy('worker', ...notes), ...records)).map((violation) => violation.check)

/** A poison job that ended three processes. @param firstFence of the first of them */
const poison = (firstFence: string): [Note[], FinalRecord[]] => {
  const fences = [firstFence, second, 'worker-2.1/x/3#3']
  const attempts = fences.map((fence) => ({ fence, outcome: 'stalled', state: 'queued' as const }))
  const asks = { ...asked('a'), kind: 'poison', maxAttempts: 2 } as Note
  const ends = { state: 'failed' as const, fence: undefined, attempt: 3, failures: 2, attempts }
  return [[asks, acked('a'), ...fences.map((fence) => started('a', fence))], [recordOf('a', first, ends)]]
}

const clean: [string, Note[], FinalRecord[]][] = [
  [
    'a poison job that was held ahead: the loss of its first lease costs no attempt',
    ...poison('worker-0.1/x/1+ahead#1'),
  ],
  ['a poison job that was handed over', ...poison('worker-0.1/x/1/5+ahead#1')],
  ['a job that ran once', [asked('a'), acked('a'), ...run('a', first)], [recordOf('a', first)]],
  [
    'a job that ran twice, with one accepted completion',
    [asked('a'), acked('a'), started('a', first), ...run('a', second), ended('a', first), refused('a', first)],
    [
      recordOf('a', second, {
        attempt: 2,
        failures: 1,
        attempts: [
          { fence: first, outcome: 'stalled', state: 'queued' },
          { fence: second, outcome: 'completed', state: 'completed' },
        ],
      }),
    ],
  ],
  [
    'an id whose reply was lost, added again: one job, run twice',
    [asked('a'), asked('a'), acked('a'), started('a', first), ...run('a', second)],
    [recordOf('a', second, { attempt: 2, attempts: [{ fence: second, outcome: 'completed', state: 'completed' }] })],
  ],
  [
    'an id whose reply was lost, which failed before it was added again: two lives, each with a first attempt',
    [asked('a'), started('a', first), asked('a'), acked('a'), ...run('a', 'worker-2.1/x/3#1')],
    [recordOf('a', 'worker-2.1/x/3#1')],
  ],
  [
    'an expired job, added again after its reply was lost, that completed twice',
    [asked('a', 'passing'), ...run('a', first), asked('a', 'passing'), ...run('a', 'worker-1.1/x/9#1'), acked('a')],
    [],
  ],
  ['an expired job that ran', [asked('a', 'passing'), acked('a'), ...run('a', first)], []],
  [
    'a job that was removed after its end',
    [asked('a'), acked('a'), ...run('a', first), { what: 'calling', verb: 'remove', id: 'a' }],
    [],
  ],
  [
    'a completion whose verdict was lost with its worker',
    [asked('a'), acked('a'), started('a', first), ended('a', first)],
    [recordOf('a', first)],
  ],
  [
    'a claim whose reply was lost: taken back without a run',
    [asked('a'), acked('a'), ...run('a', second)],
    [
      recordOf('a', second, {
        attempt: 2,
        failures: 1,
        attempts: [
          { fence: first, outcome: 'stalled', state: 'queued' },
          { fence: second, outcome: 'completed', state: 'completed' },
        ],
      }),
    ],
  ],
  [
    'a cancelled job',
    [asked('a'), acked('a'), { what: 'called', verb: 'cancel', id: 'a', verdict: 'cancelled' }],
    [recordOf('a', first, { state: 'cancelled', attempt: 0, fence: undefined, attempts: [] })],
  ],
  [
    'a cancelled job that was revived',
    [
      asked('a'),
      acked('a'),
      { what: 'called', verb: 'cancel', id: 'a', verdict: 'cancelled' },
      { what: 'calling', verb: 'revive', id: 'a' },
      ...run('a', first),
    ],
    [recordOf('a', first)],
  ],
  ['a process that was killed', [{ what: 'exited', process: 'worker-0.1', code: null, signal: 'SIGKILL' }], []],
]

for (const [name, notes, records] of clean) {
  test(`allowed: ${name}`, () => assert.deepEqual(found(notes, ...records), []))
}

const bad: [string, string, Note[], FinalRecord[]][] = [
  ['lost', 'an acknowledged job is gone', [asked('a'), acked('a')], []],
  ['lost', 'a job that expires is gone before it ran', [asked('a', 'passing'), acked('a'), started('a', first)], []],
  [
    'live',
    'a job is left in processing',
    [asked('a'), acked('a'), started('a', first)],
    [recordOf('a', first, { state: 'processing', fence: undefined, attempts: [] })],
  ],
  ['unresolved', 'an id that was added without any reply', [asked('a'), asked('a')], []],
  [
    'doubleRecorded',
    'two runs had their completion accepted',
    [asked('a'), acked('a'), ...run('a', first), ...run('a', second)],
    [recordOf('a', second, { attempt: 2, attempts: [] })],
  ],
  [
    'doubleRecorded',
    'the record shows another run than the accepted one',
    [asked('a'), acked('a'), started('a', second), ...run('a', first)],
    [recordOf('a', second, { attempt: 2 })],
  ],
  [
    'doubleRecorded',
    'its record has two completed attempts',
    [asked('a'), acked('a'), started('a', first), started('a', second), completed('a', second)],
    [
      recordOf('a', second, {
        attempt: 2,
        attempts: [first, second].map((fence) => ({ fence, outcome: 'completed', state: 'completed' })),
      }),
    ],
  ],
  [
    'verdict',
    'its completion was accepted, and its record is failed',
    [asked('a'), acked('a'), ...run('a', first)],
    [recordOf('a', first, { state: 'failed', fence: undefined, attempts: [] })],
  ],
  [
    'verdict',
    'a caller was given another result',
    [asked('a'), { what: 'answered', id: 'a', fence: second }, acked('a'), ...run('a', first)],
    [recordOf('a', first)],
  ],
  [
    'fence',
    'two runs share a fence',
    [asked('a'), acked('a'), started('a', first), ...run('a', first)],
    [recordOf('a', first)],
  ],
  [
    'fence',
    'two runs of a life share the number of their attempt',
    [asked('a'), acked('a'), started('a', 'worker-2.1/x/1#1'), ...run('a', first)],
    [recordOf('a', first, { attempt: 2 })],
  ],
  ['attempts', 'an attempt is recorded that no worker ran', [asked('a'), acked('a')], [recordOf('a', first)]],
  ['attempts', 'a poison job that was claimed for a slot ended a process too many', ...poison(first)],
  [
    'attempts',
    'it ran more often than its record says',
    [asked('a'), acked('a'), started('a', first), ...run('a', second)],
    [recordOf('a', second, { attempt: 1, fence: second })],
  ],
  [
    'attempts',
    'it failed more often than is allowed',
    [asked('a'), acked('a')],
    [recordOf('a', first, { state: 'failed', failures: 4, attempt: 4, fence: undefined, attempts: [] })],
  ],
  [
    'cancel',
    'a cancelled job completed',
    [asked('a'), acked('a'), { what: 'called', verb: 'cancel', id: 'a', verdict: 'cancelled' }, ...run('a', first)],
    [recordOf('a', first)],
  ],
  ['unhandled', 'an error was thrown and not caught', [{ what: 'unhandled', message: 'Error: x\n  at y' }], []],
  ['exit', 'a process ended by itself', [{ what: 'exited', process: 'worker-0.1', code: 1, signal: null }], []],
  ['exit', 'the server ended by itself', [{ what: 'serverDied' }], []],
  ['invented', 'a record of a job that was never added', [], [recordOf('a', first)]],
]

for (const [name, what, notes, records] of bad) {
  test(`found (${name}): ${what}`, () =>
    assert.ok(found(notes, ...records).includes(name), String(found(notes, ...records))))
}

const kept = (...fences: string[]): FinalRecord =>
  recordOf('a', fences.at(-1)!, {
    attempt: fences.length,
    attempts: fences.map((fence, index) => ({
      fence,
      outcome: index < fences.length - 1 ? 'stalled' : 'completed',
      state: index < fences.length - 1 ? ('queued' as const) : ('completed' as const),
    })),
  })
const server = 'supervisor'
/** An add whose reply was lost and which was repeated; the job ran before and after. */
const repeatedAt = (time: number, type: string): Entry[] => [
  at(0, 'producer', asked('a', type)),
  ...run('a', first).map((note, index) => at(10 + index, 'worker', note)),
  at(time, 'producer', { what: 'repeated', id: 'a' }),
  at(time + 1, 'producer', acked('a')),
  ...run('a', 'worker-1.1/x/9#1').map((note, index) => at(time + 10 + index, 'worker', note)),
]
const marked: Note = { what: 'marked', process: 'worker-0.1', mark: 1, after: 'server' }

/** Histories in which the times matter. */
const timed: [string | undefined, string, Entry[], FinalRecord[]][] = [
  [
    'stale',
    'an outcome accepted from a run whose lease had been taken back',
    entriesBy('worker', asked('a'), acked('a'), ...run('a', first), started('a', second)),
    [kept(first, second)],
  ],
  [
    'stale',
    'an outcome accepted from a run that ended while another held the job',
    entriesBy(
      'worker',
      asked('a'),
      acked('a'),
      started('a', first),
      started('a', second),
      ended('a', first),
      toRetry('a', first),
    ),
    [recordOf('a', second, { state: 'failed', fence: undefined, attempt: 2, attempts: [] })],
  ],
  [
    undefined,
    'the earlier of two claims began later, and was refused',
    entriesBy(
      'worker',
      asked('a'),
      acked('a'),
      started('a', second),
      started('a', first),
      ended('a', first),
      refused('a', first),
      ended('a', second),
      completed('a', second),
    ),
    [kept(first, second)],
  ],
  [
    undefined,
    'an outcome whose reply was lost, repeated after another attempt began',
    entriesBy('worker', asked('a'), acked('a'), started('a', first), ended('a', first)).concat(
      at(100, 'other', started('a', second)),
      at(101, 'worker', toRetry('a', first)),
    ),
    [recordOf('a', second, { state: 'failed', fence: undefined, attempt: 2, attempts: [] })],
  ],
  [undefined, 'a repeated add of a job whose record had expired', repeatedAt(1_100, 'passing'), []],
  ['doubleRecorded', 'a repeated add of a job whose record was still there', repeatedAt(900, 'passing'), []],
  [
    'doubleRecorded',
    'a repeated add of a job whose record does not expire',
    repeatedAt(1_100, 'kept'),
    [recordOf('a', 'worker-1.1/x/9#1')],
  ],
  [
    'early',
    'started early by the clock of the storage',
    entriesBy('worker', asked('a'), acked('a'), startedAt('a', first, 1_000, 999), ended('a', first)),
    [recordOf('a', first)],
  ],
  [
    'early',
    'started before its delay had passed, whatever the clock of the storage',
    [at(0, 'producer', askedFor('a', 500)), at(1, 'producer', acked('a')), at(490, 'worker', started('a', first))],
    [recordOf('a', first)],
  ],
  [
    undefined,
    'started on time',
    [
      at(0, 'producer', askedFor('a', 500)),
      at(1, 'producer', acked('a')),
      at(501, 'worker', startedAt('a', first, 9, 9)),
    ],
    [recordOf('a', first)],
  ],
  [
    'early',
    'retried before the backoff had passed',
    [
      at(0, 'producer', asked('a')),
      at(1, 'producer', acked('a')),
      at(10, 'worker', started('a', first)),
      at(20, 'worker', ended('a', first)),
      at(21, 'worker', toRetry('a', first)),
      at(60, 'worker', started('a', second)),
    ],
    [recordOf('a', second, { attempt: 2 })],
  ],
  [
    undefined,
    'retried after the backoff',
    [
      at(0, 'producer', asked('a')),
      at(1, 'producer', acked('a')),
      at(10, 'worker', started('a', first)),
      at(20, 'worker', ended('a', first)),
      at(21, 'worker', toRetry('a', first)),
      at(70, 'worker', started('a', second)),
    ],
    [recordOf('a', second, { attempt: 2 })],
  ],
  [
    'return',
    'a process that never reconnected',
    [
      at(0, 'worker-0.1', { what: 'ready' }),
      at(10, server, marked),
      at(20, 'worker-1.1', { what: 'reached', mark: 2 }),
    ],
    [],
  ],
  [
    undefined,
    'a process that reconnected',
    [
      at(0, 'worker-0.1', { what: 'ready' }),
      at(10, server, marked),
      at(20, 'worker-0.1', { what: 'reached', mark: 1 }),
    ],
    [],
  ],
  [
    undefined,
    'a process that was killed while it reconnected',
    [
      at(0, 'worker-0.1', { what: 'ready' }),
      at(10, server, marked),
      at(20, server, { what: 'killed', process: 'worker-0.1' }),
    ],
    [],
  ],
]

for (const [name, what, entries, records] of timed) {
  test(`${name === undefined ? 'allowed' : `found (${name})`}: ${what}`, () => {
    const checks = check(historyWith(entries, ...records)).map((violation) => violation.check)
    if (name === undefined) assert.deepEqual(checks, [])
    else assert.ok(checks.includes(name), String(checks))
  })
}

const orderedAndRun = [ordered('a'), acked('a'), ...run('a', first)]
const rowsOf: [string, Note[], FinalRecord[], string[], string[]][] = [
  ['a row with its job', orderedAndRun, [recordOf('a', first)], ['a'], []],
  ['a job without its row', orderedAndRun, [recordOf('a', first)], [], ['torn']],
  ['a row whose job is gone', orderedAndRun, [], ['a'], ['lost', 'verdict', 'torn']],
  ['a job that was rolled back', [{ what: 'undoing', id: 'b' }], [], [], []],
  ['a row that was rolled back and exists', [{ what: 'undoing', id: 'b' }], [], ['b'], ['torn']],
  [
    'a job that was rolled back and exists',
    [{ what: 'undoing', id: 'b' }],
    [recordOf('b', first)],
    [],
    ['invented', 'torn'],
  ],
  ['a row that was never written', [], [], ['b'], ['torn']],
]

for (const [what, notes, records, rows, expected] of rowsOf) {
  test(`${expected.length === 0 ? 'allowed' : 'found (torn)'}: ${what}`, () => {
    const history = { ...historyWith(entriesBy('worker', ...notes), ...records), rows }
    assert.deepEqual(
      check(history).map((violation) => violation.check),
      expected,
    )
  })
}

test('found (counts): the storage counts a record that it does not list', () => {
  const history = historyOf([], [], { completed: 1 })
  assert.deepEqual(
    check(history).map((violation) => violation.check),
    ['counts'],
  )
})

test('a violation shows at most 20 entries, the record included', () => {
  const many = Array.from({ length: 50 }, (_, index) => started('a', `worker/x/${index}#${index}`))
  const [violation] = check(
    historyWith(
      entriesBy('worker', asked('a'), acked('a'), ...many),
      recordOf('a', first, { state: 'queued', attempt: 50, attempts: [] }),
    ),
  )
  assert.equal(violation!.check, 'live')
  assert.equal(violation!.entries.length, 20)
})
