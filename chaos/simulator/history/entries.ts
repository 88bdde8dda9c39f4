// The history of a simulated run: one list in the order in which things happened, of the storage's changes (storage log) and of what
// callers and handlers saw (client log). A check reads nothing else.
//
// The storage log is not what the storage says it did: after each call the records are compared with those before it. So a storage
// that answers well and writes badly is found, too.

import type { EndReason, JobState, Outcome } from 'holdfast/storage'

/** A job in one of its lives: `token` is that of the add that began it. */
interface LifeRef {
  readonly type: string
  readonly id: string
  readonly token: string
}

/** A change of the storage. `move`: number of the call that made it. `at`: storage time in ms. `node`: the process that called. */
interface Change {
  readonly node: string
  readonly move: number
  readonly at: number
  readonly verb: string
}

export type StorageChange =
  | ({
      readonly what: 'added'
      readonly hash: string
      readonly runAt: number
      /** The time that the call asked for. */
      readonly due?: number | undefined
      readonly priority: number
      readonly weight: number
      readonly group?: string | undefined
      readonly ordered?: boolean | undefined
      readonly key?: string | undefined
      readonly mode?: string | undefined
      readonly maxAttempts?: number | undefined
      /** `type/id` of the first job of its chain, and of the chains it waits for. */
      readonly chain: string
      readonly blockers: readonly string[]
      readonly open: number
      /** Number of blockers that the call named. */
      readonly wants: number
      /** State of the record that it replaced, if there was one. */
      readonly over?: JobState | undefined
      /** The call asked for a replacement. */
      readonly replaces?: true | undefined
    } & LifeRef)
  /** The payload was replaced. */
  | ({ readonly what: 'payload'; readonly hash: string } & LifeRef)
  | ({
      readonly what: 'claimed'
      readonly fence: string
      readonly attempt: number
      readonly until: number
      readonly runAt: number
      /** Held ahead of a free slot. */
      readonly ahead: boolean
    } & LifeRef)
  /** `writers`: the fences that the call named for this job. */
  | ({
      readonly what: 'extended'
      readonly fence: string
      readonly until: number
      readonly writers: readonly string[]
    } & LifeRef)
  | ({ readonly what: 'reported'; readonly fence: string | undefined; readonly writers: readonly string[] } & LifeRef)
  | ({
      readonly what: 'settled'
      readonly fence: string
      readonly outcome: Outcome['kind']
      readonly state: JobState
      readonly runAt: number
      /** The time that the outcome asked for. */
      readonly due?: number | undefined
      readonly failures: number
      readonly expiresAt?: number | undefined
      readonly result?: string | undefined
      readonly writers: readonly string[]
    } & LifeRef)
  /** A lease was taken back. `until`: its end. `olderThanMs`: of the call, if it had one. */
  | ({
      readonly what: 'recovered'
      readonly fence: string
      readonly until: number
      readonly startedAt: number
      readonly olderThanMs?: number | undefined
      readonly state: JobState
      readonly runAt: number
      readonly failures: number
      readonly expiresAt?: number | undefined
      readonly ahead: boolean
    } & LifeRef)
  /** Ended without an outcome: cancelled, or by the storage. `fence`: of the lease that ended with it. */
  | ({
      readonly what: 'ended'
      readonly state: JobState
      readonly reason?: EndReason | undefined
      readonly fence?: string | undefined
      readonly expiresAt?: number | undefined
    } & LifeRef)
  /** A lease is gone, and nothing says why. */
  | ({ readonly what: 'vanished'; readonly fence: string } & LifeRef)
  | ({ readonly what: 'cancelling'; readonly fence: string } & LifeRef)
  | ({ readonly what: 'revived'; readonly runAt: number } & LifeRef)
  | ({ readonly what: 'moved'; readonly runAt: number } & LifeRef)
  | ({ readonly what: 'unblocked'; readonly open: number; readonly runAt: number } & LifeRef)
  | ({ readonly what: 'expiry'; readonly expiresAt: number | undefined } & LifeRef)
  | ({ readonly what: 'gone'; readonly state: JobState; readonly expiresAt?: number | undefined } & LifeRef)
  | { readonly what: 'paused' | 'resumed'; readonly type: string; readonly group?: string | undefined }

