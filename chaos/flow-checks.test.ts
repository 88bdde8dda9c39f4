// The checks of limits, groups, schedules and deduplication keys: each finds the bad histories written for it, and accepts legal ones
// that look similar.

import { acked, asked, at, claimed, completed, ended, historyWith, recordOf, run, started } from './bad-histories.ts'
import type { Entry, Note } from './entries.ts'
import { expectChecks } from './expect-checks.ts'
import type { FinalRecord, History } from './history.ts'
import type { Key } from './keys.ts'
import { tenantKeys } from './limits.ts'

const fenceOf = (id: string): string => `w/${id}#1`

const sorted = (entries: readonly Entry[], ...records: FinalRecord[]): History =>
  historyWith(
    entries.toSorted((one, other) => one.at - other.at),
    ...records,
  )

interface Run {
  readonly id: string
  readonly ask?: Partial<Extract<Note, { what: 'asked' }>>
  readonly from: number
  /** Undefined: the process was killed. */
  readonly to?: number
  readonly leaseUntil?: number
  /** By the storage's clock. */
  readonly claimedAt?: number
}

/** A job that was claimed and started at `from`, and whose handler returned at `to`. */
function ran(type: 'kept' | 'limited' | 'rated', one: Run): Entry[] {
  const { id, ask, from, to, leaseUntil = 10_000, claimedAt = from } = one
  const fence = fenceOf(id)
  return [
    at(1, 'producer', { ...asked(id), type, ...ask } as Note),
    at(2, 'producer', acked(id)),
    at(from, 'worker', claimed(id, from - 1, type, fence, leaseUntil)),
    at(from, 'worker', { ...started(id, fence), claimedAt, runAt: 0 } as Note),
    ...(to === undefined ? [] : [at(to, 'worker', ended(id, fence)), at(to + 1, 'worker', completed(id, fence))]),
  ]
}

const all = (type: 'kept' | 'limited' | 'rated', ...runs: Run[]): History =>
  sorted(
    runs.flatMap((one) => ran(type, one)),
    ...runs.map(({ id }) => recordOf(id, fenceOf(id), { type })),
  )

// ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const [four, tenant] = [['a', 'b', 'c', 'd'], { group: 'tenant-1', ordered: false }]
const together = (last: Omit<Run, 'id'>): History =>
  all('limited', ...four.map((id) => ({ id, from: 10, to: 50 })), { id: 'e', ...last })

expectChecks('limits', 'five of a type run at once, its limit is four', () => together({ from: 49, to: 60 }))
expectChecks(undefined, 'the fifth starts when one has ended', () => together({ from: 51, to: 60 }))

const afterKill = (from: number): History =>
  all('limited', ...four.map((id) => ({ id, from: 10, leaseUntil: 1_000 })), { id: 'e', from, to: from + 10 })
expectChecks('limits', 'four were killed, and a fifth starts before the end of a lease', () => afterKill(900))
expectChecks(undefined, 'four were killed, and a fifth starts after the end of the leases', () => afterKill(1_000))
expectChecks('limits', 'four were extended and killed, and a fifth starts within the extension', () => {
  const extended = four.map((id) => at(500, 'worker', { what: 'extended', id, fence: fenceOf(id), leaseUntil: 1_500 }))
  const history = afterKill(1_200)
  const entries = [...history.entries, ...extended].toSorted((one, other) => one.at - other.at)
  return sorted(entries, ...[...four, 'e'].map((id) => recordOf(id, fenceOf(id), { type: 'limited' })))
})

const inGroup = (count: number): History =>
  all('limited', ...four.slice(0, count).map((id) => ({ id, ask: tenant, from: 10, to: 50 })))
expectChecks('limits', 'three of a group run at once, its limit is two', () => inGroup(3))
expectChecks(undefined, 'two of a group run at once', () => inGroup(2))

