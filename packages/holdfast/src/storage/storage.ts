// The storage contract: what the engine asks of a driver, and all that the author of a driver must read.
//
// A move is a batch, and each call is atomic: all of it happened, or nothing. Where a move answers with verdicts there is
// one per item, in order; items take effect in order too, each seeing those before it. A read shows one instant; what has expired is absent, swept or not.
//
//   - Time is the storage's own, asked for once inside each call. Nobody's clock but that one decides what is due or lost.
//   - Every write after a claim is fenced by (type, id, worker, attempt), and a refused write changes nothing.
//   - No setters, no look-then-act over two calls. A call repeated after a lost answer is answered as the first: an add is
//     known by its token, a settle by its fence among the attempts kept on the record; the jobs of a lost claim come back
//     by their lease. (A record kept for 0 ms may be gone by then: the repeat of its settle is told `not_found`.)
//   - Payload, result and error are bytes: never parsed, never changed, handed out for reading only. Ids, types, keys and
//     labels are data of any content.
//   - Bad input is refused by checkNewJobs, checkOutcomes and checkListQuery (storage/check.ts), to be called first.
//   - A call on a closed storage rejects with code STORAGE_CLOSED (one in memory is never closed). An error with
//     `transient: true` says that the same call may go through in a moment: the wrapper repeats it. One with
//     `maybeApplied: false`, that certainly nothing was written.
//   - No logging, metrics or retries in a driver: the wrapper around the contract has them (storage/guard.ts).
//
// Longer than others so that it is the only one: the verbs first, then what they carry.
// The contract may change before 1.0. `holdfast/conformance` is the test of it.

import type { KeyValue } from './kv.ts'

export type Bytes = Uint8Array

// ── the contract ─────────────────────────────────────────────────────────────────────────────────────────────────────

export interface StorageFeatures {
  /** Moves can join the user's transaction (`tx`). */
  readonly transactions: boolean
  /** What was acknowledged survives a power cut. */
  readonly durable: boolean
  /** Several processes of one machine may use it at once. */
  readonly sharedByProcesses: boolean
  /** Several machines may. */
  readonly distributed: boolean
  readonly searchIndexed: boolean
  /** `events` reach every process. */
  readonly fleetEvents: boolean
}

export interface StorageSettings {
  /** How long one call may take. */
  readonly callTimeoutMs: number
  /** Longest idle wait of a worker that sets none itself, in ms. */
  readonly pollMs?: number
  /** So many claims of one worker under way at once keep a server busy while the worker is. @default 1 */
  readonly claimsInFlight?: number
  /** Adds in one call, where several smaller calls keep a server busy while the caller is. @default 1_000 */
  readonly addsPerCall?: number
  /** So many transactions may be open for long, and still leave room for the other calls. @default 1 */
  readonly openTransactions?: number
  /** While a transaction is open, nobody else can write. @default false */
  readonly exclusiveTransactions?: boolean
}

/** `Storage<never>`: without transactions. `Storage` alone accepts every one. */
export interface Storage<Tx = unknown> {
  /** 'memory', 'redis', …: for logs and metrics. */
  readonly driver: string
  readonly features: StorageFeatures
  readonly settings: StorageSettings
  readonly kv: KeyValue

  /** Counted: one storage may serve many queues and workers, and the last one out closes it. */
  connect(): Promise<void>
  /** A surplus one does nothing. */
  disconnect(): Promise<void>
  /** Everything under this prefix, kv too; opens a closed storage for the call. */
  clear(): Promise<void>

