// The options of chains: the shared words with the defaults of this face, its own options, and the seed's names as aliases.

import { deduplicationOptions as engineDeduplicationOptions } from '../engine/job/deduplication.ts'
import { cancelOptions, operatorCancelOptions } from '../engine/operate/cancel.ts'
import { sharedJobOptions } from '../engine/job/job-options.ts'
import { sharedOptions } from '../engine/options.ts'
import { scheduleOptions as scheduleRuleOptions } from '../engine/schedule/schedule.ts'
import { invalidArgument } from '../errors.ts'
import {
  anything,
  atLeastOne,
  checkText,
  dayMs,
  hasMethods,
  integer,
  integerOrInfinity,
  isBoolean,
  isFields,
  isFunction,
  isJitter,
  isList,
  isObject,
  nonNegative,
  oneOf,
  text,
} from '../option-checks.ts'
import { type Check, resolveOptions, type Table } from '../resolve-options.ts'
import { standardRetention } from '../storage/retention.ts'
import { leaseWords, retryWords, scheduleWords } from './option-aliases.ts'

/** How long an ended chain is kept, unless `retention` sets it. */
export const defaultRetention = Object.freeze(standardRetention(7 * dayMs))

// ── client and worker ────────────────────────────────────────────────────────────────────────────────────────────────

export const clientOptions = {
  storage: sharedOptions.storage,
  jobTypeRegistry: { check: isRegistry },
  notifier: { check: isNotifier },
  observer: { check: isObject },
  logger: sharedOptions.logger,
  log: { check: isFunction },
  // Absent: defaultRetention.
  retention: sharedOptions.retention,
  clock: sharedOptions.clock,
} as const satisfies Table

/** The fields of `retryConfig`: an alias of `maxAttempts` and `backoff`. */
export const retryOptions = {
  initialDelayMs: { default: 10_000, check: nonNegative },
  multiplier: { default: 2, check: atLeastOne },
  maxDelayMs: { default: 300_000, check: nonNegative },
  jitter: { default: 0.2, check: isJitter },
  maxAttempts: { default: Infinity, check: integerOrInfinity(1) },
} as const satisfies Table

/** The fields of `leaseConfig`: an alias of `leaseMs` and `renewIntervalMs`. */
export const leaseOptions = {
  leaseMs: { default: 60_000, check: sharedOptions.leaseMs.check },
  renewIntervalMs: { default: 30_000, check: integer(1) },
} as const satisfies Table

/** Pause between two attempts: 10 s, 20, 40, 80, 160, 300, 300 … */
export const defaultBackoff = Object.freeze({
  type: 'exponential',
  delayMs: retryOptions.initialDelayMs.default,
  factor: retryOptions.multiplier.default,
  maxDelayMs: retryOptions.maxDelayMs.default,
  jitter: retryOptions.jitter.default,
} as const)

const fieldsOf =
  (table: Table): Check =>
  (name, value) =>
    void resolveOptions(name, value as object, table)

const retryAlias = { alias: ['maxAttempts', 'backoff'], check: fieldsOf(retryOptions), convert: retryWords } as const
const leaseAlias = { alias: ['leaseMs', 'renewIntervalMs'], check: fieldsOf(leaseOptions) } as const

/** How the attempts of a type are run. Without defaults: a type has those of its worker. */
const attemptOptions = {
  maxAttempts: { check: retryOptions.maxAttempts.check },
  backoff: { check: sharedOptions.backoff.check },
  leaseMs: { check: leaseOptions.leaseMs.check },
  renewIntervalMs: { check: leaseOptions.renewIntervalMs.check },
  timeoutMs: sharedOptions.timeoutMs,
  maxSnoozes: { check: sharedOptions.maxSnoozes.check },
} as const satisfies Table

export const processorOptions = {
  process: { check: isFunction },
  onError: sharedOptions.onError,
  retention: sharedOptions.retentionCounts,
  limits: sharedOptions.limits,
  ...attemptOptions,
  retryConfig: retryAlias,
  leaseConfig: leaseAlias,
} as const satisfies Table

