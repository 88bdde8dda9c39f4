// Every error of Holdfast: one table of codes, and the classes that users catch.
// Longer than other files so that one place has them all.
//
// A message reads `<where>: <what happened>. <what it means or what was done>. <what to do>`. It quotes values, never secrets.

import { counted } from './count-text.ts'
import { plainDetails } from './error-details.ts'

/** Every code with its meaning. docs/errors.md has the same list; a test compares them. */
export const errorCodes = {
  INVALID_ARGUMENT: 'An argument or option is invalid; the message says what was expected. Nothing was written.',
  FEATURE_UNSUPPORTED: 'The storage does not support the call. Its `features` say what it supports.',
  STORAGE_ERROR: 'A call to the storage failed. `maybeApplied` says whether it may have been applied.',
  STORAGE_CLOSED: 'The storage is not connected. Call connect(), or start what uses it.',
  SERIALIZATION_ERROR:
    'A payload, result or progress cannot be encoded or decoded. The message names its path and the reason.',
  TOO_LARGE: 'A payload, result or progress is larger than its limit. `size` and `limit` are in bytes.',
  TIMEOUT: 'The job did not end in time. Only the wait ended; the job goes on.',
  JOB_FAILED: 'The job that the call waited for failed for good. `details` is what its handler threw.',
  JOB_CANCELLED: 'The job that the call waited for was cancelled, or a running attempt was cancelled with `abort`.',
  JOB_NOT_FOUND: 'The job was removed, replaced or expired before its outcome was read.',
  DUPLICATE_JOB:
    'Another job has the id or the deduplication key, or its last version is not below this one, and `onDuplicate` is `reject`. Nothing was written.',
  BATCH_INTERRUPTED:
    'A batch is stored up to the item `accepted`; adding the next ones failed. Call again, with `resume` if there is one.',
  MAX_RETRIES: 'The job failed for good. `lastError` is the error of its last attempt.',
  STALLED: 'The last attempt of the job ran longer than it may, or its worker died.',
  BLOCKER_FAILED: 'A chain that the job waits for failed or was cancelled.',
  ATTEMPT_TIMEOUT: 'The attempt reached timeoutMs. Its result is dropped.',
  LEASE_LOST: 'The worker lost the lease of the attempt: the job was taken back, or the lease could not be renewed.',
  STOPPING: 'The worker is stopping, and its grace period is over.',
  UNRECOVERABLE: 'The handler failed the job for good: another attempt would not help.',
  RETRY_REQUESTED: 'The handler asked for another run: retry() makes it. The run counts as an attempt.',
  MAX_SNOOZES: 'The job asked to be snoozed more often than maxSnoozes allows, and failed.',
  RATE_LIMITED:
    'The handler was told to slow down: rateLimited() makes it. The job runs again later, and no attempt is spent. Not a failure.',
  QUEUE_FULL:
    'So many jobs of the type, or of the group, wait already as `maxWaiting` allows. Nothing was written. `of`, `waiting` and `max` say which.',
  GROUP_KIND:
    'The group has unfinished jobs of the other kind: ordered, or not ordered. Nothing was written. Use another key, or the same kind.',
  QUEUE_STOPPED: 'The queue was stopped. Call start() again, or keep its storage connected.',
  HANDLER_ALREADY_SET: 'execute() was called a second time. A queue has one handler.',
  NOT_ENTRY_POINT: 'A chain cannot start with this job type: it is not declared with `entry: true`.',
  INVALID_CONTINUATION: 'The declaration of the job type does not allow this continuation.',
  INVALID_BLOCKERS: 'The blockers of the job are not those that its type declares.',
  INVALID_INPUT: 'The input does not match its job type. Nothing was written.',
  INVALID_OUTPUT: 'The output does not match its job type. The job was not completed.',
  UNKNOWN_TYPE: 'No job type of this name is declared.',
  JOB_ALREADY_COMPLETED: 'Another caller completed the job first. Nothing was written.',
  CHAIN_NOT_FOUND: 'No chain of this type and id exists, or its record has expired.',
  WAIT_TIMEOUT: 'The chain did not end in time. Only the wait ended; the chain goes on.',
  CHAIN_FAILED: 'The chain that the call waited for failed. `details` is what its last job threw.',
  CHAIN_CANCELLED: 'The chain was cancelled.',
  NOT_TRIGGERABLE: 'The job is not scheduled, failing, failed or cancelled, so it cannot be triggered.',
  NOT_ROOT_CHAIN: 'The chain was started as a blocker of another chain. `root` is the chain to delete.',
  BLOCKER_REFERENCED: 'Unfinished jobs of other chains wait for the chain. `by` names them.',
  BLOCKER_NOT_FOUND: 'A chain given as a blocker does not exist.',
  BLOCKER_OWN_CHAIN: 'A continuation cannot wait for its own chain.',
  TOO_MANY_BLOCKERS: 'A job has at most 1000 blockers.',
  PREPARE_TWICE: 'prepare() was called a second time in one attempt.',
  PREPARE_AFTER_COMPLETE: 'prepare() was called after complete().',
  COMPLETE_TWICE: 'complete() was called a second time in one attempt.',
  CONTINUE_TWICE: 'continueWith() was called a second time in one completion.',
  COMPLETE_NOT_CALLED: 'The handler resolved without complete(). The attempt failed.',
  MIDDLEWARE_SKIPPED: 'A middleware did not call next(). The attempt failed.',
  TRANSACTION_ENDED: 'The transaction that was given as `tx` ended before the call was sent. Nothing was written.',
  TRANSACTION_TOO_LONG:
    'The transaction of the attempt blocked all other writes for a quarter of its lease, and was rolled back.',
  DEDUPLICATION_CONFLICT: 'Another chain has taken the deduplication key since.',
  RESCHEDULED: 'The handler put the job off to a later time. Not a failure.',
  MISSING_DEPENDENCY:
    'A package that the driver or a cron expression needs is not installed. The message has the install command.',
  SCHEDULE_NOT_FOUND: 'There is no schedule of this name. The message lists those that there are.',
  INVALID_TASK_NAME: 'The name of a task is empty, too long, or contains characters that a storage cannot hold.',
  TASK_ALREADY_DEFINED: 'A task of this name is defined already.',
  INVALID_SCHEMA: 'The schema of a task is not a Standard Schema v1.',
  UNKNOWN_TASK:
    'The task is not defined here: the handle is of other tasks, or a message names a task that this worker lacks.',
  INVALID_DEDUPLICATION_KEY:
    'A deduplication key is empty, too long, or contains characters that a storage cannot hold.',
  INVALID_ORDERING_KEY: 'An ordering key is empty, too long, or contains characters that a storage cannot hold.',
  INVALID_DELAY: 'A delay is not a duration, negative, or above 100 years.',
  INVALID_PAYLOADS: 'The payloads of a batch are not an array.',
  BATCH_TOO_LARGE: 'A batch has more messages than one deduplication key allows.',
  BATCH_NOT_ATOMIC: 'A batch under one deduplication key needs a queue that stores all of it or nothing.',
  NO_TASK_QUEUE: 'No queue is configured for the task.',
  DEDUPLICATION_UNAVAILABLE: 'Neither the queue nor the key-value store can deduplicate, and the fallback is closed.',
  SCHEMA_REJECTED: 'The schema of a task rejected its data, or threw. `issues` say why.',
  KV_FAILED: 'The key-value store failed while it took the deduplication key. Nothing was sent.',
  INVALID_MESSAGE: 'A message is undefined, which no queue can hold.',
  INVALID_KEY: 'A key of the key-value store is empty, too long, or contains a value that is not a string.',
  CLOSED: 'The object was closed. Create a new one.',
} as const