/** The storage's answer about one item of a call, whether or not the caller ever sees it. */
export type Answer =
  | {
      readonly what: 'addVerdict'
      readonly type: string
      readonly id: string
      readonly token: string
      readonly verdict: string
      /** The job that stands under the id or key. */
      readonly by?: string | undefined
      readonly standing?: { readonly id: string; readonly token: string } | undefined
      readonly key?: string | undefined
      readonly mode?: string | undefined
    }
  | {
      readonly what: 'settleVerdict' | 'extendVerdict'
      readonly type: string
      readonly id: string
      readonly fence: string
      readonly verdict: string
      readonly state?: JobState | undefined
      readonly kind?: Outcome['kind'] | undefined
      /** The end of the lease, as an extend was told. */
      readonly until?: number | undefined
    }
  | {
      readonly what: 'cancelVerdict'
      readonly type: string
      readonly id: string
      readonly verdict: string
      readonly chains: boolean
    }
  | {
      readonly what: 'claimVerdict'
      readonly slots: number
      readonly types: readonly string[]
      readonly fences: readonly string[]
    }
  /** `result`: as the caller saw it. */
  | {
      readonly what: 'read'
      readonly type: string
      readonly id: string
      readonly state?: JobState | undefined
      readonly token?: string | undefined
      readonly result?: string | undefined
      readonly hasResult: boolean
    }

/** What a process saw or did. `node`: its name, new with each start. */
export type Seen = { readonly node: string } & (
  | { readonly what: 'nodeStarted' | 'nodeCrashed' | 'nodePaused' | 'nodeResumed' | 'nodeStopping' | 'nodeStopped' }
  /** A call, or a timer that is still set, after stop() has resolved. */
  | { readonly what: 'afterStop'; readonly verb: string }
  | { readonly what: 'unhandled'; readonly message: string }
  /** `acked`: the promise of the face resolved. */
  | { readonly what: 'asked'; readonly call: number; readonly type: string; readonly id: string }
  | {
      readonly what: 'acked'
      readonly call: number
      readonly type: string
      readonly id: string
      readonly status: string
    }
  | { readonly what: 'refused'; readonly call: number; readonly code: string }
  | { readonly what: 'waiting'; readonly call: number; readonly timeoutMs: number }
  /** `result`: what the wait resolved with. `code`: what it rejected with. */
  | {
      readonly what: 'waited'
      readonly call: number
      readonly type: string
      readonly id: string
      readonly result?: string | undefined
      readonly code?: string | undefined
    }
  | {
      readonly what: 'began'
      readonly type: string
      readonly id: string
      readonly fence: string
      readonly hash: string
    }
  | { readonly what: 'aborted'; readonly fence: string; readonly reason: string }
  | { readonly what: 'finished'; readonly fence: string }
)

/** The run itself. */
export type RunEvent =
  | { readonly what: 'healed' | 'rested' | 'gaveUp' }
  /** The clock of the storage, which was at `from`, was set by so many ms, back if negative. */
  | { readonly what: 'clockSet'; readonly from: number; readonly byMs: number }
  /** A job that is added at the end, to an idle worker. */
  | { readonly what: 'probed'; readonly type: string; readonly id: string; readonly withinMs: number }
  /** The storage's counts at rest, and the number of its records by state. */
  | {
      readonly what: 'counted'
      readonly type: string
      readonly counts: Readonly<Record<string, number>>
      readonly records: Readonly<Record<string, number>>
    }
  /** What a second sweep deletes after retention and a first one, and the records that are not terminal. */
  | { readonly what: 'left'; readonly jobs: number; readonly keys: number }

/** `t`: world time in ms. */
export type Entry = { readonly t: number } & ((StorageChange & Change) | (Answer & Change) | Seen | RunEvent)

export type EntryOf<What extends Entry['what']> = Extract<Entry, { what: What }>

/** What the checks know about a type. */
export interface TypeFacts {
  readonly type: string
  readonly leaseMs: number
  readonly maxAttempts: number
  /** The worker ends a job that has no attempt left. The storage does not know the number, so the job is claimed for that. */
  readonly endedByWorker?: boolean
  readonly backoff?: {
    readonly delayMs: number
    readonly factor: number
    readonly maxDelayMs: number
    readonly jitter: number
  }
  readonly concurrency?: number | undefined
  readonly rate?: { readonly limit: number; readonly perMs: number } | undefined
  readonly groupLimit?: number | undefined
  /** Its jobs are claimed by priority and age alone. */
  readonly plain: boolean
  /** Its groups take turns, and no limit applies. */
  readonly fair: boolean
}

export interface History {
  readonly entries: readonly Entry[]
  readonly types: ReadonlyMap<string, TypeFacts>
  /** How long after its timeout a wait may end, in ms. */
  readonly slackMs: number
  /** How long a process may need to notice that the faults have ceased: a call without an answer, then its longest pause, in ms. */
  readonly returnMs: number
}

export interface Violation {
  /** Such as `S4`. */
  readonly invariant: string
  readonly sentence: string
  /** At most 20 entries. */
  readonly entries: readonly Entry[]
}

/** A check of one invariant: a pure function of the history. */
export interface Invariant {
  readonly name: string
  /** What holds, in a few words. */
  readonly title: string
  check(history: History): Violation[]
}
