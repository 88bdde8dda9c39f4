// A message as a storage holds it: JSON, as bytes.

import { type ErrorDetails, HoldfastError, SerializationError, usageError } from '../../errors.ts'
import { decodeError } from '../../error-details.ts'
import type { Bytes, JobRecord } from '../../storage/storage.ts'

/** @param index of a batch, for the error @throws INVALID_MESSAGE, SERIALIZATION_ERROR, TOO_LARGE */
export function encodeMessage(message: unknown, limit: number, index?: number): Bytes {
  const where = index === undefined ? undefined : { index }
  if (message === undefined) throw usageError('INVALID_MESSAGE', 'message: expected anything but undefined', where)
  let json: string | undefined
  try {
    json = JSON.stringify(message)
  } catch (cause) {
    throw new SerializationError('payload', 'the message cannot be serialised', cause, where)
  }
  if (json === undefined) {
    throw new SerializationError('payload', `JSON cannot hold a ${typeof message}`, undefined, where)
  }
  const bytes = Buffer.from(json)
  const size = bytes.byteLength
  if (size <= limit) return bytes
  const data = { what: 'payload', size, limit, ...where }
  throw new HoldfastError('TOO_LARGE', `the message has ${size} bytes, the limit is ${limit}`, data)
}

export function decodeMessage(bytes: Bytes | undefined): unknown {
  return JSON.parse(Buffer.from(bytes ?? []).toString())
}

/** A message that failed for good. Kept for 30 days. */
export interface FailedMessage {
  readonly id: string
  readonly message: unknown
  readonly error: ErrorDetails
  /** Runs that failed. */
  readonly attempts: number
  readonly enqueuedAt: number
  readonly failedAt: number
  readonly orderingKey?: string
}

export function failedMessage(record: JobRecord): FailedMessage {
  const { id, payload, error, reason, failures, createdAt, finishedAt, group } = record
  let message: unknown
  try {
    message = decodeMessage(payload)
  } catch {
    // Bytes that somebody else wrote: it failed for that.
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
