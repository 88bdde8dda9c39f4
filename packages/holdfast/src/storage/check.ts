// The checks that every driver runs before it reads or writes: each refuses values outside the contract.

import { invalidArgument, unsupported } from '../errors.ts'
import type { KvWrite } from './kv.ts'
import type {
  ClaimRequest,
  CountQuery,
  Deduplication,
  Extension,
  GroupLimits,
  Limits,
  ListQuery,
  NewJob,
  Outcome,
  Rate,
  RecoverRequest,
  SearchFields,
  SearchRange,
  SweepRequest,
  Where,
} from './storage.ts'

/** @throws TypeError INVALID_ARGUMENT, HoldfastError FEATURE_UNSUPPORTED */
export function checkNewJobs(driver: string, jobs: readonly NewJob[]): void {
  for (let index = 0; index < jobs.length; index++) {
    const job = jobs[index]!
    checkNames(job, jobs[index - 1])
    checkNumbers(job)
    if (job.priority !== undefined) checkPriority(job.priority)
    if (job.weight !== undefined) checkCount('weight', job.weight)
    if (job.maxWaiting?.type !== undefined) checkCount('maxWaiting.type', job.maxWaiting.type)
    if (job.maxWaiting?.group !== undefined) checkCount('maxWaiting.group', job.maxWaiting.group)
    if (job.deduplication) checkDeduplication(driver, job.deduplication, job)
    if (job.blockers) checkPositions(jobs, index)
    if (job.search) checkSearchFields(job.search)
    if (job.expiresInMs !== undefined) checkMs('expiresInMs', job.expiresInMs)
    if (job.timeoutMs !== undefined) checkMs('timeoutMs', job.timeoutMs)
  }
}

/** The names of a job. A lone surrogate is not text: storages that keep UTF-8 would make one name of two. */
function checkNames(job: NewJob, before: NewJob | undefined): void {
  // Most jobs of a batch have the type and the token of the one before.
  if (job.type !== before?.type) checkWellFormed('type', job.type)
  if (job.token !== before?.token) checkWellFormed('token', job.token)
  checkWellFormed('id', job.id)
  if (job.group) checkWellFormed('group.key', job.group.key)
  if (job.deduplication) checkWellFormed('deduplication.key', job.deduplication.key)
  if (job.trace !== undefined) checkWellFormed('trace', job.trace)
}

function checkWellFormed(name: string, text: string): void {
  if (typeof text !== 'string' || !text.isWellFormed()) {
    throw invalidArgument(name, 'text without lone surrogates', text)
  }
}

function checkNumbers({ runAt, delayMs, maxAttempts, retention }: NewJob): void {
  if (runAt !== undefined && !(runAt <= Infinity)) throw invalidArgument('runAt', 'epoch ms', runAt)
  if (delayMs !== undefined && !(delayMs <= Infinity)) throw invalidArgument('delayMs', 'a number of ms', delayMs)
  if (maxAttempts !== undefined && maxAttempts !== Infinity) checkCount('maxAttempts', maxAttempts)
  if (!(retention.completedMs >= 0)) throw invalidArgument('retention.completedMs', 'ms >= 0', retention.completedMs)
  if (!(retention.failedMs >= 0)) throw invalidArgument('retention.failedMs', 'ms >= 0', retention.failedMs)
  if (!(retention.cancelledMs >= 0)) throw invalidArgument('retention.cancelledMs', 'ms >= 0', retention.cancelledMs)
}

/** Checks the jobs that outcomes add, and their kinds. @throws TypeError INVALID_ARGUMENT, HoldfastError FEATURE_UNSUPPORTED */
export function checkOutcomes(driver: string, outcomes: readonly Outcome[]): void {
  for (const outcome of outcomes) {
    const next = outcome.kind === 'continued' ? outcome.next : undefined
    const add = 'add' in outcome ? outcome.add : undefined
    if (next ?? add) checkNewJobs(driver, outcomeJobs(outcome))
    if ('chain' in outcome && (outcome.kind === 'retry' || outcome.kind === 'released')) {
      throw invalidArgument('outcome.kind', "'completed', 'failed' or 'continued' without a worker", outcome.kind)
    }
  }
}

