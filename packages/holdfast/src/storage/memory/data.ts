// What the memory driver holds. A job stands in one heap at a time, which says how far it is:
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

export class Job implements HeapSlot {
  readonly type: TypeData
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
  /** Until wait() or blockJob() says otherwise. */
  state: JobState = 'blocked'
  reason: EndReason | undefined = undefined
  attempt = 0
  failures = 0
  snoozes = 0
  runAt: number
  /** Breaks ties of runAt: new whenever the job goes behind what waits. */
  order: number
  /** Waits, and was seen to be due: counted so. */
  due = false
  startedAt: number | undefined = undefined
  finishedAt: number | undefined = undefined
  label: string | undefined = undefined
  worker: string | undefined = undefined
  leaseUntil = 0
  cancelling = false
  cancelReason: string | undefined = undefined
  result: Bytes | undefined = undefined
  error: Bytes | undefined = undefined
  attempts: AttemptRecord[] | undefined = undefined

  heap: Heap<Job> | undefined = undefined
  heapIndex = -1
  group: Group | undefined = undefined
  readonly member: Member | undefined

  /** The first job of its chain, which holds what belongs to the chain. */
  readonly chain: Job
  readonly chainIndex: number
  readonly root: JobRef
  readonly origin: JobRef | undefined
  // On the first job only:
  tail: Job = this
  /** The jobs of a chain that was continued. */
  jobs: Job[] | undefined = undefined
  mark: Mark | undefined = undefined
  expiresAt = Infinity
  /** Unfinished jobs that name this chain as a blocker. */
  dependents: Set<Job> | undefined = undefined

  readonly blockers: Blocker[] | undefined
  openBlockers = 0
  readonly onBlockerFailure: 'fail' | 'wait'

  constructor(
    type: TypeData,
    job: NewJob,
    place: { now: number; runAt: number; accepted: number; after?: Job; origin?: Job; blockers?: Blocker[] },
  ) {
    const { after, origin } = place
    this.type = type
    this.id = job.id
    this.token = job.token
    this.payload = job.payload
    this.priority = job.priority ?? 0
    this.maxAttempts = job.maxAttempts
    this.retention = job.retention
    this.trace = job.trace
    this.createdAt = place.now
    this.runAt = place.runAt
    this.accepted = place.accepted
    this.order = place.accepted
    this.chain = after?.chain ?? this
    this.chainIndex = after ? after.chainIndex + 1 : 0
    this.root = after?.root ?? origin?.root ?? { type: type.name, id: job.id }
    const before = after ?? origin
    this.origin = before && refOf(before)
    this.blockers = place.blockers
    this.onBlockerFailure = job.onBlockerFailure ?? 'fail'
    this.member = job.group ? { job: this, heapIndex: -1 } : undefined
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
  readonly ready: { readonly priority: number; readonly jobs: Heap<Job> }[] = []
  readonly later = new Heap<Job>(dueBefore)
  readonly asideDue = new Heap<Job>(dueBefore)
  readonly asideLater = new Heap<Job>(dueBefore)
  readonly leases = new Heap<Job>((a, b) => a.leaseUntil < b.leaseUntil)
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

  readyOf(priority: number): Heap<Job> {
    let index = 0
    for (; index < this.ready.length; index++) {
      const bucket = this.ready[index]!
      if (bucket.priority === priority) return bucket.jobs
      if (bucket.priority < priority) break
    }
    const jobs = new Heap<Job>(dueBefore)
    this.ready.splice(index, 0, { priority, jobs })
    return jobs
  }
}

export class Data {
  readonly types = new Map<string, TypeData>()
  /** Chains that ended and have an expiry, by their first job. */
  readonly ended = new Heap<Job>((a, b) => a.expiresAt < b.expiresAt)
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

export function refOf(job: Job): JobRef {
  return { type: job.type.name, id: job.id }
}