  /** Decides ids, keys and blockers, and writes the jobs in the order given. */
  add(jobs: readonly NewJob[], tx?: Tx): Promise<AddVerdict[]>
  /**
   * Moves due jobs to `processing` under a lease, within a type by priority, then runAt, then a sequence number: taken at
   * the add, and anew by every move that sets runAt (not by unblocking). Groups and pauses considered; rows that another
   * call has locked may be passed over.
   * Lost leases of these types are taken back first, at least as many as there are slots (a failure each; behind what
   * waits). Jobs without an attempt left end here.
   */
  claim(request: ClaimRequest): Promise<Claim>
  /** Sets the lease's end anew, also to an earlier one. One that ran out is still good while nobody took the job. Waits for no lock. */
  extend(leases: readonly Extension[]): Promise<LeaseVerdict[]>
  /** Outcome, continuation, jobs to add, end of the chain, dependents and keys in one move. */
  settle(outcomes: readonly Outcome[], tx?: Tx): Promise<SettleVerdict[]>
  /** Takes back lost leases, and attempts over an age: a failure each; due at once, behind what waits. */
  recover(request: RecoverRequest): Promise<Recovered[]>
  /** Waiting: cancelled at once. Processing: by the options. */
  cancel(jobs: readonly JobRef[], options?: CancelOptions): Promise<CancelVerdict[]>
  revive(jobs: readonly JobRef[], options?: ReviveOptions<Tx>): Promise<ReviveVerdict[]>
  remove(jobs: readonly JobRef[], options?: RemoveOptions<Tx>): Promise<RemoveVerdict[]>
  /** From now on no claim of it, in any process; what runs goes on. */
  pause(request: PauseRequest): Promise<void>
  /** Deletes what has expired: records, key marks, kv entries. Never a live job. */
  sweep(request: SweepRequest): Promise<Swept>

  get(jobs: readonly (JobRef | KeyRef)[], options?: GetOptions<Tx>): Promise<(JobRecord | undefined)[]>
  list(query: ListQuery): Promise<Page>
  count(query: CountQuery): Promise<Counts>
  /** The earliest instant at which a claim of these types could yield something, ends of leases included. */
  nextDueAt(types: readonly ClaimType[]): Promise<{ readonly at: number; readonly now: number } | undefined>

  /** Resolves once every later signal will come. */
  listen(topics: readonly Topic[], onSignal: (signal: Signal) => void): Promise<Unlisten>

  /** Drivers with `features.transactions` only. Rolls back if `run` rejects. */
  transaction?<T>(run: (tx: Tx) => Promise<T>): Promise<T>
}

// ── jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The life of a job; the table of its changes is job/states.ts. */
export type JobState =
  | 'scheduled' // waits for its runAt; read and counted as queued once that has come
  | 'blocked' // waits for other chains
  | 'queued' // due
  | 'processing' // somebody holds its lease
  | 'failing' // waits for its next attempt after an error
  | 'completed'
  | 'failed'
  | 'cancelled'

/** Why the storage itself ended a job. `stalled`: its attempts are used up. There are no error bytes then. */
export type EndReason = 'stalled' | 'blocker_failed'

export interface JobRef {
  readonly type: string
  readonly id: string
}

/** The first job of the chain that holds a deduplication key now. */
export interface KeyRef {
  readonly type: string
  readonly key: string
}

/** The fence. `worker` is new with each claim call and never repeats. */
export interface LeaseRef extends JobRef {
  readonly worker: string
  readonly attempt: number
}

/** When: an instant (epoch ms; one in the past is now), or a delay from the storage's now. Neither: now. */
export interface When {
  readonly runAt?: number
  readonly delayMs?: number
}

/** How long a record is kept after its end, in ms. 0: gone at its end. Infinity: kept. */
export interface Retention {
  readonly completedMs: number
  readonly failedMs: number
  readonly cancelledMs: number
}

/**
 * At most one job of a type per key.
 *
 * - `simple`: while the first is live and, with a window, was accepted less than `windowMs` ago.
 * - `throttle`: for `windowMs` since the first was accepted, even if it is gone; without a window while its record lives.
 *
 * The mode and window of the job that holds the key decide. A chain holds its key until the chain ends. A failed or cancelled one frees it at once, unless it is `shared`: one key
 * for all jobs of a token, taken once, for the window.
 */
export type Deduplication =
  | { readonly key: string; readonly mode: 'simple' | 'throttle'; readonly windowMs?: number; readonly shared?: false }
  | { readonly key: string; readonly mode: 'throttle'; readonly windowMs: number; readonly shared: true }