/** Code of an error, such as `QUEUE_FULL`. docs/errors.md lists them all, with what to do. */
export type ErrorCode = keyof typeof errorCodes

// Recognised across two installed copies of the package, where instanceof fails.
const brand = Symbol.for('holdfast.error')

/** Base class of the errors of Holdfast. Its data are fields of the error. */
export class HoldfastError extends Error {
  /** Code of the error, for programs: it stays the same when a message changes. */
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

  /** Returns name, code, message and data. Errors among the data become their details: JSON would make them `{}`. */
  toJSON(): Record<string, unknown> {
    const json: Record<string, unknown> = { ...(this as object), message: this.message }
    for (const key of Object.keys(json)) if (json[key] instanceof Error) json[key] = plainDetails(json[key])
    if (this.cause !== undefined) json.cause = plainDetails(this.cause)
    return json
  }
}

/** Whether a value is an error of Holdfast, with this code if one is given. Recognises errors of another installed copy too. */
export function isHoldfastError(value: unknown, code?: ErrorCode): value is HoldfastError {
  try {
    return value instanceof Error && brand in value && (code === undefined || (value as HoldfastError).code === code)
  } catch {
    return false // A proxy whose traps throw.
  }
}

/** Whether a value is an error that Holdfast made: one of its classes, or a TypeError with one of its codes. */
export function isRefusal(value: unknown): boolean {
  if (isHoldfastError(value)) return true
  try {
    const { code } = value as { code?: unknown }
    return value instanceof TypeError && typeof code === 'string' && Object.hasOwn(errorCodes, code)
  } catch {
    return false
  }
}

