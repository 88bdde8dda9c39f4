// What the checks allow after a failover, and what not: a claim may be forgotten, an outcome that was told may not.

import { acked, asked, at, entriesBy, recordOf, run, started, toRetry } from './bad-histories.ts'
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
