// Every option with its default and what it may be, in one place. Options are resolved once, at the edge: unknown keys and
// impossible values are refused here, and the code inside receives complete records. Longer than other files for that: a
// table, and below it what its values may be.

import { HoldfastError, invalidArgument } from './errors.ts'

/** Throws unless the value fits. */
type Check = (name: string, value: unknown) => void

export interface Option<T> {
  /** Absent: the option is required, or its absence has a meaning of its own. */
  readonly default?: T
  readonly check: Check
}

type Table = Readonly<Record<string, Option<unknown>>>

const day = 86_400_000
const year = 365 * day
/** The last instant that a Date can hold. */
const latestInstant = 8_640_000_000_000_000

// ── the tables ───────────────────────────────────────────────────────────────────────────────────────────────────────

export const queueOptions = {
  storage: { check: isStorage },
  name: { default: 'default', check: text(256) },
  payloadSerde: { check: isSerde },
  resultSerde: { check: isSerde },
  resultTTL: { default: 3_600_000, check: integer(1, 100 * year) },
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

export const memoryOptions = {
  callTimeoutMs: { default: 5_000, check: integer(1) },
  clock: queueOptions.clock,
} as const satisfies Table

export const sqliteOptions = {
  ...memoryOptions,
  path: { check: isPath },
  durability: { default: 'full', check: isDurability },
} as const satisfies Table

export const fileOptions = {
  ...memoryOptions,
  directory: { check: isPath },
  durability: sqliteOptions.durability,
} as const satisfies Table

export const redisOptions = {
  ...memoryOptions,
  client: { check: isRedisClient },
  url: { check: isRedisUrl },
  host: { default: 'localhost', check: text(255) },
  port: { default: 6379, check: integer(1, 65_535) },
  prefix: { default: 'jq', check: isRedisPrefix },
  blockTimeout: queueOptions.blockTimeout,
  processingQueueTTL: queueOptions.processingQueueTTL,
  durability: { default: 'relaxed', check: isRedisDurability },
  replicas: { default: 1, check: integer(1, 1_000) },
  replicaTimeoutMs: { default: 1_000, check: integer(1) },
  allowEviction: { default: false, check: isBoolean },
} as const satisfies Table

export const postgresOptions = {
  ...memoryOptions,
  url: { check: isPostgresUrl },
  client: { check: isPostgresClient },
  schema: { default: 'holdfast', check: isSchema },
  listenUrl: { check: isPostgresUrl },
  listen: { default: true, check: isBoolean },
  prepare: { default: true, check: isBoolean },
  poolSize: { default: 10, check: integer(1, 1_000) },
  migrate: { default: true, check: isBoolean },
} as const satisfies Table

/** Whatever it is, somebody else checks it. */
const anything = { check: () => {} } as const

export const jobOptions = {
  maxAttempts: { check: integer(1) },
  // No default: the queue's own.
  resultTTL: { check: queueOptions.resultTTL.check },
  retention: queueOptions.retention,
  delayMs: { check: integer(0, 100 * year) },
  runAt: { check: isInstant },
} as const satisfies Table

export const enqueueOptions = { ...jobOptions, tx: anything } as const satisfies Table

export const waitOptions = {
  ...jobOptions,
  timeout: { default: 30_000, check: integerOrInfinity },
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

export const leaderOptions = {
  enabled: { default: false, check: isBoolean },
  lockTTL: { default: 30_000, check: integer(1) },
  /** @default lockTTL / 3 */
  renewalInterval: { check: integer(1) },
  acquireRetryInterval: { default: 5_000, check: integer(1) },
} as const satisfies Table

// Of chains. The options of ChainRetention, RetryConfig and LeaseConfig are merged field by field over these.

export const retentionOptions = {
  completed: { default: { ageMs: 7 * day }, check: isAge },
  failed: { default: { ageMs: 14 * day }, check: isAge },
  cancelled: { default: { ageMs: day }, check: isAge },
} as const satisfies Table

export const retryOptions = {
  initialDelayMs: { default: 10_000, check: nonNegative },
  multiplier: { default: 2, check: atLeastOne },
  maxDelayMs: { default: 300_000, check: nonNegative },
  jitter: { default: 0.2, check: isJitter },
  maxAttempts: { default: Infinity, check: integerOrInfinityFromOne },
} as const satisfies Table

export const leaseOptions = {
  leaseMs: { default: 60_000, check: integer(50) },
  renewIntervalMs: { default: 30_000, check: integer(1) },
} as const satisfies Table

export const clientOptions = {
  storage: queueOptions.storage,
  jobTypeRegistry: { check: isRegistry },
  notifier: { check: isNotifier },
  observer: { check: isObject },
  log: { check: isFunction },
  retention: { check: isObject },
  clock: queueOptions.clock,
} as const satisfies Table

export const inProcessWorkerOptions = {
  storage: queueOptions.storage,
  jobTypeRegistry: clientOptions.jobTypeRegistry,
  notifier: clientOptions.notifier,
  observer: clientOptions.observer,
  log: clientOptions.log,
  workerId: queueOptions.workerId,
  concurrency: queueOptions.concurrency,
  stop: { check: isObject },
  jobTypeProcessing: { check: isObject },
  jobTypeProcessors: { check: isObject },
  clock: queueOptions.clock,
} as const satisfies Table

export const workerStopOptions = {
  graceMs: { default: 20_000, check: integer(0) },
  deadlineMs: { default: 25_000, check: integer(0) },
} as const satisfies Table

export const processingOptions = {
  pollIntervalMs: { default: 60_000, check: integerOrInfinityFromOne },
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
  onBlockerFailure: { default: 'fail', check: isOnBlockerFailure },
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
  strategy: { default: 'completed', check: isStrategy },
  windowMs: { check: integer(1, 100 * year) },
} as const satisfies Table

export const startManyOptions = { items: { check: isList }, tx: anything } as const satisfies Table

export const cancelChainOptions = { reason: { check: text(4_096) } } as const satisfies Table

export const completeChainOptions = { complete: { check: isFunction } } as const satisfies Table

export const deleteChainsOptions = { rootChainIds: { check: isListOfChains }, tx: anything } as const satisfies Table

export const waitForChainOptions = {
  timeoutMs: { check: integerOrInfinity },
  pollIntervalMs: { default: 15_000, check: integer(1) },
  signal: { check: isSignal },
} as const satisfies Table

export const listOptions = {
  filter: { check: isObject },
  orderDirection: { default: 'desc', check: isDirection },
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

export const exponentialBackoff = {
  type: { check: isExponential },
  delayMs: { default: 1_000, check: nonNegative },
  factor: { default: 2, check: atLeastOne },
  maxDelayMs: { default: 300_000, check: nonNegative },
  jitter: { default: 0.2, check: isJitter },
} as const satisfies Table

const fixedBackoff = { type: { check: () => {} }, delayMs: { check: nonNegative } } as const satisfies Table

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

// ── resolving ────────────────────────────────────────────────────────────────────────────────────────────────────────

type Resolved<Given, T extends Table> = Given & {
  [K in keyof T as T[K] extends { default: unknown } ? K : never]-?: K extends keyof Given
    ? Exclude<Given[K], undefined>
    : never
}

/** The given options over the defaults. Throws INVALID_ARGUMENT. @param where for the message, such as 'Queue' */
export function resolveOptions<Given extends object, const T extends Table>(
  where: string,
  given: Given | undefined,
  table: T,
): Resolved<Given, T> {
  if (given !== undefined && (given === null || typeof given !== 'object' || Array.isArray(given))) {
    throw invalidArgument(`${where} options`, 'an object', given)
  }
  const values = (given ?? {}) as Record<string, unknown>
  const resolved: Record<string, unknown> = {}
  for (const key of Object.keys(values)) {
    if (!Object.hasOwn(table, key)) throw unknownOption(where, key, Object.keys(table))
    if (values[key] === undefined) continue
    table[key]!.check(key, values[key])
    resolved[key] = values[key]
  }
  for (const key of Object.keys(table)) {
    if (resolved[key] === undefined && table[key]!.default !== undefined) resolved[key] = table[key]!.default
  }
  return resolved as Resolved<Given, T>
}

function unknownOption(where: string, key: string, known: readonly string[]): TypeError {
  const nearest = known.toSorted((a, b) => distance(key, a) - distance(key, b))[0]!
  return invalidArgument(`${where} options`, `one of ${known.join(', ')} (did you mean ${nearest}?)`, key)
}

/** Edits between two short words. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= Math.min(a.length, 64); i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1]!.toLowerCase() === b[j - 1]!.toLowerCase()
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (same ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}

// ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Ids, names, keys: any text a database can hold, up to so many bytes. */
export function checkText(name: string, value: unknown, maxBytes: number): asserts value is string {
  if (typeof value !== 'string') throw invalidArgument(name, 'a string', value)
  // A code unit is at most three bytes, so most need no counting.
  const fits = value.length * 3 <= maxBytes || Buffer.byteLength(value) <= maxBytes
  if (value === '' || !fits) throw invalidArgument(name, `1 … ${maxBytes} bytes of UTF-8`, value)
  if (value.includes('\0')) throw invalidArgument(name, 'text without U+0000', value)
  if (!value.isWellFormed()) throw invalidArgument(name, 'text without lone surrogates', value)
}

/** The id of a job. */
export function checkId(value: unknown): asserts value is string {
  checkText('id', value, 512)
}

function text(maxBytes: number): Check {
  return (name, value) => checkText(name, value, maxBytes)
}

function integer(min: number, max = Number.MAX_SAFE_INTEGER): Check {
  const expected = max === Number.MAX_SAFE_INTEGER ? `an integer >= ${min}` : `an integer ${min} … ${max}`
  return (name, value) => {
    if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) {
      throw invalidArgument(name, expected, value)
    }
  }
}

function integerOrInfinity(name: string, value: unknown): void {
  if (value !== Infinity && (!Number.isInteger(value) || (value as number) < 0)) {
    throw invalidArgument(name, 'an integer >= 0, or Infinity', value)
  }
}

function integerOrInfinityFromOne(name: string, value: unknown): void {
  if (value !== Infinity && (!Number.isInteger(value) || (value as number) < 1)) {
    throw invalidArgument(name, 'an integer >= 1, or Infinity', value)
  }
}

function positive(name: string, value: unknown): void {
  if (!Number.isFinite(value) || (value as number) <= 0) throw invalidArgument(name, 'a number > 0', value)
}

function nonNegative(name: string, value: unknown): void {
  if (!Number.isFinite(value) || (value as number) < 0) throw invalidArgument(name, 'a number >= 0', value)
}

function atLeastOne(name: string, value: unknown): void {
  if (!Number.isFinite(value) || (value as number) < 1) throw invalidArgument(name, 'a number >= 1', value)
}

function isJitter(name: string, value: unknown): void {
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) throw invalidArgument(name, 'a number 0 … 1', value)
}

function isPath(name: string, value: unknown): void {
  if (typeof value !== 'string' || value === '') throw invalidArgument(name, 'a path', value)
}

function isDurability(name: string, value: unknown): void {
  if (value !== 'full' && value !== 'relaxed') throw invalidArgument(name, "'full' or 'relaxed'", value)
}

function isRedisDurability(name: string, value: unknown): void {
  if (value !== 'relaxed' && value !== 'full' && value !== 'replicated') {
    throw invalidArgument(name, "'relaxed', 'full' or 'replicated'", value)
  }
}

/** It becomes the hash tag of every key, which braces of its own would end. */
function isRedisPrefix(name: string, value: unknown): void {
  checkText(name, value, 128)
  if (/[{}]/.test(value)) throw invalidArgument(name, 'text without braces', value)
}

/** Never printed: it may hold a password. */
function isRedisUrl(name: string, value: unknown): void {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url && ['redis:', 'rediss:', 'valkey:', 'valkeys:'].includes(url.protocol) && url.hostname !== '') return
  const expected = "a URL such as 'redis://host:6379', with 'rediss:' for TLS"
  throw invalidArgument(name, expected, typeof value === 'string' ? `${value.length} characters` : value)
}