/** @throws TypeError INVALID_ARGUMENT, HoldfastError FEATURE_UNSUPPORTED */
export function checkClaim(driver: string, { outcomes, slots, types }: ClaimRequest): void {
  checkBound('slots', slots, 0)
  if (outcomes) checkOutcomes(driver, outcomes)
  for (const { limits } of types) if (limits) checkLimits(limits)
}

/** Attempts are counted in 32 bits. @throws TypeError INVALID_ARGUMENT */
export function checkExtensions(leases: readonly Extension[]): void {
  for (const { attempt } of leases) {
    if ((attempt | 0) !== attempt) throw invalidArgument('attempt', 'an integer below 2^31', attempt)
  }
}

/** @throws TypeError INVALID_ARGUMENT */
export function checkRecoverRequest({ limit }: RecoverRequest): void {
  checkBound('limit', limit, 1)
}

function checkBound(name: string, value: number, min: number): void {
  if (value !== Infinity && (!Number.isSafeInteger(value) || value < min)) {
    throw invalidArgument(name, `an integer of at least ${min}, or Infinity`, value)
  }
}

/** @throws TypeError INVALID_ARGUMENT */
export function checkCountQuery({ limits, next }: CountQuery): void {
  if (limits) checkLimits(limits.limits)
  if (!next) return
  checkLimits(next.limits)
  if (next.weight !== undefined) checkCount('next.weight', next.weight)
}

function checkLimits(limits: Limits): void {
  if (limits.concurrency !== undefined) checkCount('limits.concurrency', limits.concurrency)
  if (limits.rate) checkRate('limits.rate', limits.rate)
  if (limits.group) checkGroupLimits('limits.group', limits.group)
  for (const [key, group] of Object.entries(limits.groups ?? {})) checkGroupLimits(`limits.groups.${key}`, group)
}

function checkGroupLimits(path: string, { limit, rate }: GroupLimits): void {
  if (limit !== undefined) checkCount(`${path}.limit`, limit)
  if (rate) checkRate(`${path}.rate`, rate)
}

function checkRate(path: string, { limit, perMs }: Rate): void {
  checkCount(`${path}.limit`, limit)
  checkMs(`${path}.perMs`, perMs)
}

const none: readonly NewJob[] = []

/** The jobs that an outcome adds, as one batch: `next`, then `add`. */
export function outcomeJobs(outcome: Outcome): readonly NewJob[] {
  const add = ('add' in outcome && outcome.add) || none
  return outcome.kind === 'continued' ? [outcome.next, ...add] : add
}

/** @throws TypeError INVALID_ARGUMENT */
export function checkListQuery(query: ListQuery): void {
  if (query.of !== 'jobs' && query.of !== 'chains') throw invalidArgument('list: of', "'jobs' or 'chains'", query.of)
  if (!Number.isInteger(query.limit) || query.limit < 1 || query.limit > 1000) {
    throw invalidArgument('list: limit', 'an integer 1 … 1000', query.limit)
  }
  if (query.by !== undefined && query.by !== 'created' && query.by !== 'place') {
    throw invalidArgument('list: by', "'created' or 'place'", query.by)
  }
  const { maxScanned = 1 } = query
  if (!Number.isInteger(maxScanned) || maxScanned < 1) {
    throw invalidArgument('list: maxScanned', 'an integer of at least 1', maxScanned)
  }
  if (query.where) checkWhere(query.where)
}

/** The limit of a list of the key-value store. @throws TypeError INVALID_ARGUMENT */
export function checkKvLimit(limit: number): void {
  checkBound('limit', limit, 1)
}

/** The time to live of an entry. @throws TypeError INVALID_ARGUMENT */
export function checkKvWrite(options: KvWrite | undefined): void {
  const ttlMs = options?.ttlMs
  if (ttlMs !== undefined && !(ttlMs <= Infinity)) throw invalidArgument('ttlMs', 'a number of ms', ttlMs)
}

/** @throws TypeError INVALID_ARGUMENT */
export function checkSweepRequest({ limit, keep = [] }: SweepRequest): void {
  if (!Number.isInteger(limit) || limit < 1) throw invalidArgument('sweep: limit', 'an integer of at least 1', limit)
  for (const { state, count } of keep) {
    if (state !== 'completed' && state !== 'failed' && state !== 'cancelled') {
      throw invalidArgument('sweep: keep.state', "'completed', 'failed' or 'cancelled'", state)
    }
    if (!Number.isInteger(count) || count < 0) throw invalidArgument('sweep: keep.count', 'an integer >= 0', count)
  }
}

