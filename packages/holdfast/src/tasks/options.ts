// The options of tasks, of the storage's message queue and of its key-value store: shared rows, their own, and the seed's names
// as aliases.

import { invalidArgument, usageError } from '../errors.ts'
import {
  anything,
  atLeastOne,
  checkText,
  hasMethods,
  isBoolean,
  isFields,
  isFunction,
  isJitter,
  isObject,
  oneOf,
  text,
} from '../option-checks.ts'
import { sharedJobOptions } from '../engine/job/job-options.ts'
import { sharedOptions } from '../engine/options.ts'
import { scheduleOptions } from '../engine/schedule/schedule.ts'
import { type Check, resolveNested, type Table } from '../resolve-options.ts'
import { standardRetention } from '../storage/retention.ts'
import { type Duration, toMs } from './duration.ts'
import type { StoreKey } from './kv/kv-store.ts'
import { kvPrefixes } from './kv/prefixes.ts'
import type { RetryPolicy } from './retry.ts'

/** @param min in ms */
function duration(min: number): Check {
  return (name, value) => void toMs(value as Duration, name, { min })
}

const inMs = (value: Duration): number => toMs(value)

/** The methods that every queue must have, also one of another library. */
export function isMessageQueue(name: string, value: unknown): void {
  hasMethods('a message queue, with enqueue() and listen()', ['enqueue', 'listen'])(name, value)
}

const isKvStore = hasMethods('a key-value store, with get(), set() and delete()', ['get', 'set', 'delete'])

/** A prefix that equals, contains or is contained in another's would mix their entries. */
function isPrefix(name: string, value: unknown): void {
  const parts: readonly unknown[] = Array.isArray(value) ? value : []
  if (parts.length === 0 || parts.some((part) => typeof part !== 'string')) {
    throw invalidArgument(name, 'an array of one string or more', value)
  }
  for (const [other, prefix] of Object.entries(kvPrefixes)) {
    if (other !== 'taskDeduplication' && overlap(parts as unknown as StoreKey, prefix)) {
      throw invalidArgument(name, `a prefix that does not overlap that of ${other}, ${JSON.stringify(prefix)}`, value)
    }
  }
}

/** Whether one of the two begins with the other. */
export function overlap(a: StoreKey, b: StoreKey): boolean {
  return a.slice(0, b.length).every((part, index) => part === b[index])
}

/** The rules of ids, for the keys of messages and the names of tasks. @throws TypeError with that code */
export function checkMessageKey(
  code: 'INVALID_DEDUPLICATION_KEY' | 'INVALID_ORDERING_KEY' | 'INVALID_TASK_NAME',
  name: string,
  value: unknown,
  maxBytes = 512,
): asserts value is string {
  try {
    checkText(name, value, maxBytes)
  } catch (error) {
    throw usageError(code, (error as Error).message)
  }
}

// ── retries ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** How tasks and messages are retried, unless an option says otherwise. */
export const defaultRetry = Object.freeze({
  maxAttempts: 10,
  backoff: Object.freeze({
    type: 'exponential',
    delayMs: 1_000,
    factor: 2,
    maxDelayMs: 43_200_000,
    jitter: 0.5,
  } as const),
})

const retryOptions = {
  maxAttempts: { default: defaultRetry.maxAttempts, check: sharedOptions.maxAttempts.check },
  backoff: { default: defaultRetry.backoff, check: sharedOptions.backoff.check },
} as const satisfies Table

/** A retry policy stands for `backoff` and `maxAttempts` at once; retry.ts reads it. */
const policy = { alias: 'backoff', check: isFunction, convert: (given: RetryPolicy) => ({ policy: given }) } as const

export const backoffOptions = {
  initialDelay: { default: defaultRetry.backoff.delayMs, check: duration(0) },
  maxDelay: { default: defaultRetry.backoff.maxDelayMs, check: duration(0) },
  maxAttempts: retryOptions.maxAttempts,
  factor: { default: defaultRetry.backoff.factor, check: atLeastOne },
  jitter: { default: defaultRetry.backoff.jitter, check: isJitter },
  clock: { check: isObject },
} as const satisfies Table

// ── tasks ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Of the queue that createTasks() makes over `storage`. Absent: its own defaults. */
export const ownQueueOptions = {
  name: { check: text(256) },
  concurrency: { check: sharedOptions.concurrency.check },
  leaseMs: { check: sharedOptions.leaseMs.check },
  pollMs: { check: sharedOptions.pollMs.check },
  maxSnoozes: { check: sharedOptions.maxSnoozes.check },
  retention: sharedOptions.typeRetention,
} as const satisfies Table

export const tasksOptions = {
  queue: { check: isObject },
  kv: { check: isKvStore },
  storage: sharedOptions.storage,
  ...ownQueueOptions,
  kvPrefixes: { check: isObject },
  taskQueueResolution: { default: 'fallback', check: oneOf('fallback', 'strict') },
  ...retryOptions,
  taskRetryPolicy: policy,
  timeoutMs: sharedOptions.timeoutMs,
  presenceMs: sharedOptions.presenceMs,
  prefetchMs: sharedOptions.prefetchMs,
  release: sharedOptions.release,
  taskDeduplicationTtl: { default: 3_600_000, check: duration(1) },
  taskDeduplicationFallback: { default: 'open', check: oneOf('open', 'closed') },
  logger: sharedOptions.logger,
  clock: sharedOptions.clock,
} as const satisfies Table