/** The fields of `jobTypeProcessing`: aliases of the worker's options, or the same options in a group. */
export const processingOptions = {
  ...attemptOptions,
  pollMs: { check: sharedOptions.pollMs.check },
  nextJobDelayMs: { check: integer(0) },
  workerLoopRetryConfig: { check: fieldsOf(retryOptions) },
  jobAttemptMiddlewares: { check: isListOfFunctions },
  pollIntervalMs: { alias: 'pollMs', check: integerOrInfinity(1) },
  defaultRetryConfig: retryAlias,
  defaultLeaseConfig: leaseAlias,
  defaultTimeoutMs: { alias: 'timeoutMs', check: sharedOptions.timeoutMs.check },
} as const satisfies Table

/** Options of stop(), and the fields of `stop`: an alias of the worker's `graceMs` and `deadlineMs`. */
export const workerStopOptions = {
  graceMs: { default: 20_000, check: sharedOptions.graceMs.check },
  /** Later by 5 s than graceMs, if that is after the default. */
  deadlineMs: { default: 25_000, check: integer(0) },
} as const satisfies Table

export const workerRunOptions = { ...workerStopOptions, signal: sharedOptions.signal } as const satisfies Table

export const inProcessWorkerOptions = {
  storage: sharedOptions.storage,
  jobTypeRegistry: clientOptions.jobTypeRegistry,
  notifier: clientOptions.notifier,
  observer: clientOptions.observer,
  logger: sharedOptions.logger,
  log: clientOptions.log,
  workerId: sharedOptions.workerId,
  concurrency: sharedOptions.concurrency,
  maxAttempts: retryOptions.maxAttempts,
  backoff: { default: defaultBackoff, check: sharedOptions.backoff.check },
  leaseMs: leaseOptions.leaseMs,
  /** @default a third of leaseMs, if that is given; else 30_000 */
  renewIntervalMs: attemptOptions.renewIntervalMs,
  timeoutMs: sharedOptions.timeoutMs,
  maxSnoozes: sharedOptions.maxSnoozes,
  pollMs: { default: 60_000, check: sharedOptions.pollMs.check },
  presenceMs: sharedOptions.presenceMs,
  prefetchMs: sharedOptions.prefetchMs,
  nextJobDelayMs: { default: 0, check: processingOptions.nextJobDelayMs.check },
  workerLoopRetryConfig: processingOptions.workerLoopRetryConfig,
  jobAttemptMiddlewares: { default: [], check: isListOfFunctions },
  graceMs: workerStopOptions.graceMs,
  deadlineMs: { check: workerStopOptions.deadlineMs.check },
  jobTypeProcessors: { check: isObject },
  schedules: { check: isFields },
  release: sharedOptions.release,
  clock: sharedOptions.clock,
  stop: { alias: ['graceMs', 'deadlineMs'], check: fieldsOf(workerStopOptions) },
  jobTypeProcessing: {
    alias: Object.keys(processingOptions),
    check: isObject,
    convert: (given: object) => leaseWords(given, resolveOptions('jobTypeProcessing', given, processingOptions)),
  },
} as const satisfies Table

// ── starts and continuations ─────────────────────────────────────────────────────────────────────────────────────────

const scheduleOptions = {
  at: { check: sharedOptions.runAt.check },
  afterMs: { check: sharedOptions.delayMs.check },
} as const satisfies Table

/** A chain has keys of its own. */
const { deduplication: _, ...jobOptions } = sharedJobOptions

export const continueOptions = {
  typeName: { check: text(256) },
  input: anything,
  ...jobOptions,
  schedule: { alias: ['delayMs', 'runAt'], check: isSchedule, convert: scheduleWords, isData: true },
  startBlockers: { check: isFunction },
  blockers: { check: isListOfChains, isData: true },
  onBlockerFailure: { default: 'fail', check: oneOf('fail', 'wait') },
} as const satisfies Table

export const startOptions = {
  ...continueOptions,
  id: { check: text(512) },
  deduplication: { check: isFields, isData: true },
  traceContext: { check: isTraceContext },
  tx: anything,
} as const satisfies Table

/** A schedule: its rule, and the chains of its slots. */
export const scheduledChainOptions = {
  ...scheduleRuleOptions,
  typeName: continueOptions.typeName,
  input: anything,
  priority: sharedOptions.priority,
  weight: sharedOptions.weight,
  timeoutMs: sharedOptions.timeoutMs,
  expiresInMs: sharedOptions.expiresInMs,
  search: sharedOptions.search,
  retention: sharedOptions.retention,
} as const satisfies Table

