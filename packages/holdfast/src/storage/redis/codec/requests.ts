// What the scripts are sent: jobs to add and outcomes to settle, packed.

import { hashOf } from '../../../hash-of.ts'
import { outcomeJobs } from '../../check.ts'
import { retentionCode } from '../../retention.ts'
import { outcomeCodes } from '../../rules/job/codes.ts'
import type { Deduplication, JobGroup, JobRef, NewJob, Outcome, Report, Retention, When } from '../../storage.ts'
import type { Argument } from '../connection/client.ts'
import { blockerFailureCodes, modeCodes, orderedGroupCodes, slowDownCodes } from './codes.ts'
import { Nested, Packer, type Packed } from './pack.ts'
import { inlinePayloadBytes } from './record.ts'
import { packSearch } from './search.ts'

const packer = new Packer()

export const packed = (value: Packed): Buffer => packer.pack(value)

/** A type as it stands in keys: it cannot end where an id begins. lua/move/types.ts does the same. */
export const encodeType = (type: string): string =>
  type === '' ? '%' : type.replace(/[:%]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)

export const packRefs = (refs: readonly JobRef[]): string[][] => refs.map(({ type, id }) => [type, id])

/** One plain job that is due at once: the type as it stands in keys, the id and the body. Else the types and the jobs, packed. */
export function packAdd(jobs: readonly NewJob[]): Argument[] {
  const [first] = jobs
  if (jobs.length === 1 && isPlainNow(first!)) return [encodeType(first!.type), first!.id, packed(bodyOf(first!).list)]
  const plain = packPlainJobs(jobs)
  if (plain) return [packed(plain[0]), packed(plain[1])]
  const [types, list] = packJobs(jobs)
  // Whether a job may be refused by the depth of a queue or the kind of a group (lua/job/refuse.ts).
  const mayRefuse = jobs.some(({ group, maxWaiting }) => group !== undefined || maxWaiting !== undefined)
  return [packed([types, mayRefuse]), packed(list)]
}

const isPlainNow = (job: NewJob): boolean =>
  job.runAt === undefined && (job.delayMs === undefined || job.delayMs === 0) && extrasOf(job) === false

/** For plain jobs of one type: the type, and for each job its id, when and body. Undefined for other batches. */
function packPlainJobs(jobs: readonly NewJob[]): [type: Packed, list: Packed[]] | undefined {
  const type = jobs[0]?.type ?? ''
  const list: Packed[] = []
  for (const job of jobs) {
    if (job.type !== type || extrasOf(job) !== false) return undefined
    list.push(job.id, packWhen(job), bodyOf(job))
  }
  return [[type, encodeType(type)], list]
}

/** The names of types, and for each job: the position of its type, from 1, its id, when, body and extras. */
function packJobs(jobs: readonly NewJob[]): [types: string[], list: Packed[]] {
  const types: string[] = []
  const list: Packed[] = []
  for (const job of jobs) {
    let type = types.indexOf(job.type) + 1
    if (type === 0) type = types.push(job.type)
    list.push(type, job.id, packWhen(job), bodyOf(job), extrasOf(job))
  }
  return [types, list]
}

/** Absent: false. A delay: below 0, less one. */
export function packWhen({ runAt, delayMs }: When): Packed {
  if (delayMs !== undefined) return -delayMs - 1
  return runAt === undefined ? false : Math.max(0, runAt)
}

function bodyOf(job: NewJob): Nested {
  const { token, priority = 0, maxAttempts, retention, payload, trace, group, timeoutMs, search, weight } = job
  const body: Packed[] = [token, priority, maxAttempts, packRetention(retention), isLarge(job) ? true : payload]
  const { onBlockerFailure: failure = 'fail' } = job
  const waits = failure !== 'fail' && blockerFailureCodes[failure]
  const isLongest = (weight !== undefined && weight !== 1) || group?.ordered === true
  const isLonger = isLongest || timeoutMs !== undefined || search !== undefined
  if (trace !== undefined || group || waits || isLonger) body.push(trace, group?.key, waits)
  if (isLonger) body.push(timeoutMs, search && packSearch(search))
  if (isLongest) body.push(weight === 1 ? undefined : weight, packKind(group))
  return new Nested(body)
}

/** False of an unordered group. */
const packKind = (group: JobGroup | undefined): Packed =>
  group?.ordered === true && orderedGroupCodes[group.onFailure ?? 'continue']

const isLarge = ({ payload }: NewJob): boolean => payload !== undefined && payload.length > inlinePayloadBytes

/** Its number, or the times after completed, failed and cancelled, in this order. */
function packRetention(retention: Retention): Packed {
  const { completedMs, failedMs, cancelledMs } = retention
  return retentionCode(retention) ?? [completedMs, failedMs, cancelledMs]
}

