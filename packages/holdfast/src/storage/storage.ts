// The storage contract: everything that the engine asks of a driver. The author of a driver needs to read this file only.
// Longer than other files, so that it is the only one: first the verbs, then the types they use.
//
//   - Atomicity. Each call is atomic: all of it takes effect, or none of it. A write takes a batch. Its items take effect in
//     order, and each sees the ones before it. Verdicts are one per item, in the same order.
//   - Reads. A read shows one instant. An expired record is absent at once, whether or not it was swept.
//   - Time. The storage reads its own clock, once per call. No other clock decides what is due or lost.
//   - Fencing. Every write after a claim carries the fence (type, id, worker, attempt). A refused write changes nothing.
//   - No setters, and no check-then-act over two calls.
//   - Repeats. A call that is repeated after a lost answer gets the answer of the first. An add is recognised by its token, a
//     settle by its fence among the attempts that the record keeps, a line of a log by its attempt and instant. The jobs of a lost claim come back by their lease. One
//     exception: a record that is kept for 0 ms may be gone, and the repeat of its settle gets `not_found`. Another: an add
//     that replaced a payload (`debounce`, `followUp`) is recognised as long as that job is live and no other call replaced it.
//   - Bytes. Payload, result and error are bytes. A driver never parses or changes them; callers must not either. Ids, types,
//     keys and labels are text of any content, without lone surrogates.
//   - Checks. A driver first calls the checks of storage/check.ts: checkNewJobs, checkOutcomes, checkClaim, checkExtensions,
//     checkRecoverRequest, checkListQuery, checkCountQuery, checkKvLimit and checkKvWrite. They refuse bad input.
//   - Errors. A call on a closed storage rejects with code STORAGE_CLOSED; a storage in memory is never closed. An error with
//     `transient: true` means that the same call may succeed in a moment: the engine repeats it. An error with
//     `maybeApplied: false` means that certainly nothing was written.
//   - A driver has no logging, metrics or retries. The wrapper around the contract has them (engine/guard.ts).
//
// The contract may change before 1.0. The package @holdfast/conformance tests it.

import type { KeyValue } from './kv.ts'

export type Bytes = Uint8Array

// ── the contract ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** What a driver can do. The engine and the conformance suite read it. */
export interface StorageFeatures {
  /** Writes can join a transaction of the user (`tx`). */
  readonly transactions: boolean
  /** An acknowledged write survives a power cut. */
  readonly durable: boolean
  /** Several processes of one machine can use it at the same time. */
  readonly sharedByProcesses: boolean
  /** Several machines can use it at the same time. */
  readonly distributed: boolean
  /** `where` of a list reads an index. Without it, a list scans and may be `truncated`. */
  readonly searchIndexed: boolean
  /** Signals of topic `events` reach every process. */
  readonly fleetEvents: boolean
  /** Takes offers of free slots (ClaimRequest.offer). @default false */
  readonly handsOver?: boolean
}

/** How the engine should use a driver. */
export interface StorageSettings {
  /** Longest time that one call may take, in ms. */
  readonly callTimeoutMs: number
  /** Longest idle wait of a worker that sets none itself, in ms. */
  readonly pollMs?: number
  /** Claims of one worker in flight at once that keep the server busy. @default 1 */
  readonly claimsInFlight?: number
  /** A claim and a settle at once are faster than a claim that carries the outcomes. @default false */
  readonly settlesBeside?: boolean
  /** Slots from which the claims of a worker are so large that claims ahead cost more than they save. @default 50 */
  readonly prefetchBelow?: number
  /** A list by creation follows an index: its first page costs little unless other conditions pass over many jobs. @default false */
  readonly createdIndexed?: boolean
  /** Jobs per add, where several smaller calls keep the server busy while the caller works. @default 1_000 */
  readonly addsPerCall?: number
  /** Transactions that may stay open and still leave connections for other calls. @default 1 */
  readonly openTransactions?: number
  /** True if no other call can write while a transaction is open. @default false */
  readonly exclusiveTransactions?: boolean
}

/** A driver. `Storage<never>` has no transactions; `Storage` accepts every driver. */
export interface Storage<Tx = unknown> {
  /** Name for logs and metrics: 'memory', 'redis', … */
  readonly driver: string
  readonly features: StorageFeatures
  readonly settings: StorageSettings
  readonly kv: KeyValue

  /** Opens the storage. Calls are counted: one storage may serve many queues and workers, and the last disconnect() closes it. */
  connect(): Promise<void>
  /** Closes the storage with the last of its users. A surplus call does nothing. */
  disconnect(): Promise<void>
  /** Deletes everything under this prefix, key-value entries included. Opens a closed storage for the call. */
  clear(): Promise<void>

