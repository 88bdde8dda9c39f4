// The options of one job that every face has under the same words, and the fields of the storage that they become.

import { definedFields } from './search-fields.ts'
import { invalidArgument } from '../../errors.ts'
import type { Table } from '../../resolve-options.ts'
import type { JobGroup, NewJob, SearchFields, When } from '../../storage/storage.ts'
import { sharedOptions } from '../options.ts'
import { deduplicationOf, type DeduplicationOptions } from './deduplication.ts'

/** Options of one job, on every face. They are stored with the job. */
export interface SharedJobOptions {
  /** Delay before the job is due, in ms of the storage's clock. Not together with runAt. */
  readonly delayMs?: number | undefined
  /** Instant at which the job is due: epoch ms, or a Date. One in the past is due at once. */
  readonly runAt?: number | Date | undefined
  /** Integer -100 … 100, and 0 without it; a higher one runs first. */
  readonly priority?: number | undefined
  /** Longest run of an attempt, in ms. @default that of the worker; none */
  readonly timeoutMs?: number | undefined
  /** Time until the first start, in ms. A job that was not started by then ends as cancelled, with reason `expired`. */
  readonly expiresInMs?: number | undefined
  /**
   * Key of the group of the job, within its type: groups take turns, and the limits of a type may bound each. Or an object: with
   * `ordered: true`, the jobs of the group run one at a time, in the order of acceptance, across retries.
   */
  readonly group?: string | GroupOptions | undefined
  /** What a start of the job takes of the rates of its type and group: an integer of at least 1, and 1 without it. At most their limits. */
  readonly weight?: number | undefined
  /** At most one job per key, whatever its id. The mode decides what a second job with the key does. */
  readonly deduplication?: DeduplicationOptions | undefined
  /** Fields by which list() finds the job: at most 16 texts, numbers and booleans. */
  readonly search?: SearchFields | undefined
}

/** The group of a job. */
export interface GroupOptions {
  /** 1 … 512 bytes of UTF-8. Required. */
  readonly key: string
  /**
   * Jobs of the group run one at a time, in the order of acceptance: the first holds the group until it ends. While the group has
   * unfinished jobs, a job of the other kind is refused with GROUP_KIND. @default false
   */
  readonly ordered?: boolean | undefined
  /**
   * Of an ordered group, if this job fails: `continue` runs the next one; `hold` lets the group wait until this job is retried, replaced or
   * removed, or its record expires. Without it: that of the limits of the type, else `continue`.
   */
  readonly onFailure?: 'continue' | 'hold' | undefined
}

/** The rows of these options, for the table of a face. */
export const sharedJobOptions = {
  delayMs: sharedOptions.delayMs,
  runAt: sharedOptions.runAt,
  priority: sharedOptions.priority,
  timeoutMs: sharedOptions.timeoutMs,
  expiresInMs: sharedOptions.expiresInMs,
  group: sharedOptions.group,
  weight: sharedOptions.weight,
  deduplication: sharedOptions.deduplication,
  search: sharedOptions.search,
} as const satisfies Table

type SharedFields = Pick<
  NewJob,
  'delayMs' | 'runAt' | 'priority' | 'timeoutMs' | 'expiresInMs' | 'group' | 'weight' | 'deduplication' | 'search'
>

/** The fields of the job for the storage. @throws as setSharedFields() */
export function sharedFieldsOf(options: SharedJobOptions): SharedFields {
  return setSharedFields({}, options)
}

/**
 * Sets the fields of the job for the storage: only those that are given, so that a job without them stays small.
 * @returns the job @throws TypeError INVALID_ARGUMENT for both delayMs and runAt, or either with mode `debounce`
 */
export function setSharedFields<Job extends Writable<SharedFields>>(job: Job, options: SharedJobOptions): Job {
  const { deduplication } = options
  setWhen(job, options)
  if (options.priority !== undefined) job.priority = options.priority
  if (options.timeoutMs !== undefined) job.timeoutMs = options.timeoutMs
  if (options.expiresInMs !== undefined) job.expiresInMs = options.expiresInMs
  if (options.group !== undefined) job.group = jobGroupOf(options.group)
  if (options.weight !== undefined) job.weight = options.weight
  if (deduplication !== undefined) {
    job.deduplication = deduplicationOf(deduplication)
    checkDebounced(job)
  }
  if (options.search !== undefined) job.search = definedFields(options.search)
  return job
}

/** The group for the storage. */
export function jobGroupOf(group: string | GroupOptions): JobGroup {
  if (typeof group === 'string') return { key: group }
  const { key, ordered, onFailure } = group
  if (!ordered) return { key }
  return onFailure === undefined ? { key, ordered } : { key, ordered, onFailure }
}

/** @throws TypeError INVALID_ARGUMENT for a debounced job with a time of its own */
export function checkDebounced({
  deduplication,
  delayMs,
  runAt,
}: Pick<NewJob, 'deduplication' | 'delayMs' | 'runAt'>): void {
  if (deduplication?.mode !== 'debounce' || (delayMs === undefined && runAt === undefined)) return
  const name = delayMs === undefined ? 'runAt' : 'delayMs'
  const expected = `no ${name} with deduplication mode 'debounce': its windowMs sets when the job is due`
  throw invalidArgument(name, expected, delayMs ?? runAt)
}

/** Sets the time at which a job is due. @throws TypeError INVALID_ARGUMENT for both delayMs and runAt */
export function setWhen<T extends Writable<When>>(
  target: T,
  { delayMs, runAt }: Pick<SharedJobOptions, 'delayMs' | 'runAt'>,
): T {
  if (delayMs !== undefined && runAt !== undefined) {
    throw invalidArgument('delayMs', 'either delayMs or runAt, not both', delayMs)
  }
  if (delayMs !== undefined) target.delayMs = delayMs
  // Rounded up, so that the job is never early.
  if (runAt !== undefined) target.runAt = Math.ceil(Number(runAt))
  return target
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }
