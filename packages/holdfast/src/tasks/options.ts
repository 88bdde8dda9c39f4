// The options of tasks, the storage queue and the storage key-value store, with their defaults and what they may be.

import { invalidArgument, usageError } from '../errors.ts'
import {
  anything,
  atLeastOne,
  checkText,
  integer,
  isBoolean,
  isFunction,
  isJitter,
  isObject,
  isSignal,
  oneOf,
  text,
} from '../option-checks.ts'
import { sharedOptions } from '../engine/options.ts'
import type { Check, Table } from '../resolve-options.ts'
import { toMs } from './duration.ts'
import type { StoreKey } from './kv/kv-store.ts'
import { kvPrefixes } from './kv/prefixes.ts'

/** @param min the least ms */
function duration(min: number): Check {
  return (name, value) => void toMs(value as number, name, { min })
}

/** What a queue must have, whoever made it. */
export function isMessageQueue(name: string, value: unknown): void {
  const { enqueue, listen } = (value ?? {}) as Record<string, unknown>
  if (typeof enqueue !== 'function' || typeof listen !== 'function') {
    throw invalidArgument(name, 'a message queue, with enqueue() and listen()', value)
  }
}

function isKvStore(name: string, value: unknown): void {
  const store = (value ?? {}) as Record<string, unknown>
  if (['get', 'set', 'delete'].some((verb) => typeof store[verb] !== 'function')) {
    throw invalidArgument(name, 'a key-value store, with get(), set() and delete()', value)
  }
}

/** A prefix that equals, contains or is contained in another's would mix their entries. */
function isPrefix(name: string, value: unknown): void {
  const parts: readonly unknown[] = Array.isArray(value) ? value : []
  if (parts.length === 0 || parts.some((part) => typeof part !== 'string')) {
    throw invalidArgument(name, 'an array of one string or more', value)
  }
  for (const [other, prefix] of Object.entries(kvPrefixes)) {
    if (other !== 'taskDeduplication' && meet(parts as unknown as StoreKey, prefix)) {
      throw invalidArgument(name, `a prefix apart from that of ${other}, ${JSON.stringify(prefix)}`, value)
    }
  }
}

export function meet(a: StoreKey, b: StoreKey): boolean {
  return a.slice(0, b.length).every((part, index) => part === b[index])
}

/** The rules of ids, for the keys of messages. @throws TypeError with that code */
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

export const backoffOptions = {
  initialDelay: { default: 1_000, check: duration(0) },
  maxDelay: { default: 43_200_000, check: duration(0) },
  maxAttempts: { default: 10, check: sharedOptions.maxAttempts.check },
  factor: { default: 2, check: atLeastOne },
  jitter: { default: 0.5, check: isJitter },
  clock: { check: isObject },
} as const satisfies Table

export const tasksOptions = {
  queue: { check: isObject },
  kv: { check: isKvStore },
  storage: sharedOptions.storage,
  kvPrefixes: { check: isObject },
  taskQueueResolution: { default: 'fallback', check: oneOf('fallback', 'strict') },
  taskRetryPolicy: { check: isFunction },
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
  retryPolicy: { check: isFunction },
  onError: { check: isFunction },
  queue: { check: isMessageQueue },
} as const satisfies Table

const enqueueOptions = {
  delay: { check: (name, value) => void toMs(value as number, name, { code: 'INVALID_DELAY', min: 0 }) },
  orderingKey: { check: (name, value) => checkMessageKey('INVALID_ORDERING_KEY', name, value) },
  deduplicationKey: { check: (name, value) => checkMessageKey('INVALID_DEDUPLICATION_KEY', name, value) },
} as const satisfies Table

export const taskEnqueueOptions = { ...enqueueOptions, job: { check: isObject } } as const satisfies Table

export const jobOptions = { priority: { check: integer(-100, 100) } } as const satisfies Table

export const extendedOptions = {
  ...taskEnqueueOptions,
  id: { check: text(512) },
  ids: { check: isIds },
  deduplicationScope: { check: isScope },
  deduplicationTtl: { check: duration(1) },
} as const satisfies Table

export const startOptions = { signal: { check: isSignal } } as const satisfies Table

export const storageQueueOptions = {
  name: { default: 'default', check: text(256) },
  concurrency: { default: 10, check: sharedOptions.concurrency.check },
  leaseMs: sharedOptions.leaseMs,
  pollInterval: { default: 1_000, check: duration(1) },
  grace: { default: 30_000, check: duration(0) },
  nativeRetrial: { default: true, check: isBoolean },
  retryPolicy: { check: isFunction },
  deduplicationTtl: { default: 3_600_000, check: duration(1) },
  maxMessageBytes: { default: 16_777_216, check: sharedOptions.maxBytes.check },
  replaces: { check: isFunction },
  logger: sharedOptions.logger,
  clock: sharedOptions.clock,
} as const satisfies Table

export const kvStoreOptions = {
  name: { default: 'default', check: text(256) },
  clock: sharedOptions.clock,
} as const satisfies Table

export const writeOptions = { ttl: { check: duration(0) } } as const satisfies Table

/** How long a message that failed for good can be listed and revived: 30 days. */
const failedMs = 30 * 86_400_000

/**
 * Of every message. The same for all ends, as drivers keep it shortest; one that is completed goes at once, by its outcome
 * (deliver.ts).
 */
export const messageRetention = Object.freeze({ completedMs: failedMs, failedMs, cancelledMs: failedMs })

function isScope(name: string, value: unknown): void {
  if (typeof value !== 'string') throw invalidArgument(name, 'a string', value)
}

function isIds(name: string, value: unknown): void {
  if (!Array.isArray(value)) throw invalidArgument(name, 'an array of ids', value)
  for (const id of value as unknown[]) checkText(name, id, 512)
}
