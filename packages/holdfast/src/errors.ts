// Every error that Holdfast makes: one table of codes, and the classes that users catch.

import { plainDetails } from './job/error-details.ts'

/** Each code with what it means and what to do about it. docs/errors.md has the same list; a test compares them. */
export const errorCodes = {
  INVALID_ARGUMENT: 'A value was refused at the edge; the message says what was expected. Nothing was written.',
  FEATURE_UNSUPPORTED: 'The storage cannot do what was asked. Its `features` say what it can.',
  STORAGE_ERROR: 'A call to the storage failed. `maybeApplied` says whether it may have happened all the same.',
  STORAGE_CLOSED: 'The storage is not connected. Call connect(), or start what uses it.',
  SERIALIZATION_ERROR: 'A payload or result could not be turned into bytes or back. `what` and `cause` say more.',
  TOO_LARGE: 'A payload or result is larger than its limit. `size` and `limit` are in bytes.',
  TIMEOUT: 'The job did not end in time. It stays as it is; only the waiting ended.',
  JOB_FAILED: 'The job that was waited for failed for good. `details` is what its handler threw.',
  JOB_CANCELLED: 'The job that was waited for was cancelled, or a running attempt was asked to stop.',
  JOB_NOT_FOUND: 'The job was removed, replaced or expired before its outcome was read.',
  MAX_RETRIES: 'The job failed for good: its attempts are used up. `lastError` is the last one.',
  STALLED: 'The last attempt allowed was given up: it ran too long, or its worker died.',
  BLOCKER_FAILED: 'A chain that the job waited for failed or was cancelled.',
  ATTEMPT_TIMEOUT: 'The attempt reached visibilityTimeout and was given up.',
  LEASE_LOST: 'The attempt is no longer this worker’s: it was taken back, or its lease could not be renewed.',
  STOPPING: 'The worker stops, and its grace period is over.',
  UNRECOVERABLE: 'The handler said that trying again will not help.',
  QUEUE_STOPPED: 'The queue was stopped. Start it again, or use a storage that is open.',
  HANDLER_ALREADY_SET: 'execute() was called a second time. A queue has one handler.',
  MISSING_DEPENDENCY: 'A package that this driver needs is not installed. The message has the command.',
  INVALID_TASK_NAME: 'The name of a task is empty, too long, or text that not every storage can hold.',
  TASK_ALREADY_DEFINED: 'These tasks have one of this name already.',
  INVALID_SCHEMA: 'The schema of a task is no Standard Schema v1.',
  UNKNOWN_TASK: 'What was given is no task that these tasks defined; or a message names a task that this worker lacks.',
  INVALID_DEDUPLICATION_KEY: 'A deduplication key is empty, too long, or text that not every storage can hold.',
  INVALID_ORDERING_KEY: 'An ordering key is empty, too long, or text that not every storage can hold.',
  INVALID_DELAY: 'A delay is no duration, negative, or above 100 years.',
  INVALID_PAYLOADS: 'The payloads of a batch are no array.',
  BATCH_TOO_LARGE: 'A batch has more messages than one call may have.',
  BATCH_NOT_ATOMIC: 'A batch under one key needs a queue that stores all of it or nothing.',
  NO_TASK_QUEUE: 'No queue is configured for the task.',
  DEDUPLICATION_UNAVAILABLE: 'Neither the queue nor the key-value store can deduplicate, and the fallback is closed.',
  SCHEMA_REJECTED: 'The schema of a task refused its data, or threw. `issues` say why.',
  KV_FAILED: 'The key-value store failed while the deduplication key was taken; nothing was sent.',
  INVALID_MESSAGE: 'A message is undefined, which no queue can hold.',
  INVALID_KEY: 'A key of the key-value store is empty, too long, or not made of strings.',
  CLOSED: 'It was closed. Make another one.',
} as const

export type ErrorCode = keyof typeof errorCodes

// Known across two installed copies of the package, where instanceof is not.
const brand = Symbol.for('holdfast.error')

export class HoldfastError extends Error {
  readonly code: ErrorCode

  constructor(
    code: ErrorCode,
    message: string,
    data?: Readonly<Record<string, unknown>> & { readonly cause?: unknown },
  ) {
    super(message, data && 'cause' in data ? { cause: data.cause } : undefined)
    this.name = new.target.name
    this.code = code
    if (data) for (const key of Object.keys(data)) if (key !== 'cause') Object.assign(this, { [key]: data[key] })
  }

  get [brand](): true {
    return true
  }

  /** Name, code, message and data; errors among them as their details, for JSON would make them `{}`. */
  toJSON(): Record<string, unknown> {
    const json: Record<string, unknown> = { ...(this as object), message: this.message }
    for (const key of Object.keys(json)) if (json[key] instanceof Error) json[key] = plainDetails(json[key])
    if (this.cause !== undefined) json.cause = plainDetails(this.cause)
    return json
  }
}

export function isHoldfastError(value: unknown, code?: ErrorCode): value is HoldfastError {
  try {
    return value instanceof Error && brand in value && (code === undefined || (value as HoldfastError).code === code)
  } catch {
    return false // A proxy that answers nobody.
  }
}

/** A call to the storage failed. */
export class StorageError extends HoldfastError {
  /** The answer was lost, so the call may have happened. Calling again with the same id is safe. */
  declare readonly maybeApplied: boolean
  /** The same call may go through in a moment; it was repeated while its time allowed. */
  declare readonly transient?: boolean
  /** Such as `not_replicated`. */
  declare readonly reason?: string
  constructor(message: string, data: { cause?: unknown; maybeApplied: boolean; transient?: boolean; reason?: string }) {
    super('STORAGE_ERROR', message, data)
  }
}