  /** Adds jobs, in the order given. It decides about ids, deduplication keys and blockers. */
  add(jobs: readonly NewJob[], tx?: Tx): Promise<AddVerdict[]>
  /**
   * Moves due jobs to `processing` under a lease. Within a type the order is priority, then runAt, then a sequence number.
   * A job gets its sequence number at the add, and a new one from every call that sets runAt (unblocking does not). Paused
   * types and groups, and busy groups, yield nothing. Rows that another call has locked may be passed over.
   *
   * Groups of a type that have a job to claim take turns, one job each, and so do the jobs without a group, as one more
   * group: with n of them, the next job of each is among the next n. The order above holds inside a group. Without turns
   * (`limits.group.fair: false`) it holds across groups too. Limits are kept over all processes, at every instant: a claim
   * that would exceed one yields less. A job that is too heavy for a rate is waited for, not overtaken.
   *
   * Before that it recovers lost leases of these types, at least as many as there are slots. Each counts a failure, and its
   * job goes behind those that wait. A job without an attempt left ends here. A job that this end unblocks is claimed by the
   * same call, or by a later one.
   */
  claim(request: ClaimRequest): Promise<Claim>
  /**
   * Sets the end of leases, to a later or an earlier instant. A lease that ran out is extended too, as long as no other call
   * took the job. It waits for no lock.
   */
  extend(leases: readonly Extension[]): Promise<LeaseVerdict[]>
  /** Records outcomes: with each its continuation, its jobs to add, the end of its chain, its dependents and its keys. */
  settle(outcomes: readonly Outcome[], tx?: Tx): Promise<SettleVerdict[]>
  /** Takes back lost leases, and attempts over an age. Each counts a failure; its job is due at once, behind those that wait. */
  recover(request: RecoverRequest): Promise<Recovered[]>
  /** Cancels waiting jobs at once, and jobs in processing as the options say. */
  cancel(jobs: readonly JobRef[], options?: CancelOptions): Promise<CancelVerdict[]>
  /** Makes failed and cancelled jobs live again, and sets the runAt of waiting ones. */
  revive(jobs: readonly Revival[], options?: ReviveOptions<Tx>): Promise<ReviveVerdict[]>
  /** Deletes chains that have ended, now or later; or whole trees, in any state. */
  remove(jobs: readonly JobRef[], options?: RemoveOptions<Tx>): Promise<RemoveVerdict[]>
  /** Pauses or resumes a type, or a group of it, for the claims of every process. Running jobs go on. */
  pause(request: PauseRequest): Promise<void>
  /**
   * Deletes expired records, deduplication keys and key-value entries. It also ends waiting jobs whose deadline is over, and
   * deletes ended records beyond the counts to keep. Never a running job, nor one that may still start.
   */
  sweep(request: SweepRequest): Promise<Swept>

  get(jobs: readonly (JobRef | KeyRef)[], options?: GetOptions<Tx>): Promise<(JobRecord | undefined)[]>
  list(query: ListQuery): Promise<Page>
  count(query: CountQuery): Promise<Counts>
  /** The earliest instant at which a claim of these types could return a job, ends of leases included. Undefined: never. */
  nextDueAt(types: readonly ClaimType[]): Promise<NextDue | undefined>

  /** Registers a listener. Resolves once every later signal will arrive. */
  listen(topics: readonly Topic[], onSignal: (signal: Signal) => void): Promise<Unlisten>

  /** Finds what the storage or its server does that may cost jobs or speed. It only reads. Absent: there is nothing to look at. */
  diagnose?(): Promise<Finding[]>

  /** Runs a function in a transaction, and rolls back if it rejects. Only drivers with `features.transactions` have it. */
  transaction?<T>(run: (tx: Tx) => Promise<T>): Promise<T>
}

// ── jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The state of a job. The table of its changes is storage/rules/job/states.ts. */
export type JobState =
  | 'scheduled' // waits for its runAt; reads and counts as queued once that has come
  | 'blocked' // waits for other chains
  | 'queued' // due
  | 'processing' // a worker holds its lease
  | 'failing' // waits for its next attempt after an error
  | 'completed'
  | 'failed'
  | 'cancelled'

/** Why the storage itself ended a job, without error bytes. `stalled`: no attempt is left. `expired`: not started in time. */
export type EndReason = 'stalled' | 'blocker_failed' | 'expired'

export interface JobRef {
  readonly type: string
  readonly id: string
}

/** Names the first job of the chain that holds a deduplication key now. */
export interface KeyRef {
  readonly type: string
  readonly key: string
}

/** The fence of an attempt. `worker` is unique to each claim call, and never used again. */
export interface LeaseRef extends JobRef {
  readonly worker: string
  readonly attempt: number
}

/** When a job is due: at an instant, or after a delay. Neither: now. */
export interface When {
  /** Epoch ms. An instant in the past means now. */
  readonly runAt?: number
  /** Ms from the storage's now. */
  readonly delayMs?: number
}

/** How long a record is kept after its end, in ms. 0: deleted at its end. Infinity: kept for ever. */
export interface Retention {
  readonly completedMs: number
  readonly failedMs: number
  readonly cancelledMs: number
}