const ordered = { group: 'g', ordered: true }
const inOrder = (from: number): History =>
  all('kept', { id: 'a', ask: ordered, from: 10, to: 50 }, { id: 'b', ask: ordered, from, to: 90 })
expectChecks('limits', 'two of an ordered group run at once', () => inOrder(40))
expectChecks(undefined, 'the second of an ordered group runs after the first', () => inOrder(51))

expectChecks('misordered', 'a job of an ordered group runs between two attempts of the one before it', () => {
  const [first, again] = ['w/a#1', 'x/a#2']
  const entries = [
    at(0, 'producer', { ...asked('a'), ...ordered } as Note),
    at(1, 'producer', acked('a')),
    at(2, 'producer', { ...asked('b'), ...ordered } as Note),
    at(3, 'producer', acked('b')),
    at(10, 'worker', claimed('a', 9, 'kept', first)),
    at(11, 'worker', started('a', first)),
    at(20, 'worker', claimed('b', 19, 'kept')),
    ...run('b', fenceOf('b')).map((note) => at(21, 'worker', note)),
    at(30, 'worker', claimed('a', 29, 'kept', again)),
    ...run('a', again).map((note) => at(31, 'worker', note)),
  ]
  const attempts = [
    { fence: first, outcome: 'stalled', state: 'queued' as const },
    { fence: again, outcome: 'completed', state: 'completed' as const },
  ]
  return sorted(entries, recordOf('a', again, { attempt: 2, failures: 1, attempts }), recordOf('b', fenceOf('b')))
})

// ── rates and slow-downs ─────────────────────────────────────────────────────────────────────────────────────────────

const starts = (last: number): History =>
  all(
    'rated',
    { id: 'a', ask: { weight: 3 }, from: 10, to: 20, claimedAt: 10 },
    { id: 'b', ask: { weight: 3 }, from: 200, to: 210, claimedAt: 200 },
    { id: 'c', ask: { weight: 1 }, from: last, to: last + 10, claimedAt: last },
  )
expectChecks('rate', 'starts of weight seven within 500 ms, the limit is six', () => starts(509))
expectChecks(undefined, 'the third start is 500 ms after the first', () => starts(510))

/** `a` slows its type or group down from 20 to 220; `b` is claimed by a call that is sent at this instant. */
function slowed(scope: 'type' | 'group', sentAt: number, group?: string): History {
  const ask = { group: 'tenant-1', ordered: false }
  const fence = fenceOf('a')
  const entries = [
    at(1, 'producer', { ...asked('a'), type: 'limited', ...ask } as Note),
    at(2, 'producer', acked('a')),
    at(10, 'worker', claimed('a', 9, 'limited', fence)),
    at(10, 'worker', started('a', fence)),
    at(20, 'worker', { what: 'slowed', id: 'a', fence, scope, ms: 200 }),
    at(20, 'worker', ended('a', fence)),
    at(25, 'worker', { ...completed('a', fence), kind: 'released' } as Note),
    ...ran('limited', { id: 'b', ask: { group, ordered: false }, from: sentAt + 1, to: sentAt + 10 }),
  ]
  return sorted(entries, recordOf('a', fence, { type: 'limited' }), recordOf('b', fenceOf('b'), { type: 'limited' }))
}
expectChecks('slowed', 'a job of a type that was slowed down is claimed', () => slowed('type', 100))
expectChecks('slowed', 'a job of a group that was slowed down is claimed', () => slowed('group', 100, 'tenant-1'))
expectChecks(undefined, 'a job of another group is claimed', () => slowed('group', 100, 'tenant-2'))
expectChecks(undefined, 'the time is over', () => slowed('type', 219))
expectChecks(undefined, 'the claim was sent before the slow-down was answered', () => slowed('type', 24))

// ── turns ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Groups beside that of a job: the other tenants, and the jobs without a group. */
const others = tenantKeys.length