export const queuesOptions = {
  task: { check: isMessageQueue },
  fallback: { check: isMessageQueue },
} as const satisfies Table

export const prefixOptions = {
  taskDeduplication: { default: kvPrefixes.taskDeduplication, check: isPrefix },
} as const satisfies Table

export const taskOptions = {
  schema: anything,
  handler: { check: isFunction },
  // Absent: those of createTasks.
  maxAttempts: sharedOptions.maxAttempts,
  backoff: { check: sharedOptions.backoff.check },
  retryPolicy: policy,
  timeoutMs: sharedOptions.timeoutMs,
  onError: { check: isFunction },
  queue: { check: isMessageQueue },
  limits: sharedOptions.limits,
  schedules: { check: isFields },
} as const satisfies Table

export const consumeOptions = {
  handlesTimeouts: { default: false, check: isBoolean },
  signal: sharedOptions.signal,
} as const satisfies Table

export const startOptions = { signal: sharedOptions.signal } as const satisfies Table

// Absent graceMs: that of each queue.
export const stopOptions = { graceMs: { check: sharedOptions.graceMs.check } } as const satisfies Table

export const runOptions = { ...stopOptions, signal: sharedOptions.signal } as const satisfies Table

// ── enqueue ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Options of a job that only a storage's queue carries. */
const jobOptions = {
  priority: sharedJobOptions.priority,
  timeoutMs: sharedJobOptions.timeoutMs,
  expiresInMs: sharedJobOptions.expiresInMs,
  search: sharedJobOptions.search,
  weight: sharedJobOptions.weight,
} as const satisfies Table

/** A schedule of a task: its rule, and the messages of its slots. */
export const scheduledTaskOptions = { ...scheduleOptions, ...jobOptions, data: anything } as const satisfies Table

export const taskEnqueueOptions = {
  ...jobOptions,
  delayMs: sharedOptions.delayMs,
  delay: {
    alias: 'delayMs',
    check: (name, value) => void toMs(value as Duration, name, { code: 'INVALID_DELAY', min: 0 }),
    convert: inMs,
  },
  runAt: sharedOptions.runAt,
  orderingKey: { check: (name, value) => checkMessageKey('INVALID_ORDERING_KEY', name, value) },
  deduplicationKey: { check: (name, value) => checkMessageKey('INVALID_DEDUPLICATION_KEY', name, value) },
  deduplication: sharedJobOptions.deduplication,
  group: sharedJobOptions.group,
  job: {
    alias: ['priority', 'timeoutMs', 'expiresInMs', 'search', 'weight'],
    check: (name, value) => void resolveNested(name, value as object, jobOptions),
  },
} as const satisfies Table

export const taskEnqueueManyOptions = { ...taskEnqueueOptions, resume: { check: text(128) } } as const satisfies Table

export const extendedOptions = {
  ...taskEnqueueManyOptions,
  id: { check: text(512) },
  ids: { check: isIds },
  deduplicationScope: { check: isScope },
  deduplicationTtl: { check: duration(1) },
} as const satisfies Table

// ── message queue and key-value store ────────────────────────────────────────────────────────────────────────────────

export const storageQueueOptions = {
  name: { default: 'default', check: text(256) },
  face: { default: 'task', check: sharedOptions.face.check },
  concurrency: { default: 10, check: sharedOptions.concurrency.check },
  leaseMs: sharedOptions.leaseMs,
  timeoutMs: sharedOptions.timeoutMs,
  pollMs: { default: 1_000, check: sharedOptions.pollMs.check },
  pollInterval: { alias: 'pollMs', check: duration(1), convert: inMs },
  presenceMs: sharedOptions.presenceMs,
  prefetchMs: sharedOptions.prefetchMs,
  graceMs: sharedOptions.graceMs,
  grace: { alias: 'graceMs', check: duration(0), convert: inMs },
  nativeRetrial: { default: true, check: isBoolean },
  ...retryOptions,
  retryPolicy: policy,
  maxSnoozes: sharedOptions.maxSnoozes,
  retention: sharedOptions.typeRetention,
  limits: sharedOptions.limits,
  release: sharedOptions.release,
  deduplicationTtl: { default: 3_600_000, check: duration(1) },
  messageSerde: { check: hasMethods('an object with serialize() and deserialize()', ['serialize', 'deserialize']) },
  maxMessageBytes: sharedOptions.maxBytes,
  replaces: { check: isFunction },
  logger: sharedOptions.logger,
  clock: sharedOptions.clock,
} as const satisfies Table

/** How long a message is kept after its end, unless `retention` says otherwise. A completed one is deleted at once. */
export const messageRetention = Object.freeze(standardRetention(0))

export const kvStoreOptions = {
  name: { default: 'default', check: text(256) },
  face: { default: 'task', check: sharedOptions.face.check },
  logger: sharedOptions.logger,
  clock: sharedOptions.clock,
} as const satisfies Table

export const writeOptions = { ttl: { check: duration(0) } } as const satisfies Table

function isScope(name: string, value: unknown): void {
  if (typeof value !== 'string') throw invalidArgument(name, 'a string', value)
}

function isIds(name: string, value: unknown): void {
  if (!Array.isArray(value)) throw invalidArgument(name, 'an array of ids', value)
  for (const id of value as unknown[]) checkText(name, id, 512)
}
