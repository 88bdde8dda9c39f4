// The reference: the state of a storage as plain data, and functions that read it. Every function scans
// a handful of jobs, so that the rules can be checked by reading them. No code is shared with any driver.
//
// Longer than most files: the data and all reads of it, side by side.
//
// It is a relation, not a function. Where the contract leaves the driver a choice, the reference reads what the driver
// did (`Seen`), checks that the choice was legal, and continues from there.

import type {
  Bytes,
  DeduplicationMode,
  EndReason,
  JobRecord,
  JobRef,
  JobState,
  Limits,
  NewJob,
  Outcome,
} from 'holdfast/storage'

/** 'waiting' is scheduled or queued, depending on the time. */
type Phase = 'waiting' | 'failing' | 'blocked' | 'processing' | 'completed' | 'failed' | 'cancelled'

export interface Job extends JobRef {
  /** The job as it was added. */
  readonly made: NewJob
  phase: Phase
  payload: Bytes | undefined
  attempt: number
  failures: number
  snoozes: number
  createdAt: number
  /** Its number among all accepted jobs: the order within a group. */
  readonly accepted: number
  runAt: number
  order: Order
  startedAt: number
  leaseUntil: number
  worker: string | undefined
  label: string | undefined
  cancelling: boolean
  /** The reasons of all cancels in this life; the driver may keep any of them. */
  cancelReasons: (string | undefined)[]
  attempts: Attempt[]
  reason: EndReason | undefined
  result: Bytes | undefined
  /** 'any': the contract leaves it open. */
  error: Bytes | undefined | 'any'
  /** By when its first attempt must begin. Infinity: no deadline, or it began. */
  deadlineAt: number
  progress: Bytes | undefined
  log: readonly { readonly attempt: number; readonly at: number; readonly line: Bytes }[]
  finishedAt: number
  /** Number of the move in which it ended last. */
  endedIn: number
  readonly chain: Job
  readonly index: number
  readonly root: JobRef
  readonly origin: JobRef | undefined
  blockers: Blocker[]
  /** The job that it runs after, because that held its key. */
  follows: Job | undefined
  /** Of a job that its chain was continued after, but the first: when its own record expires. Infinity: with its chain. */
  partExpiresAt: number
  /** It failed, and holds its group. */
  holds: boolean
  // Of a chain's first job:
  /** Infinity while the chain lives. */
  expiresAt: number
  /** Retention after its end, unless set again since. */
  keepMs: number | undefined
  mark: Mark | undefined
}

/** The order among jobs of one runAt. Jobs that one move sends to the back have no order among themselves: `loose`. */
interface Order {
  readonly move: number
  readonly place: number
  readonly loose: boolean
  /** A call with a lost reply may have sent it to the back: both places are legal. */
  readonly unsure?: boolean
}

export interface Attempt {
  readonly worker: string
  readonly attempt: number
  readonly label: string | undefined
  readonly outcome: Outcome['kind'] | 'stalled' | 'cancelled'
  readonly state: JobState
  readonly error: Bytes | undefined
  readonly startedAt: number
  endedAt: number
  /** Ended without a worker: the driver decides how the record shows it. */
  readonly workerless: boolean
}

interface Blocker {
  readonly ref: JobRef
  done: boolean
  /** The chain is kept for this job. False if the chain was gone when the job was added or revived. */
  bound: boolean
}

export interface Mark {
  readonly key: string
  readonly mode: DeduplicationMode
  /** Of an `ascending` key: how long its version is known. */
  readonly windowMs: number
  /** Of an `ascending` key. */
  readonly version: number
  readonly shared: boolean
  /** The job that took it. */
  readonly first: Job
  /** The record of `first` was removed or replaced. */
  orphaned: boolean
  /** Token of the last add that replaced the payload of `first`. */
  replacedBy: string | undefined
}

interface Pause {
  since: number
  readonly by: string | undefined
}