/** A call to the storage failed. */
export class StorageError extends HoldfastError {
  /** Whether the call may have been applied: its answer was lost. Calling again with the same id is safe. */
  declare readonly maybeApplied: boolean
  /** Whether the same call may succeed soon. Holdfast repeated it for `callTimeoutMs`. */
  declare readonly transient?: boolean
  /** Reason that a driver gives, such as `not_replicated`. */
  declare readonly reason?: string
  constructor(message: string, data: { cause?: unknown; maybeApplied: boolean; transient?: boolean; reason?: string }) {
    super('STORAGE_ERROR', message, data)
  }
}

/** What cannot be stored. */
export type ValueKind = 'payload' | 'result' | 'progress'

/** A payload, result or progress cannot be encoded or decoded. */
export class SerializationError extends HoldfastError {
  declare readonly what: ValueKind
  /** Path of the part that cannot be encoded, such as `payload.items[2].price`. Absent with a custom serde, and for stored bytes. */
  declare readonly path?: string
  /** Tasks: index of the payload in its batch. */
  declare readonly index?: number
  constructor(
    what: ValueKind,
    message: string,
    cause?: unknown,
    where?: { readonly path?: string; readonly index?: number },
  ) {
    super('SERIALIZATION_ERROR', message, { what, cause, ...where })
  }
}

/** enqueueAndWait: the job did not end in time. Only the wait ended. */
export class TimeoutError extends HoldfastError {
  /** Id of the job that was waited for. */
  declare readonly jobId: string
  /** The wait, in ms. */
  declare readonly timeout: number
  constructor(jobId: string, timeout: number) {
    const message = `Job '${jobId}': it did not end within ${timeout} ms. Only the wait ended; the job goes on. Wait again with the same id, read getStatus() later, or ask explain() what it waits for.`
    super('TIMEOUT', message, { jobId, timeout })
  }
}

/** The part of an error that is stored with a job. */
export interface ErrorDetails {
  /** Name of the error, such as `TypeError`. */
  name?: string
  /** Message of the error. */
  message: string
  /** Code of the error, if it has one. */
  code?: string
  /** Stack of the error. */
  stack?: string
  /** What caused it. */
  cause?: ErrorDetails
  /** Of an AggregateError: the first ten of its errors. */
  errors?: ErrorDetails[]
  /** Other properties of the error that can be stored. */
  [key: string]: unknown
}

