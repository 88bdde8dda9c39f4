// The checks of the operating features: each finds the bad histories written for it, and accepts legal ones that look similar.

import { acked, asked, at, claimed, completed, ended, historyWith, recordOf, run, started } from './bad-histories.ts'
import { expectChecks } from './expect-checks.ts'
import type { Entry, Note } from './entries.ts'
import type { FinalRecord, History, LoggedLine } from './history.ts'

const [first, second] = ['worker-0.1/x/1#1', 'worker-1.1/x/7#2']

// ── priorities and groups ────────────────────────────────────────────────────────────────────────────────────────────

const ranked = (id: string, priority: number): Note => ({ ...asked(id, 'passing'), priority }) as Note
const grouped = (id: string): Note => ({ ...asked(id), group: 'g', ordered: true }) as Note
/** A job of priority 10 that waits from 1 to its claim at 50, and a claim of one of priority 0. */
function priorities(sentAt: number, answeredAt: number, changes: { ackedAt?: number; fence?: string } = {}): History {
  const entries = [
    at(0, 'producer', ranked('high', 10)),
    at(0, 'producer', ranked('low', 0)),
    at(1, 'producer', acked('low')),
    at(changes.ackedAt ?? 1, 'producer', acked('high')),
    at(answeredAt, 'worker', claimed('low', sentAt, 'passing')),
    at(60, 'other', claimed('high', 50, 'passing', changes.fence)),
    ...['high', 'low'].flatMap((id) => run(id, `w/${id}#1`).map((note) => at(70, 'worker', note))),
  ]
  return historyWith(entries.toSorted((one, other) => one.at - other.at))
}

expectChecks('misordered', 'a lower priority was claimed while a higher waited', () => priorities(10, 20))
expectChecks(undefined, 'the higher priority was added during the claim', () => priorities(10, 20, { ackedAt: 15 }))
expectChecks(undefined, 'the claims overlap: either may be first', () => priorities(40, 55))
expectChecks(undefined, 'a claim without an answer may have had the lease of the higher', () =>
  priorities(10, 20, { fence: 'w/high#2' }),
)
expectChecks(undefined, 'another claim was under way, where locked rows may be passed over', () => {
  const history = priorities(10, 20)
  const other = at(21, 'other', { what: 'claimFailed', type: 'passing', sentAt: 11 })
  return { ...history, passesLocked: true, entries: [...history.entries, other] }
})
expectChecks('misordered', 'no other claim was under way, where locked rows may be passed over', () => ({
  ...priorities(10, 20),
  passesLocked: true,
}))

const inGroup = (order: readonly [string, string]): History => {
  const entries = [
    at(0, 'producer', grouped('a')),
    at(1, 'producer', acked('a')),
    at(2, 'producer', grouped('b')),
    at(3, 'producer', acked('b')),
    ...order.flatMap((id, index) => [
      at(20 + 10 * index, 'worker', claimed(id, 19 + 10 * index, 'kept')),
      ...run(id, `w/${id}#1`).map((note) => at(21 + 10 * index, 'worker', note)),
    ]),
  ]
  return historyWith(entries, recordOf('a', 'w/a#1'), recordOf('b', 'w/b#1'))
}
expectChecks('misordered', 'a group was claimed out of order', () => inGroup(['b', 'a']))
expectChecks(undefined, 'a group was claimed in order', () => inGroup(['a', 'b']))

// ── pauses ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Paused from 10 to 30. */
function paused(target: { type: string; group?: string }, sentAt: number, answeredAt: number, note: Note): History {
  const entries = [
    at(0, 'producer', note),
    at(1, 'producer', acked('a')),
    at(10, 'operator', { what: 'paused', ...target }),
    at(30, 'operator', { what: 'resuming', ...target }),
    at(answeredAt, 'worker', claimed('a', sentAt, 'kept', first)),
    ...run('a', first).map((entry) => at(40, 'worker', entry)),
  ]
  return historyWith(
    entries.toSorted((one, other) => one.at - other.at),
    recordOf('a', first),
  )
}
const [kept, group] = [{ type: 'kept' }, { type: 'kept', group: 'g' }]
expectChecks('paused', 'a job of a paused type was claimed', () => paused(kept, 11, 20, asked('a')))
expectChecks('paused', 'a job of a paused group was claimed', () => paused(group, 11, 20, grouped('a')))
expectChecks(undefined, 'a job outside the paused group was claimed', () => paused(group, 11, 20, asked('a')))
expectChecks(undefined, 'the claim was sent before the pause was answered', () => paused(kept, 9, 20, asked('a')))
expectChecks(undefined, 'the claim was answered after the resume was called', () => paused(kept, 11, 31, asked('a')))

