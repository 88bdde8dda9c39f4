// The objects that the rules work on. The files of this folder are the rules of the contract, written once, for the memory,
// file, SQLite and Postgres drivers. They change jobs, groups and keys in place. A Move has the few operations that each
// driver does in its own way. A driver creates a Move for each call, passes it to a verb, and then writes what was changed.

import type {
  AttemptRecord,
  Bytes,
  DeduplicationMode,
  EndReason,
  JobEvent,
  JobRef,
  JobState,
  Log,
  LogLine,
  NewJob,
  OnBlockerFailure,
  Paused,
  Retention,
  SearchFields,
} from '../storage.ts'
import type { Listeners } from './signals.ts'

/** The lease under which a job runs, or ran to its end. The jobs of one claim and type share one object. */
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
  readonly timeoutMs: number | undefined
  readonly search: SearchFields | undefined
  readonly retention: Retention
  readonly trace: string | undefined
  readonly createdAt: number
  /** Its number among all jobs ever accepted: the order inside a group. */
  readonly accepted: number
  payload: Bytes | undefined
  state: JobState
  reason: EndReason | undefined
  attempt: number
  failures: number
  snoozes: number
  /** Set while the job waits for its first attempt, if it must begin by then. */
  deadlineAt: number | undefined
  runAt: number
  /** Breaks ties of runAt. The job gets a new one whenever it goes behind those that wait. */
  order: number
  lease: Lease | undefined
  finishedAt: number | undefined
  cancelling: boolean
  cancelReason: string | undefined
  result: Bytes | undefined
  error: Bytes | undefined
  /** Its last attempt completed it. The fields of the job describe that attempt, which is not in `attempts` (attempt.ts). */
  completedByHolder: boolean
  attempts: AttemptRecord[] | undefined
  readonly progress: Bytes | undefined
  readonly log: Log | undefined
  readonly group: Group | undefined

  /** The first job of its chain, which has the fields of the chain. */
  readonly chain: Job
  readonly chainIndex: number
  /** The job that it continues, or that it was started to block. That job may be gone. */
  readonly origin: JobRef | undefined
  /** The chain at the top of its tree. Absent: its own chain. */
  readonly root: JobRef | undefined
  blockers: Blocker[] | undefined
  openBlockers: number
  readonly onBlockerFailure: OnBlockerFailure
  // On the first job only:
  tail: Job
  mark: Mark | undefined
  /** On a job that has ended inside its chain: when its own record expires. */
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

/** An ordered group: jobs that run one at a time, in the order of acceptance. */
export interface Group {
  readonly key: string
  readonly type: JobType
  running: Job | undefined
  /** The head, while it is ready. */
  placed: Job | undefined
  paused: Paused | undefined
}

/** A deduplication key that is held, and the job that holds it. */
export interface Mark {
  readonly key: string
  readonly id: string
  readonly token: string
  readonly mode: DeduplicationMode
  readonly shared: boolean
  /** End of its window, or of the memory of its version. Infinity: without one. */
  readonly until: number
  /** Token of the last add that replaced the payload of the job. */
  readonly replacedBy: string | undefined
  /** The last version that was accepted, of an `ascending` key. */
  readonly version: number | undefined
  /** The record that holds it, while there is one. */
  readonly job: Job | undefined
}

/** What a driver stores of a mark. */
export type MarkFields = Omit<Mark, 'job'>

/**
 * The list or index that a job is in:
 *
 * - `ready`: it waits, and may be claimed once it is due.
 * - `aside`: it waits behind the head of its group, or its group is paused.
 * - `leases`: it is in processing.
 * - `ended`: the first job of a chain that has ended and has an expiry; or a job that the chain was continued after.
 * - `kept`: the first job of a chain that has ended and never expires. Only a count to keep deletes it.
 * - `nowhere`: it is blocked, ended inside its chain without an expiry, or needed by a dependent.
 */
