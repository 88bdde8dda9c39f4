// A job as a line of JSON: all fields when it is new, afterwards only those that can change. Fields with their default value
// are left out, and unchanged bytes are not written again. JSON has no Infinity: it is written as null.

import type { MemoryJob } from '../../memory/data.ts'
import type { AttemptRecord, Bytes, EndReason, JobRef, JobState, Log, LogLine, SearchFields } from '../../storage.ts'
import { markFieldsOf } from '../../rules/job/key.ts'
import type { MarkFields, Membership } from '../../rules/move.ts'
import { type BytesJson, bytesFromJson, bytesToJson } from './bytes-json.ts'
import type { JobPut } from '../replica/changes.ts'
import type { BlockerPart, ChangingPart, FixedPart } from '../replica/record.ts'

type RefJson = readonly [type: string, id: string]
type NumberJson = number | null

/** Undefined fields are left out. */
export interface MarkJson extends Omit<MarkFields, 'until' | 'replacedBy' | 'version'> {
  readonly until: NumberJson
  readonly replacedBy?: string | undefined
  readonly version?: number | undefined
}

interface LeaseJson {
  readonly worker: string
  readonly label?: string
  readonly startedAt: number
  readonly until: NumberJson
}

type AttemptJson = Omit<AttemptRecord, 'error'> & { readonly error?: BytesJson }

/** The last `keep` attempts of the record before, then `add`. */
interface AttemptsJson {
  readonly keep: number
  readonly add: readonly AttemptJson[]
}

/** The last `keep` lines of the record before, then `add`. */
interface LogJson {
  readonly dropped: number
  readonly keep: number
  readonly add: readonly LineJson[]
}
type LineJson = readonly [attempt: number, at: number, line: BytesJson]

export interface ChangingJson {
  readonly type: string
  readonly id: string
  readonly state: JobState
  readonly deadlineAt?: NumberJson
  readonly runAt: NumberJson
  readonly order: number
  readonly attempt?: number
  readonly failures?: number
  readonly snoozes?: number
  readonly reason?: EndReason
  readonly lease?: LeaseJson
  readonly finishedAt?: number
  readonly expiresAt?: NumberJson
  readonly cancelling?: true
  readonly cancelReason?: string
  readonly completedByHolder?: true
  readonly openBlockers?: number
  readonly blockers?: readonly { readonly ref: RefJson; readonly done?: true; readonly held?: true }[]
  readonly mark?: MarkJson & { held?: true; own?: true }
  // Absent: unchanged. Null: removed.
  readonly payload?: BytesJson | null
  readonly result?: BytesJson | null
  /** True: the error of the last attempt. */
  readonly error?: BytesJson | true | null
  readonly attempts?: AttemptsJson
  readonly progress?: BytesJson | null
  readonly log?: LogJson
}

export interface JobJson extends ChangingJson {
  readonly number: number
  readonly token: string
  readonly createdAt: number
  /** In ms: completed, failed, cancelled. */
  readonly retention: readonly [NumberJson, NumberJson, NumberJson]
  readonly priority?: number
  readonly maxAttempts?: NumberJson
  readonly trace?: string
  readonly timeoutMs?: NumberJson
  readonly search?: SearchFields
  readonly group?: string
  /** Absent, of a job with a group: `ordered`, as all groups once were. */
  readonly membership?: Membership
  readonly weight?: number
  readonly chain?: RefJson
  readonly chainIndex?: number
  readonly origin?: RefJson
  readonly root?: RefJson
  readonly onBlockerFailure?: 'wait' | 'run'
}

