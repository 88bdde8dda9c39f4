// What the memory driver holds. A job stands in one line or heap at a time, which says how far it is:
//
//   ready (by priority)   waits, due, next in line            leases   in processing
//   later                 waits, not yet due                  ended    a chain that ended and has an expiry
//   asideDue, asideLater  waits behind the head of its group, or its group is paused
//
// A blocked job, one that was continued, and an ended one that somebody needs stand in none.

import type {
  AttemptRecord,
  Bytes,
  EndReason,
  JobRef,
  JobState,
  NewJob,
  Paused,
  Retention,
  Signal,
  TopicKind,
} from '../storage.ts'
import { Heap, type HeapSlot } from './heap.ts'
import { Line } from './line.ts'

/** Under which a job runs, or ran to its end. All jobs of one claim share one. */
export interface Lease {
  readonly worker: string
  readonly label: string | undefined
  readonly startedAt: number
  readonly until: number
}

export class Job implements HeapSlot {
  readonly type: TypeData
  readonly id: string
  readonly token: string
  readonly priority: number
  readonly maxAttempts: number | undefined
  readonly retention: Retention
  readonly createdAt: number
  /** Its place among all jobs ever accepted: the order inside a group. */
  readonly accepted: number
  payload: Bytes | undefined
  /** Until wait() or blockJob() says otherwise. */
  state: JobState = 'blocked'
  attempt = 0
  failures = 0
  runAt: number
  /** Breaks ties of runAt: new whenever the job goes behind what waits. */
  order: number
  /** Waits, and was seen to be due: counted so. */
  due = false
  lease: Lease | undefined = undefined
  finishedAt: number | undefined = undefined
  result: Bytes | undefined = undefined
  /** Its last attempt completed it. That one is told by the fields of the job, and is not among `attempts` (attempt.ts). */
  completedByHolder = false

  /** Where it stands, and its place there. */
  heap: Heap<Job> | Line | undefined = undefined
  heapIndex = -1
  inRow = false

  /** The first job of its chain, which holds what belongs to the chain. */
  readonly chain: Job
  readonly chainIndex: number
  // On the first job only:
  tail: Job = this
  expiresAt: number | undefined = undefined

  // What few jobs have is not a field of all: until it is set it is read from `unset`. A plain job, of which there may
  // be a million, is so a third smaller.
  declare readonly trace: string | undefined
  declare reason: EndReason | undefined
  declare snoozes: number
  declare cancelling: boolean
  declare cancelReason: string | undefined
  declare error: Bytes | undefined
  declare attempts: AttemptRecord[] | undefined
  declare group: Group | undefined
  declare readonly member: Member | undefined
  /** The job that it continues, or was started to block. */
  declare readonly above: Job | undefined
  declare blockers: Blocker[] | undefined
  declare openBlockers: number
  declare readonly onBlockerFailure: 'fail' | 'wait'
  // On the first job only:
  /** The jobs of a chain that was continued. */
  declare jobs: Job[] | undefined
  declare mark: Mark | undefined
  /** Unfinished jobs that name this chain as a blocker. */
  declare dependents: Set<Job> | undefined

  static {
    const unset: Partial<Job> = {
      trace: undefined,
      reason: undefined,
      snoozes: 0,
      cancelling: false,
      cancelReason: undefined,
      error: undefined,
      attempts: undefined,
      group: undefined,
      member: undefined,
      above: undefined,
      blockers: undefined,
      openBlockers: 0,
      onBlockerFailure: 'fail',
      jobs: undefined,
      mark: undefined,
      dependents: undefined,
    }
    Object.assign(Job.prototype, unset)
  }

  /** @param after the job that it continues; origin: the job that it was started to block */
  constructor(type: TypeData, job: NewJob, now: number, runAt: number, accepted: number, after?: Job, origin?: Job) {
    this.type = type
    this.id = job.id
    this.token = job.token
    this.payload = job.payload
    this.priority = job.priority ?? 0
    this.maxAttempts = job.maxAttempts
    this.retention = job.retention
    this.createdAt = now
    this.runAt = runAt
    this.accepted = accepted
    this.order = accepted
    this.chain = after === undefined ? this : after.chain
    this.chainIndex = after === undefined ? 0 : after.chainIndex + 1
    if (job.trace !== undefined) this.trace = job.trace
    if (after || origin) this.above = after ?? origin
    if (job.onBlockerFailure) this.onBlockerFailure = job.onBlockerFailure
    if (job.group) this.member = { job: this, heapIndex: -1 }
  }

