// A message as a storage holds it: bytes of the queue's serde.

import { decode, encode, type Serde } from '../../engine/job/serde.ts'
import { decodeError } from '../../error-details.ts'
import { type ErrorDetails, isHoldfastError, usageError } from '../../errors.ts'
import type { Bytes, JobRecord } from '../../storage/storage.ts'

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

export function failedMessage(serde: Serde<unknown>, record: JobRecord): FailedMessage {
  const { id, payload, error, reason, failures, createdAt, finishedAt, group } = record
  let message: unknown
  try {
    message = decodeMessage(serde, payload)
  } catch {
    // Such a message failed for that reason, and its error says so.
  }
  return {
    id,
    message,
    error: reason === undefined ? decodeError(error) : { message: `ended by the storage: ${reason}`, code: reason },
    attempts: failures,
    enqueuedAt: createdAt,
    failedAt: finishedAt ?? createdAt,
    orderingKey: group,
  }
}