/** What a type or a group has started, and what it waits for. */
export interface Flow {
  /** Nothing is started before this instant; and maybe not before the second one, which a slow call makes later. */
  slowedFrom: number
  slowedTo: number
  /** Starts within a rate, each between two instants. */
  readonly starts: { readonly first: number; readonly last: number; readonly weight: number }[]
  /** A driver may wait until then for a job that was too heavy. */
  waitsUntil: number
  /** Since when it surely could be claimed, without interruption, by the ticks of the world. */
  since: number | undefined
  /** When a job of it was started last. 0: never. */
  lastStart: number
}

export interface World {
  /** The time before the current call; after it once the call is applied. */
  now: number
  /** Ms that passed during the call: 0 on a clock that only the test moves. */
  slack: number
  moves: number
  accepted: number
  readonly jobs: Map<string, Job>
  readonly marks: Map<string, Mark>
  readonly paused: Map<string, Pause>
  readonly pausedGroups: Map<string, Pause & { readonly type: string; readonly group: string }>
  /** Counts starts and looks, to order them. */
  ticks: number
  /** By type: the limits of every claim. */
  readonly limits: Map<string, Limits>
  readonly flows: Map<string, Flow>
  /** Types that ever had a job with a group. */
  readonly grouped: Set<string>
}

/** The record of a job after the call. */
export type Seen = (job: JobRef) => JobRecord | undefined

export const emptyWorld = (now: number): World => ({
  now,
  slack: 0,
  moves: 0,
  accepted: 0,
  jobs: new Map(),
  marks: new Map(),
  paused: new Map(),
  pausedGroups: new Map(),
  ticks: 0,
  limits: new Map(),
  flows: new Map(),
  grouped: new Set(),
})

// ── violations ───────────────────────────────────────────────────────────────────────────────────────────────────────

export function must(condition: boolean, says: () => string): asserts condition {
  if (!condition) throw new Error(says())
}

/** @param of the job, for the message only */
export function same(what: string, actual: unknown, expected: unknown, of?: JobRef): void {
  if (!Object.is(actual, expected)) differs(what, actual, expected, of)
}

export function sameBytes(what: string, actual: Bytes | undefined, expected: Bytes | undefined, of?: JobRef): void {
  if (actual === expected) return
  const length = actual?.length
  let equal = length !== undefined && length === expected?.length
  for (let index = 0; equal && index < length!; index++) equal = actual![index] === expected![index]
  if (!equal) differs(what, actual, expected, of)
}

export function sameRef(what: string, actual: JobRef | undefined, expected: JobRef | undefined, of?: JobRef): void {
  if (actual?.id === expected?.id && actual?.type === expected?.type) return
  differs(what, actual && plain(actual), expected && plain(expected), of)
}

/** Compares instants, which may be later by the duration of the call. Returns the actual one. */
export function sameInstant(
  world: World,
  what: string,
  actual: number | undefined,
  expected: number,
  of?: JobRef,
): number {
  if (actual !== undefined && actual >= expected && actual <= expected + world.slack) return actual
  const relative = (at: number | undefined): string => (at === undefined ? 'absent' : `now ${signed(at - world.now)}`)
  return differs(what, relative(actual), relative(expected), of)
}

function differs(what: string, actual: unknown, expected: unknown, of: JobRef | undefined): never {
  const whose = of ? ` of ${show(plain(of))}` : ''
  throw new Error(`${what}${whose}: ${show(actual)}, expected ${show(expected)}`)
}

const signed = (ms: number): string => (ms < 0 ? `- ${-ms}` : `+ ${ms}`)
export const plain = ({ type, id }: JobRef): JobRef => ({ type, id })

export function show(value: unknown): string {
  if (value === undefined) return 'undefined'
  return JSON.stringify(value, (_, item: unknown) =>
    item instanceof Uint8Array ? `bytes ${[...item].join(' ')}` : item === Infinity ? 'Infinity' : item,
  )
}

// ── reads ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Injective for any two texts. */
export const nameOf = (first: string, second: string): string => `${first.length}:${first}${second}`
export const nameOfRef = ({ type, id }: JobRef): string => nameOf(type, id)
export const isSame = (a: JobRef, b: JobRef): boolean => a.id === b.id && a.type === b.type

export const isEnded = ({ phase }: Job): boolean => phase === 'completed' || phase === 'failed' || phase === 'cancelled'
export const isWaiting = ({ phase }: Job): boolean => phase === 'waiting' || phase === 'failing'

