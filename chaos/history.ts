// The history of a run, by job: the logs of its processes and the final records of the storage. Logs are joined by id
// and fence; their times are used for recovery only.

import type { EndReason, JobState } from 'holdfast/storage'
import { attemptOf, type Entry, type OperatorVerb } from './entries.ts'
import { type JobKind, kinds, passingTtlMs } from './jobs.ts'
import type { Key } from './keys.ts'
import type { Reported } from './reports.ts'
import { slotOf } from './schedule.ts'

/** The record of a job at the end of the run. */
export interface FinalRecord {
  readonly type: string
  readonly id: string
  readonly state: JobState
  readonly reason?: EndReason
  readonly attempt: number
  readonly failures: number
  /** Fence of the run that completed the job, from its result. */
  readonly fence?: string
  /** The ended attempts that the record keeps. `endedAt`: by the storage's clock, in ms. */
  readonly attempts: readonly {
    readonly fence: string
    readonly outcome: string
    readonly state: JobState
    readonly endedAt?: number
  }[]
  readonly progress?: Reported | undefined
  readonly log?: readonly LoggedLine[]
}

/** A log line of a record. */
export interface LoggedLine extends Reported {
  /** The attempt under which it is stored. */
  readonly attempt: number
  /** By the worker's estimate of the storage's clock, in ms. */
  readonly at: number
}

export interface JobHistory {
  readonly id: string
  readonly kind: JobKind
  readonly type: string
  readonly maxAttempts: number
  readonly priority: number
  readonly group: string | undefined
  /** Whether its group is ordered. */
  readonly ordered: boolean
  readonly weight: number
  readonly key: Key | undefined
  /** When replicas may have been promoted that did not know the last claims: from the fault until the server is back. */
  readonly failovers: readonly Failover[]
  readonly entries: readonly Entry[]
  readonly record: FinalRecord | undefined
}

export interface History {
  readonly entries: readonly Entry[]
  readonly jobs: readonly JobHistory[]
  /** Records of jobs that no producer added. */
  readonly unrequested: readonly FinalRecord[]
  /** The storage's counts by state. */
  readonly counts: Readonly<Record<string, number>>
  /** The ids in the user table, if there is one. */
  readonly rows: readonly string[] | undefined
  /** Whether a claim may pass over jobs that another call has locked. */
  readonly passesLocked: boolean
}

export interface Violation {
  readonly check: string
  readonly sentence: string
  /** At most 20 entries. */
  readonly entries: readonly (Entry | FinalRecord)[]
}

interface Failover {
  readonly from: number
  readonly to: number
}

export interface StorageFacts {
  readonly rows?: readonly string[] | undefined
  readonly passesLocked?: boolean | undefined
  /** Whether a replica is promoted when the server is killed or stopped. */
  readonly failsOver?: boolean | undefined
}

/** What ends a fault of the server. */
const endOf: Partial<Record<Entry['what'], Entry['what']>> = {
  serverKilled: 'serverBack',
  serverFrozen: 'serverThawed',
}

function failoversOf(entries: readonly Entry[]): Failover[] {
  return entries.flatMap(({ what, at: from }): Failover[] => {
    const end = endOf[what]
    if (end === undefined) return []
    return [{ from, to: entries.find((entry) => entry.what === end && entry.at > from)?.at ?? Infinity }]
  })
}

export function historyOf(
  entries: readonly Entry[],
  records: readonly FinalRecord[],
  counts: Readonly<Record<string, number>>,
  { rows, passesLocked = false, failsOver = false }: StorageFacts = {},
): History {
  const failovers = failsOver ? failoversOf(entries) : []
  const byId = Map.groupBy(
    entries.filter((entry) => 'id' in entry),
    ({ id }) => id,
  )
  const recordOf = new Map(records.map((record) => [record.id, record]))
  // A worker may die before it logs anything of a job that its schedule added.
  for (const { id } of records) if (slotOf(id) !== undefined && !byId.has(id)) byId.set(id, [])
  const jobs = [...byId].flatMap(([id, found]): JobHistory[] => {
    const asked = found.find((entry) => entry.what === 'asked') ?? (slotOf(id) === undefined ? undefined : scheduled)
    if (!asked) return []
    const { kind, type, maxAttempts, priority, group, ordered = false, weight = 1, key } = asked
    const ofAdd = { kind, type, maxAttempts, priority, group, ordered, weight, key, failovers }
    return [{ id, ...ofAdd, entries: found, record: recordOf.get(id) }]
  })
  const known = new Set(jobs.map(({ id }) => id))
  return { entries, jobs, counts, rows, passesLocked, unrequested: records.filter(({ id }) => !known.has(id)) }
}

