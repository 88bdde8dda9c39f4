// For each invariant, histories that it must pass and histories that it must flag, written by hand.
// Longer than other files, so that all of them can be read side by side.

import type { Entry, TypeFacts } from '../history/entries.ts'
import { write } from '../history/write-history.ts'

export interface HandWritten {
  readonly good: readonly (readonly Entry[])[]
  readonly bad: readonly (readonly Entry[])[]
  readonly facts?: Partial<TypeFacts>
}

const b = { id: 'b', token: 'token-b' }
const group = { group: 'g', ordered: true }
const run = [write('added', 1), write('claimed', 2), write('settled', 3)]
const lost = [write('added', 1), write('claimed', 2, { until: 1_000 })]
const second = { fence: 'v#2', attempt: 2, until: 3_000 }
const task = { type: 'task.default' }
const usedUp = [
  write('added', 1, { ...task, maxAttempts: 1 }),
  write('claimed', 2, task),
  write('began', 3, { ...task, fence: 'w#1', hash: 'payload-1' }),
  write('recovered', 1_000, task),
]
const slotToken = (callId: string): string => `schedule/60000/${callId}/tick`

export const handWritten: Readonly<Record<string, HandWritten>> = {
  S1: {
    good: [
      [write('asked', 1, { call: 1 }), write('added', 2), write('acked', 3, { call: 1, status: 'queued' })],
      [...run, write('gone', 9_000)],
      [...run, write('gone', 9, { verb: 'remove' })],
    ],
    bad: [
      [write('asked', 1, { call: 1 }), write('acked', 3, { call: 1, status: 'queued' })],
      [write('added', 1), write('gone', 2, { state: 'queued', expiresAt: undefined })],
      [...run, write('gone', 8_999)],
    ],
  },
  S2: {
    good: [
      [write('added', 1), write('claimed', 2), write('began', 3, { fence: 'w#1', hash: 'payload-1' })],
      [
        write('added', 1),
        write('payload', 2, { verb: 'add', hash: 'payload-2' }),
        write('claimed', 3),
        write('began', 4, { fence: 'w#1', hash: 'payload-2' }),
      ],
    ],
    bad: [
      [write('claimed', 2)],
      [write('added', 1), write('claimed', 2), write('began', 3, { fence: 'w#1', hash: 'payload-2' })],
      [write('added', 1), write('payload', 2, { verb: 'settle', hash: 'payload-2' })],
      [write('began', 3, { fence: 'w#1', hash: 'payload-1' })],
    ],
  },
  S3: {
    good: [
      [write('added', 1), write('addVerdict', 1), write('addVerdict', 2)],
      [write('added', 1), write('addVerdict', 1), write('gone', 2), write('added', 3), write('addVerdict', 3)],
      // A later item of the call replaced the first.
      [
        write('added', 1, { token: 'second' }),
        write('addVerdict', 1),
        write('addVerdict', 1, { token: 'second', verdict: 'replaced', standing: { id: 'a', token: 'second' } }),
      ],
    ],
    bad: [
      [write('addVerdict', 1)],
      [write('added', 1), write('addVerdict', 1), write('added', 2), write('addVerdict', 2)],
      [write('added', 1), write('addVerdict', 1, b), write('added', 1, b)],
    ],
  },
  S4: {
    good: [
      [...lost, write('recovered', 1_000), write('claimed', 1_000, second)],
      [...lost, write('recovered', 900, { olderThanMs: 500 })],
    ],
    bad: [
      [...lost, write('claimed', 3, second)],
      [...lost, write('recovered', 999)],
      [...lost, write('extended', 900, { until: 1_900 }), write('recovered', 1_500)],
    ],
  },
  S5: {
    good: [[...lost, write('recovered', 1_000), write('claimed', 1_000, second)]],
    bad: [
      [...run, write('added', 4, { token: 'token-2' }), write('claimed', 5, { token: 'token-2' })],
      [...lost, write('recovered', 1_000), write('claimed', 1_001, { fence: 'v#1', attempt: 1 })],
      [
        write('claimVerdict', 1, { fences: ['queue.plain/a w#1'] }),
        write('claimVerdict', 2, { fences: ['queue.plain/a w#1'] }),
      ],
    ],
  },
  S6: {
    good: [[write('added', 1), write('claimed', 2), write('extended', 3), write('reported', 4), write('settled', 5)]],
    bad: [
      [write('added', 1), write('claimed', 2), write('settled', 3, { writers: ['v#2'] })],
      [write('added', 1), write('claimed', 2), write('extended', 3, { writers: [] })],
      [write('added', 1), write('claimed', 2), write('reported', 3, { writers: ['v#2'] })],
      [write('added', 1), write('claimed', 2), write('vanished', 3, { fence: 'w#1' })],
    ],
  },
  S7: {
    good: [
      [...run, write('settleVerdict', 3), write('settleVerdict', 4)],
      [
        ...run,
        write('settleVerdict', 3),
        write('gone', 9_000),
        write('settleVerdict', 9_001, { verdict: 'not_found' }),
      ],
      [write('added', 1), write('claimed', 2), write('extended', 3), write('extendVerdict', 3)],
    ],
    bad: [
      [...run, write('settled', 4)],
      [write('added', 1), write('claimed', 2), write('settleVerdict', 3)],
      [...run, write('settleVerdict', 3), write('settleVerdict', 4, { verdict: 'taken_by_another_worker' })],
      [...run, write('settleVerdict', 3, { state: 'failed' })],
      [...run, write('ended', 4)],
      [write('added', 1), write('claimed', 2), write('extendVerdict', 3)],
    ],
  },
  S8: {
    good: [
      [...run, write('expiry', 4), write('gone', 9_000)],
      [write('added', 1), write('ended', 2), write('revived', 3, { runAt: 3 }), write('claimed', 4)],
    ],
    bad: [
      [...run, write('claimed', 4, second)],
      [...run, write('extended', 4)],
      [write('added', 1), write('ended', 2), write('revived', 3, { verb: 'extend' })],
    ],
  },
  S9: {
    good: [
      [write('added', 1), write('ended', 2), write('cancelVerdict', 2)],
      [
        write('added', 1),
        write('claimed', 2),
        write('cancelling', 3, { fence: 'w#1' }),
        write('cancelVerdict', 3, { verdict: 'cancelling' }),
        write('settled', 4),
      ],
    ],
    bad: [
      [write('added', 1), write('cancelVerdict', 2)],
      [write('added', 1), write('ended', 2), write('cancelVerdict', 2), write('claimed', 3)],
      [
        write('added', 1),
        write('claimed', 2),
        write('cancelling', 3, { fence: 'w#1' }),
        write('settled', 4, { outcome: 'retry', state: 'failing' }),
      ],
    ],
  },
  S10: {
    good: [
      [...lost, write('settled', 5_000), write('settleVerdict', 5_000)],
      [...lost, write('recovered', 1_000), write('settleVerdict', 1_001, { verdict: 'taken_by_another_worker' })],
    ],
    bad: [
      [...lost, write('settleVerdict', 5_000, { verdict: 'taken_by_another_worker' })],
      [...lost, write('recovered', 1_000), write('settleVerdict', 1_000, { verdict: 'taken_by_another_worker' })],
    ],
  },
  S11: {
    good: [
      [...run, write('added', 4, { token: 'token-2', over: 'completed' })],
      [
        write('added', 1, { key: 'k', mode: 'simple' }),
        write('ended', 2),
        write('added', 3, { ...b, key: 'k', mode: 'simple' }),
      ],
      [
        write('added', 1),
        write('addVerdict', 2, { verdict: 'duplicate', by: 'id', standing: { id: 'a', token: 'token' } }),
      ],
    ],
    bad: [
      [write('added', 1), write('added', 2, { token: 'token-2', over: 'queued' })],
      [write('added', 1, { key: 'k', mode: 'simple' }), write('added', 2, { ...b, key: 'k', mode: 'simple' })],
      [write('addVerdict', 2, { verdict: 'duplicate', by: 'id', standing: { id: 'a', token: 'token' } })],
      [
        write('added', 1, { key: 'k', mode: 'simple' }),
        write('ended', 2),
        write('addVerdict', 3, {
          ...b,
          verdict: 'duplicate',
          by: 'key',
          key: 'k',
          mode: 'simple',
          standing: { id: 'a', token: 'token' },
        }),
      ],
    ],
  },
  S12: {
    good: [
      [...run, write('read', 8_999)],
      [...run, write('read', 9_000, { state: undefined, token: undefined, result: undefined })],
    ],
    bad: [
      [...run, write('read', 8_999, { state: undefined, token: undefined, result: undefined })],
      [...run, write('read', 9_000)],
      [...run, write('read', 5, { result: 'result-2' })],
    ],
  },
  S13: {
    good: [
      [
        write('added', 1),
        write('claimed', 2),
        write('settled', 3, { outcome: 'continued' }),
        write('added', 3, { ...b, chain: 'queue.plain/a' }),
        write('settleVerdict', 3, { kind: 'continued' }),
      ],
      [
        write('added', 1),
        write('added', 1, { ...b, chain: 'queue.plain/b', blockers: ['queue.plain/a'], open: 1, wants: 1 }),
        write('claimed', 2),
        write('settled', 3),
        write('unblocked', 3, { ...b, open: 0, runAt: 3 }),
      ],
    ],
    bad: [
      [write('added', 1), write('claimed', 2), write('settled', 3), write('settleVerdict', 3, { kind: 'continued' })],
      [
        write('added', 1),
        write('added', 1, { ...b, chain: 'queue.plain/b', blockers: ['queue.plain/a'], open: 1, wants: 1 }),
        write('claimed', 2),
        write('settled', 3),
      ],
      [write('added', 1, { wants: 1 })],
    ],
  },
  S14: {
    good: [
      [write('added', 1, { runAt: 50, due: 50 }), write('claimed', 50)],
      [write('added', 1, { runAt: 50 }), write('moved', 2, { runAt: 3, verb: 'revive' }), write('claimed', 3)],
    ],
    bad: [
      [write('added', 1, { runAt: 50 }), write('claimed', 49)],
      [write('added', 1, { runAt: 1, due: 50 })],
      [write('added', 1, { runAt: 50 }), write('moved', 2, { runAt: 3, verb: 'claim' })],
    ],
  },
  S15: {
    good: [
      [
        write('added', 1, group),
        write('added', 2, { ...b, ...group }),
        write('claimed', 3),
        write('settled', 4),
        write('claimed', 5, b),
      ],
      [write('added', 1), write('added', 2, { ...b, priority: 5 }), write('claimed', 3, b), write('claimed', 4)],
    ],
    bad: [
      [write('added', 1, group), write('added', 2, { ...b, ...group }), write('claimed', 3, b)],
      [write('added', 1, group), write('added', 2, { ...b, ...group }), write('claimed', 3), write('claimed', 4, b)],
      [write('added', 1), write('added', 2, { ...b, priority: 5 }), write('claimed', 3)],
      [write('added', 1, { runAt: 2 }), write('added', 1, { ...b, runAt: 1 }), write('claimed', 3, { runAt: 2 })],
    ],
  },
  S16: {
    facts: { concurrency: 1, rate: { limit: 2, perMs: 100 } },
    good: [[write('added', 1), write('added', 1, b), write('claimed', 2), write('settled', 3), write('claimed', 4, b)]],
    bad: [
      [write('added', 1), write('added', 1, b), write('claimed', 2), write('claimed', 3, b)],
      [
        write('added', 1, { weight: 2 }),
        write('added', 1, b),
        write('claimed', 2),
        write('settled', 3),
        write('claimed', 4, b),
      ],
      [write('claimVerdict', 1, { slots: 1, fences: ['x', 'y'] })],
    ],
  },
  S17: {
    good: [
      [
        write('added', 1, { maxAttempts: 2 }),
        write('claimed', 2),
        write('recovered', 1_000),
        write('claimed', 1_001, second),
      ],
      // Claimed once more, and ended without a run.
      [...usedUp, write('claimed', 1_001, { ...task, ...second })],
    ],
    bad: [
      [
        ...usedUp,
        write('claimed', 1_001, { ...task, ...second }),
        write('began', 1_002, { ...task, fence: second.fence, hash: 'payload-1' }),
      ],
      [
        write('added', 1, { maxAttempts: 1 }),
        write('claimed', 2),
        write('recovered', 1_000),
        write('claimed', 1_001, second),
      ],
      [
        write('added', 1, { maxAttempts: 1 }),
        write('claimed', 2),
        write('settled', 3, { outcome: 'retry', state: 'failing' }),
        write('claimed', 4, second),
      ],
    ],
  },
  S18: {
    good: [
      [write('added', 1), write('claimed', 2), write('settled', 10, { outcome: 'retry', state: 'failing', runAt: 60 })],
    ],
    bad: [
      [write('added', 1), write('claimed', 2), write('settled', 10, { outcome: 'retry', state: 'failing', runAt: 10 })],
      [
        write('added', 1),
        write('claimed', 2),
        write('settled', 10, { outcome: 'retry', state: 'failing', runAt: 111 }),
      ],
    ],
  },
  S19: {
    good: [[write('counted', 1, { counts: { completed: 1, queued: 0 }, records: { completed: 1 } })]],
    bad: [
      [write('counted', 1, { counts: { completed: 2 }, records: { completed: 1 } })],
      [write('counted', 1, { counts: { queued: -1 }, records: {} })],
    ],
  },
  S20: {
    good: [[write('left', 1, { jobs: 0, keys: 0 })]],
    bad: [[write('left', 1, { jobs: 1, keys: 0 })], [write('left', 1, { jobs: 0, keys: 1 })]],
  },
  S21: {
    good: [[write('added', 1, { token: slotToken('x') }), write('added', 2, { ...b, token: 'schedule//y/tick' })]],
    bad: [[write('added', 1, { token: slotToken('x') }), write('added', 2, { ...b, token: slotToken('y') })]],
  },
  S22: {
    good: [
      [write('added', 1), write('paused', 2), write('resumed', 3), write('claimed', 4)],
      [write('added', 1), write('paused', 2, { group: 'g' }), write('claimed', 4)],
    ],
    bad: [
      [write('added', 1), write('paused', 2), write('claimed', 4)],
      [write('added', 1, { group: 'g' }), write('paused', 2, { group: 'g' }), write('claimed', 4)],
    ],
  },
  S25: {
    good: [
      [...run, write('waiting', 1, { call: 1, timeoutMs: 100 }), write('waited', 50, { call: 1, result: 'result-1' })],
      [write('waiting', 1, { call: 1, timeoutMs: 100 }), write('nodeCrashed', 2), write('healed', 9_000)],
    ],
    bad: [
      [write('waiting', 1, { call: 1, timeoutMs: 100 }), write('healed', 9_000)],
      [write('waiting', 1, { call: 1, timeoutMs: 100 }), write('waited', 2_000, { call: 1, code: 'TIMEOUT' })],
      [...run, write('waiting', 1, { call: 1, timeoutMs: 100 }), write('waited', 50, { call: 1, result: 'result-2' })],
    ],
  },
  S26: {
    good: [[write('nodeStopped', 1)]],
    bad: [[write('nodeStopped', 1), write('afterStop', 2, { verb: 'extend' })]],
  },
  L1: { good: [[...run, write('rested', 5)]], bad: [[write('added', 1), write('gaveUp', 5)]] },
  L2: {
    good: [[...lost, write('healed', 100), write('recovered', 1_500), write('rested', 9_000)]],
    bad: [
      [...lost, write('healed', 100), write('recovered', 8_000), write('rested', 9_000)],
      [...lost, write('healed', 100), write('gaveUp', 9_000)],
    ],
  },
  L4: {
    good: [[write('nodeStarted', 1), write('healed', 2), write('claimVerdict', 3), write('rested', 9_000)]],
    bad: [
      [write('nodeStarted', 1), write('healed', 2), write('rested', 9_000)],
      [write('unhandled', 1, { message: 'connection reset' })],
    ],
  },
  L5: {
    good: [[write('probed', 1, { withinMs: 500 }), write('added', 1), write('claimed', 400), write('rested', 9_000)]],
    bad: [
      [write('probed', 1, { withinMs: 500 }), write('added', 1), write('claimed', 600)],
      [write('probed', 1, { withinMs: 500 }), write('added', 1), write('rested', 9_000)],
    ],
  },
  L6: {
    facts: { fair: true, plain: false },
    good: [
      [
        ...['a', 'b', 'c'].map((id) => write('added', 1, { id, token: id, group: id })),
        ...['a', 'b', 'c'].map((id, index) => write('claimed', 2 + index, { id, token: id })),
      ],
    ],
    bad: [
      [
        write('added', 1, { id: 'x', token: 'x', group: 'x' }),
        ...['a', 'b', 'c', 'd', 'e'].map((id) => write('added', 1, { id, token: id, group: 'y' })),
        ...['a', 'b', 'c', 'd', 'e'].map((id, index) => write('claimed', 2 + index, { id, token: id })),
      ],
    ],
  },
}