function isRedisClient(name: string, value: unknown): void {
  const methods = ['callBuffer', 'pipeline', 'connect', 'disconnect', 'duplicate', 'on', 'removeListener']
  hasMethods('a Redis or Cluster client of iovalkey or ioredis', methods)(name, value)
  const { options } = value as { options?: { keyPrefix?: unknown } | null }
  if (options?.keyPrefix) throw invalidArgument(name, 'a client without keyPrefix (use `prefix`)', options.keyPrefix)
}

/** Never printed: it may hold a password. */
function isPostgresUrl(name: string, value: unknown): void {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url && ['postgres:', 'postgresql:'].includes(url.protocol)) return
  const expected = "a URL such as 'postgres://user@host:5432/database'"
  throw invalidArgument(name, expected, typeof value === 'string' ? `${value.length} characters` : value)
}

/** The sql of postgres.js is a function. */
function isPostgresClient(name: string, value: unknown): void {
  if (typeof value === 'function' && isCallable(value, 'unsafe') && isCallable(value, 'begin')) return
  hasMethods('a Pool of pg, or the sql of postgres.js', ['connect', 'query', 'on'])(name, value)
}

/** Any name that fits: it is quoted wherever it stands. */
function isSchema(name: string, value: unknown): void {
  const isOne = typeof value === 'string' && value !== '' && !value.includes('\0') && value.isWellFormed()
  if (!isOne || Buffer.byteLength(value) > 63) throw invalidArgument(name, 'the name of a schema, 1 … 63 bytes', value)
}

