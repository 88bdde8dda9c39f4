// The data of the memory driver. A job is in one list or heap at a time, which shows its progress:
//
//   ready (by priority)   waits and is due                    leases   in processing
//   later                 waits and is not yet due            ended    has ended and has an expiry
//   asideDue, asideLater  waits in its group              kept     has ended and never expires
//
// A blocked job, and an ended one that a dependent needs, are in none of them. A group has lists of its members beside these, and
// is in the ring of its type while one of them may start.

import type {
  AttemptRecord,
  Bytes,
  EndReason,
  JobRef,
  JobState,
  Log,
  NewJob,
  OnBlockerFailure,
  Paused,
  Retention,
  SearchFields,
} from '../storage.ts'
import { emptyCounts } from '../rules/count.ts'
import { type Flow, isFlowNeeded, isTurnBefore } from '../rules/flow.ts'
import type * as Moves from '../rules/move.ts'
import { type Blocker, type Lease, type Membership, membershipOf, refOf, rootOf } from '../rules/move.ts'
import { type Listeners, newListeners } from '../rules/signals.ts'
import type { Group, Member } from './group.ts'
import { Heap, type HeapSlot } from './heap.ts'
import { JobsById } from './jobs-by-id.ts'
import { SortedList } from './sorted-list.ts'

export class MemoryJob implements Moves.Job, HeapSlot {
  // Fields that the constructor sets are only declared: a real field would be set to undefined first, for each of a million jobs.
  declare readonly type: TypeData
  declare readonly id: string
  declare readonly token: string
  declare readonly maxAttempts: number | undefined
  declare readonly retention: Retention
  /** Its number among all jobs ever accepted: the order inside a group. */
  declare readonly accepted: number
  declare payload: Bytes | undefined
  /** Until createWaiting(), wait() or blockJob() sets another one. */
  state: JobState = 'blocked'
  attempt = 0
  // These two are real fields: their values are then references, and the jobs of one call share one heap number.
  readonly createdAt: number
  runAt: number
  /** Breaks ties of runAt. The job gets a new one whenever it goes behind those that wait. */
  declare order: number
  lease: Lease | undefined = undefined
  finishedAt: number | undefined = undefined
  result: Bytes | undefined = undefined
  /** Its last attempt completed it. The fields of the job describe that attempt, which is not in `attempts` (attempt.ts). */
  completedByHolder = false

  /** The list or heap that it is in, and its index there. */
  container: Heap<MemoryJob> | SortedList | undefined = undefined
  heapIndex = -1
  // On the first job of a chain only:
  expiresAt: number | undefined = undefined

  // Fields that few jobs have are not created on all: until one is set, it is read from the prototype (`unset`). That makes a
  // plain job, of which there may be a million, a third smaller.
  declare readonly priority: number
  declare readonly trace: string | undefined
  declare readonly timeoutMs: number | undefined
  declare readonly search: SearchFields | undefined
  declare deadlineAt: number | undefined
  declare reason: EndReason | undefined
  declare failures: number
  declare snoozes: number
  declare cancelling: boolean
  declare cancelReason: string | undefined
  declare error: Bytes | undefined
  declare attempts: AttemptRecord[] | undefined
  declare progress: Bytes | undefined
  declare log: Log | undefined
  declare group: Group | undefined
  declare readonly member: Member | undefined
  declare readonly membership: Membership | undefined
  declare readonly weight: number
  declare readonly origin: JobRef | undefined
  declare readonly root: JobRef | undefined
  declare blockers: Blocker[] | undefined
  declare openBlockers: number
  declare readonly onBlockerFailure: OnBlockerFailure
  /** The first job of the chain that it continues. */
  declare readonly first: MemoryJob | undefined
  declare readonly chainIndex: number
  // On the first job of a chain only:
  /** The jobs of a chain that was continued, in their order, without those that expired. */
  declare jobs: MemoryJob[] | undefined
  declare mark: Mark | undefined
  /** Unfinished jobs that name this chain as a blocker. */
  declare dependents: Set<Moves.Job> | undefined

  static {
    const unset: Partial<MemoryJob> = {
      priority: 0,
      trace: undefined,
      timeoutMs: undefined,
      search: undefined,
      deadlineAt: undefined,
      reason: undefined,
      failures: 0,
      snoozes: 0,
      cancelling: false,
      cancelReason: undefined,
      error: undefined,
      attempts: undefined,
      progress: undefined,
      log: undefined,
      group: undefined,
      member: undefined,
      membership: undefined,
      weight: 1,
      origin: undefined,
      root: undefined,
      blockers: undefined,
      openBlockers: 0,
      onBlockerFailure: 'fail',
      first: undefined,
      chainIndex: 0,
      jobs: undefined,
      mark: undefined,
      dependents: undefined,
    }
    Object.assign(MemoryJob.prototype, unset)
  }