/**
 * At most one job of a type per key.
 *
 * - `simple`: while the first job is live and, with a window, was accepted less than `windowMs` ago.
 * - `throttle`: for `windowMs` after the first job was accepted, even if it is gone. Without a window, while its record lives.
 * - `debounce`: the job is due `windowMs` after it is accepted. While it waits, a second add replaces its payload, and the job is
 *   due the `windowMs` of that add later, but at the latest its `maxWaitMs` after the job was accepted. While the job runs, or its
 *   chain has continued, a second add is a new job, which takes the key.
 * - `followUp`: while the first waits, as simple. While it runs, or its chain has continued, a second add is a follower: a job
 *   that takes the key, and is blocked until the first ends, whatever that ends in. Later adds replace the payload of the
 *   follower while it is blocked. If the follower ends before the first, the first has the key again.
 * - `ascending`: only a `version` above the last accepted one of the key, whatever became of its job. The last version is known
 *   for `ttlMs` after it was accepted, or for ever.
 *
 * The mode and window of the job that holds the key decide. A chain holds its key until the chain ends. A failed or cancelled
 * chain frees it at once. A `shared` key is different: all jobs of a token have it together, and keep it for the window.
 *
 * All adds of a key should have one mode. For an add of another mode, the holder of a `debounce` or `followUp` key is one of
 * `simple`, and so is that of an `ascending` key while its version is known. An add that takes the key ends what was known.
 */
export type Deduplication =
  | { readonly key: string; readonly mode: 'simple' | 'throttle'; readonly windowMs?: number; readonly shared?: false }
  | { readonly key: string; readonly mode: 'throttle'; readonly windowMs: number; readonly shared: true }
  | { readonly key: string; readonly mode: 'debounce'; readonly windowMs: number; readonly maxWaitMs?: number }
  | { readonly key: string; readonly mode: 'followUp' }
  | { readonly key: string; readonly mode: 'ascending'; readonly version: number; readonly ttlMs?: number }
export type DeduplicationMode = Deduplication['mode']

export interface NewJob extends JobRef, When {
  /** Identifies the call that adds this job, so that its repeat is no duplicate. It also tells one life of an id from the next. */
  readonly token: string
  /** An absent payload is not the same as one of zero bytes. */
  readonly payload?: Bytes
  /** Integer -100 … 100, higher first. @default 0 */
  readonly priority?: number
  readonly group?: JobGroup
  /** What its start takes of a rate. Integer of at least 1. @default 1 */
  readonly weight?: number
  /**
   * Largest number of jobs that may wait (scheduled, queued, failing or blocked) once this one is added: of its type, and of its
   * group. If it would be exceeded, the verdict is `queue_full`.
   */
  readonly maxWaiting?: { readonly type?: number; readonly group?: number }
  readonly deduplication?: Deduplication
  /** Number of attempts that may fail. Absent: the claiming worker decides (ClaimType). */
  readonly maxAttempts?: number
  /** Longest run of an attempt, in ms. The storage only keeps it: the worker applies it. */
  readonly timeoutMs?: number
  /**
   * Deadline of the first start, in ms from the storage's now. A waiting job without an attempt that reaches it ends as
   * cancelled, with reason `expired`: in the claim that would have leased it, or in a sweep.
   */
  readonly expiresInMs?: number
  readonly retention: Retention
  /** Opaque to the storage. */
  readonly trace?: string
  /** Fields by which a list finds the job (`where`). At most 16, with names of at most 64 characters and texts of at most 256. */
  readonly search?: SearchFields
  /**
   * If a waiting job has this id, and is alone in its chain: `replace` deletes that job, and adds this one in its stead.
   * Jobs that wait for the old one wait for the new one. Any other job keeps its id, and the verdict is `duplicate`.
   * @default 'return'
   */
  readonly onDuplicate?: 'return' | 'replace'
  /**
   * Chains that must complete before this job runs. A ref names the first job of a chain that exists before the call, or that
   * any job of this batch with the same token starts. A number is the position of a later job of this batch with the same
   * token. A chain that is named twice counts once. A blocker of this batch that is a duplicate, or replaced the payload of a
   * job, stands for the existing chain; a stale one is left out.
   * A job named by position has the job it blocks as `origin`, and its `root`. It is added only if one such job is.
   */
  readonly blockers?: readonly (JobRef | number)[]
  /**
   * A failed or cancelled blocker fails this job; or the job waits until a chain of that name completes; or it runs as if the
   * blocker had completed. @default 'fail'
   */
  readonly onBlockerFailure?: OnBlockerFailure
}

/**
 * Jobs of a type that share a limit. An ordered group runs one at a time, in the order of acceptance, across retries: its head
 * holds it until it ends, and priorities do not count inside it. While a group has unfinished jobs of one kind, ordered or not, a job of
 * the other kind is refused (`group_kind`).
 */
export type JobGroup =
  | { readonly key: string; readonly ordered?: false }
  | {
      readonly key: string
      readonly ordered: true
      /**
       * `hold`: if this job fails, the others wait until it is revived, replaced, removed or swept. A job whose record is kept for
       * 0 ms holds nothing. @default 'continue'
       */
      readonly onFailure?: 'continue' | 'hold'
    }

export type OnBlockerFailure = 'fail' | 'wait' | 'run'

export type SearchValue = string | number | boolean
export type SearchFields = Readonly<Record<string, SearchValue>>