export interface NewJob extends JobRef, When {
  /** Names the call that adds this job, so that its repeat is no duplicate of itself; also tells one life of an id from the next. */
  readonly token: string
  /** Absent is a payload of its own: not zero bytes. */
  readonly payload?: Bytes
  /** Integer -100…100, greater first. @default 0 */
  readonly priority?: number
  /** An ordered group: one at a time, in the order of acceptance, kept across retries. Its head holds it until it ends. */
  readonly group?: { readonly key: string; readonly ordered: true }
  readonly deduplication?: Deduplication
  /** Attempts that may fail. Absent: the claiming worker says (ClaimType). */
  readonly maxAttempts?: number
  readonly retention: Retention
  /** Opaque to the storage. */
  readonly trace?: string
  /**
   * Chains that must complete first, by their first job: chains that exist before the call, or that it adds anywhere in
   * this batch with the same token; or positions of later jobs of this batch with the same token. One chain may stand in
   * several places; it counts once. One of this batch that is a duplicate stands for the chain in its way.
   * A job named by position starts under the job it blocks (`origin`, `root`), and is added only if one such job is.
   */
  readonly blockers?: readonly (JobRef | number)[]
  /** A failed or cancelled blocker fails this job, or it waits until a chain of that name completes. @default 'fail' */
  readonly onBlockerFailure?: 'fail' | 'wait'
}

/** One ended attempt. The record keeps the last 10. */
export interface AttemptRecord {
  readonly attempt: number
  readonly worker: string
  readonly label?: string
  readonly startedAt: number
  readonly endedAt: number
  /** `stalled`, `cancelled`: ended by others, when its lease was taken back or its job cancelled by force. */
  readonly outcome: Outcome['kind'] | 'stalled' | 'cancelled'
  /** The state that the job reached by it. */
  readonly state: JobState
  readonly error?: Bytes
}

export interface JobRecord extends JobRef {
  readonly token: string
  readonly state: JobState
  readonly reason?: EndReason
  /** Attempts begun; only grows. */
  readonly attempt: number
  /** Attempts that count: ended by an error or a lost lease, not released. */
  readonly failures: number
  /** Releases with a delay. */
  readonly snoozes: number
  readonly maxAttempts?: number
  readonly priority: number
  readonly group?: string
  readonly deduplicationKey?: string
  readonly retention: Retention
  readonly trace?: string
  readonly createdAt: number
  /** When it is, was or would be due. */
  readonly runAt: number
  readonly startedAt?: number
  readonly finishedAt?: number
  /** When the record goes. Absent: not terminal, kept for ever, or needed by an unfinished dependent. */
  readonly expiresAt?: number
  /** The name people gave the worker that holds it, or ended it. */
  readonly label?: string
  readonly worker?: string
  readonly leaseUntil?: number
  /** A stop was asked of its holder. */
  readonly cancelling?: boolean
  readonly cancelReason?: string
  /** The chain it belongs to: the ref of its first job. A job nothing continued is a chain of one. */
  readonly chain: JobRef
  readonly chainIndex: number
  /** The chain at the top of the tree that blockers by position span. */
  readonly root: JobRef
  /** The job before it in the chain, or the one it was started to block. */
  readonly origin?: JobRef
  readonly openBlockers: number
  // Only if asked for (GetOptions.parts):
  readonly payload?: Bytes
  readonly result?: Bytes
  /** Of the last attempt that failed, or was put off. */
  readonly error?: Bytes
  readonly attempts?: readonly AttemptRecord[]
  readonly blockers?: readonly JobRef[]
  /** Of a chain's first job: the last job, whose state is the chain's. */
  readonly tail?: JobRecord
}

// ── add ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * The job that stands after an add: the one added, or the one in the way, with its chain's state and result. One that is
 * gone, and known only by its key's window, reads `completed`.
 */
export interface Standing extends JobRef {
  readonly token: string
  readonly state: JobState
  /** Absent of one that is gone; of others it spares whoever asks a read. */
  readonly createdAt?: number
  readonly result?: Bytes
}

