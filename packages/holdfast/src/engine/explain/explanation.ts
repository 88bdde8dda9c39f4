// Why a job waits, runs or is gone: what explain() returns.

import type { JobState } from '../../storage/storage.ts'

/**
 * Reasons, the decisive ones of a kind first. `expired`, `blocked` and those up to `snoozed` are about the job itself, the others about
 * what it shares with other jobs.
 */
export const reasonCodes = [
  'not_found',
  'finished',
  'cancelling',
  'recovering',
  'running',
  'expired',
  'blocked',
  'not_due',
  'retry_wait',
  'snoozed',
  'paused',
  'group_held',
  'group_order',
  'group_busy',
  'concurrency_full',
  'slowed_down',
  'rate_limited',
  'no_worker',
  'workers_full',
  'behind',
  'ready',
] as const

export type ReasonCode = (typeof reasonCodes)[number]

/** One reason. */
export interface Reason {
  readonly code: ReasonCode
  /** For people, about the job: "waits for group tenant-7: 1 of 1 taken by job 81 since 12:03:07". Times are UTC. */
  readonly sentence: string
  /** When the reason ends by itself: epoch ms, by the storage's clock. Absent: once a person or another job ends it. */
  readonly until?: number
  /** The same for programs: its fields depend on the code (docs/explain.md). */
  readonly data: Readonly<Record<string, unknown>>
}

/** What explain() returns. */
export interface Explanation {
  readonly id: string
  readonly state: JobState | 'not_found'
  /** At least one, the decisive one first. */
  readonly reasons: readonly Reason[]
  /** When the job may start at the earliest, if all reasons end by themselves: epoch ms, by the storage's clock. */
  readonly next?: number
}
