// Every error that Holdfast makes: one table of codes, and the classes that users catch.
// Longer than other files for that: somebody who catches an error looks here, and nowhere else.

import { plainDetails } from './error-details.ts'

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
  NOT_ENTRY_POINT: 'A chain may not start with this job type: it is not declared with `entry: true`.',
  INVALID_CONTINUATION: 'A job type may not continue with that one, by its declaration.',
  INVALID_BLOCKERS: 'The blockers of a job are not those that its type declares.',
  INVALID_INPUT: 'An input does not fit its job type. Nothing was written.',
  INVALID_OUTPUT: 'An output does not fit its job type. The job is not completed by it.',
  UNKNOWN_TYPE: 'No job type of this name is declared.',
  JOB_ALREADY_COMPLETED: 'The job was completed by somebody else before.',
  CHAIN_NOT_FOUND: 'There is no chain of this type and id, or no longer.',
  WAIT_TIMEOUT: 'The chain did not end in time. It goes on; only the waiting ended.',
  CHAIN_FAILED: 'The chain that was waited for failed. `details` is what its last job threw.',
  CHAIN_CANCELLED: 'The chain was cancelled.',
  NOT_TRIGGERABLE: 'The job neither waits for its time nor failed or was cancelled.',
  NOT_ROOT_CHAIN: 'The chain was started as a blocker of another. `root` is the one to delete.',
  BLOCKER_REFERENCED: 'Unfinished jobs outside need the chain. `by` names them.',
  BLOCKER_NOT_FOUND: 'A chain that was given as a blocker does not exist.',
  BLOCKER_OWN_CHAIN: 'A continuation cannot wait for its own chain.',
  TOO_MANY_BLOCKERS: 'A job has at most 1000 blockers.',
  PREPARE_TWICE: 'prepare() was called a second time in one attempt.',
  PREPARE_AFTER_COMPLETE: 'prepare() was called after complete().',
  COMPLETE_TWICE: 'complete() was called a second time in one attempt.',
  CONTINUE_TWICE: 'continueWith() was called a second time in one completion.',
  COMPLETE_NOT_CALLED: 'The handler resolved without complete(). The attempt failed.',
  MIDDLEWARE_SKIPPED: 'A middleware did not call next(). The attempt failed.',
  TRANSACTION_TOO_LONG:
    'The attempt’s transaction was open for a quarter of its lease, and kept all others from writing.',
  DEDUPLICATION_CONFLICT: 'The key of the chain was taken by another since.',
  RESCHEDULED: 'The handler asked to be run again at another time. Not a failure.',
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
  /** Where in the value, such as `items[2].price`: of inputs and outputs of chains, and of tasks. */
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

type JobTypeCode =
  | 'NOT_ENTRY_POINT'
  | 'INVALID_CONTINUATION'
  | 'INVALID_BLOCKERS'
  | 'INVALID_INPUT'
  | 'INVALID_OUTPUT'
  | 'UNKNOWN_TYPE'

/** A job type's declaration does not allow what was asked. */
export class JobTypeValidationError extends HoldfastError {
  declare readonly code: JobTypeCode
  declare readonly typeName: string
  /** What a schema found, each with the path to it: of INVALID_INPUT and INVALID_OUTPUT, where schemas are used. */
  declare readonly issues?: readonly { readonly message: string; readonly path: readonly (string | number)[] }[]
  constructor(
    code: JobTypeCode,
    typeName: string,
    message: string,
    data?: { readonly cause?: unknown; readonly issues?: JobTypeValidationError['issues'] },
  ) {
    super(code, `job type '${typeName}': ${message}`, { typeName, ...data })
  }
}

/** Of prepare(), complete() or a middleware's next(): the attempt is no longer this worker's, and nothing was recorded. */
export class LeaseLostError extends HoldfastError {
  declare readonly typeName: string
  declare readonly jobId: string
  declare readonly attempt: number
  /** As the signal's. */
  declare readonly reason: string
  constructor(data: { typeName: string; jobId: string; attempt: number; reason: string }) {
    super('LEASE_LOST', `Job '${data.jobId}', attempt ${data.attempt}: its lease was lost (${data.reason})`, data)
  }
}

/** waitForJobChainCompletion: the chain did not end in time. */
export class WaitForJobChainCompletionTimeoutError extends HoldfastError {
  declare readonly typeName: string
  declare readonly chainId: string
  declare readonly timeoutMs: number
  constructor(typeName: string, chainId: string, timeoutMs: number) {
    const message = `Chain '${chainId}' of '${typeName}' did not end within ${timeoutMs} ms`
    super('WAIT_TIMEOUT', message, { typeName, chainId, timeoutMs })
  }
}

/** waitForJobChainCompletion: the chain failed. */
export class JobChainFailedError extends HoldfastError {
  declare readonly typeName: string
  declare readonly chainId: string
  declare readonly details: ErrorDetails
  constructor(typeName: string, chainId: string, details: ErrorDetails) {
    super('CHAIN_FAILED', `Chain '${chainId}' of '${typeName}' failed: ${details.message}`, {
      typeName,
      chainId,
      details,
    })
  }
}

/** What rescheduleJob throws. */
export class RescheduleJobError extends HoldfastError {
  /** As it was given to rescheduleJob. */
  declare readonly schedule: object
  constructor(schedule: object, cause?: unknown) {
    const message = 'the job is to run again at another time'
    super('RESCHEDULED', message, cause === undefined ? { schedule } : { schedule, cause })
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