/** What few jobs have. False for a plain job: the fast path adds those. */
function extrasOf(job: NewJob): Packed {
  const { blockers, deduplication, priority, group, search, expiresInMs, onDuplicate, maxWaiting } = job
  const large = isLarge(job)
  const replaces = onDuplicate === 'replace'
  const isPlain = !blockers && !deduplication && !priority && !group && !large
  if (isPlain && !search && expiresInMs === undefined && !replaces && !maxWaiting) return false
  const extras: { [key: string]: Packed } = {}
  if (blockers) {
    extras.b = blockers.map((blocker) => (typeof blocker === 'number' ? blocker : [blocker.type, blocker.id]))
  }
  if (deduplication) {
    extras.k = packKey(deduplication)
  }
  if (large) extras.p = job.payload!
  if (expiresInMs !== undefined) extras.x = expiresInMs
  if (replaces) extras.r = true
  if (maxWaiting) extras.w = [maxWaiting.type, maxWaiting.group]
  return extras
}

/** Key and mode; then how long it is held or known, and whether it is shared. A debounced job: its longest wait; a version. */
function packKey(deduplication: Deduplication): Packed {
  const { key, mode } = deduplication
  const start = [key, modeCodes[mode]]
  switch (mode) {
    case 'debounce':
      return [...start, undefined, false, deduplication.windowMs, deduplication.maxWaitMs]
    case 'followUp':
      return [...start, undefined, false]
    case 'ascending':
      return [...start, deduplication.ttlMs, false, deduplication.version]
    default:
      return [...start, deduplication.windowMs, deduplication.shared === true]
  }
}

/** Progress, then `at` and bytes of each line. Undefined: nothing to report. */
export function packReport({ progress, log }: Report): Packed {
  if (progress === undefined && !log?.length) return undefined
  return [progress, ...(log ?? []).flatMap(({ at, line }) => [at, line])]
}

/**
 * A list of outcomes. If all of them complete jobs of one type, no job twice, and add none: the type, and a flat list of id, worker,
 * attempt, keepMs and result.
 */
export function packOutcomes(outcomes: readonly Outcome[]): Buffer[] {
  const type = outcomes[0]?.type
  const plain: Packed[] = []
  // Of hashes: to put a text into a Set costs five times as much. Two ids with one hash only cost the shorter form.
  const hashes = new Set<number>()
  let fence: { worker: string; attempt: number } | undefined
  for (const outcome of outcomes) {
    const isPlain = outcome.type === type && outcome.kind === 'completed' && outcome.add === undefined
    if (!isPlain || 'chain' in outcome || packReport(outcome)) return [packed(outcomes.map(packOutcome))]
    const { id, worker, attempt, keepMs, result } = outcome
    hashes.add(hashOf(id))
    const isRepeated = fence?.worker === worker && fence.attempt === attempt
    plain.push(id, !isRepeated && worker, !isRepeated && attempt, keepMs, result)
    fence = outcome
  }
  // A job that is named twice is ended by its first mention.
  if (hashes.size < outcomes.length) return [packed(outcomes.map(packOutcome))]
  return type === undefined ? [packed([])] : [packed([type, encodeType(type)]), packed(plain)]
}

/** In the order that lua/settle.ts describes. */
function packOutcome(outcome: Outcome): Packed {
  const { type, id, kind } = outcome
  // A workerless outcome has its token in place of a worker.
  const fence = 'chain' in outcome ? [outcome.token, 0] : [outcome.worker, outcome.attempt]
  const start: Packed[] = [type, id, ...fence, outcomeCodes[kind]]
  const keepMs = kind === 'completed' || kind === 'failed' ? outcome.keepMs : undefined
  const jobs = outcomeJobs(outcome)
  const report = 'chain' in outcome ? undefined : packReport(outcome)
  if (kind === 'completed' && jobs.length === 0 && !('chain' in outcome) && !report) {
    return [...start, outcome.result, keepMs]
  }
  const content =
    kind === 'completed'
      ? outcome.result
      : kind === 'released'
        ? outcome.payload
        : kind === 'continued'
          ? undefined
          : outcome.error
  const when = kind === 'retry' || kind === 'released' ? packWhen(outcome) : undefined
  const isSnooze = kind === 'released' && (outcome.runAt !== undefined || outcome.delayMs !== undefined)
  const stalled = isSnooze ? outcome.error : (kind === 'retry' || kind === 'failed') && outcome.stalled === true
  const [types, list] = jobs.length > 0 ? packJobs(jobs) : []
  const chain = 'chain' in outcome ? [outcome.chain.type, outcome.chain.id] : [undefined, undefined]
  const slowDown = kind === 'released' && outcome.slowDown ? slowDownCodes[outcome.slowDown] : undefined
  return [...start, content, keepMs, when, stalled, types, list, ...chain, report, slowDown]
}