/** A job of a group waits from 2 on while jobs of another one are claimed, so many, one at a time. */
function waits(count: number, busy?: Run): History {
  const runs = Array.from({ length: count }, (_, index): Run => {
    return { id: `o${index}`, ask: { group: 'tenant-2', ordered: false }, from: 10 + 10 * index, to: 15 + 10 * index }
  })
  return all('limited', ...runs, ...(busy ? [busy] : []), { id: 'head', ask: tenant, from: 500, to: 510 })
}
expectChecks('turns', 'a job waits for more starts of another group than there are others', () => waits(others + 1))
expectChecks(undefined, 'a job waits for a start of each other group', () => waits(others))
expectChecks(undefined, 'another job of its group may have run meanwhile', () =>
  waits(others + 1, { id: 'busy', ask: tenant, from: 8, to: 400 }),
)

/** A head that waits too long, and another job of its group: its first claim was not seen, and its add was called at an instant. */
function besideUnseen(askedAt: number): History {
  const head = waits(others + 1)
  const [id, fence] = ['unseen', 'w/unseen#2']
  const entries = [
    at(askedAt, 'producer', { ...asked(id), type: 'limited', ...tenant } as Note),
    at(askedAt + 1, 'producer', acked(id)),
    at(700, 'worker', claimed(id, 699, 'limited', fence)),
    ...run(id, fence).map((note) => at(701, 'worker', note)),
  ]
  const records = head.jobs.map((job) => job.record!)
  return sorted([...head.entries, ...entries], ...records, recordOf(id, fence, { type: 'limited', attempt: 2 }))
}
expectChecks('turns', 'a job whose first claim was not seen was added later', () => besideUnseen(600))
expectChecks(undefined, 'a job whose first claim was not seen may have run meanwhile', () => besideUnseen(3))

// ── schedules ────────────────────────────────────────────────────────────────────────────────────────────────────────

const slotId = (second: number, more = ''): string => `tick@2026-01-01T00:00:0${second}.000Z${more}`
const slots = (...ids: readonly string[]): History =>
  sorted(
    ids.flatMap((id) => [
      at(10, 'worker', {
        ...started(id, fenceOf(id)),
        slotAt: Date.parse(id.split('@')[1]!),
      } as Note),
      at(11, 'worker', ended(id, fenceOf(id))),
      at(12, 'worker', completed(id, fenceOf(id))),
    ]),
    ...ids.map((id) => recordOf(id, fenceOf(id), { type: 'limited' })),
  )
expectChecks(undefined, 'each slot has a job', () => slots(slotId(1), slotId(2), slotId(3)))
expectChecks('slots', 'a slot has no job', () => slots(slotId(1), slotId(3)))
expectChecks('slots', 'a slot has two jobs', () => slots(slotId(1), slotId(2), slotId(2, '@7')))
expectChecks('slots', 'the job of a slot was completed, and added again', () => {
  const history = slots(slotId(1), slotId(2))
  const again = run(slotId(2), 'x/9#1').map((note) => at(20, 'worker', note))
  return sorted([...history.entries, ...again], ...[1, 2].map((n) => recordOf(slotId(n), fenceOf(slotId(n)))))
})
expectChecks('live', 'the job of a slot has not run', () => {
  return sorted([], recordOf(slotId(1), '', { type: 'limited', state: 'queued', attempts: [] }))
})

// ── deduplication keys ───────────────────────────────────────────────────────────────────────────────────────────────

interface Add extends Omit<Run, 'ask'> {
  readonly askedAt: number
  readonly payloadOf?: string
  readonly key?: Key
}

