// The vocabulary of options. Every face uses these rows under the same word, with the same check, and with the same default unless
// its own table sets another. Other names of an option are aliases, in the tables of the faces.

import { definedFields } from './job/search-fields.ts'
import { checkSearchFields } from '../storage/check.ts'
import { invalidArgument } from '../errors.ts'
import {
  anything,
  atLeastOne,
  checkText,
  hasMethods,
  integer,
  integerOrInfinity,
  isAge,
  isBoolean,
  isClock,
  isFields,
  isFunction,
  isInstant,
  isJitter,
  isObject,
  isSignal,
  nonNegative,
  oneOf,
  positive,
  positiveOrInfinity,
  text,
  yearMs,
} from '../option-checks.ts'
import { resolveNested, type Table } from '../resolve-options.ts'
import { isFace } from '../storage/stored-type.ts'
import type { SearchValue } from '../storage/storage.ts'
import { isDeduplication } from './job/deduplication.ts'
import { isLimits } from './limits/limits-options.ts'

export const sharedOptions = {
  storage: { check: isStorage },
  /** The face that the jobs are stored under; for packages that build on a face. */
  face: { check: isFace },
  /** Most runs of a job, the first included. */
  maxAttempts: { check: integer(1) },
  /** Pause after a failed run of a job. */
  backoff: { default: 'exponential', check: isBackoff, isData: true },
  /** How long a worker holds a job without a heartbeat, in ms. The heartbeat renews it at a third of that time. */
  leaseMs: { default: 30_000, check: integer(50) },
  /** Longest run in ms. Absent: no limit. */
  timeoutMs: { check: integer(1) },
  /** Decides what comes after an error of the handler. */
  onError: { check: isFunction },
  /** Most snoozes of a job; then it fails. */
  maxSnoozes: { default: Infinity, check: integerOrInfinity(0) },
  /** Longest idle wait without a hint, in ms. */
  pollMs: { default: 5_000, check: positiveOrInfinity },
  /** Time between two writes of a worker's entry in workers(), in ms. False: none. */
  presenceMs: { default: 60_000, check: isPresence },
  /** Longest time that a worker holds a job ahead of a free slot, in ms. False: it holds none. */
  prefetchMs: { default: 20, check: isPrefetch },
  /** Grows with each deployment of the code that declares schedules. */
  release: { default: 0, check: integer(0) },
  concurrency: { default: 1, check: integer(1, 10_000) },
  workerId: { check: text(256) },
  delayMs: { check: integer(0, 100 * yearMs) },
  /** A higher one runs first. */
  priority: { check: integer(-100, 100) },
  /** Time until the first start, in ms. */
  expiresInMs: { check: integer(1, 100 * yearMs) },
  group: { check: isGroup, isData: true },
  /** What a start of the job takes of a rate. */
  weight: { check: integer(1) },
  /** Of a type. */
  limits: { check: isLimits, isData: true },
  deduplication: { check: isDeduplication, isData: true },
  search: { check: isSearch, isData: true },
  runAt: { check: isInstant },
  /** Of one job. */
  retention: { check: isRetention, isData: true },
  /** Of a type: with counts. */
  typeRetention: { check: isTypeRetention, isData: true },
  /** Of a type whose ages are set elsewhere. */
  retentionCounts: { check: isRetentionCounts, isData: true },
  maxBytes: { default: 16_777_216, check: integer(1) },
  /** How long stop() lets handlers run before it aborts their signals, in ms. */
  graceMs: { default: 30_000, check: integer(0) },
  signal: { check: isSignal },
  logger: { check: isLogger },
  clock: { check: isClock },
  tx: anything,
} as const satisfies Table

export const exponentialBackoff = {
  type: { check: oneOf('exponential') },
  delayMs: { default: 1_000, check: nonNegative },
  factor: { default: 2, check: atLeastOne },
  maxDelayMs: { default: 300_000, check: nonNegative },
  jitter: { default: 0.2, check: isJitter },
} as const satisfies Table

const fixedBackoff = { type: anything, delayMs: { check: nonNegative } } as const satisfies Table

export const leaderOptions = {
  enabled: { default: false, check: isBoolean },
  lockTTL: { default: 30_000, check: integer(1) },
  /** @default lockTTL / 3 */
  renewalInterval: { check: integer(1) },
  acquireRetryInterval: { default: 5_000, check: integer(1) },
} as const satisfies Table

const storageVerbs =
  'connect disconnect clear add claim extend settle recover cancel revive remove pause sweep get list count nextDueAt listen'
const kvVerbs = 'get set setIfAbsent cas delete list'

