// The rows that a call needs and has not read yet, gathered for the next statement; and what each kind of request names, so that
// the first statement reads and locks it.

import { outcomeJobs } from '../../check.ts'
import type { JobRef, NewJob, Outcome } from '../../storage.ts'
import { encodeText } from '../sql/text.ts'
import type { LoadedRows } from './loaded-rows.ts'
import { nameOf, type RowName } from './row-name.ts'
import type { TypeRegistry } from './type-registry.ts'

/** A list of a group, and how much of it. */
export interface ListName extends RowName {
  readonly limit: number
}

/** Jobs, keys and groups are listed by name. */
export class LoadRequest {
  readonly types = new Set<string>()
  readonly jobs = new Map<string, RowName>()
  /** Names of jobs that are to be added: the insert verifies that they are absent. */
  readonly adding = new Set<string>()
  readonly seqs = new Set<number>()
  /** Jobs to lock that were read without a lock before. */
  readonly locks = new Map<string, RowName>()
  /** Jobs to lock with nothing but their chain. */
  readonly alone = new Map<string, RowName>()
  readonly groups = new Map<string, RowName>()
  readonly keys = new Map<string, RowName>()
  /** Live members, by acceptance. */
  readonly members = new Map<string, ListName>()
  /** Due members of unordered groups, in the order of claims. */
  readonly best = new Map<string, ListName>()
  /** Waiting members of unordered groups, by runAt. */
  readonly waiting = new Map<string, ListName>()
  readonly chains = new Set<number>()
  readonly dependents = new Map<string, RowName>()
  /** Reports, by the seqs of their jobs. */
  readonly reports = new Set<number>()
  /** Due jobs: how many, by type. */
  readonly due = new Map<number, number>()
  /** Groups of the ring: how many, by type. */
  readonly ring = new Map<number, number>()
  /** Types whose turns and limits are read; those that are locked too. */
  readonly flows = new Set<number>()
  readonly flowLocks = new Set<number>()
  /** Types whose waiting jobs are counted, each with the largest number that needs no exact count: all jobs fit then. */
  readonly depths = new Map<number, number>()

  get isEmpty(): boolean {
    return (Object.values(this) as { size: number }[]).every(({ size }) => size === 0)
  }

  clear(): void {
    for (const wanted of Object.values(this) as { clear(): void }[]) wanted.clear()
  }
}

export function wantJobs({ wanted }: LoadedRows, types: TypeRegistry, refs: readonly JobRef[]): void {
  wantIn(wanted.jobs, types, refs)
}

/** Without their dependents. */
export function wantAlone({ wanted }: LoadedRows, types: TypeRegistry, refs: readonly JobRef[]): void {
  wantIn(wanted.alone, types, refs)
}

function wantIn(list: Map<string, RowName>, types: TypeRegistry, refs: readonly JobRef[]): void {
  for (const { type, id } of refs) {
    const tid = types.tidOf(type)
    if (tid === undefined) continue
    const key = encodeText(id)
    list.set(nameOf(tid, key), { tid, key })
  }
}

/** @param isAdd the call adds these jobs and does nothing else */
export function wantNewJobs(loaded: LoadedRows, types: TypeRegistry, jobs: readonly NewJob[], isAdd = false): void {
  const { wanted } = loaded
  for (const { type, id, group, deduplication, blockers, maxWaiting } of jobs) {
    const tid = types.tidOf(type)!
    const key = encodeText(id)
    const name = nameOf(tid, key)
    // The same call may also name it as a job that exists.
    if (!wanted.jobs.has(name)) wanted.adding.add(name)
    wanted.jobs.set(name, { tid, key })
    if (group) wanted.groups.set(nameOf(tid, encodeText(group.key)), { tid, key: encodeText(group.key) })
    if (maxWaiting?.type !== undefined) {
      const fits = isAdd ? maxWaiting.type - jobs.length : -1
      wanted.depths.set(tid, Math.min(fits, wanted.depths.get(tid) ?? Infinity))
    }
    if (deduplication) {
      const encoded = encodeText(deduplication.key)
      wanted.keys.set(nameOf(tid, encoded), { tid, key: encoded })
    }
    const chains = blockers?.filter((blocker) => typeof blocker !== 'number')
    if (chains) wantAlone(loaded, types, chains)
  }
}

export function wantOutcomes(loaded: LoadedRows, types: TypeRegistry, outcomes: readonly Outcome[]): void {
  wantJobs(loaded, types, outcomes)
  for (const outcome of outcomes) {
    if ('chain' in outcome) wantJobs(loaded, types, [outcome.chain])
    const jobs = outcomeJobs(outcome)
    if (jobs.length > 0) wantNewJobs(loaded, types, jobs)
  }
}