function isBoolean(name: string, value: unknown): void {
  if (typeof value !== 'boolean') throw invalidArgument(name, 'true or false', value)
}

function isFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw invalidArgument(name, 'a function', value)
}

function isObject(name: string, value: unknown): void {
  if (value === null || typeof value !== 'object') throw invalidArgument(name, 'an object', value)
}

function hasMethods(what: string, methods: readonly string[]): Check {
  return (name, value) => {
    const fits = value !== null && typeof value === 'object' && methods.every((method) => isCallable(value, method))
    if (!fits) throw invalidArgument(name, what, value)
  }
}

const isCallable = (value: object, method: string): boolean =>
  typeof (value as Record<string, unknown>)[method] === 'function'

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

function isClock(name: string, value: unknown): void {
  hasMethods('a Clock', ['now', 'monotonic', 'after', 'soon', 'random', 'newId'])(name, value)
}

function isLogger(name: string, value: unknown): void {
  isObject(name, value)
  for (const level of ['debug', 'info', 'warn', 'error'] as const) {
    const method = (value as Record<string, unknown>)[level]
    if (method !== undefined) isFunction(`${name}.${level}`, method)
  }
}

function isSignal(name: string, value: unknown): void {
  if (!(value instanceof AbortSignal)) throw invalidArgument(name, 'an AbortSignal', value)
}