/** An attempt that has ended. A record keeps the last 10 (`attemptsKept`). */
export interface AttemptRecord {
  readonly attempt: number
  readonly worker: string
  readonly label?: string
  readonly startedAt: number
  readonly endedAt: number
  /** `stalled` and `cancelled` are not ends by the worker: the lease was taken back, or the job was cancelled by force. */
  readonly outcome: Outcome['kind'] | 'stalled' | 'cancelled'
  /** The state that the job reached by it. */
  readonly state: JobState
  readonly error?: Bytes
}

/** What a record and a claimed job have in common. */
interface JobFields extends JobRef {
  readonly token: string
  /** Attempts that count: ended by an error or a lost lease, not released. */
  readonly failures: number
  /** Releases with a delay. */
  readonly snoozes: number
  readonly maxAttempts?: number
  readonly timeoutMs?: number
  readonly priority: number
  readonly group?: string
  /** Absent: 1. */
  readonly weight?: number
  readonly retention: Retention
  readonly trace?: string
  readonly createdAt: number
  /** When the job is, was or would be due. */
  readonly runAt: number
  /** The chain of the job: the ref of its first job. A job without a continuation is a chain of one. */
  readonly chain: JobRef
  readonly chainIndex: number
  /** The chain at the top of the tree that blockers by position form. */
  readonly root: JobRef
  /** The job before it in the chain, or the job that it was started to block. */
  readonly origin?: JobRef
}

export interface JobRecord extends JobFields {
  readonly state: JobState
  readonly reason?: EndReason
  /** Number of attempts begun. It never decreases. */
  readonly attempt: number
  readonly deduplicationKey?: string
  readonly startedAt?: number
  readonly finishedAt?: number
  /**
   * When the record expires. Absent while it is live, kept for ever, or needed by an unfinished dependent. A job that its chain
   * was continued after expires by its own retention, or with its chain; the first job expires with its chain only.
   */
  readonly expiresAt?: number
  /** Name of the worker that holds the job, or ended it, as its user gave it. */
  readonly label?: string
  readonly worker?: string
  readonly leaseUntil?: number
  /** True once its holder was asked to stop. */
  readonly cancelling?: boolean
  readonly cancelReason?: string
  /** When a first attempt must have begun. Absent after it began. */
  readonly deadlineAt?: number
  readonly search?: SearchFields
  readonly openBlockers: number
  // The parts below are present only if asked for (GetOptions.parts).
  readonly payload?: Bytes
  readonly result?: Bytes
  /** Error of the last attempt that failed, or was snoozed with one. */
  readonly error?: Bytes
  readonly attempts?: readonly AttemptRecord[]
  /** The last progress that an attempt reported. */
  readonly progress?: Bytes
  readonly log?: Log
  readonly blockers?: readonly JobRef[]
  /** On the first job of a chain: the last job, whose state is the state of the chain. */
  readonly tail?: JobRecord
}

/** The lines that the attempts of a job logged: the last 1,000 (`logLinesKept`), and at most 64 KiB (`logBytesKept`). */
export interface Log {
  readonly lines: readonly LogLine[]
  /** Number of older lines that were deleted. */
  readonly dropped: number
}
export interface LogLine {
  readonly attempt: number
  /** Epoch ms of the storage's clock, as far as the worker knows. */
  readonly at: number
  readonly line: Bytes
}

/**
 * What a running attempt reports. It is fenced with the call that carries it.
 *
 * The instants of its lines tell a repeat from news. Each line of an attempt is later than the one before it, by a part of a
 * millisecond if need be (multiples of 2^-10 ms; a driver keeps them exactly). A line that is not later than the newest one stored
 * of the same attempt is not stored again: it is of a call that is repeated, or that arrives after a later one.
 */
export interface Report {
  readonly progress?: Bytes
  readonly log?: readonly { readonly at: number; readonly line: Bytes }[]
}

// ── add ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * The job under an id or key after an add: the added one, or the existing one, with the state and result of its chain. A job
 * that is gone, and known only by the window of its key, reads `completed`.
 */
export interface Standing extends JobRef {
  readonly token: string
  readonly state: JobState
  /** Absent if the job is gone. */
  readonly createdAt?: number
  readonly result?: Bytes
}

/**
 * - `added`: also the answer to a repeat. A failed or cancelled chain under this id is replaced, with all its jobs.
 * - `replaced`: a waiting job of this id was deleted, and this one added (`onDuplicate`); its repeat gets `added`. Or the payload
 *   of the job that holds the key was replaced (`debounce`, `followUp`): nothing was added, and `job` is that job.
 * - `duplicate`: the id belongs to a live or completed chain or to an earlier job of this call, or the key is held.
 * - `stale`: the version is not above the last accepted one (`ascending`), which `version` says.
 * - `skipped`: a blocker by position none of whose dependents was added.
 * - `blocker_not_found`, `group_kind`, `queue_full` (of the type, of the group): the job is refused, with every job of the same
 *   token and no other. If several apply, it is the first in this order. A job that is alone with its token and a duplicate is not
 *   refused by the last two. Of a token with several jobs each counts, whether it is a duplicate or not.
 */