export function stateOf(world: World, job: Job): JobState {
  if (job.phase !== 'waiting') return job.phase
  return job.runAt <= world.now ? 'queued' : 'scheduled'
}

export function tailOf(world: World, head: Job): Job {
  let tail = head
  for (const job of world.jobs.values()) if (job.chain === head && job.index > tail.index) tail = job
  return tail
}

/** Unfinished jobs for which this chain is kept. */
export function dependentsOf(world: World, head: Job): Job[] {
  const found: Job[] = []
  for (const job of world.jobs.values()) {
    if (!isEnded(job) && job.blockers.some(({ ref, bound }) => bound && isSame(ref, head))) found.push(job)
  }
  return found
}

/** The number of distinct open chains, however often each is named. */
export function openBlockers({ blockers }: Job): number {
  return blockers.filter(({ ref, done }, index) => !done && blockers.findIndex((b) => isSame(b.ref, ref)) === index)
    .length
}

export const isKept = (world: World, head: Job): boolean => dependentsOf(world, head).length > 0

/** An expired part of a chain, which may live. */
export const isGonePart = (world: World, { partExpiresAt }: Job): boolean => partExpiresAt <= world.now

export const isGone = (world: World, job: Job): boolean =>
  isGonePart(world, job) || (job.chain.expiresAt <= world.now && !isKept(world, job.chain))

export function find(world: World, ref: JobRef): Job | undefined {
  const job = world.jobs.get(nameOfRef(ref))
  return job && !isGone(world, job) ? job : undefined
}

/** The chain of this name. A job inside another chain that has it by now is not it. */
export function findChain(world: World, ref: JobRef): Job | undefined {
  const job = find(world, ref)
  return job?.index === 0 ? job : undefined
}

/** undefined while the chain is live or kept, or if its retention is infinite; unless the job is a part with its own. */
export function expiryOf(world: World, { chain, partExpiresAt }: Job): number | undefined {
  const isOpen = !isEnded(tailOf(world, chain)) || isKept(world, chain)
  const expiry = Math.min(partExpiresAt, isOpen ? Infinity : chain.expiresAt)
  return expiry === Infinity ? undefined : expiry
}

/**
 * No job has the id, or only a chain that failed or was cancelled: its first job, or its last one if no job waits for
 * the chain.
 */
export function isFree(world: World, ref: JobRef): boolean {
  const job = find(world, ref)
  if (!job) return true
  const tail = tailOf(world, job.chain)
  if (tail.phase !== 'failed' && tail.phase !== 'cancelled') return false
  return job.index === 0 || (job === tail && !isKept(world, job.chain))
}

/** A waiting job of this id, alone in its chain, gives way to the new one. */
export function isReplaceable(world: World, { onDuplicate }: NewJob, job: Job): boolean {
  return onDuplicate === 'replace' && isWaiting(job) && job.index === 0 && tailOf(world, job) === job
}

export const isOverdue = (world: World, { deadlineAt }: Job): boolean => deadlineAt <= world.now

export const untilOf = ({ first, windowMs }: Mark): number => first.createdAt + windowMs

export function isInForce(world: World, mark: Mark): boolean {
  if (world.now >= untilOf(mark)) return false
  if (mark.mode === 'ascending' && isEnded(tailOf(world, mark.first))) return false
  return (mark.mode === 'throttle' && mark.windowMs !== Infinity) || (!mark.orphaned && !isGone(world, mark.first))
}

export function due(world: World, { runAt, delayMs }: { runAt?: number; delayMs?: number }): number {
  if (delayMs !== undefined) return world.now + delayMs
  return runAt === undefined || runAt < world.now ? world.now : runAt
}

export function isBefore(a: Job, b: Job): boolean {
  const [first, second] = [a.made.priority ?? 0, b.made.priority ?? 0]
  if (first !== second) return first > second
  if (a.runAt !== b.runAt) return a.runAt < b.runAt
  if (a.order.unsure || b.order.unsure) return false
  if (a.order.move !== b.order.move) return a.order.move < b.order.move
  return !a.order.loose && !b.order.loose && a.order.place < b.order.place
}
