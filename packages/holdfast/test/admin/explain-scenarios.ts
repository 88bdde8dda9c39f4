// A scenario for each code of explain(): how a job gets there, and what is said about it. The clock of the storage stands at
// 2026-01-01 00:00:00 UTC until a scenario advances it.

import assert from 'node:assert/strict'
import { type Admin, createAdmin, type Explanation, type ReasonCode } from 'holdfast'
import type { ClaimedJob, Limits, NewJob, Outcome, Storage } from 'holdfast/storage'
import type { Subject } from '../../../conformance/src/index.ts'
import { encodeError } from '../../src/error-details.ts'
import { type WorkerInfo, workersKey } from '../../src/engine/work/presence.ts'
import { storedType } from '../../src/storage/stored-type.ts'

const start = Date.UTC(2026, 0, 1)
const target = { face: 'queue', name: 'mail' } as const
const type = storedType(target.face, target.name)

type Ending = Outcome extends infer One
  ? One extends One
    ? Omit<One, 'type' | 'id' | 'worker' | 'attempt'>
    : never
  : never

/** A storage with a clock that is set by hand, and the calls that scenarios make. */
export class Bench {
  readonly storage: Storage
  readonly admin: Admin
  readonly #subject: Subject
  #made = 0

  constructor(subject: Subject) {
    this.#subject = subject
    this.storage = subject.storage
    this.admin = createAdmin({ storage: subject.storage, by: 'ada' })
  }

  advance(ms: number): Promise<void> {
    return this.#subject.advance!(ms)
  }

  async close(): Promise<void> {
    await this.admin.close()
    await this.storage.disconnect()
    await this.#subject.close?.()
  }

  async add(id: string, fields: Partial<NewJob> = {}): Promise<void> {
    const token = `token-${++this.#made}`
    const retention = { completedMs: 1e8, failedMs: 1e8, cancelledMs: 1e8 }
    const [verdict] = await this.storage.add([{ type, id, token, retention, maxAttempts: 3, ...fields }])
    assert.equal(verdict!.verdict, 'added')
  }

  async claim({ slots = 1, ...wanted }: { slots?: number; limits?: Limits; type?: string; leaseMs?: number } = {}) {
    const types = [{ type, leaseMs: 30_000, ...wanted }]
    const { jobs } = await this.storage.claim({ worker: `w${++this.#made}`, label: 'worker-1', slots, types })
    return jobs
  }

  /** Starts one job. */
  async run(wanted: Parameters<Bench['claim']>[0] = {}): Promise<ClaimedJob> {
    const [job] = await this.claim(wanted)
    assert.ok(job, 'expected a job to start')
    return job
  }

  async settle({ type: of, id, worker, attempt }: ClaimedJob, ending: Ending): Promise<void> {
    const [verdict] = await this.storage.settle([{ type: of, id, worker, attempt, ...ending } as Outcome])
    assert.equal(verdict!.verdict, 'settled')
  }

  /** A worker as it describes itself. */
  async worker(fields: Partial<WorkerInfo> = {}): Promise<void> {
    const info: WorkerInfo = {
      id: 'w-1',
      label: 'worker-1',
      host: 'host',
      pid: 1,
      version: '1.0.0',
      types: [target],
      concurrency: 5,
      slotsUsed: 0,
      loopDelayMs: 0,
      startedAt: start,
      lastSeenAt: start,
      ...fields,
    }
    await this.storage.kv.set([...workersKey, info.id], Buffer.from(JSON.stringify(info)))
  }

  explain(id: string): Promise<Explanation> {
    return this.admin.explain({ ...target, id })
  }
}

/** What is said about job `a` in the end: the decisive reason. */
export interface Scenario {
  readonly code: ReasonCode
  readonly name?: string
  readonly sentence: string | RegExp
  readonly until?: number
  readonly data?: object
  readonly next?: number
  readonly run: (bench: Bench) => Promise<void>
}

const ordered = { key: 'tenant-7', ordered: true } as const
const group = { key: 'tenant-7' } as const

