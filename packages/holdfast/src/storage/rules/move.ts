// What the embedded drivers share. The files of this folder are the rules of the contract, written once, over what is
// declared here: jobs, groups and keys as objects that change in place, and the few things that each driver does in its
// own way. A driver makes a Move for each call, hands it to a verb, and then writes down what was touched.

import type {
  AttemptRecord,
  Bytes,
  EndReason,
  JobEvent,
  JobRef,
  JobState,
  NewJob,
  Paused,
  Retention,
} from '../storage.ts'
import type { Listeners } from './signals.ts'

/** Under which a job runs, or ran to its end. All jobs of one claim share one. */
export interface Lease {
  readonly worker: string
  readonly label: string | undefined
  readonly startedAt: number
  readonly until: number
}

export interface JobType {
  readonly name: string
  readonly listeners: Listeners
  paused: Paused | undefined
}

export interface Job {
  readonly type: JobType
  readonly id: string
  readonly token: string
  readonly priority: number
  readonly maxAttempts: number | undefined
  readonly retention: Retention
  readonly trace: string | undefined
  readonly createdAt: number
  /** Its place among all jobs ever accepted: the order inside a group. */
  readonly accepted: number
  payload: Bytes | undefined
  state: JobState
  reason: EndReason | undefined
  attempt: number
  failures: number
  snoozes: number
  runAt: number
  /** Breaks ties of runAt: new whenever the job goes behind what waits. */
  order: number
  lease: Lease | undefined
  finishedAt: number | undefined
  cancelling: boolean
  cancelReason: string | undefined
  result: Bytes | undefined
  error: Bytes | undefined
  /** Its last attempt completed it. That one is told by the fields of the job, and is not among `attempts` (attempt.ts). */
  completedByHolder: boolean
  attempts: AttemptRecord[] | undefined
  readonly group: Group | undefined

  /** The first job of its chain, which holds what belongs to the chain. */
  readonly chain: Job
  readonly chainIndex: number
  /** The job that it continues, or was started to block. It may be gone. */
  readonly origin: JobRef | undefined
  /** The chain at the top. Absent: its own. */
  readonly root: JobRef | undefined
  blockers: Blocker[] | undefined
  openBlockers: number
  readonly onBlockerFailure: 'fail' | 'wait'
  // On the first job only:
  tail: Job
  mark: Mark | undefined
  expiresAt: number | undefined
  /** Unfinished jobs that name this chain as a blocker. */
  readonly dependents: Dependents | undefined
}

export interface Dependents extends Iterable<Job> {
  readonly size: number
  add(job: Job): unknown
  delete(job: Job): boolean
}

export interface Blocker {
  readonly ref: JobRef
  done: boolean
}

/** Jobs that run one at a time, in the order of their acceptance. */
export interface Group {
  readonly key: string
  readonly type: JobType
  running: Job | undefined
  /** The head, while it stands in line. */
  placed: Job | undefined
  paused: Paused | undefined
}

/** A deduplication key, and who holds it. */
export interface Mark {
  readonly key: string
  readonly id: string
  readonly token: string
  readonly mode: 'simple' | 'throttle'
  readonly shared: boolean
  /** When its window is over. */
  readonly until: number
  /** The record that holds it, as long as there is one. */
  readonly job: Job | undefined
}

/**
 * Where a job stands:
 *
 * - `line`: waits, and may be claimed once it is due.
 * - `aside`: waits, but behind the head of its group, or its group is paused.
 * - `leases`: in processing.
 * - `ended`: the first job of a chain that ended and has an expiry.
 * - `nowhere`: blocked, continued, or ended and needed or kept.
 */
export type Place = 'ready' | 'aside' | 'leases' | 'ended' | 'nowhere'

/** One call in progress, a move or a read. */
export interface Move {
  /** Asked for once. */
  readonly now: number
  /** Chains that were there when the call named them: they stay to its end, even if they are kept for 0 ms. */
  readonly kept: Set<Job>
  /** The number that was given out last. */
  readonly lastNumber: number
  takeNumber(): number

  /** What stands under this name, even if its time is over. */
  stored(ref: JobRef): Job | undefined
  /** A new record, in state `blocked` and standing nowhere; a member of its group. */
  create(fields: NewJob, runAt: number, after: Job | undefined, origin: Job | undefined): Job
  /**
   * A new record that waits in line, alone in its chain and in no group: what nearly every add comes to, in one step.
   * Undefined: something stands under its name, and nothing was done.
   */
  createWaiting(fields: NewJob, runAt: number, state: 'queued' | 'scheduled'): Job | undefined
  /** Deletes a record that stands nowhere. */
  erase(job: Job): void
  /** To be told of every change of a job that neither setState nor place tells of. */
  touch(job: Job): void
  setState(job: Job, state: JobState): void
  place(job: Job, place: Place): void

  /** The next that may be claimed now, by priority, then runAt, then order. */
  nextReady(type: JobType): Job | undefined
  /** The one in processing whose lease was over first. */
  nextLost(type: JobType): Job | undefined
  typeOf(name: string): JobType | undefined

  jobsOf(chain: Job): readonly Job[]
  continueChain(chain: Job, job: Job): void
  dependentsOf(chain: Job): Dependents
  /** Those who waited for a chain wait for the one that replaces it. */
  inheritDependents(chain: Job, replaced: Job): void

  groupOf(type: JobType, key: string): Group
  headOf(group: Group): Job | undefined
  addMember(job: Job): void
  /** False if it was no member. */
  removeMember(job: Job): boolean
  /** To be told of every change of a group, and whether it has members. */
  keepGroup(group: Group, isEmpty: boolean): void

  /** Who holds the key, in force or not. */
  markOf(type: JobType, key: string): Mark | undefined
  holdKey(job: Job, mark: Omit<Mark, 'job'>): Mark
  dropKey(type: JobType, mark: Mark): void

  // Hints, sent once the call is done.
  wake(type: JobType): void
  /** The chain ended, or is gone. */
  done(chain: Job): void
  abort(job: Job): void
  event(job: Job, event: JobEvent['event'], attempt: number): void
}

export const refOf = ({ type, id }: Job): JobRef => ({ type: type.name, id })

export const rootOf = (job: Job): JobRef => job.root ?? refOf(job.chain)

/** When the record of its chain may go. */
export const expiryAt = ({ chain }: Job): number => chain.expiresAt ?? Infinity

/** The job of a ref, unless its time is over. */
export function find(move: Move, ref: JobRef): Job | undefined {
  const job = move.stored(ref)
  return job && isGone(move, job) ? undefined : job
}

/** The chain has ended, its time is over, and nobody needs it: absent for everyone, swept or not. */
export function isGone(move: Move, job: Job): boolean {
  if (expiryAt(job) > move.now) return false
  return !job.chain.dependents?.size && !move.kept.has(job.chain)
}