  /** @param after the job that it continues @param origin the job that it was started to block */
  constructor(
    type: TypeData,
    job: NewJob,
    now: number,
    runAt: number,
    accepted: number,
    after?: MemoryJob,
    origin?: MemoryJob,
  ) {
    this.type = type
    this.id = job.id
    this.token = job.token
    this.payload = job.payload
    this.maxAttempts = job.maxAttempts
    this.retention = job.retention
    this.createdAt = now
    this.runAt = runAt
    this.accepted = accepted
    this.order = accepted
    if (job.priority) this.priority = job.priority
    if (after) {
      this.first = after.chain
      this.chainIndex = after.chainIndex + 1
    }
    if (job.trace !== undefined) this.trace = job.trace
    if (job.timeoutMs !== undefined) this.timeoutMs = job.timeoutMs
    if (job.search !== undefined) this.search = job.search
    const above = after ?? origin
    if (above) {
      this.origin = refOf(above)
      this.root = rootOf(above)
    }
    if (job.onBlockerFailure) this.onBlockerFailure = job.onBlockerFailure
    if (job.weight !== undefined && job.weight !== 1) this.weight = job.weight
    if (job.group) {
      this.member = { job: this, heapIndex: -1, heap: undefined }
      this.membership = membershipOf(job.group)
    }
  }

  /** The first job of its chain, which has the fields of the chain. */
  get chain(): MemoryJob {
    return this.first ?? this
  }

  get tail(): MemoryJob {
    return this.jobs?.at(-1) ?? this
  }
}

/** A job that must begin by an instant. Its entry stays until then, even if the job began or ended meanwhile. */
export interface Deadline extends HeapSlot {
  readonly job: MemoryJob
  readonly at: number
}

export interface Mark extends Moves.Mark, HeapSlot {
  readonly type: TypeData
  job: MemoryJob | undefined
}

export class TypeData implements Moves.JobType {
  readonly name: string
  readonly jobs = new JobsById()
  readonly keys = new Map<string, Mark>()
  readonly groups = new Map<string, Group>()
  /** Highest priority first. */
  readonly ready: { readonly priority: number; readonly jobs: SortedList }[] = []
  readonly later = new Heap<MemoryJob>(dueBefore)
  readonly asideDue = new Heap<MemoryJob>(dueBefore)
  readonly asideLater = new Heap<MemoryJob>(dueBefore)
  readonly leases = new SortedList((a, b) => a.lease!.until < b.lease!.until)
  /** Chains that have ended and never expire, by their first job. */
  readonly kept = new SortedList((a, b) => a.tail.finishedAt! < b.tail.finishedAt!)
  readonly counts = emptyCounts()
  /** Groups that have a job to start (flow.ts). */
  readonly ring = new Heap<Group>(isTurnBefore)
  flow: Flow | undefined = undefined
  paused: Paused | undefined = undefined
  readonly listeners: Listeners

  constructor(name: string, listeners: Listeners = newListeners()) {
    this.name = name
    this.listeners = listeners
  }

  /** Number of waiting jobs that promote() has found due. */
  get due(): number {
    return this.ready.reduce((sum, { jobs }) => sum + jobs.size, this.asideDue.size)
  }

  /** The ready jobs of a priority. */
  readyList(priority: number): SortedList {
    let index = 0
    for (; index < this.ready.length; index++) {
      const bucket = this.ready[index]!
      if (bucket.priority === priority) return bucket.jobs
      if (bucket.priority < priority) break
    }
    const jobs = new SortedList(dueBefore)
    this.ready.splice(index, 0, { priority, jobs })
    return jobs
  }
}

export class Data {
  readonly #listenersOf: (type: string) => Listeners
  readonly types = new Map<string, TypeData>()
  /** Chains that have ended and have an expiry, by their first job; and jobs that ended inside a chain. */
  readonly ended = new SortedList((a, b) => a.expiresAt! < b.expiresAt!)
  readonly deadlines = new Heap<Deadline>((a, b) => a.at < b.at)
  /** Keys with a window. */
  readonly marks = new Heap<Mark>((a, b) => a.until < b.until)
  /** Groups without members that only a rate or a slow-down needs, until a time. */
  readonly lingering = new Set<Group>()
  /** The last number that a job got when it was accepted, or put behind the others. */
  lastNumber = 0

  constructor(listenersOf: (type: string) => Listeners = newListeners) {
    this.#listenersOf = listenersOf
  }

  /** Sets the instant by which the first attempt must begin. */
  setDeadline(job: MemoryJob, at: number): void {
    job.deadlineAt = at
    this.deadlines.push({ job, at, heapIndex: -1 })
  }

  ensureType(name: string): TypeData {
    let type = this.types.get(name)
    if (!type) this.types.set(name, (type = new TypeData(name, this.#listenersOf(name))))
    return type
  }

  /** Deletes a type without jobs, keys, groups, pause, limits in use and listeners. */
  prune(type: TypeData, now: number): void {
    if (type.jobs.size > 0 || type.keys.size > 0 || type.groups.size > 0 || type.paused) return
    if (isFlowNeeded(type.flow, now)) return
    for (const listeners of Object.values(type.listeners)) if (listeners.size > 0) return
    this.types.delete(type.name)
  }
}

export function dueBefore(a: MemoryJob, b: MemoryJob): boolean {
  return a.runAt < b.runAt || (a.runAt === b.runAt && a.order < b.order)
}
