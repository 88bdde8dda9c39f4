// The objects that the rules work on. The files of this folder are the rules of the contract, written once, for the memory,
// file, SQLite and Postgres drivers. They change jobs, groups and keys in place. A Move has the few operations that each
// driver does in its own way. A driver creates a Move for each call, passes it to a verb, and then writes what was changed.
//
// Groups and limits. flow.ts has the state: GroupState per group, Flow per type. The rules read the fields of a Group, and
// change them by changeGroup only; the same holds for flowOf and changeFlow. A driver stores these fields and answers four
// questions about them: nextTurn and turnsOf (an index over type, turnAt, turn), bestOf and firstRunAt (an index over the
// waiting members of an unordered group), besides headOf for ordered ones. Each answer includes the changes of this call.
//
//   - A job with a group is never `ready`. It waits `aside`, and its group is in the ring while `turnAt` is set.
//   - An add to a group reads no member: at most the group changes. A settle reads members only to put the group back in
//     the ring. A claim reads the first group of the ring and its best job, and firstRunAt after the start.
//   - A plain type has no Flow and no ring. Its claims call flowOf once and nextTurn twice, its settles flowOf: these must cost
//     nothing then.
//   - Before a claim and a count, a driver calls checkClaim and checkCountQuery (check.ts).
//   - The verbs that each driver has of its own take their limits from limits.ts: dueByLimits for nextDueAt, typeUse and
//     groupUse for count. A sweep deletes groups and flows that are needed no longer (isGroupNeeded, isFlowNeeded).

import type {
  AttemptRecord,
  Bytes,
  DeduplicationMode,
  EndReason,
  JobEvent,
  JobGroup,
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
import type { Flow, Group, GroupState } from './flow.ts'
import type { Listeners } from './signals.ts'

export type { Group } from './flow.ts'

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

/** The fields of a job that an event names. */
export type EventSource = Pick<Job, 'type' | 'id' | 'lease'>

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
  /** Undefined without a group. */
  readonly membership: Membership | undefined
  /** What its start takes of a rate. */
  readonly weight: number

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

/** The kind of group that a job was added to. `hold`: an ordered group, which waits if the job fails. */
export type Membership = 'unordered' | 'ordered' | 'hold'

export function membershipOf(group: JobGroup): Membership {
  return group.ordered === true ? (group.onFailure === 'hold' ? 'hold' : 'ordered') : 'unordered'
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
 * - `ready`: it waits, and may be claimed once it is due. It has no group.
 * - `aside`: it waits in its group. The group is claimed, and then one of its jobs.
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
  /**
   * Called before the rules look up these jobs one by one: a driver that reads by statements reads all of them at once.
   * `dependents`: the rules change only the dependents of these chains; `all`: they may change anything of these jobs.
   */
  loadTogether(refs: readonly JobRef[], part: 'dependents' | 'all'): void
  /** Creates a record in state `blocked` and place `nowhere`. A group gets its member by addMember, right after. */
  create(fields: NewJob, runAt: number, after: Job | undefined, origin: Job | undefined): Job
  /**
   * Creates a record that is ready, alone in its chain and in no group: nearly every add, in one step.
   * Returns its type: no rule needs the job. Undefined if a job has this name: then nothing was done.
   */
  createWaiting(fields: NewJob, runAt: number, state: 'queued' | 'scheduled'): JobType | undefined
  /** Deletes a record whose place is `nowhere`. */
  erase(job: Job): void
  /** Must be called for every change of a job that setState and place do not make. */
  touch(job: Job): void
  setState(job: Job, state: JobState): void
  place(job: Job, place: Place): void
  /** Sets the progress, unless it is undefined, and appends the lines to the log that are not stored yet (job/report.ts). */
  report(job: Job, progress: Bytes | undefined, lines: readonly LogLine[]): void

  /** The next job without a group that may be claimed now, by priority, then runAt, then order. */
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

  /** The group of this key. One that is not stored is empty (emptyGroup), and is stored by its first change. */
  groupOf(type: JobType, key: string): Group
  /** Sets fields of this object, which the rules read again. If the group is not needed any more (isGroupNeeded), it may be deleted. */
  changeGroup(group: Group, changes: Partial<GroupState>): void
  /** The first group of the ring, by turnAt, then turn, if its turnAt has come. */
  nextTurn(type: JobType): Group | undefined
  /** All groups of the ring whose turnAt has come, in any order: for claims without turns. */
  turnsOf(type: JobType): readonly Group[]
  /** The head of an ordered group: its first unfinished member, by `accepted`, in any state. */
  headOf(group: Group): Job | undefined
  /** The best job of an unordered group: of its members that wait and are due, by priority, then runAt, then order. */
  bestOf(group: Group): Job | undefined
  /** The earliest runAt of the members of an unordered group that wait. Undefined: none waits. */
  firstRunAt(group: Group): number | undefined
  /** The job is unfinished: it is a member of its group, which the rules count. A driver may keep a list of members. */
  addMember(job: Job): void
  removeMember(job: Job): void

  /** What is stored of the turns and limits of a type. Undefined: nothing. */
  flowOf(type: JobType): Flow | undefined
  /** Sets fields of the flow, which is created from emptyFlow if there is none. */
  changeFlow(type: JobType, changes: Partial<Flow>): void
  /** Number of jobs of the type in processing, with lost leases. */
  runningOf(type: JobType): number
  /** Number of jobs of the type that are scheduled, queued, failing or blocked. Only for jobs with `maxWaiting`. */
  waitingOf(type: JobType): number

  /** The holder of the key, in force or not. */
  markOf(type: JobType, key: string): Mark | undefined
  holdKey(job: Job, mark: MarkFields): Mark
  dropKey(type: JobType, mark: Mark): void

  // Signals, sent after the call.
  wake(type: JobType): void
  /** Takes back a wake of this call: the type is full again. The job that leaves it next sends one. */
  unwake(type: JobType): void
  /** The chain ended, or is gone. */
  done(chain: Job): void
  abort(job: Job): void
  event(job: EventSource, event: JobEvent['event'], attempt: number): void
  /** Whether the events of a type have a listener. To be asked where every job would make one. */
  hasListeners(type: JobType): boolean
}

export const refOf = ({ type, id }: Job): JobRef => ({ type: type.name, id })

export const refsOf = (blockers: readonly Blocker[]): JobRef[] => blockers.map(({ ref }) => ref)

export const rootOf = (job: Job): JobRef => job.root ?? refOf(job.chain)

/** When the record of its chain expires. Infinity: not yet known, or never. */
export const expiryAt = ({ chain }: Job): number => chain.expiresAt ?? Infinity

/** The job of a ref, unless it has expired. */
export function find(move: Move, ref: JobRef): Job | undefined {
  const job = move.stored(ref)
  return job && isGone(move, job) ? undefined : job
}

/** The chain of a ref, unless it has expired. A job inside another chain that has its name by now is not it. */
export function findChain(move: Move, ref: JobRef): Job | undefined {
  const job = find(move, ref)
  return job?.chainIndex === 0 ? job : undefined
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