export class SerializationError extends HoldfastError {
  declare readonly what: 'payload' | 'result'
  /** Where in the value, such as `data.items[3]`; of tasks. */
  declare readonly path?: string
  /** Which of a batch; of tasks. */
  declare readonly index?: number
  constructor(
    what: 'payload' | 'result',
    message: string,
    cause?: unknown,
    where?: { readonly path?: string; readonly index?: number },
  ) {
    super('SERIALIZATION_ERROR', message, { what, cause, ...where })
  }
}

/** enqueueAndWait: no outcome in time. */
export class TimeoutError extends HoldfastError {
  declare readonly jobId: string
  declare readonly timeout: number
  constructor(jobId: string, timeout: number) {
    super('TIMEOUT', `Job '${jobId}' did not end within ${timeout} ms`, { jobId, timeout })
  }
}

/** What is stored of an error. */
export interface ErrorDetails {
  name?: string
  message: string
  code?: string
  stack?: string
  cause?: ErrorDetails
  [key: string]: unknown
}

/** enqueueAndWait: the job failed for good. */
export class JobFailedError extends HoldfastError {
  declare readonly jobId: string
  declare readonly attempts: number
  declare readonly details: ErrorDetails
  /** `details` as JSON. */
  declare readonly originalError: string
  constructor(jobId: string, attempts: number, details: ErrorDetails) {
    super('JOB_FAILED', `Job '${jobId}' failed: ${details.message}`, {
      jobId,
      attempts,
      details,
      originalError: JSON.stringify(details),
    })
  }
}

/** enqueueAndWait: the job was cancelled. */
export class JobCancelledError extends HoldfastError {
  declare readonly jobId: string
  constructor(jobId: string) {
    super('JOB_CANCELLED', `Job '${jobId}' was cancelled`, { jobId })
  }
}

/** enqueueAndWait: the job went before its outcome was read. */
export class JobNotFoundError extends HoldfastError {
  declare readonly jobId: string
  constructor(jobId: string) {
    super('JOB_NOT_FOUND', `Job '${jobId}' was removed, replaced or expired before its outcome was read`, { jobId })
  }
}

/** The `failed` event. */
export class MaxRetriesError extends HoldfastError {
  declare readonly jobId: string
  declare readonly attempts: number
  declare readonly lastError: Error
  /** Undefined also if it could not be decoded. */
  declare readonly payload: unknown
  constructor(jobId: string, attempts: number, lastError: Error, payload: unknown) {
    super('MAX_RETRIES', `Job '${jobId}' failed after ${attempts} attempts: ${plainDetails(lastError).message}`, {
      jobId,
      attempts,
      lastError,
      cause: lastError,
    })
    // Not enumerable: payloads do not belong in logs.
    Object.defineProperty(this, 'payload', { value: payload, enumerable: false })
  }

  override toJSON(): Record<string, unknown> {
    const { cause: _, ...json } = super.toJSON() // It is lastError.
    return json
  }
}

type AbortCode = 'ATTEMPT_TIMEOUT' | 'LEASE_LOST' | 'STOPPING' | 'JOB_CANCELLED'

/** `job.signal.reason`. Its name is 'AbortError', as the platform's own. */
export class AttemptAbortedError extends HoldfastError {
  declare readonly code: AbortCode
  declare readonly jobId: string
  declare readonly attempt: number
  constructor(code: AbortCode, jobId: string, attempt: number) {
    super(code, `Job '${jobId}', attempt ${attempt}: ${abortSentences[code]}`, { jobId, attempt })
    this.name = 'AbortError'
  }
}

const abortSentences: Record<AbortCode, string> = {
  ATTEMPT_TIMEOUT: 'it reached visibilityTimeout',
  LEASE_LOST: 'its lease was lost',
  STOPPING: 'the worker stops',
  JOB_CANCELLED: 'it was cancelled',
}

/** Throw it from a handler when trying again will not help: the job fails at once. */
export class UnrecoverableError extends HoldfastError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('UNRECOVERABLE', message, options)
  }
}

/** Of a wrong call: a TypeError with the fields of a HoldfastError. */
export function usageError<C extends ErrorCode>(
  code: C,
  message: string,
  data?: Readonly<Record<string, unknown>>,
): TypeError & { code: C } {
  return Object.assign(new TypeError(message), { code, ...data })
}

/** A TypeError with `code: 'INVALID_ARGUMENT'`: "name: expected X, got Y". */
export function invalidArgument(
  name: string,
  expected: string,
  got: unknown,
): TypeError & { code: 'INVALID_ARGUMENT' } {
  return Object.assign(new TypeError(`${name}: expected ${expected}, got ${printable(got)}`), {
    code: 'INVALID_ARGUMENT' as const,
  })
}

export function unsupported(driver: string, what: string): HoldfastError {
  return new HoldfastError('FEATURE_UNSUPPORTED', `the ${driver} storage does not support ${what}`, { driver, what })
}

/** A short form for messages. Never throws, whatever the value does. */
export function printable(value: unknown): string {
  try {
    if (typeof value === 'string') return JSON.stringify(value.length > 64 ? `${value.slice(0, 61)}...` : value)
    if (typeof value === 'function') return 'a function'
    if (typeof value === 'bigint') return `${value}n`
    if (value === null || typeof value !== 'object') return String(value)
    if (Array.isArray(value)) return `an array of ${value.length}`
    const name: unknown = value.constructor?.name
    return typeof name === 'string' && name !== '' && name !== 'Object'
      ? `an instance of ${name.slice(0, 64)}`
      : 'an object'
  } catch {
    return 'an unprintable value'
  }
}