export type Place = 'ready' | 'aside' | 'leases' | 'ended' | 'kept' | 'nowhere'

/** One call in progress, a write or a read. */
export interface Move {
  /** The storage's clock, read once. */
  readonly now: number
  /** Chains that existed when the call named them: they stay until its end, even with a retention of 0 ms. */
  readonly kept: Set<Job>
  /** The number that was taken last. */
  readonly lastNumber: number
  takeNumber(): number

  /** The job of this name, even if it has expired. */
  stored(ref: JobRef): Job | undefined
  /** Creates a record in state `blocked` and place `nowhere`, as a member of its group. */
  create(fields: NewJob, runAt: number, after: Job | undefined, origin: Job | undefined): Job
  /**
   * Creates a record that is ready, alone in its chain and in no group: nearly every add, in one step.
   * Undefined if a job has this name: then nothing was done.
   */
  createWaiting(fields: NewJob, runAt: number, state: 'queued' | 'scheduled'): Job | undefined
  /** Deletes a record whose place is `nowhere`. */
  erase(job: Job): void
  /** Must be called for every change of a job that setState and place do not make. */
  touch(job: Job): void
  setState(job: Job, state: JobState): void
  place(job: Job, place: Place): void
  /** Sets the progress, unless it is undefined, and appends lines to the log (job/report.ts). */
  report(job: Job, progress: Bytes | undefined, lines: readonly LogLine[]): void

  /** The next job that may be claimed now, by priority, then runAt, then order. */
  nextReady(type: JobType): Job | undefined
  /** The job in processing whose lease ran out first. */
  nextLost(type: JobType): Job | undefined
  typeOf(name: string): JobType | undefined

  jobsOf(chain: Job): readonly Job[]
  continueChain(chain: Job, job: Job): void
  /** Takes a job that has ended out of the jobs of its chain. It is not the first, nor the last. */
  leaveChain(job: Job): void
  dependentsOf(chain: Job): Dependents
  /** Gives the dependents of a chain to the chain that replaces it. */
  inheritDependents(chain: Job, replaced: Job): void

  groupOf(type: JobType, key: string): Group
  headOf(group: Group): Job | undefined
  addMember(job: Job): void
  /** False if the job was no member. */
  removeMember(job: Job): boolean
  /** Must be called for every change of a group. @param isEmpty it has no members */
  keepGroup(group: Group, isEmpty: boolean): void

  /** The holder of the key, in force or not. */
  markOf(type: JobType, key: string): Mark | undefined
  holdKey(job: Job, mark: MarkFields): Mark
  dropKey(type: JobType, mark: Mark): void

  // Signals, sent after the call.
  wake(type: JobType): void
  /** The chain ended, or is gone. */
  done(chain: Job): void
  abort(job: Job): void
  event(job: Job, event: JobEvent['event'], attempt: number): void
}

export const refOf = ({ type, id }: Job): JobRef => ({ type: type.name, id })

export const rootOf = (job: Job): JobRef => job.root ?? refOf(job.chain)

/** When the record of its chain expires. Infinity: not yet known, or never. */
export const expiryAt = ({ chain }: Job): number => chain.expiresAt ?? Infinity

/** The job of a ref, unless it has expired. */
export function find(move: Move, ref: JobRef): Job | undefined {
  const job = move.stored(ref)
  return job && isGone(move, job) ? undefined : job
}

/** The chain has ended and expired, and no dependent needs it: it is absent for every call, swept or not. So is an expired part of it. */
export function isGone(move: Move, job: Job): boolean {
  if (isExpiredPart(move, job)) return true
  if (expiryAt(job) > move.now) return false
  return !job.chain.dependents?.size && !move.kept.has(job.chain)
}

/** A job that its chain was continued after, and whose own retention is over. */
export const isExpiredPart = (move: Move, job: Job): boolean =>
  job.chainIndex > 0 && job.expiresAt !== undefined && job.expiresAt <= move.now
