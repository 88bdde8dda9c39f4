// The tables of options of a Queue and a Reaper: shared rows, their own rows, and aliases.

import { bulkOptions, redriveOptions } from '../engine/operate/bulk.ts'
import { filterOptions, queryOptions } from '../engine/operate/job-filter.ts'
import { sharedJobOptions } from '../engine/job/job-options.ts'
import { setLimitsOptions } from '../engine/limits/limits-options.ts'
import { isSearchFieldTypes } from '../engine/job/search-fields.ts'
import { scheduleOptions } from '../engine/schedule/schedule.ts'
import { leaderOptions, sharedOptions } from '../engine/options.ts'
import { invalidArgument } from '../errors.ts'
import {
  anything,
  checkText,
  hasMethods,
  integer,
  integerOrInfinity,
  isBoolean,
  isFields,
  isFunction,
  isObject,
  oneOf,
  seconds,
  text,
  yearMs,
} from '../option-checks.ts'
import { queueRetention } from '../engine/job/retention.ts'
import type { Table } from '../resolve-options.ts'

export { leaderOptions, redriveOptions }

const toMs = (value: number): number => value * 1_000

export const queueOptions = {
  storage: sharedOptions.storage,
  name: { default: 'default', check: text(256) },
  face: { default: 'queue', check: sharedOptions.face.check },
  payloadSerde: { check: isSerde },
  resultSerde: { check: isSerde },
  // Absent: the default of `retention` for each end state.
  resultTTL: { check: integer(1, 100 * yearMs) },
  retention: sharedOptions.typeRetention,
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
  presenceMs: sharedOptions.presenceMs,
  prefetchMs: sharedOptions.prefetchMs,
  schedules: { check: isFields },
  release: sharedOptions.release,
  limits: sharedOptions.limits,
  processingQueueTTL: { ignored: true, check: integer(1_000) },
  deadLetter: { check: text(256) },
  onError: sharedOptions.onError,
  maxSnoozes: sharedOptions.maxSnoozes,
  afterExecution: { check: isFunction },
  searchFields: { check: isSearchFieldTypes },
  search: { check: isFunction },
  logger: sharedOptions.logger,
  clock: sharedOptions.clock,
} as const satisfies Table

/** How long a Queue keeps ended jobs in ms, without `resultTTL` and `retention`. */
export const defaultRetention = queueRetention

export const jobOptions = {
  maxAttempts: sharedOptions.maxAttempts,
  // Absent: the queue's own.
  resultTTL: queueOptions.resultTTL,
  retention: sharedOptions.retention,
  onDuplicate: { default: 'return', check: oneOf('return', 'replace', 'reject') },
  ...sharedJobOptions,
} as const satisfies Table

const {
  delayMs: _d,
  runAt: _r,
  group: _g,
  deduplication: _k,
  onDuplicate: _o,
  resultTTL: _t,
  ...slotJobOptions
} = jobOptions

/** A schedule of a Queue: its rule, and the jobs of its slots. */
export const scheduledJobOptions = { ...scheduleOptions, ...slotJobOptions, payload: anything } as const satisfies Table

export const enqueueOptions = { ...jobOptions, tx: sharedOptions.tx } as const satisfies Table

export const waitOptions = {
  ...jobOptions,
  timeout: { default: 30_000, check: integerOrInfinity(0) },
  signal: sharedOptions.signal,
} as const satisfies Table

export const bulkItemOptions = {
  ...jobOptions,
  id: anything,
  payload: anything,
  onDuplicate: { default: 'return', check: oneOf('return', 'replace') },
} as const satisfies Table

export const enqueueManyOptions = { tx: sharedOptions.tx } as const satisfies Table

export const logOptions = { attempt: { check: integer(1) }, after: { check: integer(0) } } as const satisfies Table

export const stopOptions = {
  graceMs: sharedOptions.graceMs,
  timeout: { alias: 'graceMs', check: sharedOptions.graceMs.check },
} as const satisfies Table

export const runOptions = { ...stopOptions, signal: sharedOptions.signal } as const satisfies Table

export const streamOptions = { signal: sharedOptions.signal } as const satisfies Table

export const listOptions = queryOptions
export { setLimitsOptions }
export const pauseOptions = { group: filterOptions.group, by: { check: text(256) } } as const satisfies Table

const { states: _, ...redriveConditions } = filterOptions
/** redrive() is for failed jobs. */
export const redriveFilterOptions = redriveConditions satisfies Table

export const drainOptions = { ...bulkOptions, remove: { default: false, check: isBoolean } } as const satisfies Table

export const reaperOptions = {
  storage: sharedOptions.storage,
  name: { default: 'default', check: isNameOrNames },
  face: queueOptions.face,
  timeoutMs: { default: 30_000, check: sharedOptions.timeoutMs.check },
  visibilityTimeout: { alias: 'timeoutMs', check: sharedOptions.timeoutMs.check },
  deadLetter: queueOptions.deadLetter,
  payloadSerde: queueOptions.payloadSerde,
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
