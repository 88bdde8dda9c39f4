// Records of the storage, as a Queue shows them to its callers.

import { type ErrorDetails, JobCancelledError, JobFailedError, JobNotFoundError } from '../errors.ts'
import { errorOf } from '../engine/job/job-error.ts'
import { attemptsOf } from '../engine/job/job-view.ts'
import type { EndReason, JobRecord, JobState, RemoveVerdict } from '../storage/storage.ts'
import { decode, type Serde } from '../engine/job/serde.ts'
import { isTerminal } from '../storage/rules/job/states.ts'
import type { WaitEnd } from './waits.ts'

/** State of a job. `blocked` occurs in other faces only. */
export type MessageState = JobState

/** What getStatus() returns: the state of a job at one instant of the storage. Instants are epoch ms. */
export interface MessageStatus<TResult> {
  /** Id of the job. */
  id: string
  /** Where the job is: `scheduled`, `queued`, `processing`, `failing`, `completed`, `failed` or `cancelled`. */
  state: MessageState
  /** Why the storage itself ended the job: `stalled`, or `expired` (not started within `expiresInMs`). */
  reason?: EndReason
  /** The reason that cancel() was given. */
  cancelReason?: string
  /** When the job was accepted; never changes. */
  createdAt: number
  /** Runs begun; released ones do not count. */
  attempts: number
  /** Most runs, the first included. */
  maxAttempts: number
  /** When it becomes due. Only while scheduled or failing. */
  runAt?: number
  /** The `workerId` of its last run. Only while processing, and after the end. */
  workerId?: string
  /** When its last run began. Only while processing, and after the end. */
  startedAt?: number
  /** When it ended. */
  finishedAt?: number
  /** When its record expires. Absent before the end, and if the record is kept. */
  expiresAt?: number
  /** Only of a completed job. */
  result?: TResult
  /** The latest error. Only of a failing or failed job. */
  error?: ErrorDetails
}

/** @throws SerializationError if the result cannot be decoded */
export function statusOf<R>(record: JobRecord, serde: Serde<R>, maxAttempts: number): MessageStatus<R> {
  const { state } = record
  const status: MessageStatus<R> = {
    id: record.id,
    state,
    createdAt: record.createdAt,
    attempts: attemptsOf(record),
    maxAttempts: record.maxAttempts ?? maxAttempts,
  }
  if (record.reason !== undefined) status.reason = record.reason
  if (record.cancelReason !== undefined) status.cancelReason = record.cancelReason
  if (state === 'scheduled' || state === 'failing') status.runAt = record.runAt
  if (state === 'processing' || isTerminal(state)) {
    if (record.label !== undefined) status.workerId = record.label
    if (record.startedAt !== undefined) status.startedAt = record.startedAt
  }
  if (record.finishedAt !== undefined) status.finishedAt = record.finishedAt
  if (record.expiresAt !== undefined) status.expiresAt = record.expiresAt
  if (state === 'completed') status.result = decode('result', serde, record.result)
  if (state === 'failing' || state === 'failed') status.error = errorOf(record)
  return status
}

/** The result that a wait returns. @throws JobFailedError, JobCancelledError, JobNotFoundError, SerializationError */
export function waitedResult<R>(waitedId: string, end: WaitEnd, serde: Serde<R>): R {
  if (end === 'gone') throw new JobNotFoundError(waitedId)
  if ('standing' in end) return decode('result', serde, end.standing.result)
  const { record } = end
  const { id } = record
  if (record.state === 'completed') return decode('result', serde, record.result)
  if (record.state === 'cancelled') throw new JobCancelledError(id, record.cancelReason, record.reason === 'expired')
  throw new JobFailedError(id, attemptsOf(record), errorOf(record))
}

/** Answer of updateResultTTL(). `missing_payload` comes from custom storages only. */
export interface UpdateResultTTLResult {
  /** `updated`; `not_terminal`: the job has not ended; `not_found`: its id is unknown, or its record has expired. */
  status: 'updated' | 'not_found' | 'not_terminal' | 'missing_payload'
}

export function updateTTLResult({ verdict }: RemoveVerdict): UpdateResultTTLResult {
  return { status: verdict === 'kept' ? 'updated' : verdict === 'not_terminal' ? 'not_terminal' : 'not_found' }
}