/** Offered before the pause, and handed over by an add in the pause, or before it. */
function handedInPause(askedAt: number): History {
  const handed = { ...claimed('a', 5, 'kept', first), handed: true } as Note
  const entries = [
    at(askedAt, 'producer', asked('a')),
    at(10, 'operator', { what: 'paused', ...kept }),
    at(14, 'worker', handed),
    ...run('a', first).map((entry) => at(15, 'worker', entry)),
    at(16, 'producer', acked('a')),
    at(30, 'operator', { what: 'resuming', ...kept }),
  ]
  return historyWith(
    entries.toSorted((one, other) => one.at - other.at),
    recordOf('a', first),
  )
}
expectChecks('paused', 'a job of a paused type was handed over', () => handedInPause(12))
expectChecks(undefined, 'a job was handed over, and its type paused before the hint came', () => handedInPause(9))

// ── progress and log lines ───────────────────────────────────────────────────────────────────────────────────────────

const line = (fence: string, step: number, changes: Partial<LoggedLine> = {}): LoggedLine => {
  return { fence, step, attempt: fence === first ? 1 : 2, at: 5, ...changes }
}

/** A job whose first run was taken back at 10, by the storage's clock, and whose second completed it with two lines. */
function reporting(
  log: readonly LoggedLine[],
  changes: Partial<FinalRecord> = {},
  more: readonly Note[] = [],
): History {
  const notes: Note[] = [
    asked('a'),
    acked('a'),
    started('a', first),
    started('a', second),
    { ...ended('a', second), lines: 2 } as Note,
    completed('a', second),
    ...more,
  ]
  const record = recordOf('a', second, {
    attempt: 2,
    failures: 1,
    attempts: [
      { fence: first, outcome: 'stalled', state: 'queued', endedAt: 10 },
      { fence: second, outcome: 'completed', state: 'completed', endedAt: 20 },
    ],
    progress: { fence: second, step: 2 },
    log,
    ...changes,
  })
  return historyWith(
    notes.map((note, index): Entry => at(index, 'worker', note)),
    record,
  )
}
const both = [line(second, 1), line(second, 2)]
expectChecks(undefined, 'lines of a run that was taken back, then of the one that ended it', () =>
  reporting([line(first, 1), ...both]),
)
expectChecks('stale', 'a line is stored under the attempt of another run', () =>
  reporting([...both, line(first, 1, { attempt: 2 })]),
)
expectChecks('stale', 'a line of an earlier run is stored after those of a later one', () =>
  reporting([...both, line(first, 1)]),
)
expectChecks('stale', 'a line was written after the lease of its run was taken back', () =>
  reporting([line(first, 1, { at: 16 }), ...both]),
)
expectChecks('stale', 'the progress is of a run that did not end the job', () =>
  reporting(both, { progress: { fence: first, step: 1 } }),
)
expectChecks('stale', 'the progress is not the last one of the run', () =>
  reporting(both, { progress: { fence: second, step: 1 } }),
)
expectChecks('reports', 'a line is stored twice', () => reporting([line(second, 1), ...both]))
expectChecks('reports', 'lines changed places', () => reporting(both.toReversed()))
expectChecks('reports', 'a line of a recorded outcome is missing', () => reporting([line(second, 1)]))
expectChecks('reports', 'a line is stored twice after a heartbeat without an answer', () =>
  reporting([line(second, 1), ...both], {}, [{ what: 'reportUnanswered', id: 'a', fence: second }]),
)

// ── redrives ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A job that failed, was redriven at 10, and ran again by a claim that was sent at this instant. */
function redriven(sentAt: number, edited: true | undefined, state: 'completed' | 'failed' = 'completed'): History {
  const entries = [
    at(0, 'producer', { ...asked('a'), kind: 'failing' } as Note),
    at(1, 'producer', acked('a')),
    at(5, 'worker', claimed('a', 4, 'kept', first)),
    at(6, 'worker', started('a', first)),
    at(9, 'operator', { what: 'calling', verb: 'revive', id: 'a', edited: true }),
    at(10, 'operator', { what: 'called', verb: 'revive', id: 'a', edited: true, verdict: 'revived' }),
    at(20, 'worker', claimed('a', sentAt, 'kept', second)),
    at(21, 'worker', { ...started('a', second), edited } as Note),
    at(22, 'worker', ended('a', second)),
  ]
  return historyWith(entries, recordOf('a', second, { state, attempt: 2, attempts: [] }))
}
expectChecks(undefined, 'a redriven job completed', () => redriven(15, true))
expectChecks('redrive', 'a redriven job ran with its old payload', () => redriven(15, undefined))
expectChecks(undefined, 'a run from before the redrive began after it', () => redriven(8, undefined))
expectChecks('redrive', 'a failed job was not redriven', () => redriven(15, true, 'failed'))
