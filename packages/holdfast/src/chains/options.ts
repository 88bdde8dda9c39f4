// The options of chains, with their defaults and what they may be. Those of ChainRetention, RetryConfig and LeaseConfig are
// merged field by field over these.

import { invalidArgument } from '../errors.ts'
import {
  anything,
  atLeastOne,
  checkText,
  dayMs,
  hasMethods,
  integer,
  integerOrInfinity,
  isAge,
  isBoolean,
  isFunction,
  isInstant,
  isJitter,
  isList,
  isObject,
  isSignal,
  nonNegative,
  oneOf,
  text,
  yearMs,
} from '../option-checks.ts'
import { sharedOptions } from '../engine/options.ts'
import { resolveOptions, type Table } from '../resolve-options.ts'

export const retentionOptions = {
  completed: { default: { ageMs: 7 * dayMs }, check: isAge },
  failed: { default: { ageMs: 14 * dayMs }, check: isAge },
  cancelled: { default: { ageMs: dayMs }, check: isAge },
} as const satisfies Table

export const retryOptions = {
  initialDelayMs: { default: 10_000, check: nonNegative },
  multiplier: { default: 2, check: atLeastOne },
  maxDelayMs: { default: 300_000, check: nonNegative },
  jitter: { default: 0.2, check: isJitter },
  maxAttempts: { default: Infinity, check: integerOrInfinity(1) },
} as const satisfies Table

export const leaseOptions = {
  leaseMs: { default: 60_000, check: integer(50) },
  renewIntervalMs: { default: 30_000, check: integer(1) },
} as const satisfies Table

export const clientOptions = {
  storage: sharedOptions.storage,
  jobTypeRegistry: { check: isRegistry },
  notifier: { check: isNotifier },
  observer: { check: isObject },
  log: { check: isFunction },
  retention: { check: isObject },
  clock: sharedOptions.clock,
} as const satisfies Table

export const inProcessWorkerOptions = {
  storage: sharedOptions.storage,
  jobTypeRegistry: clientOptions.jobTypeRegistry,
  notifier: clientOptions.notifier,
  observer: clientOptions.observer,
  log: clientOptions.log,
  workerId: sharedOptions.workerId,
  concurrency: sharedOptions.concurrency,
  stop: { check: isObject },
  jobTypeProcessing: { check: isObject },
  jobTypeProcessors: { check: isObject },
  clock: sharedOptions.clock,
} as const satisfies Table

export const workerStopOptions = {
  graceMs: { default: 20_000, check: integer(0) },
  deadlineMs: { default: 25_000, check: integer(0) },
} as const satisfies Table

export const processingOptions = {
  pollIntervalMs: { default: 60_000, check: integerOrInfinity(1) },
  nextJobDelayMs: { default: 0, check: integer(0) },
  defaultRetryConfig: { check: isObject },
  defaultLeaseConfig: { check: isObject },
  defaultTimeoutMs: { check: integer(1) },
  workerLoopRetryConfig: { check: isObject },
  jobAttemptMiddlewares: { default: [], check: isListOfFunctions },
} as const satisfies Table

export const processorOptions = {
  process: { check: isFunction },
  retryConfig: { check: isObject },
  leaseConfig: { check: isObject },
  timeoutMs: processingOptions.defaultTimeoutMs,
} as const satisfies Table

export const continueOptions = {
  typeName: { check: text(256) },
  input: anything,
  schedule: { check: isSchedule },
  priority: { check: integer(-100, 100) },
  startBlockers: { check: isFunction },
  blockers: { check: isListOfChains },
  onBlockerFailure: { default: 'fail', check: oneOf('fail', 'wait') },
} as const satisfies Table

export const startOptions = {
  ...continueOptions,
  id: { check: text(512) },
  deduplication: { check: isObject },
  traceContext: { check: isTraceContext },
  tx: anything,
} as const satisfies Table

export const deduplicationOptions = {
  key: { check: text(512) },
  strategy: { default: 'completed', check: oneOf('completed', 'all') },
  windowMs: { check: integer(1, 100 * yearMs) },
} as const satisfies Table

export const startManyOptions = { items: { check: isList }, tx: anything } as const satisfies Table

export const cancelChainOptions = { reason: { check: text(4_096) } } as const satisfies Table

export const completeChainOptions = { complete: { check: isFunction } } as const satisfies Table

export const deleteChainsOptions = { rootChainIds: { check: isListOfChains }, tx: anything } as const satisfies Table

export const waitForChainOptions = {
  timeoutMs: { check: integerOrInfinity(0) },
  pollIntervalMs: { default: 15_000, check: integer(1) },
  signal: { check: isSignal },
} as const satisfies Table

export const listOptions = {
  filter: { check: isObject },
  orderDirection: { default: 'desc', check: oneOf('asc', 'desc') },
  cursor: { check: text(65_536) },
  limit: { default: 50, check: integer(1, 1_000) },
} as const satisfies Table

const filterOptions = {
  typeName: { check: isList },
  state: { check: isList },
  createdFrom: { check: isInstant },
  createdTo: { check: isInstant },
} as const satisfies Table
export const jobFilterOptions = { ...filterOptions, chain: { check: isChainRef } } as const satisfies Table
export const chainFilterOptions = { ...filterOptions, rootOnly: { check: isBoolean } } as const satisfies Table

function isRegistry(name: string, value: unknown): void {
  const checks = ['validateEntry', 'parseInput', 'parseOutput', 'validateContinueWith', 'validateBlockers']
  hasMethods('a registry of defineJobTypes() or createJobTypeRegistry()', checks)(name, value)
}

function isNotifier(name: string, value: unknown): void {
  hasMethods('a Notifier', ['notify', 'listen', 'close'])(name, value)
}

function isListOfFunctions(name: string, value: unknown): void {
  isList(name, value)
  for (const [index, item] of (value as unknown[]).entries()) isFunction(`${name}[${index}]`, item)
}

function isListOfChains(name: string, value: unknown): void {
  isList(name, value)
  for (const [index, item] of (value as unknown[]).entries()) isChainRef(`${name}[${index}]`, item)
}

/** A chain, or whatever names one. */
function isChainRef(name: string, value: unknown): void {
  isObject(name, value)
  const { typeName, id } = value as { typeName?: unknown; id?: unknown }
  checkText(`${name}.typeName`, typeName, 256)
  checkText(`${name}.id`, id, 512)
}

function isSchedule(name: string, value: unknown): void {
  const { at, afterMs } = resolveOptions(name, value as { at?: unknown; afterMs?: unknown }, scheduleOptions)
  if ((at === undefined) === (afterMs === undefined)) {
    throw invalidArgument(name, 'either { at } or { afterMs }', value)
  }
}

const scheduleOptions = {
  at: { check: isInstant },
  afterMs: { check: integer(0, 100 * yearMs) },
} as const satisfies Table

function isTraceContext(name: string, value: unknown): void {
  const { traceparent } = resolveOptions(name, value as { traceparent?: string }, traceOptions)
  if (traceparent === undefined) throw invalidArgument(`${name}.traceparent`, 'a string', traceparent)
}

const traceOptions = {
  traceparent: { check: text(256) },
  tracestate: { check: text(1_024) },
} as const satisfies Table
