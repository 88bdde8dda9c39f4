// The vocabulary of options. Every face uses these rows under the same word, with the same check, and with the same default unless
// its own table sets another. Other names of an option are aliases, in the tables of the faces.

import { HoldfastError, invalidArgument } from '../errors.ts'
import {
  anything,
  atLeastOne,
  hasMethods,
  integer,
  isAge,
  isBoolean,
  isClock,
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
import { resolveOptions, type Table } from '../resolve-options.ts'
import { isFace } from '../storage/stored-type.ts'

export const sharedOptions = {
  storage: { check: isStorage },
  /** The face that the jobs are stored under; for packages that build on a face. */
  face: { check: isFace },
  /** Most runs of a job, the first included. */
  maxAttempts: { check: integer(1) },
  /** Pause after a failed run of a job. */
  backoff: { default: 'exponential', check: isBackoff },
  /** How long a worker holds a job without a heartbeat, in ms. The heartbeat renews it at a third of that time. */
  leaseMs: { default: 30_000, check: integer(50) },
  /** Longest run in ms. Absent: no limit. */
  timeoutMs: { check: integer(1) },
  /** Longest idle wait without a hint, in ms. */
  pollMs: { default: 5_000, check: positiveOrInfinity },
  concurrency: { default: 1, check: integer(1, 10_000) },
  workerId: { check: text(256) },
  delayMs: { check: integer(0, 100 * yearMs) },
  runAt: { check: isInstant },
  retention: { check: isRetention },
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

function isRetention(name: string, value: unknown): void {
  for (const [end, kept] of Object.entries(resolveOptions(name, value as object, endOptions))) {
    if (kept === null || typeof kept !== 'object') throw invalidArgument(`${name}.${end}`, 'an object', kept)
    const what = 'retention by count'
    if ('count' in kept) {
      const message = `${name}.${end}: ${what} is not supported. Nothing was written. Use ageMs instead.`
      throw new HoldfastError('FEATURE_UNSUPPORTED', message, { what })
    }
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
