// The rows that a call has read so far, as they are in the tables, and what it still wants. The rules run on objects made
// from them; a run that asks for something that is not here is given up, the rows are read, and the rules run again.

import type { Paused } from '../../storage.ts'
import type { GroupRow } from './group.ts'
import type { JobRow } from './job.ts'

/** Thrown by a run that asked for what is not at hand. Nothing has happened then. */
export const missing = Symbol('missing')

/** Thrown when others were quicker: what was read is no longer all there is. The call begins anew. */
export const conflict = Symbol('conflict')

export interface LoadedJob {
  readonly row: JobRow
  /** Nobody else can change it until our transaction ends. */
  readonly isLocked: boolean
}

/** The first of a list, in its order. */
export interface Stretch {
  readonly seqs: readonly number[]
  /** There were no more. */
  readonly isAll: boolean
}

export const nameOf = (tid: number, key: string): string => `${tid}/${key}`

export interface Named {
  readonly tid: number
  readonly key: string
}

export class Loaded {
  readonly jobsByName = new Map<string, LoadedJob | null>()
  readonly jobs = new Map<number, LoadedJob | null>()
  readonly types = new Set<string>()
  readonly pauses = new Map<number, Paused | undefined>()
  readonly groups = new Map<string, GroupRow | null>()
  readonly keys = new Map<string, readonly (string | null)[] | null>()
  /** Live members, by group. */
  readonly members = new Map<string, Stretch>()
  /** Jobs of a chain but its first, by that one's number. */
  readonly chains = new Map<number, readonly number[]>()
  /** By the name of the chain. */
  readonly dependents = new Map<string, readonly number[]>()
  /** Due jobs in line, by type. */
  readonly lines = new Map<number, Stretch>()
  /** Leases that are over, by type. */
  readonly lost = new Map<number, readonly number[]>()
  readonly want = new Want()

  keepJob(row: JobRow, isLocked: boolean): void {
    const seq = Number(row[0])
    const job = { row, isLocked }
    this.jobs.set(seq, job)
    this.jobsByName.set(nameOf(Number(row[1]), row[2]!), job)
  }

  /** Before more is locked: what was only looked at may have changed when the lock is ours. */
  dropUnlocked(): void {
    for (const [seq, job] of this.jobs) if (!job?.isLocked) this.jobs.delete(seq)
    for (const [name, job] of this.jobsByName) if (!job?.isLocked) this.jobsByName.delete(name)
  }
}

/** What one call has locked in a transaction, for the next call in it. */
export interface Locked {
  readonly loaded: Loaded
  /** The server's, and ours when it said so. */
  readonly now: number
  readonly at: number
}

/** What a run did not find, gathered for the next statement. */
class Want {
  readonly types = new Set<string>()
  readonly jobs = new Map<string, Named>()
  /** Looked for only to be added: that they are absent is made sure of by the insert. */
  readonly adding = new Set<string>()
  readonly seqs = new Set<number>()
  /** To be locked, after they were only looked at. */
  readonly locks = new Map<string, Named>()
  /** To be locked, and nothing with them but their chain. */
  readonly alone = new Map<string, Named>()
  readonly groups = new Map<string, Named>()
  readonly keys = new Map<string, Named>()
  /** With how many of them. */
  readonly members = new Map<string, Named & { readonly limit: number }>()
  readonly chains = new Set<number>()
  readonly dependents = new Map<string, Named>()
  /** With how many of them, by type. */
  readonly lines = new Map<number, number>()
  readonly lost = new Map<number, number>()

  get isEmpty(): boolean {
    return (Object.values(this) as { size: number }[]).every(({ size }) => size === 0)
  }

  clear(): void {
    for (const wanted of Object.values(this) as { clear(): void }[]) wanted.clear()
  }
}