function isInstant(name: string, value: unknown): void {
  // oxlint-disable-next-line no-restricted-globals -- a type test: no time is read
  const at = value instanceof Date ? value.getTime() : value
  const isOne = Number.isFinite(at) && Math.abs(at as number) <= latestInstant
  if (!isOne) throw invalidArgument(name, 'a valid Date, or epoch ms', at)
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

/** An end's retention: at most so old. */
function isAge(name: string, value: unknown): void {
  const { ageMs } = resolveOptions(name, value as { ageMs?: number }, ageOptions)
  if (ageMs === undefined) throw invalidArgument(`${name}.ageMs`, 'an integer >= 0, or Infinity', ageMs)
}

const ageOptions = { ageMs: { check: integerOrInfinity } } as const satisfies Table

function isRegistry(name: string, value: unknown): void {
  const checks = ['validateEntry', 'parseInput', 'parseOutput', 'validateContinueWith', 'validateBlockers']
  hasMethods('a registry of defineJobTypes() or createJobTypeRegistry()', checks)(name, value)
}

function isNotifier(name: string, value: unknown): void {
  hasMethods('a Notifier', ['notify', 'listen', 'close'])(name, value)
}

function isList(name: string, value: unknown): void {
  if (!Array.isArray(value)) throw invalidArgument(name, 'an array', value)
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
  afterMs: { check: integer(0, 100 * year) },
} as const satisfies Table

function isTraceContext(name: string, value: unknown): void {
  const { traceparent } = resolveOptions(name, value as { traceparent?: string }, traceOptions)
  if (traceparent === undefined) throw invalidArgument(`${name}.traceparent`, 'a string', traceparent)
}

const traceOptions = {
  traceparent: { check: text(256) },
  tracestate: { check: text(1_024) },
} as const satisfies Table

function isOnBlockerFailure(name: string, value: unknown): void {
  if (value !== 'fail' && value !== 'wait') throw invalidArgument(name, "'fail' or 'wait'", value)
}

function isStrategy(name: string, value: unknown): void {
  if (value !== 'completed' && value !== 'all') throw invalidArgument(name, "'completed' or 'all'", value)
}

function isDirection(name: string, value: unknown): void {
  if (value !== 'asc' && value !== 'desc') throw invalidArgument(name, "'asc' or 'desc'", value)
}

function isExponential(name: string, value: unknown): void {
  if (value !== 'exponential') throw invalidArgument(name, "'exponential'", value)
}

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