/** Stands for the add of a job that a schedule added. */
const scheduled: Omit<Extract<Entry, { what: 'asked' }>, 'what' | 'id' | 'at' | 'by' | 'delayMs'> = {
  kind: 'slot',
  type: kinds.slot.queue,
  maxAttempts: kinds.slot.maxAttempts,
  priority: 0,
}

export const terminalStates: readonly JobState[] = ['completed', 'failed', 'cancelled']

/** Whether the job was added in a user's transaction. */
export const isLinked = ({ kind }: JobHistory): boolean => kind === 'ordered' || kind === 'followed'

export const wasAcked = (job: JobHistory): boolean => job.entries.some(({ what }) => what === 'acked')

/** An id may have one life per add, if the earlier life had ended or was gone. */
export const timesAsked = (job: JobHistory): number =>
  job.entries.filter(({ what }) => what === 'asked').length + (repeatedAfterExpiry(job) ? 1 : 0)

/**
 * An add whose reply was lost was repeated after the job had run and its record, with the token, had expired: a
 * known limit, if a record is kept for less time than a call may take.
 */
export function repeatedAfterExpiry({ type, entries }: JobHistory): boolean {
  const ended = entries.find(({ what }) => what === 'ended')
  if (type !== 'passing' || !ended) return false
  return entries.some(({ what, at }) => what === 'repeated' && at >= ended.at + passingTtlMs)
}

export const wasCalled = (job: JobHistory, verb: OperatorVerb): boolean =>
  job.entries.some((entry) => entry.what === 'calling' && entry.verb === verb)

/**
 * The fences of the runs that the storage knows. A claim is not waited for on replicas: a failover may forget it, and then the number of its
 * attempt is given again, under another fence, or the outcome of the attempt before it is accepted (reliability of `replicated`). A primary
 * that was stopped answers the calls in its socket before it learns that it is one no more. A run whose outcome was recorded is never
 * forgotten. The worker may note the start of such a run after the fault began: the answer was on its way.
 */
export function knownRuns({ entries, failovers }: JobHistory): string[] {
  const runs = entries.filter((entry) => entry.what === 'started')
  const settled = entries.flatMap((entry) => (entry.what === 'settled' && entry.verdict === 'settled' ? [entry] : []))
  const isForgotten = ({ at, fence }: (typeof runs)[number]): boolean =>
    !settled.some((other) => other.fence === fence) &&
    [
      ...runs.filter((next) => next.fence !== fence && attemptOf(next.fence) <= attemptOf(fence)),
      ...settled.filter((other) => other.at > at && attemptOf(other.fence) < attemptOf(fence)),
    ].some((later) => failovers.some(({ from, to }) => to > at && from < later.at))
  return runs.filter((run) => !isForgotten(run)).map(({ fence }) => fence)
}

/**
 * Whether a failover may have forgotten what a run reported: a heartbeat is not waited for on replicas. Its outcome is.
 * @param endedAt when the outcome was told
 */
export function mayLackReports({ entries, failovers }: JobHistory, fence: string, endedAt: number): boolean {
  const startedAt = entries.find((entry) => entry.what === 'started' && entry.fence === fence)?.at ?? -Infinity
  return failovers.some(({ from, to }) => to > startedAt && from < endedAt)
}

/** Whether the record may be absent: it expired or was removed. */
export const mayBeGone = (job: JobHistory): boolean => job.type === 'passing' || wasCalled(job, 'remove')

/** Whether the add was refused because of its deduplication key, so that there is no job of this id. */
export function wasDeduplicated({ key, entries }: JobHistory): boolean {
  const refusals = ['duplicate', 'replaced', 'stale']
  return key !== undefined && entries.some((entry) => entry.what === 'acked' && refusals.includes(entry.status))
}

/** The runs whose completion the storage accepted. */
export function completions(job: JobHistory): string[] {
  const settled = job.entries.filter((entry) => entry.what === 'settled' && entry.verdict === 'settled')
  return [
    ...new Set(
      settled.flatMap((entry) => (entry.what === 'settled' && entry.state === 'completed' ? [entry.fence] : [])),
    ),
  ]
}

export function violation(check: string, sentence: string, job?: JobHistory, entries?: readonly Entry[]): Violation {
  const shown = entries ?? job?.entries ?? []
  return { check, sentence, entries: [...shown.slice(-19), ...(job?.record ? [job.record] : [])] }
}
