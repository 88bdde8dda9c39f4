// The rows that a call has read so far, as they are in the tables, and the rows it still needs. The rules run on objects made
// from them. A run that needs a row that is not here is abandoned, the row is read, and the rules run again.

import type { StoredReport } from '../../rows/job.ts'
import type { Paused } from '../../storage.ts'
import { cell } from '../sql/job-columns.ts'
import type { GroupState } from '../../rules/flow.ts'
import type { StoredFlow } from './flow.ts'
import type { GroupRow } from './group.ts'
import type { JobRow } from './job.ts'
import { LoadRequest } from './load-request.ts'
import { nameOf } from './row-name.ts'

/** Thrown by a run that needs rows that are not loaded. Nothing has been written then. */
export const rowsMissing = Symbol('rows missing')

/** Thrown when another transaction has changed what was read. The call starts over. */
export const conflict = Symbol('conflict')

export interface LoadedJob {
  readonly row: JobRow
  /** No other transaction can change it until this one ends. */
  readonly isLocked: boolean
}

/** The beginning of a list, in its order. */
export interface ListPrefix {
  readonly seqs: readonly number[]
  /** The list has no more. */
  readonly isComplete: boolean
}

/** The beginning of the ring of a type. */
export interface RingPrefix {
  /** Groups that this transaction has locked, and whose heads it has. */
  readonly keys: readonly string[]
  readonly limit: number
  /** The turn of the last group that was read. Undefined: the ring has no more whose turn has come. */
  readonly last: Pick<GroupState, 'turnAt' | 'turn'> | undefined
}

/** The waiting members of a group that are due first. */
interface WaitingPrefix {
  readonly jobs: readonly { readonly seq: number; readonly runAt: number }[]
  readonly isComplete: boolean
}

/** `null` as a value: there is no such row. */
export class LoadedRows {
  readonly jobsByName = new Map<string, LoadedJob | null>()
  readonly jobs = new Map<number, LoadedJob | null>()
  /** Names of types that were looked up, found or not. */
  readonly types = new Set<string>()
  readonly pauses = new Map<number, Paused | undefined>()
  readonly groups = new Map<string, GroupRow | null>()
  readonly keys = new Map<string, readonly (string | null)[] | null>()
  /** Live members, by group. */
  readonly members = new Map<string, ListPrefix>()
  /** Due members of unordered groups, in the order of claims. */
  readonly best = new Map<string, ListPrefix>()
  /** Of unordered groups. */
  readonly waiting = new Map<string, WaitingPrefix>()
  /** By type, as far as a claim has read them. */
  readonly ring = new Map<number, RingPrefix>()
  /** Numbers of the sequence that were taken ahead, after all locks. */
  numbers: readonly number[] = []
  /** A scan of a ring did not begin at its head (ring-cursor.ts). */
  isRingPartial = false
  readonly flows = new Map<number, StoredFlow>()
  /** Numbers of jobs in processing, by type. */
  readonly running = new Map<number, number>()
  /** Numbers of waiting jobs, by type. */
  readonly depths = new Map<number, number>()
  /** Numbers of the types whose claims and settles need the rules. */
  ruled: ReadonlySet<number> = new Set()
  /** Seqs of the jobs of a chain but its first, by the first one's seq. */
  readonly chains = new Map<number, readonly number[]>()
  /** By the name of the chain. */
  readonly dependents = new Map<string, readonly number[]>()
  /** Due jobs that may be claimed, by type. */
  readonly due = new Map<number, ListPrefix>()
  /** Expired leases, by type. */
  readonly lost = new Map<number, readonly number[]>()
  /** By the seqs of their jobs. Undefined as a value: there is none. */
  readonly reports = new Map<number, StoredReport | undefined>()
  /** Numbers of the types whose events are published. */
  watched: ReadonlySet<number> = new Set()
  /** What to read next. */
  readonly wanted = new LoadRequest()

  keepJob(row: JobRow, isLocked: boolean): void {
    const seq = Number(row[cell.seq])
    const name = nameOf(Number(row[cell.tid]), row[cell.id]!)
    const job = { row, isLocked }
    // Lists that were read before the lock of what guards them may have changed.
    if (isLocked && !this.jobs.get(seq)?.isLocked) {
      this.chains.delete(seq)
      this.dependents.delete(name)
    }
    this.jobs.set(seq, job)
    this.jobsByName.set(name, job)
  }

  *locked(): Iterable<LoadedJob> {
    for (const job of this.jobs.values()) if (job?.isLocked) yield job
  }

  /** Call it before more is locked: rows that were read without a lock may have changed by the time the lock is granted. */
  dropUnlocked(): void {
    for (const [seq, job] of this.jobs) if (!job?.isLocked) this.jobs.delete(seq)
    for (const [name, job] of this.jobsByName) if (!job?.isLocked) this.jobsByName.delete(name)
  }
}

/** What one call has locked in a transaction, for the next call in it. */
export interface LockedRows {
  readonly loaded: LoadedRows
  /** The server's time of that call. */
  readonly now: number
  /** The monotonic clock at that time. */
  readonly at: number
}
