// Records as the Queue shows them.

import type { ErrorDetails } from '../errors.ts'
import { stalledError } from '../engine/work/outcomes.ts'
import type { JobRecord, JobState } from '../storage/storage.ts'
import { decodeError, errorDetails } from '../error-details.ts'
import { decode, type Serde } from '../engine/job/serde.ts'
import { isTerminal } from '../storage/rules/job/states.ts'

export type MessageState = JobState

export interface MessageStatus<TResult> {
  id: string
  state: MessageState
  /** When this job was accepted, epoch ms; never changes. */
  createdAt: number
  /** Begun; released ones are not counted. */
  attempts: number
  maxAttempts: number
  /** Scheduled, failing: when it becomes due. */
  runAt?: number
  /** The worker's label. Processing, terminal. */
  workerId?: string
  startedAt?: number
  finishedAt?: number
  expiresAt?: number
  /** Completed. */
  result?: TResult
  /** Failing, failed: the latest. */
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

/** Failures, and the run that is under way or succeeded. */
export function attemptsOf({ state, failures }: JobRecord): number {
  return failures + (state === 'processing' || state === 'completed' ? 1 : 0)
}

/** What the handler threw; or, where the storage ended the job by itself, a sentence of ours. */
export function errorOf(record: JobRecord): ErrorDetails {
  if (record.reason === 'stalled') return errorDetails(stalledError(record.id))
  return decodeError(record.error)
}
