// The reference: what a storage holds, as plain data, and what can be read off it. Every question is answered by a scan
// over a handful of jobs, so that the rules can be checked by reading them. No code is shared with any driver.
//
// It is a relation, not a function. Where the contract leaves the driver a choice, the reference looks at what the driver
// did (`Seen`), checks that this was among the legal ones, and goes on from there.

import type { Bytes, EndReason, JobRecord, JobRef, JobState, NewJob, Outcome } from 'holdfast/storage'

/** Waiting: scheduled or queued, by the time alone. */
type Phase = 'waiting' | 'failing' | 'blocked' | 'processing' | 'completed' | 'failed' | 'cancelled'

export interface Job extends JobRef {
  /** As it was added. */
  readonly made: NewJob
  phase: Phase
  payload: Bytes | undefined
  attempt: number
  failures: number
  snoozes: number
  createdAt: number
  /** Its place among all that was ever accepted: the order within a group. */
  readonly accepted: number
  runAt: number
  order: Order
  startedAt: number
  leaseUntil: number
  worker: string | undefined
  label: string | undefined
  cancelling: boolean
  /** What was said with the cancels of this life; which of them is kept is the driver's. */
  cancelReasons: (string | undefined)[]
  attempts: Attempt[]
  reason: EndReason | undefined
  result: Bytes | undefined
  /** 'any': the contract does not say. */
  error: Bytes | undefined | 'any'
  finishedAt: number
  /** The move in which it ended last. */
  endedIn: number
  readonly chain: Job
  readonly index: number
  readonly root: JobRef
  readonly origin: JobRef | undefined
  blockers: Blocker[]
  // Of a chain's first job:
  /** Infinity while the chain lives. */
  expiresAt: number
  /** How long after its end; unless that was set anew. */
  keepMs: number | undefined
  mark: Mark | undefined
}

/** Ties of runAt. What one move sends behind the others has no order among itself: `loose`. */
interface Order {
  readonly move: number
  readonly place: number
  readonly loose: boolean
  /** A call that nobody knows the end of may have sent it behind the others: it stands in either place. */
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
  /** Ended without a worker: how the record shows that is the driver's. */
  readonly workerless: boolean
}

interface Blocker {
  readonly ref: JobRef
  done: boolean
  /** The chain is kept for this job. Not so if it was gone already when the job was added or revived. */
  bound: boolean
}

export interface Mark {
  readonly key: string
  readonly mode: 'simple' | 'throttle'
  readonly windowMs: number
  readonly shared: boolean
  /** The job that took it. */
  readonly first: Job
  /** Its record was removed or replaced. */
  orphaned: boolean
}

interface Pause {
  since: number
  readonly by: string | undefined
}

export interface World {
  /** Before the call at hand; once that was applied, after it. */
  now: number
  /** By how much time moved during it: 0 on a clock that only the test moves. */
  slack: number
  moves: number
  accepted: number
  readonly jobs: Map<string, Job>
  readonly marks: Map<string, Mark>
  readonly paused: Map<string, Pause>
  readonly pausedGroups: Map<string, Pause & { readonly type: string; readonly group: string }>
}

/** What the storage shows of a job after the call. */
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
})

// ── violations ───────────────────────────────────────────────────────────────────────────────────────────────────────

export function must(condition: boolean, says: () => string): asserts condition {
  if (!condition) throw new Error(says())
}

/** @param of what it is of, for the message alone */
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

/** An instant, which may be later by as much as the call took. Answers with the one that stands. */
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

// ── what can be read off ─────────────────────────────────────────────────────────────────────────────────────────────

/** Injective, whatever is in the two. */
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

/** Chains, however often they are named. */
export function openBlockers({ blockers }: Job): number {
  return blockers.filter(({ ref, done }, index) => !done && blockers.findIndex((b) => isSame(b.ref, ref)) === index)
    .length
}

export const isKept = (world: World, head: Job): boolean => dependentsOf(world, head).length > 0

export const isGone = (world: World, { chain }: Job): boolean => chain.expiresAt <= world.now && !isKept(world, chain)

export function find(world: World, ref: JobRef): Job | undefined {
  const job = world.jobs.get(nameOfRef(ref))
  return job && !isGone(world, job) ? job : undefined
}

/** Absent: as long as its job lives, or for ever. */
export function expiryOf(world: World, { chain }: Job): number | undefined {
  if (!isEnded(tailOf(world, chain)) || chain.expiresAt === Infinity || isKept(world, chain)) return undefined
  return chain.expiresAt
}

/**
 * Nobody has it, or only a chain that failed or was cancelled: its first job, or its last one if nobody waits for the
 * chain all the same.
 */
export function isFree(world: World, ref: JobRef): boolean {
  const job = find(world, ref)
  if (!job) return true
  const tail = tailOf(world, job.chain)
  if (tail.phase !== 'failed' && tail.phase !== 'cancelled') return false
  return job.index === 0 || (job === tail && !isKept(world, job.chain))
}

export const untilOf = ({ first, windowMs }: Mark): number => first.createdAt + windowMs

export function isInForce(world: World, mark: Mark): boolean {
  if (world.now >= untilOf(mark)) return false
  return (mark.mode === 'throttle' && mark.windowMs !== Infinity) || (!mark.orphaned && !isGone(world, mark.first))
}

export function due(world: World, { runAt, delayMs }: { runAt?: number; delayMs?: number }): number {
  if (delayMs !== undefined) return world.now + delayMs
  return runAt === undefined || runAt < world.now ? world.now : runAt
}

/** Could be claimed now: due, not paused, and first in its group with nobody of it running. */
export function candidates(world: World, type: string): Job[] {
  const found: Job[] = []
  if (world.paused.has(type)) return found
  for (const job of world.jobs.values()) {
    if (job.type === type && isWaiting(job) && job.runAt <= world.now && mayGo(world, job)) found.push(job)
  }
  return found
}

export function mayGo(world: World, job: Job): boolean {
  const { group } = job.made
  if (!group) return true
  if (world.pausedGroups.has(nameOf(job.type, group.key))) return false
  for (const other of world.jobs.values()) {
    if (other === job || other.type !== job.type || other.made.group?.key !== group.key || isEnded(other)) continue
    if (other.phase === 'processing' || other.accepted < job.accepted) return false
  }
  return true
}

export function isBefore(a: Job, b: Job): boolean {
  const [first, second] = [a.made.priority ?? 0, b.made.priority ?? 0]
  if (first !== second) return first > second
  if (a.runAt !== b.runAt) return a.runAt < b.runAt
  if (a.order.unsure || b.order.unsure) return false
  if (a.order.move !== b.order.move) return a.order.move < b.order.move
  return !a.order.loose && !b.order.loose && a.order.place < b.order.place
}
