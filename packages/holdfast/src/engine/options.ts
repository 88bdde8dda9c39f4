// The options of a Queue, a Reaper and drain(), with their defaults and what they may be, and the engine's own numbers. The storages,
// chains and tasks each have such a file of their own.

import { HoldfastError, invalidArgument } from '../errors.ts'
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
  isFunction,
  isInstant,
  isJitter,
  isList,
  isObject,
  isSignal,
  nonNegative,
  oneOf,
  positive,
  text,
  yearMs,
} from '../option-checks.ts'
import { resolveOptions, type Table } from '../resolve-options.ts'

export const queueOptions = {
  storage: { check: isStorage },
  name: { default: 'default', check: text(256) },
  payloadSerde: { check: isSerde },
  resultSerde: { check: isSerde },
  resultTTL: { default: 3_600_000, check: integer(1, 100 * yearMs) },
  // No default: resultTTL.
  retention: { check: isRetention },
  maxRetries: { default: 3, check: integer(1) },
  maxPayloadBytes: { default: 16_777_216, check: integer(1) },
  maxResultBytes: { default: 16_777_216, check: integer(1) },
  workerId: { check: text(256) },
  concurrency: { default: 1, check: integer(1, 10_000) },
  visibilityTimeout: { default: 30_000, check: integer(1) },
  leaseMs: { default: 30_000, check: integer(50) },
  backoff: { default: 'exponential', check: isBackoff },
  blockTimeout: { default: 5, check: positive },
  processingQueueTTL: { default: 604_800_000, check: integer(1000) },
  afterExecution: { check: isFunction },
  logger: { check: isLogger },
  clock: { check: isClock },
} as const satisfies Table

export const jobOptions = {
  maxAttempts: { check: integer(1) },
  // No default: the queue's own.
  resultTTL: { check: queueOptions.resultTTL.check },
  retention: queueOptions.retention,
  delayMs: { check: integer(0, 100 * yearMs) },
  runAt: { check: isInstant },
} as const satisfies Table

export const enqueueOptions = { ...jobOptions, tx: anything } as const satisfies Table

export const waitOptions = {
  ...jobOptions,
  timeout: { default: 30_000, check: integerOrInfinity(0) },
  signal: { check: isSignal },
} as const satisfies Table

export const cancelOptions = { abort: { default: false, check: isBoolean } } as const satisfies Table

export const stopOptions = { timeout: { default: 30_000, check: integer(0) } } as const satisfies Table

export const streamOptions = { signal: { check: isSignal } } as const satisfies Table

export const reaperOptions = {
  storage: queueOptions.storage,
  name: { default: 'default', check: isNameOrNames },
  visibilityTimeout: queueOptions.visibilityTimeout,
  /** @default visibilityTimeout / 4, within 25 … 1000 */
  checkInterval: { check: integer(1) },
  leaderElection: { check: isObject },
  payloadSerde: { check: isSerde },
  logger: queueOptions.logger,
  clock: queueOptions.clock,
} as const satisfies Table

export const drainOptions = {
  storage: queueOptions.storage,
  types: { check: isList },
  limit: { default: Infinity, check: integerOrInfinity(1) },
} as const satisfies Table

export const leaderOptions = {
  enabled: { default: false, check: isBoolean },
  lockTTL: { default: 30_000, check: integer(1) },
  /** @default lockTTL / 3 */
  renewalInterval: { check: integer(1) },
  acquireRetryInterval: { default: 5_000, check: integer(1) },
} as const satisfies Table

export const exponentialBackoff = {
  type: { check: oneOf('exponential') },
  delayMs: { default: 1_000, check: nonNegative },
  factor: { default: 2, check: atLeastOne },
  maxDelayMs: { default: 300_000, check: nonNegative },
  jitter: { default: 0.2, check: isJitter },
} as const satisfies Table

const fixedBackoff = { type: anything, delayMs: { check: nonNegative } } as const satisfies Table

/** What no user sets, but somebody may want to know. Durations in ms. */
export const engineDefaults = Object.freeze({
  /** Between two sweeps of a worker: after one that found something, and otherwise. */
  sweepMs: 5_000,
  idleSweepMs: 60_000,
  sweepLimit: 1_000,
  /** The net under the hints for those who wait for a result. */
  waitPollMs: 5_000,
  /** After a storage error: doubled each time, up to the longest. */
  retryMs: 50,
  longestRetryMs: 5_000,
  /** Between two looks of a Queue's worker while the storage fails. */
  loopBackoff: { type: 'exponential', delayMs: 50, factor: 2, maxDelayMs: 5_000, jitter: 0.5 } as const,
  /** Before another look, when a look found nothing though something is due: somebody else holds it. */
  lockedMs: 250,
  /** For what stop() still has to write. */
  stopWritesMs: 5_000,
  /** For handlers to end after their signal was aborted by stop(). */
  afterAbortMs: 500,
  /** Jobs in one call. */
  batch: 1_000,
  /** Adds under way at once, before more wait to join the next. */
  addsInFlight: 4,
  /** Events of a stream that nobody has read yet. */
  streamBuffer: 10_000,
})

function isSerde(name: string, value: unknown): void {
  hasMethods('an object with serialize() and deserialize()', ['serialize', 'deserialize'])(name, value)
}

const storageVerbs =
  'connect disconnect clear add claim extend settle recover cancel revive remove pause sweep get list count nextDueAt listen'
const kvVerbs = 'get set setIfAbsent cas delete list'

function isStorage(name: string, value: unknown): void {
  hasMethods('a Storage', storageVerbs.split(' '))(name, value)
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

function isNameOrNames(name: string, value: unknown): void {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (names.length === 0) throw invalidArgument(name, 'a name, or at least one', value)
  for (const item of names) checkText(name, item, 256)
}

function isRetention(name: string, value: unknown): void {
  for (const [end, kept] of Object.entries(resolveOptions(name, value as object, endOptions))) {
    if (kept === null || typeof kept !== 'object') throw invalidArgument(`${name}.${end}`, 'an object', kept)
    const what = 'retention by count'
    if ('count' in kept) throw new HoldfastError('FEATURE_UNSUPPORTED', `${name}.${end}: no ${what} yet`, { what })
    isAge(`${name}.${end}`, kept)
  }
}

const endOptions = {
  completed: { check: isObject },
  failed: { check: isObject },
  cancelled: { check: isObject },
} as const satisfies Table

function isBackoff(name: string, value: unknown): void {
  if (value === 'none' || value === 'exponential' || typeof value === 'function') return
  const type: unknown = value !== null && typeof value === 'object' ? (value as { type?: unknown }).type : undefined
  if (type === 'exponential') return void resolveOptions(name, value as object, exponentialBackoff)
  if (type !== 'fixed') {
    throw invalidArgument(
      name,
      "'none', 'exponential', a function, or an object of type 'fixed' or 'exponential'",
      value,
    )
  }
  const { delayMs } = resolveOptions(name, value as { delayMs?: number }, fixedBackoff)
  if (delayMs === undefined) throw invalidArgument(`${name}.delayMs`, 'a number >= 0', delayMs)
}