export type AddVerdict =
  | { readonly verdict: 'added' | 'replaced'; readonly job: Standing }
  | { readonly verdict: 'duplicate'; readonly by: 'id' | 'key'; readonly job: Standing }
  | { readonly verdict: 'stale'; readonly version: number }
  | { readonly verdict: 'skipped' }
  | { readonly verdict: 'blocker_not_found'; readonly blocker: JobRef }
  | { readonly verdict: 'queue_full'; readonly of: 'type' | 'group'; readonly waiting: number }
  | { readonly verdict: 'group_kind'; readonly ordered: boolean }

// ── claim ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** At most `limit` of weight is started in any interval of `perMs`. Attempts count, not jobs. */
export interface Rate {
  readonly limit: number
  readonly perMs: number
}

export interface GroupLimits {
  /** Largest number of jobs of a group in processing. An ordered group has one, whatever this says. */
  readonly limit?: number
  readonly rate?: Rate
}

/** Limits of a type, over all processes. Every claim of a type should have the same: they are not stored, the claim decides. */
export interface Limits {
  /** Largest number of jobs of the type in processing. A lost lease counts until its end. */
  readonly concurrency?: number
  readonly rate?: Rate
  /** Of every group. */
  readonly group?: GroupLimits & {
    /** Groups take turns. @default true */
    readonly fair?: boolean
  }
  /** Of the groups of these keys, in the place of `group`. */
  readonly groups?: Readonly<Record<string, GroupLimits>>
}

export interface ClaimType {
  readonly type: string
  readonly leaseMs: number
  /** Largest number of jobs of this type. @default the request's slots */
  readonly slots?: number
  /** For jobs without `maxAttempts`. */
  readonly maxAttempts?: number
  readonly limits?: Limits
}

export interface ClaimRequest {
  /**
   * Unique to the call: label (unless it is long), a random part per start, and the number of the call. A name of aheadWorker() claims ahead: for
   * slots that will soon be free. Such a claim takes no job of a type with limits or with groups in turn, none with a deadline,
   * and none behind one that must have a free slot (rules/job/ahead.ts).
   */
  readonly worker: string
  readonly label?: string
  /** Largest number of jobs. */
  readonly slots: number
  /** Outcomes that are settled first, in the same call. */
  readonly outcomes?: readonly Outcome[]
  /**
   * Offers the slots that the claim leaves free, with the feature `handsOver`: a storage without it ignores the offer. For a caller that
   * listens to the `wake` of its only type. An add of one job that this claim would have leased, had it been there, may lease it under
   * handedWorker(worker, a new number), and its hint carries the job. The storage never has to: limits, groups, priorities, pauses and jobs that are due
   * before it leave a job to claims. rules/job/handed.ts has the times.
   */
  readonly offer?: Offer
  /** Types in turn: one job of each type that has one due, in this order, before a second job of any type. */
  readonly types: readonly ClaimType[]
}

export interface Offer {
  /** Name of the worker, the same for all its claims: its next offer replaces this one. */
  readonly by: string
  /** Number of slots; what the claim finds is taken off it. 0: only ends the last offer. */
  readonly slots: number
}

export interface ClaimedJob extends LeaseRef, JobFields {
  readonly payload?: Bytes
  readonly startedAt: number
  readonly leaseUntil: number
  /** As in JobRecord. */
  readonly error?: Bytes
  /** In the order of the add, with the results of their chains. */
  readonly blockers: readonly { readonly type: string; readonly id: string; readonly result?: Bytes }[]
}

/** A lease that was taken back. Its job waits again, or has ended. */
export interface Recovered extends LeaseRef {
  readonly label?: string
  readonly state: JobState
}

/** A job that the storage ended: instead of running it, or because another job ended. */
export interface Ended extends JobRef {
  /** The chain that ended with it. */
  readonly chain: JobRef
  readonly state: 'failed' | 'cancelled'
  readonly reason?: EndReason
  readonly attempt: number
  readonly failures: number
  readonly payload?: Bytes
}

export interface NextDue {
  readonly at: number
  /** The storage's clock, for the caller to compute a delay. */
  readonly now: number
}

export interface Claim {
  readonly jobs: readonly ClaimedJob[]
  readonly recovered: readonly Recovered[]
  readonly ended: readonly Ended[]
  /** Verdicts of the request's outcomes. */
  readonly settled: readonly SettleVerdict[]
  /** What nextDueAt() would return now; null: never. A driver may give it with fewer jobs than slots. */
  readonly nextDue?: NextDue | null
}

// ── extend, settle ───────────────────────────────────────────────────────────────────────────────────────────────────

/** Why a fenced write was refused. A job that was taken back and waits counts as taken; a failed one as completed. */
export type Refusal = 'taken_by_another_worker' | 'already_completed' | 'not_found' | 'cancelled'

export interface Extension extends LeaseRef, Report {
  readonly leaseMs: number
}

/** `cancelling`: extended, but the holder should stop. `busy`: the record is locked, ask again. */
export type LeaseVerdict =
  | { readonly verdict: 'extended'; readonly until: number }
  | { readonly verdict: 'cancelling'; readonly until: number; readonly reason?: string }
  | { readonly verdict: 'busy' }
  | { readonly verdict: Refusal }

