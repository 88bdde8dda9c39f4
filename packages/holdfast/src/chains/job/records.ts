// Records of the storage as clients and handlers see them. The types of inputs and outputs are the compiler's business.

import type { ErrorDetails } from '../../errors.ts'
import { decodeError, errorDetails } from '../../error-details.ts'
import type { ClaimedJob, JobRecord, JobRef, RecordPart } from '../../storage/storage.ts'
import { blockerError, stalledError } from '../../engine/work/outcomes.ts'
import { decodeJson } from '../json.ts'
import type {
  ChainFields,
  ChainRef,
  CompletedBlocker,
  JobFields,
  JobStateFields,
  ProcessingState,
} from '../types/records.ts'
import { decodeTrace } from './schedule.ts'

export type PlainJob = JobFields<string, unknown, string, readonly ChainRef[]> & JobStateFields
export type PlainRunningJob = JobFields<string, unknown, string, readonly CompletedBlocker<string, unknown>[]> &
  ProcessingState
export type PlainChain = ChainFields<string, unknown> &
  (
    | { readonly state: 'scheduled' | 'blocked' | 'queued' | 'processing' | 'failing' }
    | { readonly state: 'completed'; readonly output: unknown; readonly completedAt: number }
    | { readonly state: 'failed'; readonly error: ErrorDetails }
    | { readonly state: 'cancelled'; readonly reason: string | null }
  )

export const jobParts: readonly RecordPart[] = ['payload', 'error', 'attempts', 'blockers']
/** With the chain's tail. */
export const chainParts: readonly RecordPart[] = ['payload', 'result', 'error', 'tail']

export const chainRefOf = ({ type, id }: JobRef): ChainRef => ({ typeName: type, id })
export const jobRefOf = ({ typeName, id }: ChainRef): JobRef => ({ type: typeName, id })

/** Of a record with jobParts. */
export function jobOf(record: JobRecord): PlainJob {
  const { attempts = [], startedAt } = record
  return {
    ...fieldsOf(record),
    lastAttemptAt: startedAt ?? attempts.at(-1)?.startedAt ?? null,
    lastAttemptError: record.error === undefined || record.state === 'completed' ? null : decodeError(record.error),
    blockers: (record.blockers ?? []).map(chainRefOf),
    ...stateOf(record),
  }
}

/** As a handler sees it. @param leaseUntil and the rest as they were at the claim */
export function runningJobOf(job: ClaimedJob, workerId: string): PlainRunningJob {
  return {
    ...fieldsOf(job),
    lastAttemptAt: job.startedAt,
    lastAttemptError: job.error === undefined ? null : decodeError(job.error),
    blockers: job.blockers.map(({ type, id, result }) => ({
      typeName: type,
      id,
      state: 'completed',
      output: decodeJson('result', result),
    })),
    state: 'processing',
    leasedBy: workerId,
    leasedUntil: job.leaseUntil,
  }
}

/** What is shown of a chain. */
type FirstJob = Pick<
  JobRecord,
  'type' | 'id' | 'payload' | 'root' | 'origin' | 'priority' | 'createdAt' | 'trace' | 'tail' | 'state'
> &
  Tail
type Tail = Pick<JobRecord, 'id' | 'state' | 'result' | 'finishedAt' | 'reason' | 'error' | 'cancelReason'>

/** Of a first job with chainParts. */
export function chainOf(record: FirstJob): PlainChain {
  const tail: Tail = record.tail ?? record
  return {
    typeName: record.type,
    id: record.id,
    input: decodeJson('payload', record.payload),
    rootChainId: record.root.id,
    originId: record.origin?.id ?? null,
    priority: record.priority,
    createdAt: record.createdAt,
    ...decodeTrace(record.trace),
    ...chainStateOf(tail),
  }
}

/** What the handler threw; or, where the storage ended the job by itself, a sentence of ours. */
export function errorOf({ reason, id, error }: Pick<JobRecord, 'reason' | 'id' | 'error'>): ErrorDetails {
  if (reason === 'stalled') return errorDetails(stalledError(id))
  if (reason === 'blocker_failed') return errorDetails(blockerError(id))
  return decodeError(error)
}

function fieldsOf(job: JobRecord | ClaimedJob) {
  return {
    id: job.id,
    typeName: job.type,
    chainId: job.chain.id,
    chainTypeName: job.chain.type,
    chainIndex: job.chainIndex,
    rootChainId: job.root.id,
    originId: job.origin?.id ?? null,
    input: decodeJson('payload', job.payload),
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
      return { state: tail.state, output: decodeJson('result', tail.result), completedAt: tail.finishedAt! }
    case 'failed':
      return { state: tail.state, error: errorOf(tail) }
    case 'cancelled':
      return { state: tail.state, reason: tail.cancelReason ?? null }
    default:
      return { state: tail.state }
  }
}
