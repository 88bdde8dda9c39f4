// What explain() reads: the record of the job, what a claim would start next, and the few jobs that stand in its way. Every read is
// bounded, whatever the backlog.

import type { JobRecord, JobRef, Limits, NextStart, RecordPart } from '../../storage/storage.ts'
import { isWaiting } from '../../storage/rules/job/states.ts'
import type { GuardedStorage } from '../guard.ts'
import { claimLimits, type Declared, effectiveLimits } from '../limits/effective-limits.ts'
import { readLimitsOf } from '../limits/limits-store.ts'
import { listWorkers } from '../operate/list-workers.ts'
import type { WorkerInfo } from '../work/presence.ts'

/** What is known about a job at one instant of the storage. */
export interface Facts {
  readonly ref: JobRef
  /** The storage's clock. */
  readonly now: number
  /** Undefined: it is not known. */
  readonly record: JobRecord | undefined
  /** Of a job that waits. */
  readonly next?: NextStart
  /** What a claim of its type keeps to. */
  readonly limits: Limits
  /** First jobs of the chains that it waits for; undefined: gone. */
  readonly blockers: readonly (JobRecord | undefined)[]
  /** The job at the head of its ordered group, if it is another one; or the failed job that holds the group. */
  readonly ahead?: JobRecord
  /** Running jobs of its group, if that is at its limit. */
  readonly holders: readonly JobRecord[]
  /** The workers that are alive. Undefined: not asked for. */
  readonly workers?: readonly WorkerInfo[]
}

export interface ReadFactsOptions {
  /** What the code of this process declares: it may not be stored yet. */
  readonly own?: Declared
  /** The limits of the claims in question. @default those in force */
  readonly limits?: Limits | undefined
  /** Reads the workers, too. */
  readonly withWorkers: boolean
}

const parts: readonly RecordPart[] = ['error', 'attempts', 'progress', 'blockers', 'tail']

/** Blockers that are read: a job may have many. */
const mostBlockers = 100
/** Running jobs among which the holders of a group are looked for: a page of them. */
const mostRunning = 1_000

const none: Declared = { limits: undefined, release: 0 }

export async function readFacts(
  storage: Pick<GuardedStorage, 'get' | 'list' | 'count' | 'kv'>,
  ref: JobRef,
  { own = none, limits: given, withWorkers }: ReadFactsOptions,
): Promise<Facts> {
  const [record] = await storage.get([ref], { parts })
  if (!record || !isWaiting(record.state)) {
    const { now } = await storage.count({ types: [] })
    return { ref, now, record, limits: {}, blockers: await blockersOf(storage, record), holders: [] }
  }
  const { group, weight } = record
  const limits = given ?? claimLimits(effectiveLimits(await readLimitsOf(storage, ref.type), own)) ?? {}
  const query = { type: ref.type, limits, ...(group !== undefined && { group }), ...(weight && { weight }) }
  const { now, next } = await storage.count({ types: [], next: query })
  const ahead = await jobAhead(storage, record, next!)
  return {
    ref,
    now,
    record,
    next: next!,
    limits,
    blockers: [],
    ...(ahead && { ahead }),
    holders: await holdersOf(storage, record, next!),
    ...(withWorkers && { workers: await listWorkers(storage) }),
  }
}

async function blockersOf(
  storage: Pick<GuardedStorage, 'get'>,
  record: JobRecord | undefined,
): Promise<readonly (JobRecord | undefined)[]> {
  const { state, blockers = [] } = record ?? {}
  if (state !== 'blocked' || blockers.length === 0) return []
  return storage.get(blockers.slice(0, mostBlockers), { parts: ['tail'] })
}

async function jobAhead(
  storage: Pick<GuardedStorage, 'get'>,
  { type, id }: JobRecord,
  { group }: NextStart,
): Promise<JobRecord | undefined> {
  const other = group?.heldBy ?? (group?.ordered ? group.job : undefined)
  if (other === undefined || other === id) return undefined
  return (await storage.get([{ type, id: other }]))[0]
}

async function holdersOf(
  storage: Pick<GuardedStorage, 'list'>,
  { type, group: key }: JobRecord,
  { group }: NextStart,
): Promise<readonly JobRecord[]> {
  if (!group || group.ordered || group.running === 0) return []
  const { items } = await storage.list({
    of: 'jobs',
    types: [type],
    states: ['processing'],
    by: 'place',
    order: 'asc',
    limit: mostRunning,
  })
  return items.filter((item) => item.group === key)
}