/** What an outcome ends: an attempt; or, without a worker, a chain whose tail is still the expected job. */
export type Fence = LeaseRef | Workerless
/** Type and id are those of the expected tail. */
export interface Workerless extends JobRef {
  readonly chain: JobRef
  /** Takes the place of a fence: a repeat is recognised by it. */
  readonly token: string
}

/** Jobs to add in the same call. If one is refused (as in AddVerdict), the outcome is refused: `conflict`. */
interface Adding {
  readonly add?: readonly NewJob[]
}

/**
 * How an attempt ended. `retry` and `failed` count a failure; a `retry` of the last allowed attempt fails the job.
 * `stalled` marks an attempt that was given up instead of ending in an error: a retry is due at once, a failure has no error.
 * While its job is `cancelling`, any outcome but `completed` ends it as `cancelled`.
 */
export type Outcome = (LeaseRef & Ending & Report) | (Workerless & Ending)
export type Ending =
  | (Adding & { readonly kind: 'completed'; readonly result?: Bytes; readonly keepMs?: number })
  | (When & { readonly kind: 'retry'; readonly error?: Bytes; readonly stalled?: boolean })
  | (Adding & { readonly kind: 'failed'; readonly error?: Bytes; readonly stalled?: boolean; readonly keepMs?: number })
  // Without a time, the job returns to its old place, with its runAt and sequence number. With one, even in the past, it is a
  // snooze. The job is queued or scheduled then, never failing. A payload replaces that of the job. So does the error of a
  // snooze: a snooze without an error removes it.
  // With `slowDown`, it is not counted as a snooze, and no other job of its type, or of its group, is claimed before that time
  // either: of several, the latest counts. A job slows no other by 'job', nor by 'group' without a group, nor if it ends as cancelled.
  | (When & {
      readonly kind: 'released'
      readonly payload?: Bytes
      readonly error?: Bytes
      readonly slowDown?: 'type' | 'group' | 'job'
    })
  // `next` becomes the tail of the chain, with its root and key; a deduplication of its own is ignored. The verdict is
  // `conflict` if its id is taken, or if a job waits for a chain of that name. `next` and `add` are one batch, in this order:
  // positions of blockers count in it.
  | (Adding & { readonly kind: 'continued'; readonly next: NewJob })

/** A repeat, recognised by its fence alone, gets the state that the first call reached, and empty lists. */
export type SettleVerdict =
  | {
      readonly verdict: 'settled'
      readonly state: JobState
      readonly runAt?: number
      readonly expiresAt?: number
      /** Verdicts of `next`, then of `add`. */
      readonly added: readonly AddVerdict[]
      /** Dependents that failed with the job. */
      readonly ended: readonly Ended[]
      /** Dependents that no longer wait for a blocker. */
      readonly unblocked: readonly JobRef[]
    }
  | { readonly verdict: 'conflict'; readonly added: readonly AddVerdict[] }
  | { readonly verdict: Refusal }

// ── the other writes ─────────────────────────────────────────────────────────────────────────────────────────────────

export interface RecoverRequest {
  readonly types: readonly string[]
  readonly limit: number
  /** Also takes back attempts that began longer ago than this, whatever their lease. */
  readonly olderThanMs?: number
}

export interface CancelOptions {
  /** The refs name chains, whose tails are cancelled. */
  readonly chains?: boolean
  /** Asks the holder of a job in processing to stop. */
  readonly abort?: boolean
  /** Ends a job in processing at once. Its worker learns it by the fence. */
  readonly force?: boolean
  readonly reason?: string
}
export type CancelVerdict = {
  readonly verdict: 'cancelled' | 'cancelling' | 'processing' | 'completed' | 'failed' | 'not_found'
  /** Dependents that failed with the job. Absent: none. */
  readonly ended?: readonly Ended[]
}

/** A job to revive, with the payload that replaces its own, if any. */
export interface Revival extends JobRef {
  readonly payload?: Bytes
}
/** Without a time: due now. */
export interface ReviveOptions<Tx = unknown> extends When {
  /** Only jobs that wait, or only ended ones; others are `not_revivable`. @default both */
  readonly only?: 'waiting' | 'ended'
  readonly tx?: Tx
}
/**
 * - `revived`: the job was failed or cancelled. Its failures start at 0; it goes behind those that wait, but to its old place
 *   in its group. It has no deadline any more.
 * - `moved`: the job was waiting.
 * - `conflict`: its key was taken since, or its group has jobs of the other kind.
 */
export type ReviveVerdict = { readonly verdict: 'revived' | 'moved' | 'not_revivable' | 'conflict' | 'not_found' }

export interface RemoveOptions<Tx = unknown> {
  /** The refs name roots, whose trees are removed in any state, all of them or none. Otherwise: chains that have ended. */
  readonly trees?: boolean
  /** Removes ended chains after this time instead of now: sets their expiry. */
  readonly afterMs?: number
  readonly tx?: Tx
}
export type RemoveVerdict =
  | { readonly verdict: 'removed' | 'not_terminal' | 'not_found' }
  | { readonly verdict: 'kept'; readonly until: number }
  /** With `trees`: the root above it. Otherwise: the first job of its chain. */
  | { readonly verdict: 'not_root'; readonly root: JobRef }
  /** Unfinished jobs outside need it. */
  | { readonly verdict: 'referenced'; readonly by: readonly JobRef[] }
  /** It could be removed, but another tree of the batch could not. */
  | { readonly verdict: 'untouched' }

