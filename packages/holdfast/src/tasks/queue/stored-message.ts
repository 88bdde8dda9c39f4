// A message as a storage holds it: bytes of the queue's serde.

import { attemptsOf, type AttemptView, attemptViewOf, present, progressOf } from '../../engine/job/job-view.ts'
import { decode, encode, type Serde } from '../../engine/job/serde.ts'
import { decodeError } from '../../error-details.ts'
import { type ErrorDetails, isHoldfastError, usageError } from '../../errors.ts'
import { emptyCounts } from '../../storage/rules/count.ts'
import type {
  Bytes,
  EndReason,
  JobRecord,
  JobState,
  RecordPart,
  SearchFields,
  TypeCounts,
} from '../../storage/storage.ts'

export interface MessageEncoding {
  readonly serde: Serde<unknown>
  /** Largest message, in bytes. */
  readonly limit: number
}

/** @param index in a batch, for the error @throws INVALID_MESSAGE, SERIALIZATION_ERROR, TOO_LARGE */
export function encodeMessage(message: unknown, { serde, limit }: MessageEncoding, index?: number): Bytes {
  const where = index === undefined ? undefined : { index }
  if (message === undefined) {
    throw usageError(
      'INVALID_MESSAGE',
      'message: expected a value, got undefined. Use null for an empty message.',
      where,
    )
  }
  try {
    return encode('payload', serde, message, limit)!
  } catch (error) {
    throw isHoldfastError(error) && where ? Object.assign(error, where) : error
  }
}

/** @throws SerializationError */
export function decodeMessage(serde: Serde<unknown>, bytes: Bytes | undefined): unknown {
  // Every message has bytes. A record without them was not written by this queue.
  return decode('payload', serde, bytes ?? new Uint8Array())
}

/** A message that failed for good. */
export interface FailedMessage {
  readonly id: string
  /** Undefined if the stored bytes cannot be decoded. */
  readonly message: unknown
  readonly error: ErrorDetails
  /** Runs that failed. */
  readonly attempts: number
  /** Epoch ms. */
  readonly enqueuedAt: number
  /** Epoch ms. */
  readonly failedAt: number
  readonly orderingKey?: string | undefined
}

/** A message as the storage has it. Instants are epoch ms. */
export interface StoredMessage {
  readonly id: string
  /** Undefined if the stored bytes cannot be decoded. */
  readonly message: unknown
  readonly state: JobState
  /** Why the storage ended it by itself. */
  readonly reason?: EndReason | undefined
  /** Runs begun; released ones do not count. */
  readonly attempts: number
  /** The last value that a run reported by progress(). Absent: none. */
  readonly progress?: unknown
  /** The last 10 runs that have ended, oldest first. */
  readonly history: readonly AttemptView[]
  readonly enqueuedAt: number
  /** When it is, was or would be due. */
  readonly runAt: number
  readonly startedAt?: number | undefined
  readonly finishedAt?: number | undefined
  /** When its record expires. */
  readonly expiresAt?: number | undefined
  /** When its first run must have begun (`expiresInMs`). */
  readonly deadlineAt?: number | undefined
  readonly priority: number
  readonly orderingKey?: string | undefined
  readonly timeoutMs?: number | undefined
  readonly search?: SearchFields | undefined
  /** Its handler was asked to stop. */
  readonly cancelling?: boolean | undefined
  /** The `reason` of a cancel(). */
  readonly cancelReason?: string | undefined
  /** Of the last run that failed. */
  readonly error?: ErrorDetails | undefined
}

/** Numbers of messages, at one instant of the storage. */
export interface MessageCounts {
  readonly states: Readonly<Record<JobState, number>>
  /** Due and not running, lost leases included. */
  readonly due: number
  /** Not yet due, waiting retries included. */
  readonly delayed: number
  /** Epoch ms: since when the oldest of those that are due waits. */
  readonly oldestDueAt?: number | undefined
}

/** @param counts of the type. Absent: it has no message */
export function messageCounts(counts: TypeCounts | undefined): MessageCounts {
  if (!counts) return { states: emptyCounts(), due: 0, delayed: 0 }
  const { states, due, delayed, oldestDueAt } = counts
  return { states, due, delayed, ...(oldestDueAt !== undefined && { oldestDueAt }) }
}

export function failedMessage(serde: Serde<unknown>, record: JobRecord): FailedMessage {
  const { id, failures, createdAt, finishedAt, group } = record
  return {
    id,
    message: readMessage(serde, record),
    error: errorOf(record),
    attempts: failures,
    enqueuedAt: createdAt,
    failedAt: finishedAt ?? createdAt,
    orderingKey: group,
  }
}

/** The parts of a record that storedMessage() reads. */
export const messageParts: readonly RecordPart[] = ['payload', 'error', 'attempts', 'progress']

/** @param record with messageParts */
export function storedMessage(serde: Serde<unknown>, record: JobRecord): StoredMessage {
  const { id, state, reason, createdAt, group, error } = record
  const { runAt, startedAt, finishedAt, expiresAt, deadlineAt } = record
  const { priority, timeoutMs, search, cancelling, cancelReason } = record
  // Only what is known: the record is printed and compared.
  const known: Omit<StoredMessage, 'message'> = present({
    id,
    state,
    reason,
    attempts: attemptsOf(record),
    history: (record.attempts ?? []).map(attemptViewOf),
    enqueuedAt: createdAt,
    runAt,
    startedAt,
    finishedAt,
    expiresAt,
    deadlineAt,
    priority,
    orderingKey: group,
    timeoutMs,
    search,
    cancelling,
    cancelReason,
    ...progressOf(record),
    error: error === undefined && reason === undefined ? undefined : errorOf(record),
  })
  return { ...known, message: readMessage(serde, record) }
}

function errorOf({ reason, error }: JobRecord): ErrorDetails {
  return reason === undefined ? decodeError(error) : { message: `ended by the storage: ${reason}`, code: reason }
}

function readMessage(serde: Serde<unknown>, { payload }: JobRecord): unknown {
  try {
    return decodeMessage(serde, payload)
  } catch {
    // Such a message fails for that reason, and its error says so.
    return undefined
  }
}