/** enqueueAndWait: the job failed for good. */
export class JobFailedError extends HoldfastError {
  /** Id of the job. */
  declare readonly jobId: string
  /** Runs that the job had. */
  declare readonly attempts: number
  /** What the last run threw, as it is stored. */
  declare readonly details: ErrorDetails
  /** `details` as JSON. */
  declare readonly originalError: string
  constructor(jobId: string, attempts: number, details: ErrorDetails) {
    // The wording is fixed by the specification of the Queue.
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
  /** Id of the job. */
  declare readonly jobId: string
  /** The reason that cancel() was given; `expired` if the job was not started within `expiresInMs`. Absent: none. */
  declare readonly reason?: string
  /** @param isExpired the storage ended the job, because it was not started in time */
  constructor(jobId: string, reason?: string, isExpired = false) {
    const because = reason === undefined ? '' : `, with the reason ${JSON.stringify(reason)}`
    const what = isExpired
      ? 'it was not started within expiresInMs, and ended as cancelled'
      : `it was cancelled${because}`
    const message = `Job '${jobId}': ${what}. Its id is free, and enqueue() accepts it again.`
    super(
      'JOB_CANCELLED',
      message,
      isExpired ? { jobId, reason: 'expired' } : reason === undefined ? { jobId } : { jobId, reason },
    )
  }
}

/** Another job that has the id or the deduplication key; or the last accepted version of the key. */
export type Duplicate =
  | { readonly by: 'id' | 'key'; readonly jobId: string; readonly state: string }
  | { readonly by: 'version'; readonly version: number }

/**
 * enqueue with `onDuplicate: 'reject'`: another job has the id or the deduplication key, or the version is not above the last one of
 * the key. Nothing was written. enqueueAndWait() rejects with it for such a version in any case: there is no job to wait for.
 */
export class DuplicateJobError extends HoldfastError {
  /** Id of the other job: not the given one if the deduplication key is taken. Absent with `by: 'version'`. */
  declare readonly jobId?: string
  /** State of the other job. */
  declare readonly state?: string
  /** What is taken. */
  declare readonly by: 'id' | 'key' | 'version'
  /** With `by: 'version'`: the last accepted version. */
  declare readonly version?: number
  constructor(duplicate: Duplicate) {
    super('DUPLICATE_JOB', duplicateMessage(duplicate), duplicate)
  }
}

function duplicateMessage(duplicate: Duplicate): string {
  if (duplicate.by === 'version') {
    return `Version ${duplicate.version} of the deduplication key was accepted before. Nothing was written. Use a greater version.`
  }
  const { by, jobId, state } = duplicate
  const what = by === 'id' ? 'has this id' : 'holds the deduplication key'
  return `Job '${jobId}' ${what} (${state}). Nothing was written. Use another ${by}, or onDuplicate 'return' or 'replace'.`
}

/**
 * A batch of which the first items are stored, and then the storage or queue failed. A Queue's batch can be enqueued again as it is:
 * ids deduplicate. One of messages or tasks is called again with `resume`, which sends what is missing; without it, all of it.
 */
export class BatchInterruptedError extends HoldfastError {
  /** Number of items that are certainly stored, or were duplicates: those before this index. */
  declare readonly accepted: number
  /** Number of items of the call. */
  declare readonly total: number
  /** Option of the call that sends the rest. Absent on a Queue. */
  declare readonly resume?: string
  /** Whether items behind `accepted` may be stored too, because an answer was lost. The next call recognises them. */
  declare readonly maybeApplied: boolean
  constructor(accepted: number, total: number, cause: unknown, resume?: string) {
    const reason = plainDetails(cause).message.replace(/[.\s]+$/, '')
    const again =
      resume === undefined
        ? 'Call again with the same items: their ids deduplicate, so none is added twice.'
        : 'Call again with the same items and `resume` of this error, which sends the rest.'
    const message = `enqueueMany: the first ${accepted} of ${total} items are stored, and adding the next ones failed: ${reason}. ${again}`
    const maybeApplied = !(cause instanceof StorageError) || cause.maybeApplied
    super('BATCH_INTERRUPTED', message, {
      accepted,
      total,
      ...(resume !== undefined && { resume }),
      maybeApplied,
      cause,
    })
  }
}

/** So many jobs wait already as `maxWaiting` of the limits allows: the job was refused. Try again later. */
export class QueueFullError extends HoldfastError {
  /** What is full: the type, or the group of the job. */
  declare readonly of: 'type' | 'group'
  /** Jobs that wait already. */
  declare readonly waiting: number
  /** Most jobs that may wait. */
  declare readonly max: number
  /** Face and name of the type. */
  declare readonly face: string
  /** Name of the queue. */
  declare readonly queue: string
  /** Key of the group that is full. Absent: the type is. */
  declare readonly group?: string
  constructor(data: {
    readonly of: 'type' | 'group'
    readonly waiting: number
    readonly max: number
    readonly face: string
    readonly name: string
    readonly group?: string | undefined
  }) {
    const { of, waiting, max, face, name, group } = data
    const what = group === undefined ? `${face} '${name}'` : `group '${group}' of ${face} '${name}'`
    const message = `${what}: ${waiting} jobs wait, and at most ${max} may (maxWaiting). The job was refused, and nothing was written. Add it again later, or raise the limit.`
    super('QUEUE_FULL', message, { of, waiting, max, face, queue: name, ...(group !== undefined && { group }) })
  }
}

/** enqueueAndWait: the record of the job was gone before its outcome was read. */
export class JobNotFoundError extends HoldfastError {
  /** Id of the job. */
  declare readonly jobId: string
  constructor(jobId: string) {
    const message = `Job '${jobId}': it was removed, replaced or expired before its outcome was read. Keep its record longer (retention).`
    super('JOB_NOT_FOUND', message, { jobId })
  }
}

/** Argument of the `failed` event: the job failed for good. */
export class MaxRetriesError extends HoldfastError {
  /** Id of the job. */
  declare readonly jobId: string
  /** Runs that the job had. */
  declare readonly attempts: number
  /** What the last run threw. */
  declare readonly lastError: Error
  /** Payload of the job. Undefined also if it cannot be decoded. Not enumerable. */
  declare readonly payload: unknown
  constructor(jobId: string, attempts: number, lastError: Error, payload: unknown) {
    super(
      'MAX_RETRIES',
      `Job '${jobId}' failed after ${counted(attempts, 'attempt')}: ${plainDetails(lastError).message}`,
      {
        jobId,
        attempts,
        lastError,
        cause: lastError,
      },
    )
    // Not enumerable, so that payloads stay out of logs.
    Object.defineProperty(this, 'payload', { value: payload, enumerable: false })
  }

