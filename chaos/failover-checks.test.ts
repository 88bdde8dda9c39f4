// What the checks allow after a failover, and what not: a claim may be forgotten, an outcome that was told may not.

import {
  acked,
  asked,
  at,
  completed,
  ended,
  entriesBy,
  recordOf,
  run,
  started,
  startedAt,
  toRetry,
} from './bad-histories.ts'
import type { Note } from './entries.ts'
import { expectChecks } from './expect-checks.ts'
import { type History, historyOf } from './history.ts'

const first = 'worker-0.1/x/1#1'

/** A claim that a failover forgot: its attempt is given again, under another fence. */
function forgottenClaim(isRecorded: boolean, failsOver: boolean, notedAt = 10): History {
  const lost = 'worker-2.1/x/1#1'
  const entries = [
    ...entriesBy('producer-0.1', asked('a'), acked('a')),
    at(notedAt, 'worker-2.1', started('a', lost)),
    ...(isRecorded ? [at(notedAt + 1, 'worker-2.1', toRetry('a', lost))] : []),
    at(20, 'supervisor', { what: 'serverFrozen' }),
    at(28, 'supervisor', { what: 'serverThawed' }),
    ...run('a', first).map((note, index) => at(30 + index, 'worker-0.1', note)),
  ]
  return historyOf(entries, [recordOf('a', first)], { completed: 1 }, { failsOver })
}

expectChecks(undefined, 'a failover forgot a claim, and its attempt was given again', () => forgottenClaim(false, true))
expectChecks('fence', 'the same without a replica that is promoted', () => forgottenClaim(false, false))
expectChecks('fence', 'a failover forgot an outcome that was told', () => forgottenClaim(true, true))
expectChecks(undefined, 'the same, noted by the worker after the fault began', () => forgottenClaim(false, true, 21))
expectChecks('fence', 'a claim after the failover is not forgotten', () => forgottenClaim(false, true, 29))

/** A claim that a stopped primary answered when it went on: the outcome of the attempt before it is accepted by the promoted replica. */
function claimOfOldPrimary(failsOver: boolean, claimedAt = 26): History {
  const second = 'worker-2.1/x/4#2'
  const entries = [
    ...entriesBy('producer-0.1', asked('a'), acked('a')),
    at(10, 'worker-0.1', started('a', first)),
    // Its outcome gets no answer until the failover is over.
    at(21, 'worker-0.1', ended('a', first)),
    at(20, 'supervisor', { what: 'serverFrozen' }),
    at(claimedAt, 'worker-2.1', started('a', second)),
    at(28, 'supervisor', { what: 'serverThawed' }),
    at(31, 'worker-0.1', completed('a', first)),
  ].toSorted((one, other) => one.at - other.at)
  return historyOf(entries, [recordOf('a', first)], { completed: 1 }, { failsOver })
}
expectChecks(undefined, 'a failover forgot a claim, and the attempt before it was recorded', () =>
  claimOfOldPrimary(true),
)
expectChecks('attempts', 'the same without a replica that is promoted', () => claimOfOldPrimary(false))
expectChecks('attempts', 'a claim after the failover, and the attempt before it was recorded', () =>
  claimOfOldPrimary(true, 29),
)

/** A run of three lines of which the record has some. */
function lines(steps: readonly number[], failsOver: boolean, killedAt = 20): History {
  const entries = [
    ...entriesBy('producer-0.1', asked('a'), acked('a')),
    at(10, 'worker-0.1', started('a', first)),
    at(killedAt, 'supervisor', { what: 'serverKilled' }),
    at(killedAt + 5, 'supervisor', { what: 'serverBack' }),
    at(30, 'worker-0.1', { ...ended('a', first), lines: 3 } as Note),
    at(31, 'worker-0.1', completed('a', first)),
  ].toSorted((one, other) => one.at - other.at)
  const last = steps.at(-1)!
  const log = steps.map((step) => ({ fence: first, attempt: 1, step, at: 10 + step }))
  const record = recordOf('a', first, { log, progress: { fence: first, step: last } })
  return historyOf(entries, [record], { completed: 1 }, { failsOver })
}
expectChecks(undefined, 'a failover forgot a line of a heartbeat', () => lines([1, 3], true))
expectChecks(undefined, 'a failover forgot the last progress', () => lines([1, 2], true))
expectChecks('reports', 'a line is missing after a restart without a failover', () => lines([1, 3], false))
expectChecks('reports', 'a line is missing, and the failover came before the run', () => lines([1, 3], true, 3))
expectChecks('reports', 'a line is missing, and the failover came after the outcome', () => lines([1, 3], true, 40))
expectChecks('reports', 'a line is there twice after a failover', () => lines([1, 2, 2, 3], true))

/** Starts of a rate of 6, by a primary that was stopped, and by the replica that was promoted. */
function rated(failsOver: boolean): History {
  const ids = ['a', 'b']
  const ask = { type: 'rated', kind: 'rated', weight: 5 }
  const entries = [
    ...ids.map((id) => at(0, 'producer-0.1', { ...asked(id), ...ask } as Note)),
    ...ids.map((id) => at(1, 'producer-0.1', acked(id))),
    at(20, 'supervisor', { what: 'serverFrozen' }),
    at(25, 'worker-2.1', startedAt('a', 'worker-2.1/x/1#1', 0, 1_000)),
    at(26, 'worker-0.1', startedAt('b', 'worker-0.1/x/1#1', 0, 1_010)),
    at(28, 'supervisor', { what: 'serverThawed' }),
    ...[ended, completed].map((note, index) => at(30 + index, 'worker-0.1', note('b', 'worker-0.1/x/1#1'))),
    at(900, 'worker-0.1', startedAt('a', first, 0, 1_600)),
    ...[ended, completed].map((note, index) => at(901 + index, 'worker-0.1', note('a', first))),
  ]
  const records = [recordOf('a', first, { type: 'rated' }), recordOf('b', 'worker-0.1/x/1#1', { type: 'rated' })]
  return historyOf(entries, records, { completed: 2 }, { failsOver })
}
expectChecks(undefined, 'a start of a rate that a failover forgot does not count', () => rated(true))
expectChecks('rate', 'the same without a replica that is promoted', () => rated(false))
