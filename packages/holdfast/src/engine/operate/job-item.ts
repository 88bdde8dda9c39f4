// One line of a list of jobs, for people and for programs that act on it.

import { asError } from '../../error-details.ts'
import type { ErrorDetails } from '../../errors.ts'
import type { EndReason, JobRecord, JobState, SearchFields } from '../../storage/storage.ts'
import { parseType } from '../../storage/stored-type.ts'
import { errorOf } from '../job/job-error.ts'
import { attemptsOf, hasError, present } from '../job/job-view.ts'
import type { PayloadCodec } from './payload-codec.ts'

/** Names a job: an item of a list is one. */
export interface NamedJob {
  /** `queue`, `chain`, `task`, or that of a package that builds on one of them. */
  readonly face: string
  /** Name of the queue, job type or message queue. */
  readonly name: string
  /** Id of the job. */
  readonly id: string
}

/** A job in a list. Instants are epoch ms, by the storage's clock. */
export interface JobItem<TPayload = unknown> extends NamedJob {
  /** Where the job is. */
  readonly state: JobState
  /** Why the storage ended the job by itself. */
  readonly reason?: EndReason
  /** Runs begun; released ones do not count. */
  readonly attempts: number
  /** Most runs. Absent: the worker decides. */
  readonly maxAttempts?: number
  /** -100 … 100; a higher one runs first. */
  readonly priority: number
  /** Key of its group. */
  readonly group?: string
  /** What its start takes of a rate. Absent: 1. */
  readonly weight?: number
  /** Fields by which lists find it. */
  readonly search?: SearchFields
  /** When it was added, in epoch ms. */
  readonly createdAt: number
  /** When the job is, was or would be due. */
  readonly runAt: number
  /** When its last run began, in epoch ms. */
  readonly startedAt?: number
  /** When it ended, in epoch ms. */
  readonly finishedAt?: number
  /** When the record expires. */
  readonly expiresAt?: number
  /** Name of the worker that runs the job, or ran it last. */
  readonly workerId?: string
  /** True once its handler was asked to stop. */
  readonly cancelling?: true
  /** The reason that cancel() was given. */
  readonly cancelReason?: string
  /** Chains and blockers it still waits for. */
  readonly openBlockers?: number
  /** First job of its chain, if it is not the first itself. */
  readonly chain?: NamedJob
  /** Only if asked for (`payload: true`). */
  readonly payload?: TPayload
  /** Why the payload is absent although asked for: it cannot be decoded. */
  readonly payloadError?: string
  /** The latest error of a job that is not completed. Only if asked for (`error: true`). */
  readonly error?: ErrorDetails
}

export interface ItemParts {
  /** Decodes the payload. Absent: it is left out. */
  readonly codec?: PayloadCodec | undefined
  readonly error?: boolean | undefined
}

export function jobItem(record: JobRecord, { codec, error }: ItemParts = {}): JobItem {
  const { chain } = record
  const isFirst = chain.id === record.id && chain.type === record.type
  return present({
    ...named(record),
    state: record.state,
    reason: record.reason,
    attempts: attemptsOf(record),
    maxAttempts: record.maxAttempts,
    priority: record.priority,
    group: record.group,
    weight: record.weight,
    search: record.search,
    createdAt: record.createdAt,
    runAt: record.runAt,
    startedAt: record.startedAt,
    finishedAt: record.finishedAt,
    expiresAt: record.expiresAt,
    workerId: record.label,
    cancelling: record.cancelling || undefined,
    cancelReason: record.cancelReason,
    openBlockers: record.openBlockers || undefined,
    chain: isFirst ? undefined : named(chain),
    ...(codec && payloadOf(record, codec)),
    error: error && hasError(record) ? errorOf(record) : undefined,
  }) as unknown as JobItem
}

export const named = ({ type, id }: { readonly type: string; readonly id: string }): NamedJob => ({
  ...parseType(type),
  id,
})

function payloadOf({ payload }: JobRecord, codec: PayloadCodec): Pick<JobItem, 'payload' | 'payloadError'> {
  try {
    return { payload: codec.decode(payload) }
  } catch (error) {
    return { payloadError: asError(error).message }
  }
}