// ── to JSON ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export function jobToJson(fixed: FixedPart, changing: ChangingPart): JobJson {
  const { completedMs, failedMs, cancelledMs } = fixed.retention
  return {
    ...changingToJson(fixed, changing, undefined),
    number: fixed.number,
    token: fixed.token,
    createdAt: fixed.createdAt,
    retention: [completedMs, failedMs, cancelledMs],
    priority: fixed.priority || undefined,
    maxAttempts: fixed.maxAttempts,
    trace: fixed.trace,
    timeoutMs: fixed.timeoutMs,
    search: fixed.search,
    group: fixed.group,
    membership: fixed.membership === 'ordered' ? undefined : fixed.membership,
    weight: fixed.weight === 1 ? undefined : fixed.weight,
    chain: fixed.chain && refToJson(fixed.chain),
    chainIndex: fixed.chainIndex || undefined,
    origin: fixed.origin && refToJson(fixed.origin),
    root: fixed.root && refToJson(fixed.root),
    onBlockerFailure: fixed.onBlockerFailure === 'fail' ? undefined : fixed.onBlockerFailure,
  }
}

/** @param before the record before; absent: everything is written */
export function changingToJson(
  { type, id }: JobRef,
  changing: ChangingPart,
  before: ChangingPart | undefined,
): ChangingJson {
  const { lease, mark } = changing
  return {
    type,
    id,
    state: changing.state,
    deadlineAt: changing.deadlineAt,
    runAt: changing.runAt,
    order: changing.order,
    attempt: changing.attempt || undefined,
    failures: changing.failures || undefined,
    snoozes: changing.snoozes || undefined,
    reason: changing.reason,
    lease: lease && { worker: lease.worker, label: lease.label, startedAt: lease.startedAt, until: lease.until },
    finishedAt: changing.finishedAt,
    expiresAt: changing.expiresAt,
    cancelling: changing.cancelling || undefined,
    cancelReason: changing.cancelReason,
    completedByHolder: changing.completedByHolder || undefined,
    openBlockers: changing.openBlockers || undefined,
    blockers: changing.blockers?.map(blockerToJson),
    mark: mark && { ...mark, held: mark.held || undefined, own: mark.own || undefined },
    payload: changedBytes(changing.payload, before?.payload),
    result: changedBytes(changing.result, before?.result),
    error: changedError(changing, before),
    attempts: changing.attempts === before?.attempts ? undefined : attemptsToJson(changing.attempts, before?.attempts),
    progress: changedBytes(changing.progress, before?.progress),
    log: changing.log === before?.log ? undefined : logToJson(changing.log, before?.log),
  }
}

const refToJson = ({ type, id }: JobRef): RefJson => [type, id]

const blockerToJson = ({ ref, done, held }: BlockerPart): NonNullable<ChangingJson['blockers']>[number] => ({
  ref: refToJson(ref),
  done: done || undefined,
  held: held || undefined,
})

function changedBytes(now: Bytes | undefined, before: Bytes | undefined): BytesJson | null | undefined {
  if (now === before) return undefined
  return now === undefined ? null : bytesToJson(now)
}

function changedError(now: ChangingPart, before: ChangingPart | undefined): ChangingJson['error'] {
  if (now.error !== undefined && now.error !== before?.error && now.error === now.attempts?.at(-1)?.error) return true
  return changedBytes(now.error, before?.error)
}

function attemptsToJson(now: AttemptRecord[] = [], before: AttemptRecord[] = []): AttemptsJson {
  const start = now.length === 0 ? -1 : before.indexOf(now[0]!)
  const keep = start === -1 ? 0 : before.length - start
  const add = now.slice(keep).map((attempt) => ({ ...attempt, error: attempt.error && bytesToJson(attempt.error) }))
  return { keep, add }
}

function logToJson(now: Log = noLog, before: Log = noLog): LogJson {
  const start = now.lines.length === 0 ? -1 : before.lines.indexOf(now.lines[0]!)
  const keep = start === -1 ? 0 : before.lines.length - start
  const add = now.lines.slice(keep).map(({ attempt, at, line }): LineJson => [attempt, at, bytesToJson(line)])
  return { dropped: now.dropped, keep, add }
}

const noLog: Log = { lines: [], dropped: 0 }

// ── from JSON ────────────────────────────────────────────────────────────────────────────────────────────────────────

