// The tables of options of a Queue and a Reaper: shared rows, their own rows, and aliases.

import { leaderOptions, sharedOptions } from '../engine/options.ts'
import { invalidArgument } from '../errors.ts'
import {
  checkText,
  hasMethods,
  integer,
  integerOrInfinity,
  isBoolean,
  isFunction,
  isObject,
  seconds,
  text,
  yearMs,
} from '../option-checks.ts'
import type { Table } from '../resolve-options.ts'

export { leaderOptions }

const toMs = (value: number): number => value * 1_000

export const queueOptions = {
  storage: sharedOptions.storage,
  name: { default: 'default', check: text(256) },
  face: { default: 'queue', check: sharedOptions.face.check },
  payloadSerde: { check: isSerde },
  resultSerde: { check: isSerde },
  // Absent: the default of `retention` for each end state.
  resultTTL: { check: integer(1, 100 * yearMs) },
  retention: sharedOptions.retention,
  maxAttempts: { default: 3, check: sharedOptions.maxAttempts.check },
  maxRetries: { alias: 'maxAttempts', check: sharedOptions.maxAttempts.check },
  maxPayloadBytes: sharedOptions.maxBytes,
  maxResultBytes: sharedOptions.maxBytes,
  workerId: sharedOptions.workerId,
  concurrency: sharedOptions.concurrency,
  timeoutMs: sharedOptions.timeoutMs,
  visibilityTimeout: { alias: 'timeoutMs', check: sharedOptions.timeoutMs.check },
  leaseMs: sharedOptions.leaseMs,
  backoff: sharedOptions.backoff,
  // Absent: the storage's own, else the default of sharedOptions.
  pollMs: { check: sharedOptions.pollMs.check },
  blockTimeout: { alias: 'pollMs', check: seconds('pollMs'), convert: toMs },
  processingQueueTTL: { ignored: true, check: integer(1_000) },
  afterExecution: { check: isFunction },
  logger: sharedOptions.logger,
  clock: sharedOptions.clock,
} as const satisfies Table

/** How long a Queue keeps ended jobs in ms, without `resultTTL` and `retention`. */
export const defaultRetention = Object.freeze({
  completedMs: 3_600_000,
  failedMs: 14 * 86_400_000,
  cancelledMs: 86_400_000,
})

export const jobOptions = {
  maxAttempts: sharedOptions.maxAttempts,
  // Absent: the queue's own.
  resultTTL: queueOptions.resultTTL,
  retention: sharedOptions.retention,
  delayMs: sharedOptions.delayMs,
  runAt: sharedOptions.runAt,
} as const satisfies Table

export const enqueueOptions = { ...jobOptions, tx: sharedOptions.tx } as const satisfies Table

export const waitOptions = {
  ...jobOptions,
  timeout: { default: 30_000, check: integerOrInfinity(0) },
  signal: sharedOptions.signal,
} as const satisfies Table

export const cancelOptions = { abort: { default: false, check: isBoolean } } as const satisfies Table

export const stopOptions = {
  graceMs: sharedOptions.graceMs,
  timeout: { alias: 'graceMs', check: sharedOptions.graceMs.check },
} as const satisfies Table

export const runOptions = { ...stopOptions, signal: sharedOptions.signal } as const satisfies Table

export const streamOptions = { signal: sharedOptions.signal } as const satisfies Table

export const reaperOptions = {
  storage: sharedOptions.storage,
  name: { default: 'default', check: isNameOrNames },
  face: queueOptions.face,
  timeoutMs: { default: 30_000, check: sharedOptions.timeoutMs.check },
  visibilityTimeout: { alias: 'timeoutMs', check: sharedOptions.timeoutMs.check },
  /** @default timeoutMs / 4, within 25 … 1000 */
  checkInterval: { check: integer(1) },
  leaderElection: { check: isObject },
  logger: sharedOptions.logger,
  clock: sharedOptions.clock,
} as const satisfies Table

function isSerde(name: string, value: unknown): void {
  hasMethods('an object with serialize() and deserialize()', ['serialize', 'deserialize'])(name, value)
}

function isNameOrNames(name: string, value: unknown): void {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (names.length === 0) throw invalidArgument(name, 'a name, or at least one', value)
  for (const item of names) checkText(name, item, 256)
}