export const deduplicationOptions = {
  ...engineDeduplicationOptions,
  strategy: {
    alias: 'mode',
    check: oneOf('completed', 'all'),
    convert: (strategy: 'completed' | 'all') => (strategy === 'all' ? 'throttle' : 'simple'),
  },
} as const satisfies Table

export const startManyOptions = { items: { check: isList }, tx: anything } as const satisfies Table

export const prepareOptions = { mode: { check: oneOf('atomic', 'staged') } } as const satisfies Table

// ── other methods of a client ────────────────────────────────────────────────────────────────────────────────────────

const { force: _force, ...cancelWords } = operatorCancelOptions
/** A running job ends at once, unless `abort` is given. */
export const cancelChainOptions = { ...cancelWords, waitMs: cancelOptions.waitMs } as const satisfies Table

export const deleteChainsOptions = { rootChainIds: { check: isListOfChains }, tx: anything } as const satisfies Table

export const waitForChainOptions = {
  timeoutMs: { check: integerOrInfinity(0) },
  pollMs: { default: 15_000, check: sharedOptions.pollMs.check },
  pollIntervalMs: { alias: 'pollMs', check: integer(1) },
  signal: sharedOptions.signal,
} as const satisfies Table

export const listOptions = {
  filter: { check: isFields, isData: true },
  orderDirection: { default: 'desc', check: oneOf('asc', 'desc') },
  cursor: { check: text(65_536) },
  limit: { default: 50, check: integer(1, 1_000) },
} as const satisfies Table

const filterOptions = {
  typeName: { check: isListOfNames },
  state: { check: isList },
  createdFrom: { check: sharedOptions.runAt.check },
  createdTo: { check: sharedOptions.runAt.check },
} as const satisfies Table

export const jobFilterOptions = { ...filterOptions, chain: { check: isChainRef } } as const satisfies Table
export const chainFilterOptions = { ...filterOptions, rootOnly: { check: isBoolean } } as const satisfies Table

// ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The one argument of most methods. @throws TypeError INVALID_ARGUMENT unless it is an object */
export function isGiven(where: string, options: unknown): asserts options is object {
  if (options === null || typeof options !== 'object') throw invalidArgument(`${where} options`, 'an object', options)
}

/** A chain, or any object with the name and id of one. */
export function isChainRef(name: string, value: unknown): void {
  isObject(name, value)
  const { typeName, id } = value as { typeName?: unknown; id?: unknown }
  checkText(`${name}.typeName`, typeName, 256)
  checkText(`${name}.id`, id, 512)
}

function isRegistry(name: string, value: unknown): void {
  const checks = ['validateEntry', 'parseInput', 'parseOutput', 'validateContinueWith', 'validateBlockers']
  hasMethods('a registry of defineJobTypes() or createJobTypeRegistry()', checks)(name, value)
}

function isNotifier(name: string, value: unknown): void {
  hasMethods('a Notifier', ['notify', 'listen', 'close'])(name, value)
}

function isListOf(check: Check, name: string, value: unknown): void {
  isList(name, value)
  for (const [index, item] of (value as unknown[]).entries()) check(`${name}[${index}]`, item)
}

function isListOfFunctions(name: string, value: unknown): void {
  isListOf(isFunction, name, value)
}

function isListOfChains(name: string, value: unknown): void {
  isListOf(isChainRef, name, value)
}

function isListOfNames(name: string, value: unknown): void {
  isListOf(text(256), name, value)
}

function isSchedule(name: string, value: unknown): void {
  const { at, afterMs } = resolveOptions(name, value as { at?: unknown; afterMs?: unknown }, scheduleOptions)
  if ((at === undefined) === (afterMs === undefined)) throw invalidArgument(name, 'either { at } or { afterMs }', value)
}

function isTraceContext(name: string, value: unknown): void {
  const { traceparent } = resolveOptions(name, value as { traceparent?: string }, traceOptions)
  if (traceparent === undefined) throw invalidArgument(`${name}.traceparent`, 'a string', traceparent)
}

const traceOptions = {
  traceparent: { check: text(256) },
  tracestate: { check: text(1_024) },
  baggage: { check: text(8_192) },
} as const satisfies Table