/**
 * - `added`: also the answer to a repeat. A failed or cancelled chain under this id is replaced, all its jobs with it.
 * - `duplicate`: the id is taken (by a live or completed chain, or by an earlier job of this call) or the key is.
 * - `skipped`: a blocker by position whose dependents are all duplicates.
 * - `blocker_not_found`: refused, and with it every job of the same token, and no other.
 */
export type AddVerdict =
  | { readonly verdict: 'added'; readonly job: Standing }
  | { readonly verdict: 'duplicate'; readonly by: 'id' | 'key'; readonly job: Standing }
  | { readonly verdict: 'skipped' }
  | { readonly verdict: 'blocker_not_found'; readonly blocker: JobRef }

// ── claim ────────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ClaimType {
  readonly type: string
  readonly leaseMs: number
  /** At most so many of this type. @default the request's slots */
  readonly slots?: number
  /** For jobs that have none of their own. */
  readonly maxAttempts?: number
}

export interface ClaimRequest {
  /** New with each call: label + random part per start + number of the call. */
  readonly worker: string
  readonly label?: string
  readonly slots: number
  /** Settled first, in the same move. */
  readonly outcomes?: readonly Outcome[]
  /** In turns: one job of each type that has one due, in this order, before a second of any. */
  readonly types: readonly ClaimType[]
}

export interface ClaimedJob extends LeaseRef {
  readonly token: string
  readonly payload?: Bytes
  readonly failures: number
  readonly snoozes: number
  readonly maxAttempts?: number
  readonly priority: number
  readonly group?: string
  readonly retention: Retention
  readonly trace?: string
  readonly createdAt: number
  readonly runAt: number
  readonly startedAt: number
  readonly leaseUntil: number
  /** As JobRecord has it. */
  readonly error?: Bytes
  readonly chain: JobRef
  readonly chainIndex: number
  readonly root: JobRef
  readonly origin?: JobRef
  /** In the order given at the add; results of their chains. */
  readonly blockers: readonly { readonly type: string; readonly id: string; readonly result?: Bytes }[]
}

/** A lease that was taken back: its job waits again, or ended. */
export interface Recovered extends LeaseRef {
  readonly label?: string
  readonly state: JobState
}

/** A job that the storage ended instead of running it, or because of another's end. */
export interface Ended extends JobRef {
  /** The chain that ended with it. */
  readonly chain: JobRef
  readonly state: 'failed' | 'cancelled'
  readonly reason?: EndReason
  readonly attempt: number
  readonly failures: number
  readonly payload?: Bytes
}

export interface Claim {
  readonly jobs: readonly ClaimedJob[]
  readonly recovered: readonly Recovered[]
  readonly ended: readonly Ended[]
  /** The verdicts of the request's outcomes. */
  readonly settled: readonly SettleVerdict[]
  /** What nextDueAt() would say now, null for never: from a driver that knows, where there was less than was asked for. */
  readonly nextDue?: { readonly at: number; readonly now: number } | null
}

// ── extend, settle ───────────────────────────────────────────────────────────────────────────────────────────────────

/** Why a fenced write was refused. Taken back and waiting counts as taken; failed counts as completed. */
export type Refusal = 'taken_by_another_worker' | 'already_completed' | 'not_found' | 'cancelled'

export interface Extension extends LeaseRef {
  readonly leaseMs: number
}

/** `cancelling`: extended too, but the holder should stop. `busy`: the record is locked, ask again. */
export type LeaseVerdict =
  | { readonly verdict: 'extended'; readonly until: number }
  | { readonly verdict: 'cancelling'; readonly until: number; readonly reason?: string }
  | { readonly verdict: 'busy' }
  | { readonly verdict: Refusal }

/** Whose end it is: an attempt's; or, without a worker, that of a chain whose tail is still the one expected. */
export type Fence = LeaseRef | Workerless
export interface Workerless extends JobRef {
  readonly chain: JobRef
  /** In place of a fence: a repeat is known by it. Type and id are those of the expected tail. */
  readonly token: string
}

