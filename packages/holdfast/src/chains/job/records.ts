// Records of the storage as clients and handlers see them. Inputs and outputs are `unknown` here: their types follow from the
// registry, at compile time.

import type { ErrorDetails } from '../../errors.ts'
import { decodeError } from '../../error-details.ts'
import type { ClaimedJob, JobRecord, RecordPart } from '../../storage/storage.ts'
import { scheduleOf } from '../../engine/schedule/slot-job.ts'
import { errorOf } from '../../engine/job/job-error.ts'
import { attemptViewOf, progressOf } from '../../engine/job/job-view.ts'
import type {
  ChainFields,
  ChainRef,
  CompletedBlocker,
  JobFields,
  JobStateFields,
  ProcessingState,
  ReportFields,
  Scheduled,
} from '../types/records.ts'
import { decodeTrace } from './carried.ts'
import { chainRefOf, typeNameOf } from './stored-type.ts'
import { decodeInput, decodeOutput } from './values.ts'

export type PlainJob = JobFields<string, unknown, string, readonly ChainRef[]> & ReportFields & JobStateFields
export type PlainRunningJob = JobFields<string, unknown, string, readonly CompletedBlocker<string, unknown>[]> &
  ProcessingState &
  Scheduled
export type PlainChain = ChainFields<string, unknown> &
  (
    | { readonly state: 'scheduled' | 'blocked' | 'queued' | 'processing' | 'failing' }
    | { readonly state: 'completed'; readonly output: unknown; readonly completedAt: number }
    | { readonly state: 'failed'; readonly error: ErrorDetails }
    | { readonly state: 'cancelled'; readonly reason: string | null }
  )

export const jobParts: readonly RecordPart[] = ['payload', 'error', 'attempts', 'progress', 'blockers']
/** With the chain's tail. */
export const chainParts: readonly RecordPart[] = ['payload', 'result', 'error', 'tail']

/** Of a record with jobParts. */
export function jobOf(record: JobRecord): PlainJob {
  const { attempts = [], startedAt } = record
  return {
    ...fieldsOf(record),
    lastAttemptAt: startedAt ?? attempts.at(-1)?.startedAt ?? null,
    lastAttemptError: record.error === undefined || record.state === 'completed' ? null : decodeError(record.error),
    blockers: (record.blockers ?? []).map(chainRefOf),
    history: attempts.map(attemptViewOf),
    ...progressOf(record),
    ...stateOf(record),
  }
}

/**
 * As a handler sees it; lease and counters are those of the claim.
 * @param lastAttemptAt when the attempt before this one began; null: this one is the first
 */
export function runningJobOf(job: ClaimedJob, workerId: string, lastAttemptAt: number | null): PlainRunningJob {
  return {
    ...fieldsOf(job),
    lastAttemptAt,
    lastAttemptError: job.error === undefined ? null : decodeError(job.error),
    blockers: job.blockers.map(({ type, id, result }) => ({
      ...chainRefOf({ type, id }),
      state: 'completed',
      output: decodeOutput(typeNameOf(type), result),
    })),
    state: 'processing',
    leasedBy: workerId,
    leasedUntil: job.leaseUntil,
    schedule: scheduleOf(job.token),
  }
}

/** What is shown of a chain. */
type FirstJob = Pick<
  JobRecord,
  'type' | 'id' | 'payload' | 'root' | 'origin' | 'priority' | 'createdAt' | 'trace' | 'tail' | 'state'
> &
  Tail
type Tail = Pick<JobRecord, 'type' | 'id' | 'state' | 'result' | 'finishedAt' | 'reason' | 'error' | 'cancelReason'>

/** Of a first job with chainParts. */
export function chainOf(record: FirstJob): PlainChain {
  const tail: Tail = record.tail ?? record
  const typeName = typeNameOf(record.type)
  return {
    typeName,
    id: record.id,
    input: decodeInput(typeName, record.payload),
    rootChainId: record.root.id,
    originId: record.origin?.id ?? null,
    priority: record.priority,
    createdAt: record.createdAt,
    ...decodeTrace(record.trace),
    ...chainStateOf(tail),
  }
}

function fieldsOf(job: JobRecord | ClaimedJob) {
  const typeName = typeNameOf(job.type)
  return {
    id: job.id,
    typeName,
    chainId: job.chain.id,
    chainTypeName: typeNameOf(job.chain.type),
    chainIndex: job.chainIndex,
    rootChainId: job.root.id,
    originId: job.origin?.id ?? null,
    input: decodeInput(typeName, job.payload),
    priority: job.priority,
    createdAt: job.createdAt,
    runAt: job.runAt,
    attempt: job.attempt,
    failures: job.failures,
    ...decodeTrace(job.trace),
  }
}

function stateOf(record: JobRecord): JobStateFields {
  switch (record.state) {
    case 'processing':
      return { state: 'processing', leasedBy: record.label ?? record.worker!, leasedUntil: record.leaseUntil! }
    case 'completed':
      return { state: 'completed', completedAt: record.finishedAt!, completedBy: record.label ?? null }
    case 'failed':
      return { state: 'failed', failedAt: record.finishedAt!, error: errorOf(record) }
    case 'cancelled':
      return { state: 'cancelled', reason: record.cancelReason ?? null }
    default:
      return { state: record.state }
  }
}

function chainStateOf(tail: Tail) {
  switch (tail.state) {
    case 'completed':
      return {
        state: tail.state,
        output: decodeOutput(typeNameOf(tail.type), tail.result),
        completedAt: tail.finishedAt!,
      }
    case 'failed':
      return { state: tail.state, error: errorOf(tail) }
    case 'cancelled':
      return { state: tail.state, reason: tail.cancelReason ?? null }
    default:
      return { state: tail.state }
  }
}