  get ref(): JobRef {
    return { type: this.type.name, id: this.id }
  }

  get origin(): JobRef | undefined {
    return this.above?.ref
  }

  /** The chain at the top. */
  get root(): JobRef {
    return this.above ? this.above.root : this.ref
  }

  /** When its lease ends; it must have one. */
  get leaseUntil(): number {
    return this.lease!.until
  }

  /** When the record of its chain may go. */
  get expiry(): number {
    return this.chain.expiresAt ?? Infinity
  }
}

export interface Blocker {
  readonly ref: JobRef
  done: boolean
}

/** A job in its group's own order. */
export interface Member extends HeapSlot {
  readonly job: Job
}

export interface Group {
  readonly key: string
  readonly type: TypeData
  /** All its live jobs, the one in processing too. */
  readonly members: Heap<Member>
  running: Job | undefined
  /** The head, while it stands in `ready` or `later`. */
  placed: Job | undefined
  paused: Paused | undefined
}

/** A deduplication key that somebody holds. */
export interface Mark extends HeapSlot {
  readonly key: string
  readonly type: TypeData
  readonly id: string
  readonly token: string
  readonly mode: 'simple' | 'throttle'
  readonly shared: boolean
  /** When its window is over. */
  readonly until: number
  /** The record that holds it, as long as there is one. */
  job: Job | undefined
}

export class TypeData {
  readonly name: string
  readonly jobs = new Map<string, Job>()
  readonly keys = new Map<string, Mark>()
  readonly groups = new Map<string, Group>()
  /** Highest priority first. */
  readonly ready: { readonly priority: number; readonly jobs: Line }[] = []
  readonly later = new Heap<Job>(dueBefore)
  readonly asideDue = new Heap<Job>(dueBefore)
  readonly asideLater = new Heap<Job>(dueBefore)
  readonly leases = new Line((a, b) => a.leaseUntil < b.leaseUntil)
  readonly counts: Record<JobState, number> = {
    scheduled: 0,
    blocked: 0,
    queued: 0,
    processing: 0,
    failing: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
  }
  due = 0
  paused: Paused | undefined = undefined
  readonly listeners: Readonly<Record<TopicKind, Set<(signal: Signal) => void>>> = {
    wake: new Set(),
    done: new Set(),
    abort: new Set(),
    events: new Set(),
  }

  constructor(name: string) {
    this.name = name
  }

  readyOf(priority: number): Line {
    let index = 0
    for (; index < this.ready.length; index++) {
      const bucket = this.ready[index]!
      if (bucket.priority === priority) return bucket.jobs
      if (bucket.priority < priority) break
    }
    const jobs = new Line(dueBefore)
    this.ready.splice(index, 0, { priority, jobs })
    return jobs
  }
}

export class Data {
  readonly types = new Map<string, TypeData>()
  /** Chains that ended and have an expiry, by their first job. */
  readonly ended = new Line((a, b) => a.expiry < b.expiry)
  /** Keys with a window. */
  readonly marks = new Heap<Mark>((a, b) => a.until < b.until)
  accepted = 0

  typeOf(name: string): TypeData {
    let type = this.types.get(name)
    if (!type) this.types.set(name, (type = new TypeData(name)))
    return type
  }

  /** Forgets a type that nothing is known of any more. */
  prune(type: TypeData): void {
    if (type.jobs.size > 0 || type.keys.size > 0 || type.groups.size > 0 || type.paused) return
    for (const listeners of Object.values(type.listeners)) if (listeners.size > 0) return
    this.types.delete(type.name)
  }
}

function dueBefore(a: Job, b: Job): boolean {
  return a.runAt < b.runAt || (a.runAt === b.runAt && a.order < b.order)
}

export const refOf = ({ ref }: Job): JobRef => ref