export const scenarios: readonly Scenario[] = [
  {
    code: 'not_found',
    sentence: 'job a is unknown: it was never added, or its record has expired or was removed',
    data: {},
    run: async () => {},
  },
  {
    code: 'finished',
    name: 'completed',
    sentence: 'completed at 00:00:05',
    run: async (bench) => {
      await bench.add('a')
      await bench.advance(5_000)
      await bench.settle(await bench.run(), { kind: 'completed' })
    },
  },
  {
    code: 'finished',
    name: 'completed, and its chain goes on',
    sentence: "completed at 00:00:00; its chain goes on with job b of queue 'mail'",
    run: async (bench) => {
      await bench.add('a')
      const next = { type, id: 'b', token: 'next', retention: { completedMs: 1e8, failedMs: 1e8, cancelledMs: 1e8 } }
      await bench.settle(await bench.run(), { kind: 'continued', next })
    },
  },
  {
    code: 'finished',
    name: 'failed',
    sentence: 'failed at 00:00:00 after 1 attempt: no such address',
    run: async (bench) => {
      await bench.add('a')
      await bench.settle(await bench.run(), { kind: 'failed', error: encodeError(new Error('no such address')) })
    },
  },
  {
    code: 'finished',
    name: 'cancelled',
    sentence: 'was cancelled at 00:00:00: not needed',
    run: async (bench) => {
      await bench.add('a')
      await bench.storage.cancel([{ type, id: 'a' }], { reason: 'not needed' })
    },
  },
  {
    code: 'running',
    sentence: 'runs since 00:00:00 on worker worker-1, attempt 1 of 3, with a lease until 00:00:30',
    data: { startedAt: start, leaseUntil: start + 30_000, workerId: 'worker-1', attempt: 1, attempts: 1 },
    run: async (bench) => {
      await bench.add('a')
      await bench.run()
      await bench.advance(1_000)
    },
  },
  {
    code: 'cancelling',
    sentence: 'was asked to stop (wrong address): waits for its handler to end',
    run: async (bench) => {
      await bench.add('a')
      await bench.run()
      await bench.storage.cancel([{ type, id: 'a' }], { abort: true, reason: 'wrong address' })
    },
  },
  {
    code: 'recovering',
    sentence:
      'ran since 00:00:00 on worker worker-1, which has not renewed the lease that ended at 00:00:30: the next claim takes the job back',
    run: async (bench) => {
      await bench.add('a')
      await bench.run()
      await bench.advance(31_000)
    },
  },
  {
    code: 'expired',
    sentence: 'was to start by 00:00:10: the next claim or sweep cancels it',
    run: async (bench) => {
      await bench.add('a', { expiresInMs: 10_000 })
      await bench.advance(10_000)
    },
  },
  {
    code: 'blocked',
    sentence: "waits for 1 of 2 blockers: job c of queue 'mail' (processing)",
    data: { openBlockers: 1, blockers: [{ ...target, id: 'c', state: 'processing' }] },
    run: async (bench) => {
      await bench.add('b')
      await bench.add('c')
      await bench.add('a', {
        blockers: [
          { type, id: 'b' },
          { type, id: 'c' },
        ],
      })
      await bench.settle(await bench.run(), { kind: 'completed' })
      await bench.run()
    },
  },
  {
    code: 'not_due',
    sentence: 'is due at 2026-01-02 00:01:00',
    until: start + 86_460_000,
    next: start + 86_460_000,
    run: (bench) => bench.add('a', { delayMs: 86_460_000 }),
  },
  {
    code: 'retry_wait',
    sentence: 'waits until 00:00:20 for attempt 2 of 3: the last one failed with "no route to host"',
    until: start + 20_000,
    next: start + 20_000,
    run: async (bench) => {
      await bench.add('a')
      const error = encodeError(new Error('no route to host'))
      await bench.settle(await bench.run(), { kind: 'retry', delayMs: 20_000, error })
    },
  },
  {
    code: 'snoozed',
    sentence: 'was put off by its handler until 00:00:20',
    until: start + 20_000,
    data: { snoozes: 1 },
    run: async (bench) => {
      await bench.add('a')
      await bench.settle(await bench.run(), { kind: 'released', delayMs: 20_000 })
    },
  },
  {
    code: 'paused',
    sentence: "queue 'mail' is paused since 00:00:00 by ada",
    data: { since: start, by: 'ada' },
    run: async (bench) => {
      await bench.add('a')
      await bench.worker()
      await bench.admin.pause(target)
    },
  },
  {
    code: 'paused',
    name: 'a group',
    sentence: 'group tenant-7 is paused since 00:00:00 by ada',
    data: { since: start, by: 'ada', group: 'tenant-7' },
    run: async (bench) => {
      await bench.add('a', { group })
      await bench.worker()
      await bench.admin.pause({ ...target, group: 'tenant-7' })
    },
  },
  {
    code: 'group_held',
    sentence: 'group tenant-7 is held by job b, which failed at 00:00:05: retry or remove that job',
    data: { group: 'tenant-7', heldBy: 'b', failedAt: start + 5_000 },
    run: async (bench) => {
      await bench.add('b', { group: { ...ordered, onFailure: 'hold' } })
      await bench.add('a', { group: ordered })
      await bench.worker()
      await bench.advance(5_000)
      await bench.settle(await bench.run(), { kind: 'failed' })
    },
  },
  {
    code: 'group_order',
    sentence: 'waits for job b, which is ahead of it in group tenant-7 and runs since 00:00:00',
    data: { group: 'tenant-7', head: 'b', state: 'processing' },
    run: async (bench) => {
      await bench.add('b', { group: ordered })
      await bench.add('a', { group: ordered, priority: 100 })
      await bench.worker()
      await bench.run()
      await bench.advance(1_000)
    },
  },
  {
    code: 'group_order',
    name: 'behind a head that waits',
    sentence: 'waits for job b, which is ahead of it in group tenant-7 and is due at 00:01:00',
    run: async (bench) => {
      await bench.add('b', { group: ordered, delayMs: 60_000 })
      await bench.add('a', { group: ordered })
      await bench.worker()
    },
  },
  {
    code: 'group_busy',
    sentence: 'waits for group tenant-7: 1 of 1 taken by job 81 since 00:00:00',
    data: { group: 'tenant-7', running: 1, limit: 1, holders: [{ id: '81', startedAt: start }] },
    run: async (bench) => {
      await bench.admin.limits.set(target, { group: { limit: 1 } })
      await bench.add('81', { group })
      await bench.add('other')
      await bench.add('a', { group })
      await bench.worker()
      await bench.claim({ slots: 5, limits: { group: { limit: 1 } } })
    },
  },
  {
    code: 'concurrency_full',
    sentence: "queue 'mail' runs 2 of 2 jobs: the next one starts when one of them ends",
    data: { running: 2, limit: 2 },
    run: async (bench) => {
      await bench.admin.limits.set(target, { concurrency: 2 })
      for (const id of ['b', 'c', 'a']) await bench.add(id)
      await bench.worker()
      await bench.claim({ slots: 5, limits: { concurrency: 2 } })
    },
  },
  {
    code: 'rate_limited',
    sentence: "the rate of queue 'mail' is used up: 3 of 4 in 60000 ms; a start of weight 2 is possible at 00:01:00",
    until: start + 60_000,
    next: start + 60_000,
    run: async (bench) => {
      const rate = { limit: 4, perMs: 60_000 }
      await bench.admin.limits.set(target, { rate })
      await bench.add('b', { weight: 3 })
      await bench.add('a', { weight: 2 })
      await bench.worker()
      await bench.claim({ slots: 5, limits: { rate } })
    },
  },
  {
    code: 'rate_limited',
    name: 'the rate of a group',
    sentence: 'the rate of group tenant-7 is used up: 1 of 1 in 60000 ms; a start is possible at 00:01:00',
    until: start + 60_000,
    run: async (bench) => {
      const limits = { group: { rate: { limit: 1, perMs: 60_000 } } }
      await bench.admin.limits.set(target, limits)
      await bench.add('b', { group })
      await bench.add('a', { group })
      await bench.worker()
      await bench.claim({ slots: 5, limits })
    },
  },
  {
    code: 'slowed_down',
    sentence: "queue 'mail' was told to slow down: nothing of it starts before 00:00:40",
    until: start + 40_000,
    next: start + 40_000,
    run: async (bench) => {
      await bench.add('b')
      await bench.add('a')
      await bench.worker()
      await bench.settle(await bench.run(), { kind: 'released', delayMs: 40_000, slowDown: 'type' })
    },
  },
  {
    code: 'no_worker',
    sentence: "no worker of queue 'mail' is known to be alive (one with presenceMs: false would not be)",
    run: async (bench) => {
      await bench.add('a')
      await bench.worker({ types: [{ face: 'queue', name: 'other' }] })
    },
  },
  {
    code: 'workers_full',
    sentence: 'all 10 slots of 2 workers were taken when last seen, at 00:00:07',
    data: { workers: 2, slots: 10, used: 10, lastSeenAt: start + 7_000 },
    run: async (bench) => {
      await bench.add('a')
      await bench.worker({ slotsUsed: 5 })
      await bench.worker({ id: 'w-2', slotsUsed: 5, lastSeenAt: start + 7_000 })
    },
  },
  {
    code: 'behind',
    sentence: /^(others|up to 2) are ahead of it: job b is the next of queue 'mail'$/,
    run: async (bench) => {
      for (const id of ['b', 'c', 'a']) await bench.add(id)
      await bench.worker()
    },
  },
  {
    code: 'behind',
    name: 'another group has its turn',
    sentence: /^(others|up to 2) are ahead of it: it is the turn of group tenant-8$/,
    run: async (bench) => {
      await bench.add('b', { group: { key: 'tenant-8' } })
      await bench.add('c', { group: { key: 'tenant-8' } })
      await bench.add('a', { group })
      await bench.worker()
    },
  },
  {
    code: 'ready',
    sentence: 'is next: the next claim of a worker starts it',
    data: {},
    run: async (bench) => {
      await bench.add('a')
      await bench.worker()
    },
  },
]