export interface PauseRequest {
  readonly type: string
  /** Pauses or resumes this group only. */
  readonly group?: string
  readonly paused: boolean
  /**
   * Name of the operator. A second pause keeps the time and name of the first. The name of a package (`@holdfast/…`): the pause ends by
   * itself, so one of an operator replaces it, and a resume under the name ends the package's own pause only.
   */
  readonly by?: string
}

export interface SweepRequest {
  /** Largest number of deletions of each kind. */
  readonly limit: number
  /**
   * Ended chains of a type and state beyond this number are deleted, unless a dependent needs them: those that expire first,
   * then those that are kept for ever, oldest end first. The first bound reached wins, so a count applies whatever the age.
   * A driver may count the records of the type in this state instead, those of longer chains included, and then deletes more.
   * Jobs that this call ends itself are counted by it, or by the next one.
   */
  readonly keep?: readonly KeepCount[]
}
export interface KeepCount {
  readonly type: string
  readonly state: 'completed' | 'failed' | 'cancelled'
  readonly count: number
}
/** Number of deletions of each kind. */
export interface Swept {
  readonly jobs: number
  /** Jobs that reached their deadline without having started, and jobs that failed with them. */
  readonly ended: readonly Ended[]
  readonly marks: number
  readonly entries: number
  /** True if something is left that has expired already, or is beyond the counts. */
  readonly more: boolean
}

// ── reads ────────────────────────────────────────────────────────────────────────────────────────────────────────────

export type RecordPart = 'payload' | 'result' | 'error' | 'attempts' | 'progress' | 'log' | 'blockers' | 'tail'

export interface GetOptions<Tx = unknown> {
  readonly parts?: readonly RecordPart[]
  /** Keeps other transactions from changing the jobs until this one ends. */
  readonly lock?: boolean
  readonly tx?: Tx
}

export interface ListQuery {
  /** `chains` lists first jobs, each with its tail; `states` are then the states of chains. */
  readonly of: 'jobs' | 'chains'
  readonly types?: readonly string[]
  readonly states?: readonly JobState[]
  readonly group?: string
  /** Every field has one of the values, or is in the range. Only jobs that were added with these fields. */
  readonly where?: Where
  readonly chain?: JobRef
  /** Only chains that were not started as a blocker by position. */
  readonly rootOnly?: boolean
  readonly createdFrom?: number
  /** Exclusive. */
  readonly createdTo?: number
  /**
   * - `created`: by createdAt, then type and id. Text is compared as the storage does, in the same way on every page.
   * - `place`: in the order in which the storage keeps them: by type; waiting jobs as they come due, running ones by their
   *   lease, ended ones by their end or expiry. The work per page is bounded whatever the number of jobs: a page may have
   *   fewer items than the limit, or none, and still a nextCursor. A job that moves while pages are read may be missed, or
   *   be listed twice.
   * @default 'created'
   */
  readonly by?: 'created' | 'place'
  /** @default 'desc' */
  readonly order?: 'asc' | 'desc'
  readonly cursor?: string
  /** Integer 1 … 1000. */
  readonly limit: number
  /**
   * Jobs that a page by creation looks at, about: an integer of at least 1. With `settings.createdIndexed`, a page may then have fewer
   * items than the limit, or none, and still a nextCursor; without, it is `truncated`. Jobs of one instant are looked at together.
   * A driver that has the jobs in its own memory may look at all. @default no bound
   */
  readonly maxScanned?: number
  readonly parts?: readonly RecordPart[]
}
export interface Page {
  readonly items: readonly JobRecord[]
  /** Absent on the last page. */
  readonly nextCursor?: string
  /**
   * The storage has no index for the query, and stopped after 100,000 records, or after `maxScanned`: there may be more. For a `where`,
   * if `searchIndexed` is false; by creation, if it keeps no order by date.
   */
  readonly truncated?: true
}

/** Per field: a value, a list of values of which one must match, or bounds of numbers or texts. */
export type Where = Readonly<Record<string, SearchValue | readonly SearchValue[] | SearchRange>>
export interface SearchRange {
  readonly gt?: number | string
  readonly gte?: number | string
  readonly lt?: number | string
  readonly lte?: number | string
}