/** Jobs to add in the same move. A refused one (blocker_not_found) refuses the outcome: `conflict`. */
interface Adding {
  readonly add?: readonly NewJob[]
}

/**
 * What an attempt ended in. `retry` and `failed` count a failure; a `retry` of the last attempt that is allowed fails.
 * `stalled` says that the attempt was given up, not that it failed: a retry is due at once, a failure has no error.
 * While its job is `cancelling`, an outcome other than `completed` ends it `cancelled`.
 */
export type Outcome = Fence & Ending
export type Ending =
  | (Adding & { readonly kind: 'completed'; readonly result?: Bytes; readonly keepMs?: number })
  | (When & { readonly kind: 'retry'; readonly error?: Bytes; readonly stalled?: boolean })
  | (Adding & { readonly kind: 'failed'; readonly error?: Bytes; readonly stalled?: boolean; readonly keepMs?: number })
  // Without a time: to its old place, with the runAt and sequence it had. With one, even if it has come: a snooze. It is
  // queued or scheduled then, never failing. A payload replaces the job's. The error of a snooze does too: without one, the
  // job has none.
  | (When & { readonly kind: 'released'; readonly payload?: Bytes; readonly error?: Bytes })
  // `next` joins the chain as its tail and has its root and key (a deduplication of its own is ignored). Its id must be
  // free, and nobody wait for a chain of that name, or the verdict is `conflict`. `next` and `add` are one batch, in this
  // order: positions of blockers count in it.
  | (Adding & { readonly kind: 'continued'; readonly next: NewJob })

/** A repeat, known by its fence alone, is answered with the state its first reached, and empty lists. */
export type SettleVerdict =
  | {
      readonly verdict: 'settled'
      readonly state: JobState
      readonly runAt?: number
      readonly expiresAt?: number
      /** Of `next`, then of `add`. */
      readonly added: readonly AddVerdict[]
      /** Dependents that failed with it. */
      readonly ended: readonly Ended[]
      /** Dependents that no longer wait for a blocker. */
      readonly unblocked: readonly JobRef[]
    }
  | { readonly verdict: 'conflict'; readonly added: readonly AddVerdict[] }
  | { readonly verdict: Refusal }

// ── the other moves ──────────────────────────────────────────────────────────────────────────────────────────────────

export interface RecoverRequest {
  readonly types: readonly string[]
  readonly limit: number
  /** Also attempts that began longer ago than this, whatever their lease says. */
  readonly olderThanMs?: number
}

export interface CancelOptions {
  /** The refs name chains: their tails are cancelled. */
  readonly chains?: boolean
  /** Ask the holder of a job in processing to stop. */
  readonly abort?: boolean
  /** End a job in processing at once; its worker learns by the fence. */
  readonly force?: boolean
  readonly reason?: string
}
export type CancelVerdict = {
  readonly verdict: 'cancelled' | 'cancelling' | 'processing' | 'completed' | 'failed' | 'not_found'
  /** Dependents that failed with it. Absent: none. */
  readonly ended?: readonly Ended[]
}

export interface ReviveOptions<Tx = unknown> {
  /** @default now */
  readonly runAt?: number
  readonly tx?: Tx
}
/** `revived`: was failed or cancelled; failures start anew, behind what waits, in its old place in its group. `moved`: was waiting. `conflict`: its key was taken since. */
export type ReviveVerdict = { readonly verdict: 'revived' | 'moved' | 'not_revivable' | 'conflict' | 'not_found' }

export interface RemoveOptions<Tx = unknown> {
  /** The refs are roots: their whole trees go, in any state, all of them or none. Otherwise: chains that have ended. */
  readonly trees?: boolean
  /** Not now, but then: sets the expiry of ended chains anew. */
  readonly afterMs?: number
  readonly tx?: Tx
}
export type RemoveVerdict =
  | { readonly verdict: 'removed' | 'not_terminal' | 'not_found' }
  | { readonly verdict: 'kept'; readonly until: number }
  /** Of trees: the root above it. Otherwise: the first job of its chain. */
  | { readonly verdict: 'not_root'; readonly root: JobRef }
  /** Unfinished jobs outside need it. */
  | { readonly verdict: 'referenced'; readonly by: readonly JobRef[] }
  /** Nothing wrong with it, but with another of the batch of trees. */
  | { readonly verdict: 'untouched' }