/** Fields of a job, characters of a field's name, and characters of a text in a field. */
const [maxFields, maxNameLength, maxTextLength] = [16, 64, 256]

/** @throws TypeError INVALID_ARGUMENT */
export function checkSearchFields(fields: SearchFields): void {
  const names = Object.keys(fields)
  if (names.length > maxFields) throw invalidArgument('search', `at most ${maxFields} fields`, names.length)
  for (const name of names) {
    checkFieldName(name)
    checkSearchValue(`search.${name}`, fields[name])
  }
}

function checkWhere(where: Where): void {
  for (const [name, wanted] of Object.entries(where)) {
    checkFieldName(name)
    const path = `list: where.${name}`
    if (typeof wanted !== 'object') checkSearchValue(path, wanted)
    else if (Array.isArray(wanted)) for (const value of wanted) checkSearchValue(path, value)
    else checkRange(path, wanted as SearchRange)
  }
}

const bounds: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte'])

function checkRange(path: string, range: SearchRange): void {
  const given = range === null ? [] : Object.entries(range)
  const isRange = given.length > 0 && given.every(([name, bound]) => bounds.has(name) && typeof bound !== 'boolean')
  if (!isRange) throw invalidArgument(path, 'a value, a list of values, or bounds gt, gte, lt, lte', range)
  for (const [name, bound] of given) checkSearchValue(`${path}.${name}`, bound)
}

function checkFieldName(name: string): void {
  if (name.length < 1 || name.length > maxNameLength) {
    throw invalidArgument('search', `field names of 1 … ${maxNameLength} characters`, name)
  }
}

function checkSearchValue(path: string, value: unknown): void {
  const isText = typeof value === 'string' && value.length <= maxTextLength
  if (isText || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return
  throw invalidArgument(path, `a text of at most ${maxTextLength} characters, a finite number or a boolean`, value)
}

function checkMs(name: string, ms: number): void {
  if (!(ms > 0)) throw invalidArgument(name, 'a number of ms above 0', ms)
}

function checkCount(name: string, count: number): void {
  if (!Number.isSafeInteger(count) || count < 1) throw invalidArgument(name, 'an integer of at least 1', count)
}

function checkPriority(priority: number): void {
  if (!Number.isInteger(priority) || priority < -100 || priority > 100) {
    throw invalidArgument('priority', 'an integer -100 … 100', priority)
  }
}

function checkDeduplication(driver: string, deduplication: Deduplication, job: NewJob): void {
  const { mode } = deduplication
  const isShared = 'shared' in deduplication && deduplication.shared === true
  if (isShared && (mode !== 'throttle' || deduplication.windowMs === undefined)) {
    throw invalidArgument('deduplication.shared', 'mode throttle with a window', mode)
  }
  switch (mode) {
    case 'simple':
    case 'throttle':
      return
    case 'debounce':
      checkMs('deduplication.windowMs', deduplication.windowMs)
      if (deduplication.maxWaitMs !== undefined) checkMs('deduplication.maxWaitMs', deduplication.maxWaitMs)
      if (job.runAt !== undefined || job.delayMs !== undefined) {
        throw invalidArgument('deduplication', 'no runAt and no delayMs with mode debounce', mode)
      }
      return
    case 'followUp':
      if (job.blockers) throw invalidArgument('deduplication', 'no blockers with mode followUp', mode)
      return
    case 'ascending':
      if (!Number.isSafeInteger(deduplication.version)) {
        throw invalidArgument('deduplication.version', 'a safe integer', deduplication.version)
      }
      if (deduplication.ttlMs !== undefined) checkMs('deduplication.ttlMs', deduplication.ttlMs)
      return
    default:
      throw unsupported(driver, `the deduplication mode '${String(mode)}'`)
  }
}

function checkPositions(jobs: readonly NewJob[], index: number): void {
  for (const blocker of jobs[index]!.blockers!) {
    if (typeof blocker !== 'number') continue
    if (!(blocker > index) || jobs[blocker]?.token !== jobs[index]!.token) {
      throw invalidArgument('blockers', 'the position of a later job with the same token', blocker)
    }
  }
}