  override toJSON(): Record<string, unknown> {
    const { cause: _, ...json } = super.toJSON() // The same as lastError.
    return json
  }
}

/** Why the signal of an attempt aborts. */
export type JobAbortReason =
  | 'taken_by_another_worker'
  | 'already_completed'
  | 'not_found'
  | 'cancelled'
  | 'error' // the lease could not be renewed before its end; an outcome is still sent, and the fence decides
  | 'timeout'
  | 'stopping'

const abortCodes = {
  taken_by_another_worker: 'LEASE_LOST',
  already_completed: 'LEASE_LOST',
  not_found: 'LEASE_LOST',
  error: 'LEASE_LOST',
  cancelled: 'JOB_CANCELLED',
  timeout: 'ATTEMPT_TIMEOUT',
  stopping: 'STOPPING',
} as const satisfies Record<JobAbortReason, ErrorCode>

type AbortCode = (typeof abortCodes)[JobAbortReason]

/** What the `signal` of a handler aborts with, on every face. Its name is 'AbortError', as the platform's own. */
export class AttemptAbortedError extends HoldfastError {
  /** Why the run should end. */
  declare readonly code: AbortCode
  /** Why, in more detail than `code`. */
  declare readonly reason: JobAbortReason
  /** Id of the job. */
  declare readonly jobId: string
  /** Number of the attempt. */
  declare readonly attempt: number
  /** The reason that cancel() was given. Absent: none. */
  declare readonly cancelReason?: string
  constructor(reason: JobAbortReason, jobId: string, attempt: number, cancelReason?: string) {
    const code = abortCodes[reason]
    const data = cancelReason === undefined ? { reason, jobId, attempt } : { reason, jobId, attempt, cancelReason }
    super(code, `Job '${jobId}', attempt ${attempt}: ${abortSentences[code]}`, data)
    this.name = 'AbortError'
  }
}

/** The `signal` of a handler. */
export interface AttemptSignal extends AbortSignal {
  /** Undefined until it aborts. */
  readonly reason: AttemptAbortedError | undefined
}

const abortSentences: Record<AbortCode, string> = {
  ATTEMPT_TIMEOUT: 'it reached timeoutMs. Stop: a result is dropped.',
  LEASE_LOST: 'its lease was lost. Stop: another worker may run the job already.',
  STOPPING: 'the worker is stopping. Stop: the job runs again later, and no attempt is spent.',
  JOB_CANCELLED: 'the job was cancelled. Stop, and throw: then it ends as cancelled.',
}

/** Thrown by a handler when another attempt would not help: the job fails at once. `fail()` makes one. */
export class UnrecoverableError extends HoldfastError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('UNRECOVERABLE', message, options)
  }
}

/** Directive to fail this run and try the job again: retry() returns it. */
export class RetryJobError extends HoldfastError {
  /** Delay before the next run, in ms. Undefined: the backoff. */
  declare readonly delayMs?: number
  constructor(delayMs?: number, cause?: unknown) {
    const message = 'the handler asked for another run'
    super('RETRY_REQUESTED', message, {
      ...(delayMs !== undefined && { delayMs }),
      ...(cause !== undefined && { cause }),
    })
  }
}

/** What rateLimited() slows down: every job of the type, those of the job's group, or the job alone. */
export type RateLimitScope = 'type' | 'group' | 'job'