/** Jobs of one key, each answered a millisecond after its call, and their runs. */
function keyed(mode: Key['mode'], adds: readonly Add[], more: readonly Entry[] = []): History {
  const entries = adds.flatMap(({ askedAt, payloadOf, key, ...one }) => {
    const ofKey = { key: key ?? { mode } }
    return ran('kept', { ...one, ask: ofKey }).map((entry) => {
      if (entry.what === 'asked') return { ...entry, at: askedAt }
      if (entry.what === 'acked') return { ...entry, at: askedAt + 1 }
      return entry.what === 'started' ? { ...entry, payloadOf: payloadOf ?? one.id } : entry
    })
  })
  return sorted([...entries, ...more], ...adds.map(({ id }) => recordOf(id, fenceOf(id))))
}
const pair = (mode: Key['mode'], second: Omit<Add, 'id'>): History =>
  keyed(mode, [
    { id: 'a', askedAt: 1, from: 20, to: 50 },
    { id: 'b', ...second },
  ])

expectChecks('keys', 'simple: a second job is added while the first is live', () =>
  pair('simple', { askedAt: 30, from: 60, to: 70 }),
)
expectChecks(undefined, 'simple: a second job is added after the first has ended', () =>
  pair('simple', { askedAt: 51, from: 60, to: 70 }),
)
expectChecks('keys', 'throttle: a second job is added within the window', () =>
  pair('throttle', { askedAt: 900, from: 960, to: 970 }),
)
expectChecks(undefined, 'throttle: a second job is added after the window', () =>
  pair('throttle', { askedAt: 1_001, from: 1_060, to: 1_070 }),
)
expectChecks('keys', 'debounce: a second job is added while the first waits', () =>
  pair('debounce', { askedAt: 10, from: 60, to: 70 }),
)
expectChecks(undefined, 'debounce: a second job is added while the first runs', () =>
  pair('debounce', { askedAt: 30, from: 60, to: 70 }),
)
expectChecks('keys', 'followUp: the follower runs while the first does', () =>
  pair('followUp', { askedAt: 30, from: 40, to: 70 }),
)
expectChecks(undefined, 'followUp: the follower runs after the first', () =>
  pair('followUp', { askedAt: 30, from: 51, to: 70 }),
)

const replace = (id: string, time: number): Entry[] => [
  at(time, 'producer', { ...asked(id), key: { mode: 'debounce' } } as Note),
  at(time + 1, 'producer', { what: 'acked', id, status: 'replaced', standing: 'a' }),
]

/** `b`, and then `c`, replaced the payload of `a` before its claim at 19. */
function replacedBy(payloadOf: string): History {
  const first = { id: 'a', askedAt: 1, from: 20, to: 50, payloadOf }
  return keyed('debounce', [first], [...replace('b', 5), ...replace('c', 10)])
}
expectChecks('keys', 'debounce: a job ran with a payload that had been replaced', () => replacedBy('b'))
expectChecks(undefined, 'debounce: a job ran with the last payload', () => replacedBy('c'))

const ascending = (version: number): Key => ({ mode: 'ascending', version })
const versions = (first: number, second: number): History =>
  keyed('ascending', [
    { id: 'a', askedAt: 1, from: 20, to: 50, key: ascending(first) },
    { id: 'b', askedAt: 10, from: 60, to: 70, key: ascending(second) },
  ])
expectChecks('keys', 'ascending: a lower version is added after a greater one', () => versions(7, 6))
expectChecks(undefined, 'ascending: a greater version is added', () => versions(6, 7))

const stale = (version: number): Entry[] => [
  at(90, 'producer', { ...asked('late'), key: ascending(version) } as Note),
  at(91, 'producer', { what: 'acked', id: 'late', status: 'stale' }),
]
const afterVersion = (version: number): History => {
  const { entries } = versions(6, 7)
  return sorted([...entries, ...stale(version)], recordOf('a', fenceOf('a')), recordOf('b', fenceOf('b')))
}
expectChecks('keys', 'ascending: a version is stale, and no other is as great', () => afterVersion(8))
expectChecks(undefined, 'ascending: a version is stale after a greater one', () => afterVersion(7))
expectChecks('lost', 'a job with a key was acknowledged and is gone', () => {
  const entries = [at(1, 'producer', { ...asked('a'), key: { mode: 'simple' } } as Note), at(2, 'producer', acked('a'))]
  return sorted(entries)
})