export function jobFromJson(json: JobJson): JobPut {
  const [completedMs, failedMs, cancelledMs] = json.retention
  const fixed: FixedPart = {
    type: json.type,
    id: json.id,
    token: json.token,
    number: json.number,
    createdAt: json.createdAt,
    priority: json.priority ?? 0,
    maxAttempts: json.maxAttempts === undefined ? undefined : numberFrom(json.maxAttempts),
    retention: {
      completedMs: numberFrom(completedMs),
      failedMs: numberFrom(failedMs),
      cancelledMs: numberFrom(cancelledMs),
    },
    trace: json.trace,
    timeoutMs: json.timeoutMs === undefined ? undefined : numberFrom(json.timeoutMs),
    search: json.search,
    group: json.group,
    membership: json.group === undefined ? undefined : (json.membership ?? 'ordered'),
    weight: json.weight ?? 1,
    chain: json.chain && refFrom(json.chain),
    chainIndex: json.chainIndex ?? 0,
    origin: json.origin && refFrom(json.origin),
    root: json.root && refFrom(json.root),
    onBlockerFailure: json.onBlockerFailure ?? 'fail',
  }
  return { ...changingFromJson(json, undefined), fixed }
}

/** @param before the existing job, for the bytes that did not change */
export function changingFromJson(json: ChangingJson, before: MemoryJob | undefined): JobPut {
  const { type, id, lease, mark } = json
  const attempts = attemptsFrom(json.attempts, before?.attempts)
  const changing: ChangingPart = {
    state: json.state,
    deadlineAt: json.deadlineAt === undefined ? undefined : numberFrom(json.deadlineAt),
    runAt: numberFrom(json.runAt),
    order: json.order,
    attempt: json.attempt ?? 0,
    failures: json.failures ?? 0,
    snoozes: json.snoozes ?? 0,
    reason: json.reason,
    lease: lease && { ...lease, label: lease.label, until: numberFrom(lease.until) },
    finishedAt: json.finishedAt,
    expiresAt: json.expiresAt === undefined ? undefined : numberFrom(json.expiresAt),
    cancelling: json.cancelling ?? false,
    cancelReason: json.cancelReason,
    payload: bytesFrom(json.payload, before?.payload),
    result: bytesFrom(json.result, before?.result),
    error: json.error === true ? attempts?.at(-1)?.error : bytesFrom(json.error, before?.error),
    completedByHolder: json.completedByHolder ?? false,
    attempts,
    progress: bytesFrom(json.progress, before?.progress),
    log: logFrom(json.log, before?.log),
    blockers: json.blockers?.map(({ ref, done = false, held = false }) => ({ ref: refFrom(ref), done, held })),
    openBlockers: json.openBlockers ?? 0,
    mark: mark && { ...markFrom(mark), held: mark.held ?? false, own: mark.own ?? false },
  }
  return { type, id, fixed: undefined, changing }
}

export const markFrom = (json: MarkJson): MarkFields =>
  markFieldsOf({ ...json, until: numberFrom(json.until), replacedBy: json.replacedBy, version: json.version })

const numberFrom = (json: NumberJson): number => json ?? Infinity
const refFrom = ([type, id]: RefJson): JobRef => ({ type, id })

function bytesFrom(json: BytesJson | null | undefined, before: Bytes | undefined): Bytes | undefined {
  if (json === undefined) return before
  return json === null ? undefined : bytesFromJson(json)
}

function attemptsFrom(
  json: AttemptsJson | undefined,
  before: AttemptRecord[] | undefined,
): AttemptRecord[] | undefined {
  if (!json) return before
  const kept = json.keep === 0 ? [] : before!.slice(-json.keep)
  const added = json.add.map(({ error, ...rest }) => ({
    ...rest,
    label: rest.label,
    error: error === undefined ? undefined : bytesFromJson(error),
  }))
  return [...kept, ...added]
}

function logFrom(json: LogJson | undefined, before: Log | undefined): Log | undefined {
  if (!json) return before
  const kept = json.keep === 0 ? [] : before!.lines.slice(-json.keep)
  const added = json.add.map(([attempt, at, line]): LogLine => ({ attempt, at, line: bytesFromJson(line) }))
  return { lines: [...kept, ...added], dropped: json.dropped }
}