export interface CountQuery {
  /** @default every type that has a record or is paused */
  readonly types?: readonly string[]
  /** Asks for the use of limits of one type, and of groups of it. */
  readonly limits?: { readonly type: string; readonly limits: Limits; readonly groups?: readonly string[] }
  /** Asks which job of a type a claim would start next, and what keeps it from a start. The cost does not depend on the backlog. */
  readonly next?: NextQuery
}
export interface NextQuery {
  readonly type: string
  readonly limits: Limits
  /** A group of the type that is looked at, too. */
  readonly group?: string
  /** Weight of the start that `freesAt` is about. @default 1 */
  readonly weight?: number
}
export interface TypeCounts {
  readonly type: string
  readonly states: Readonly<Record<JobState, number>>
  /** Jobs that could be claimed by time: waiting and due, or with a lost lease. Groups and pauses are not considered. */
  readonly due: number
  /** Jobs that wait and are not yet due, without blocked ones. */
  readonly delayed: number
  /** Earliest runAt of a waiting job that is due. */
  readonly oldestDueAt?: number
  readonly paused?: Paused
  readonly pausedGroups: readonly (Paused & { readonly group: string })[]
  /** Set while a `slowDown` of the type is in force. */
  readonly slowedUntil?: number
  /** The use of the limits that the query named for this type. */
  readonly limits?: LimitUse
  /** The groups that the query named, whether they have jobs or not. */
  readonly groups?: readonly GroupUse[]
}
/**
 * The use of a rate: of its window that ends now, and the instant at which a start of weight 1 is possible. While a heavier job is
 * waited for, that is the instant at which it may start.
 */
export interface LimitUse {
  readonly running: number
  /** Absent without a rate. */
  readonly used?: number
  /** Absent: a start is possible now. Infinity: only once a running job ends. */
  readonly freesAt?: number
}
export interface GroupUse extends LimitUse {
  readonly group: string
  readonly waiting: number
  readonly slowedUntil?: number
  /** Id of the failed job that holds the group (`onFailure: 'hold'`). */
  readonly heldBy?: string
}
export interface Paused {
  readonly since: number
  readonly by?: string
}
export interface Counts {
  readonly now: number
  readonly types: readonly TypeCounts[]
  /** The answer to `next` of the query. */
  readonly next?: NextStart
}
/** What a claim of a type would start next. `freesAt` is for the weight of the query, or for a heavier job that is waited for. */
export interface NextStart extends LimitUse {
  readonly paused?: Paused
  readonly slowedUntil?: number
  /** First end of a lease of the type, without those of paused groups. In the past: a claim first takes that job back. */
  readonly leaseEnd?: number
  /** Id of the job that comes first among those without a group that are due. */
  readonly line?: string
  /** Number of jobs of the type that wait and are due. Absent: the storage would have to count them one by one. */
  readonly due?: number
  /**
   * Whose turn it is: that of a group or, without `group`, of the jobs without one. Absent if nothing is due; and without turns
   * (`fair: false`), if several could be next.
   */
  readonly turn?: { readonly group?: string }
  /** The group that the query named, whether it has jobs or not. */
  readonly group?: NextOfGroup
}
export interface NextOfGroup extends GroupUse {
  readonly paused?: Paused
  /** The kind of its unfinished jobs. */
  readonly ordered: boolean
  /** Id of its first job: of an ordered group, the first unfinished one, in any state; else of those that are due. */
  readonly job?: string
  /** When the group may start a job; a past instant: now. Absent: not before another call changes that. */
  readonly turnAt?: number
}

/** Something that an operator should change. */
export interface Finding {
  /** Such as `eviction` or `disk_nearly_full`: docs/doctor.md. */
  readonly code: string
  /** `error`: jobs may be lost, run twice or do not run. `warning`: it costs speed, or will become an error. */
  readonly severity: 'error' | 'warning'
  /** What was found, with its figures. */
  readonly sentence: string
  /** What to do. */
  readonly fix: string
}

// ── hints ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Signals are sent after the commit, to listeners in the sender's process too.
 *
 * - `wake`: a job began to wait, due or not; a type or group was resumed; or a limit that kept a job waiting was freed.
 * - `done`: ids of chains (their first jobs) that ended or are gone.
 * - `abort`: ids of running jobs whose lease should be checked: asked to stop, cancelled, taken back, completed without a
 *   worker, or removed.
 * - `events`: what the sender's calls did. Added, unblocked or revived: queued or scheduled. Claimed: processing. Settled:
 *   completed, failing, failed, cancelled or requeued. Taken back or given up: stalled, then what it ended in.
 */
export type TopicKind = 'wake' | 'done' | 'abort' | 'events'
export interface Topic {
  readonly kind: TopicKind
  readonly type: string
}
export interface JobEvent {
  readonly event:
    | 'queued'
    | 'scheduled'
    | 'processing'
    | 'failing'
    | 'completed'
    | 'failed'
    | 'cancelled'
    | 'stalled'
    | 'requeued'
  readonly id: string
  /** Number of attempts that count, this one included; 0 before the first. */
  readonly attempt: number
  readonly at: number
  readonly label?: string
}
/** A hint may be lost or arrive twice: it says "look". Entries of `events` arrive once and in order, or `gap` says that some are missing. */
export interface Signal extends Topic {
  /** Absent: any job of the type. */
  readonly ids?: readonly string[]
  readonly events?: readonly JobEvent[]
  /**
   * With `wake`: a job that was leased to the worker that offered a slot (ClaimRequest.offer). Its fence says to which. For all others
   * the hint says that the job may be claimed once this lease is over.
   */
  readonly handed?: ClaimedJob
  /** With `done`, from a driver that knows the results already: those of the ids that completed, in the order of `ids`. */
  readonly completed?: readonly { readonly id: string; readonly token: string; readonly result: Bytes | undefined }[]
  readonly gap?: true
}
export type Unlisten = () => Promise<void>