/** Directive to run the job again later, and others of its scope not before it: rateLimited() returns it. */
export class RateLimitedError extends HoldfastError {
  /** Time until the next run, in ms. */
  declare readonly retryAfterMs: number
  declare readonly scope: RateLimitScope
  constructor(retryAfterMs: number, scope: RateLimitScope, cause?: unknown) {
    const message = `the handler was told to slow down for ${retryAfterMs} ms`
    super('RATE_LIMITED', message, { retryAfterMs, scope, ...(cause !== undefined && { cause }) })
  }
}

type JobTypeCode =
  | 'NOT_ENTRY_POINT'
  | 'INVALID_CONTINUATION'
  | 'INVALID_BLOCKERS'
  | 'INVALID_INPUT'
  | 'INVALID_OUTPUT'
  | 'UNKNOWN_TYPE'

/** The declaration of a job type does not allow the call. */
export class JobTypeValidationError extends HoldfastError {
  declare readonly code: JobTypeCode
  /** Job type that the call named. */
  declare readonly typeName: string
  /** Issues that a schema found, each with its path: INVALID_INPUT and INVALID_OUTPUT of types with a schema. */
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

/** prepare(), complete() and a middleware's next(): the worker lost the lease of the attempt. Nothing was recorded. */
export class LeaseLostError extends HoldfastError {
  declare readonly typeName: string
  declare readonly jobId: string
  declare readonly attempt: number
  /** As the reason of the signal. */
  declare readonly reason: string
  constructor(data: { typeName: string; jobId: string; attempt: number; reason: string }) {
    const message = `Job '${data.jobId}', attempt ${data.attempt}: its lease was lost (${data.reason}). Nothing was recorded. Stop: another worker may run the job already.`
    super('LEASE_LOST', message, data)
  }
}

/** waitForJobChainCompletion: the chain did not end in time. */
export class WaitForJobChainCompletionTimeoutError extends HoldfastError {
  declare readonly typeName: string
  /** Id of the chain that was waited for. */
  declare readonly chainId: string
  /** The wait, in ms. */
  declare readonly timeoutMs: number
  constructor(typeName: string, chainId: string, timeoutMs: number) {
    const message = `Chain '${chainId}' of '${typeName}': it did not end within ${timeoutMs} ms. Only the wait ended; the chain goes on. Wait again, or longer.`
    super('WAIT_TIMEOUT', message, { typeName, chainId, timeoutMs })
  }
}

/** waitForJobChainCompletion: the chain failed. */
export class JobChainFailedError extends HoldfastError {
  declare readonly typeName: string
  /** Id of the chain. */
  declare readonly chainId: string
  /** What the last job of the chain threw, as it is stored. */
  declare readonly details: ErrorDetails
  constructor(typeName: string, chainId: string, details: ErrorDetails) {
    super('CHAIN_FAILED', `Chain '${chainId}' of '${typeName}' failed: ${details.message}`, {
      typeName,
      chainId,
      details,
    })
  }
}

/** Directive to run the job again later: snooze() returns it, rescheduleJob() throws it. */
export class RescheduleJobError extends HoldfastError {
  /** The time: `{ at }` or `{ afterMs }`. */
  declare readonly schedule: object
  constructor(schedule: object, cause?: unknown) {
    const message = 'the handler put the job off to a later time'
    super('RESCHEDULED', message, cause === undefined ? { schedule } : { schedule, cause })
  }
}

/** Makes the error of a wrong call: a TypeError with a code and data. */
export function usageError<C extends ErrorCode>(
  code: C,
  message: string,
  data?: Readonly<Record<string, unknown>>,
): TypeError & { code: C } {
  return Object.assign(new TypeError(message), { code, ...data })
}

/** Makes a TypeError with the code INVALID_ARGUMENT: "name: expected X, got Y". */
export function invalidArgument(
  name: string,
  expected: string,
  got: unknown,
): TypeError & { code: 'INVALID_ARGUMENT' } {
  return Object.assign(new TypeError(`${name}: expected ${expected}, got ${printable(got)}`), {
    code: 'INVALID_ARGUMENT' as const,
  })
}

/** Makes the error of a call that a driver does not support. */
export function unsupported(driver: string, what: string): HoldfastError {
  return new HoldfastError(
    'FEATURE_UNSUPPORTED',
    `${driver} storage: it does not support ${what}. Nothing was written. Its \`features\` say what it supports.`,
    { driver, what },
  )
}

/** A short form of any value, for messages. Never throws. */
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