export interface PauseRequest {
  readonly type: string
  /** Only this ordered group. */
  readonly group?: string
  readonly paused: boolean
  readonly by?: string
}

export interface SweepRequest {
  /** At most so many of each kind. */
  readonly limit: number
}
export interface Swept {
  readonly jobs: number
  readonly marks: number
  readonly entries: number
  /** Something is left that may go already. */
  readonly more: boolean
}

// ── reads ────────────────────────────────────────────────────────────────────────────────────────────────────────────

export type RecordPart = 'payload' | 'result' | 'error' | 'attempts' | 'blockers' | 'tail'

export interface GetOptions<Tx = unknown> {
  readonly parts?: readonly RecordPart[]
  /** Keep others from changing them until the transaction ends. */
  readonly lock?: boolean
  readonly tx?: Tx
}

export interface ListQuery {
  /** Of chains: their first jobs, each with its tail; states are the chains'. */
  readonly of: 'jobs' | 'chains'
  readonly types?: readonly string[]
  readonly states?: readonly JobState[]
  readonly chain?: JobRef
  /** Chains that are nobody's blocker by position. */
  readonly rootOnly?: boolean
  readonly createdFrom?: number
  /** Exclusive. */
  readonly createdTo?: number
  /** By createdAt, then type and id, compared as the storage compares text, the same on every page. @default 'desc' */
  readonly order?: 'asc' | 'desc'
  readonly cursor?: string
  readonly limit: number
  readonly parts?: readonly RecordPart[]
}
export interface Page {
  readonly items: readonly JobRecord[]
  /** Absent: this was the last page. */
  readonly nextCursor?: string
}

export interface CountQuery {
  /** @default every type that has a record or is paused */
  readonly types?: readonly string[]
}
export interface TypeCounts {
  readonly type: string
  readonly states: Readonly<Record<JobState, number>>
  /** Could be claimed by time: waiting and due, or of a lost lease. Groups and pauses do not count here. */
  readonly due: number
  /** Waiting and not yet due; blocked ones are not here. */
  readonly delayed: number
  /** The earliest runAt of a waiting job that is due. */
  readonly oldestDueAt?: number
  readonly paused?: Paused
  readonly pausedGroups: readonly (Paused & { readonly group: string })[]
}
export interface Paused {
  readonly since: number
  readonly by?: string
}
export interface Counts {
  readonly now: number
  readonly types: readonly TypeCounts[]
}

// ── hints ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Signals leave after the commit, to listeners in the sender's process too.
 *
 * - `wake`: a job began to wait, due or not; or a type or group was resumed.
 * - `done`: ids of chains (their first jobs) that ended or are gone.
 * - `abort`: ids of running jobs whose lease is worth a look: asked to stop, cancelled, taken back, completed without a
 *   worker, removed.
 * - `events`: what happened, in the sender's move: added, unblocked or revived → queued or scheduled; claimed → processing;
 *   settled → completed, failing, failed, cancelled or requeued; taken back or given up → stalled, then what it ended in.
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
  /** Attempts that count, this one included; 0 before the first. */
  readonly attempt: number
  readonly at: number
  readonly label?: string
}
/** A hint may be lost or come twice: it says "look". Entries of `events` come once and in order, or `gap` says some are missing. */
export interface Signal extends Topic {
  /** Absent: any. */
  readonly ids?: readonly string[]
  readonly events?: readonly JobEvent[]
  /** Of `done`, from a driver that can tell at once what else would have to be read: those of the ids that completed. */
  readonly completed?: readonly { readonly id: string; readonly token: string; readonly result: Bytes | undefined }[]
  readonly gap?: true
}
export type Unlisten = () => Promise<void>
