// Histories written by hand, for the tests of the invariants: each function makes one entry, with what is usual filled in.

import type { Entry, EntryOf, History, TypeFacts } from './entries.ts'

/** Fields that the writer fills in. */
type Usual = 't' | 'move' | 'at' | 'verb' | 'node' | 'type' | 'id' | 'token'
type Given<What extends Entry['what']> = { [Field in keyof EntryOf<What>]?: EntryOf<What>[Field] }

const verbOf: Partial<Record<Entry['what'], string>> = {
  added: 'add',
  claimed: 'claim',
  extended: 'extend',
  settled: 'settle',
  recovered: 'claim',
  ended: 'cancel',
  gone: 'sweep',
  revived: 'revive',
}

const usualFields: Partial<Record<Entry['what'], object>> = {
  added: {
    hash: 'payload-1',
    runAt: 0,
    priority: 0,
    weight: 1,
    chain: 'queue.plain/a',
    blockers: [],
    open: 0,
    wants: 0,
    maxAttempts: 3,
  },
  claimed: { fence: 'w#1', attempt: 1, until: 1_000, runAt: 0, ahead: false },
  extended: { fence: 'w#1', until: 2_000, writers: ['w#1'] },
  reported: { fence: 'w#1', writers: ['w#1'] },
  settled: {
    fence: 'w#1',
    outcome: 'completed',
    state: 'completed',
    runAt: 0,
    failures: 0,
    expiresAt: 9_000,
    result: 'result-1',
    writers: ['w#1'],
  },
  recovered: { fence: 'w#1', until: 1_000, startedAt: 0, state: 'queued', runAt: 0, failures: 1, ahead: false },
  ended: { state: 'cancelled', expiresAt: 9_000 },
  gone: { state: 'completed', expiresAt: 9_000 },
  settleVerdict: { fence: 'w#1', verdict: 'settled', state: 'completed', kind: 'completed' },
  extendVerdict: { fence: 'w#1', verdict: 'extended', until: 2_000 },
  addVerdict: { verdict: 'added', standing: { id: 'a', token: 'token' } },
  cancelVerdict: { verdict: 'cancelled', chains: false },
  claimVerdict: { slots: 1, types: ['queue.plain'], fences: [] },
  read: { state: 'completed', result: 'result-1', hasResult: true },
}

/** Makes an entry. Unless given, it is of the job `queue.plain/a`, and of a call of its own at `at`. */
export function write<What extends Entry['what']>(what: What, at: number, given: Given<What> = {}): Entry {
  const usual = {
    t: at,
    at,
    move: at,
    verb: verbOf[what] ?? what,
    node: 'worker-1',
    type: 'queue.plain',
    id: 'a',
    token: 'token',
  }
  return { ...usual, ...usualFields[what], what, ...given } as unknown as Entry satisfies Pick<Entry, 'what'> &
    Partial<Record<Usual, unknown>>
}

const plain: TypeFacts = {
  type: 'queue.plain',
  leaseMs: 1_000,
  maxAttempts: 3,
  backoff: { delayMs: 100, factor: 2, maxDelayMs: 1_000, jitter: 0.5 },
  plain: true,
  fair: false,
}

/** A type whose worker decides how many attempts a job has. */
const task: TypeFacts = { ...plain, type: 'task.default', plain: false, endedByWorker: true }

export function historyOf(entries: readonly Entry[], facts: Partial<TypeFacts> = {}): History {
  const types = new Map([['queue.plain', { ...plain, ...facts }]])
  if (entries.some((entry) => 'type' in entry && entry.type === task.type)) types.set(task.type, task)
  return { entries, types, slackMs: 1_000, returnMs: 1_000 }
}
