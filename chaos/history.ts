// What a run left, put in order by job: the logs of its processes, and what the storage says at the end. Logs are joined by id
// and fence; their times serve recovery alone.

import type { EndReason, JobState } from 'holdfast/storage'
import type { Entry } from './entries.ts'
import { type JobKind, passingTtlMs } from './jobs.ts'

/** What the storage says of a job when all is over. */
export interface FinalRecord {
  readonly type: string
  readonly id: string
  readonly state: JobState
  readonly reason?: EndReason
  readonly attempt: number
  readonly failures: number
  /** Of the result: the run that completed it. */
  readonly fence?: string
  /** The ended ones that are kept. */
  readonly attempts: readonly { readonly fence: string; readonly outcome: string; readonly state: JobState }[]
}

export interface JobHistory {
  readonly id: string
  readonly kind: JobKind
  readonly type: string
  readonly maxAttempts: number
  readonly entries: readonly Entry[]
  readonly record: FinalRecord | undefined
}

export interface History {
  readonly entries: readonly Entry[]
  readonly jobs: readonly JobHistory[]
  /** Records of jobs that nobody asked for. */
  readonly strangers: readonly FinalRecord[]
  /** As the storage counts them, by state. */
  readonly counts: Readonly<Record<string, number>>
  /** The ids in the user's table, if there is one. */
  readonly rows: readonly string[] | undefined
}

export interface Violation {
  readonly check: string
  readonly sentence: string
  /** At most 20. */
  readonly entries: readonly (Entry | FinalRecord)[]
}

export function historyOf(
  entries: readonly Entry[],
  records: readonly FinalRecord[],
  counts: Readonly<Record<string, number>>,
  rows?: readonly string[],
): History {
  const byId = Map.groupBy(
    entries.filter((entry) => 'id' in entry),
    ({ id }) => id,
  )
  const recordOf = new Map(records.map((record) => [record.id, record]))
  const jobs = [...byId].flatMap(([id, found]): JobHistory[] => {
    const asked = found.find((entry) => entry.what === 'asked')
    if (!asked) return []
    const { kind, type, maxAttempts } = asked
    return [{ id, kind, type, maxAttempts, entries: found, record: recordOf.get(id) }]
  })
  const known = new Set(jobs.map(({ id }) => id))
  return { entries, jobs, counts, rows, strangers: records.filter(({ id }) => !known.has(id)) }
}

export const terminalStates: readonly JobState[] = ['completed', 'failed', 'cancelled']

/** Added in a transaction of the user's. */
export const isLinked = ({ kind }: JobHistory): boolean => kind === 'ordered' || kind === 'followed'

export const wasAcked = (job: JobHistory): boolean => job.entries.some(({ what }) => what === 'acked')

/** The id may have had a life for each time it was asked for, where the one before had ended or was gone. */
export const timesAsked = (job: JobHistory): number =>
  job.entries.filter(({ what }) => what === 'asked').length + (repeatedAfterExpiry(job) ? 1 : 0)

/**
 * An add whose answer was lost was sent again when the job had run and its record, and with it the token, had expired: a
 * known limit, where a record is kept for less time than a call may take.
 */
export function repeatedAfterExpiry({ type, entries }: JobHistory): boolean {
  const ended = entries.find(({ what }) => what === 'ended')
  if (type !== 'passing' || !ended) return false
  return entries.some(({ what, at }) => what === 'repeated' && at >= ended.at + passingTtlMs)
}

export const wasCalled = (job: JobHistory, verb: 'cancel' | 'revive' | 'remove'): boolean =>
  job.entries.some((entry) => entry.what === 'calling' && entry.verb === verb)

/** Its record need not be there any more: it expired, or somebody removed it. */
export const mayBeGone = (job: JobHistory): boolean => job.type === 'passing' || wasCalled(job, 'remove')

/** The runs that the storage told to have completed the job. */
export function completions(job: JobHistory): string[] {
  const told = job.entries.filter((entry) => entry.what === 'settled' && entry.verdict === 'settled')
  return [
    ...new Set(told.flatMap((entry) => (entry.what === 'settled' && entry.state === 'completed' ? [entry.fence] : []))),
  ]
}

export function violation(check: string, sentence: string, job?: JobHistory, entries?: readonly Entry[]): Violation {
  const shown = entries ?? job?.entries ?? []
  return { check, sentence, entries: [...shown.slice(-19), ...(job?.record ? [job.record] : [])] }
}