function isStorage(name: string, value: unknown): void {
  hasMethods("a Storage, such as new SqliteStorage({ path: './jobs.db' })", storageVerbs.split(' '))(name, value)
  const { kv, settings } = value as { kv?: unknown; settings?: { callTimeoutMs?: unknown } | null }
  hasMethods('a Storage with a key-value store', kvVerbs.split(' '))(`${name}.kv`, kv)
  positive(`${name}.settings.callTimeoutMs`, settings?.callTimeoutMs)
}

function isLogger(name: string, value: unknown): void {
  isObject(name, value)
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    const method = (value as Record<string, unknown>)[level]
    if (method !== undefined) isFunction(`${name}.${level}`, method)
  }
}

/** A field that is undefined is left out. */
function isSearch(name: string, value: unknown): void {
  isFields(name, value)
  checkSearchFields(definedFields(value as Readonly<Record<string, SearchValue | undefined>>))
}

function isPresence(name: string, value: unknown): void {
  const isPeriod = Number.isInteger(value) && (value as number) >= 100
  if (value !== false && !isPeriod) throw invalidArgument(name, 'an integer >= 100, or false', value)
}

function isPrefetch(name: string, value: unknown): void {
  const isTime = Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 500
  if (value !== false && !isTime) throw invalidArgument(name, 'an integer from 1 to 500, or false', value)
}

function isGroup(name: string, value: unknown): void {
  if (typeof value === 'string') return checkText(name, value, 512)
  if (value === null || typeof value !== 'object') {
    throw invalidArgument(name, "a key, or an object such as { key: 'c-42', ordered: true }", value)
  }
  const given = value as { key?: string; ordered?: boolean; onFailure?: string }
  const { key, ordered, onFailure } = resolveNested(name, given, groupOptions)
  if (key === undefined) throw invalidArgument(`${name}.key`, 'the key of the group', key)
  if (onFailure !== undefined && ordered !== true) {
    throw invalidArgument(
      `${name}.onFailure`,
      'ordered: true beside it: another group goes on after a failure',
      onFailure,
    )
  }
}

export const groupOptions = {
  key: { check: text(512) },
  ordered: { default: false, check: isBoolean },
  onFailure: { check: oneOf('continue', 'hold') },
} as const satisfies Table

function isRetention(name: string, value: unknown): void {
  for (const [end, kept] of keptByEnd(name, value)) {
    const { count } = kept
    if (count !== undefined) {
      throw invalidArgument(
        `${name}.${end}.count`,
        'no count here: records are counted by type, where its jobs run',
        count,
      )
    }
    isAge(`${name}.${end}`, kept)
  }
}

function isTypeRetention(name: string, value: unknown): void {
  for (const [end, kept] of keptByEnd(name, value)) {
    const { ageMs, count } = resolveNested(`${name}.${end}`, kept, keptOptions)
    if (ageMs === undefined && count === undefined)
      throw invalidArgument(`${name}.${end}`, 'ageMs, count or both', kept)
  }
}

function isRetentionCounts(name: string, value: unknown): void {
  for (const [end, kept] of keptByEnd(name, value)) {
    const { ageMs } = kept
    if (ageMs !== undefined) {
      throw invalidArgument(
        `${name}.${end}.ageMs`,
        'no age here: the client that starts a chain sets its retention',
        ageMs,
      )
    }
    const { count } = resolveNested(`${name}.${end}`, kept, keptOptions)
    if (count === undefined) throw invalidArgument(`${name}.${end}.count`, 'an integer >= 0', count)
  }
}

interface Kept {
  readonly ageMs?: number
  readonly count?: number
}

function keptByEnd(name: string, value: unknown): [end: string, kept: Kept][] {
  return Object.entries(resolveNested(name, value as object, endOptions)).map(([end, kept]) => {
    isObject(`${name}.${end}`, kept)
    return [end, kept as Kept]
  })
}

const keptOptions = {
  ageMs: { check: integerOrInfinity(0) },
  count: { check: integer(0) },
} as const satisfies Table

const endOptions = {
  completed: { check: isObject },
  failed: { check: isObject },
  cancelled: { check: isObject },
} as const satisfies Table

function isBackoff(name: string, value: unknown): void {
  if (value === 'none' || value === 'exponential' || typeof value === 'function') return
  const type: unknown = value !== null && typeof value === 'object' ? (value as { type?: unknown }).type : undefined
  if (type === 'exponential') return void resolveNested(name, value as object, exponentialBackoff)
  if (type !== 'fixed') {
    throw invalidArgument(
      name,
      "'none', 'exponential', a function, or an object of type 'fixed' or 'exponential'",
      value,
    )
  }
  const { delayMs } = resolveNested(name, value as { delayMs?: number }, fixedBackoff)
  if (delayMs === undefined) throw invalidArgument(`${name}.delayMs`, 'a number >= 0', delayMs)
}
