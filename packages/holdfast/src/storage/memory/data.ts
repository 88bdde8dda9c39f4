// What the memory driver holds. A job stands in one line or heap at a time, which says how far it is:
//
//   ready (by priority)   waits, due, next in line            leases   in processing
//   later                 waits, not yet due                  ended    a chain that ended and has an expiry
//   asideDue, asideLater  waits behind the head of its group, or its group is paused
//
// A blocked job, one that was continued, and an ended one that somebody needs stand in none.

import type { AttemptRecord, Bytes, EndReason, JobRef, JobState, NewJob, Paused, Retention } from '../storage.ts'
import { emptyCounts } from '../rules/count.ts'
import type * as Moves from '../rules/move.ts'
import { type Blocker, expiryAt, type Lease, refOf, rootOf } from '../rules/move.ts'
import { type Listeners, newListeners } from '../rules/signals.ts'
import { Heap, type HeapSlot } from './heap.ts'
import { SortedRow } from './sorted-row.ts'

export class MemoryJob implements Moves.Job, HeapSlot {
  // What the constructor sets is only declared: as a field it would be set to undefined first, for each of a million jobs.
  declare readonly type: TypeData
  declare readonly id: string
  declare readonly token: string
  declare readonly maxAttempts: number | undefined
  declare readonly retention: Retention
  /** Its place among all jobs ever accepted: the order inside a group. */
  declare readonly accepted: number
  declare payload: Bytes | undefined
  /** Until createWaiting(), wait() or blockJob() says otherwise. */
  state: JobState = 'blocked'
  attempt = 0
  // Not these two: so they are references, and the jobs of one call share one number.
  readonly createdAt: number
  runAt: number
  /** Breaks ties of runAt: new whenever the job goes behind what waits. */
  declare order: number
  lease: Lease | undefined = undefined
  finishedAt: number | undefined = undefined
  result: Bytes | undefined = undefined
  /** Its last attempt completed it. That one is told by the fields of the job, and is not among `attempts` (attempt.ts). */
  completedByHolder = false

  /** Where it stands, and its place there. */
  standsIn: Heap<MemoryJob> | SortedRow | undefined = undefined
  heapIndex = -1
  // On the first job of a chain only:
  expiresAt: number | undefined = undefined

  // What few jobs have is not a field of all: until it is set it is read from `unset`. A plain job, of which there may
  // be a million, is so a third smaller.
  declare readonly priority: number
  declare readonly trace: string | undefined
  declare reason: EndReason | undefined
  declare failures: number
  declare snoozes: number
  declare cancelling: boolean
  declare cancelReason: string | undefined
  declare error: Bytes | undefined
  declare attempts: AttemptRecord[] | undefined
  declare group: Group | undefined
  declare readonly member: Member | undefined
  declare readonly origin: JobRef | undefined
  declare readonly root: JobRef | undefined
  declare blockers: Blocker[] | undefined
  declare openBlockers: number
  declare readonly onBlockerFailure: 'fail' | 'wait'
  /** Of the chain that it continues. */
  declare readonly first: MemoryJob | undefined
  declare readonly chainIndex: number
  // On the first job of a chain only:
  /** The jobs of a chain that was continued. */
  declare jobs: MemoryJob[] | undefined
  declare mark: Mark | undefined
  /** Unfinished jobs that name this chain as a blocker. */
  declare dependents: Set<Moves.Job> | undefined

  static {
    const unset: Partial<MemoryJob> = {
      priority: 0,
      trace: undefined,
      reason: undefined,
      failures: 0,
      snoozes: 0,
      cancelling: false,
      cancelReason: undefined,
      error: undefined,
      attempts: undefined,
      group: undefined,
      member: undefined,
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

  /** @param after the job that it continues; origin: the job that it was started to block */
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
    const above = after ?? origin
    if (above) {
      this.origin = refOf(above)
      this.root = rootOf(above)
    }
    if (job.onBlockerFailure) this.onBlockerFailure = job.onBlockerFailure
    if (job.group) this.member = { job: this, heapIndex: -1 }
  }

  /** The first job of its chain, which holds what belongs to the chain. */
  get chain(): MemoryJob {
    return this.first ?? this
  }

  get tail(): MemoryJob {
    return this.jobs?.at(-1) ?? this
  }
}

/** A job in its group's own order. */
export interface Member extends HeapSlot {
  readonly job: MemoryJob
}

export interface Group extends Moves.Group {
  readonly type: TypeData
  /** All its live jobs, the one in processing too. */
  readonly members: Heap<Member>
  running: MemoryJob | undefined
  placed: MemoryJob | undefined
}

export interface Mark extends Moves.Mark, HeapSlot {
  readonly type: TypeData
  job: MemoryJob | undefined
}

export class TypeData implements Moves.JobType {
  readonly name: string
  readonly jobs = new Map<string, MemoryJob>()
  readonly keys = new Map<string, Mark>()
  readonly groups = new Map<string, Group>()
  /** Highest priority first. */
  readonly ready: { readonly priority: number; readonly jobs: SortedRow }[] = []
  readonly later = new Heap<MemoryJob>(dueBefore)
  readonly asideDue = new Heap<MemoryJob>(dueBefore)
  readonly asideLater = new Heap<MemoryJob>(dueBefore)
  readonly leases = new SortedRow((a, b) => a.lease!.until < b.lease!.until)
  readonly counts = emptyCounts()
  paused: Paused | undefined = undefined
  readonly listeners: Listeners

  constructor(name: string, listeners: Listeners = newListeners()) {
    this.name = name
    this.listeners = listeners
  }

  /** How many wait and were seen to be due. */
  get due(): number {
    return this.ready.reduce((sum, { jobs }) => sum + jobs.size, this.asideDue.size)
  }

  lineOf(priority: number): SortedRow {
    let index = 0
    for (; index < this.ready.length; index++) {
      const bucket = this.ready[index]!
      if (bucket.priority === priority) return bucket.jobs
      if (bucket.priority < priority) break
    }
    const jobs = new SortedRow(dueBefore)
    this.ready.splice(index, 0, { priority, jobs })
    return jobs
  }
}

export class Data {
  readonly #listenersOf: (type: string) => Listeners
  readonly types = new Map<string, TypeData>()
  /** Chains that ended and have an expiry, by their first job. */
  readonly ended = new SortedRow((a, b) => expiryAt(a) < expiryAt(b))
  /** Keys with a window. */
  readonly marks = new Heap<Mark>((a, b) => a.until < b.until)
  /** Of jobs accepted, or put behind the others. */
  lastNumber = 0

  constructor(listenersOf: (type: string) => Listeners = newListeners) {
    this.#listenersOf = listenersOf
  }

  ensureType(name: string): TypeData {
    let type = this.types.get(name)
    if (!type) this.types.set(name, (type = new TypeData(name, this.#listenersOf(name))))
    return type
  }

  /** Forgets a type that nothing is known of any more. */
  prune(type: TypeData): void {
    if (type.jobs.size > 0 || type.keys.size > 0 || type.groups.size > 0 || type.paused) return
    for (const listeners of Object.values(type.listeners)) if (listeners.size > 0) return
    this.types.delete(type.name)
  }
}

function dueBefore(a: MemoryJob, b: MemoryJob): boolean {
  return a.runAt < b.runAt || (a.runAt === b.runAt && a.order < b.order)
}
