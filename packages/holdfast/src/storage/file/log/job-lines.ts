// A job as a line of JSON: all fields when it is new, afterwards only those that can change. Fields with their default value
// are left out, and unchanged bytes are not written again. JSON has no Infinity: it is written as null.

import type { MemoryJob } from '../../memory/data.ts'
import type { AttemptRecord, Bytes, EndReason, JobRef, JobState } from '../../storage.ts'
import { type BytesJson, bytesFromJson, bytesToJson } from './bytes-json.ts'
import type { JobPut } from '../replica/changes.ts'
import type { BlockerPart, ChangingPart, FixedPart, MarkPart } from '../replica/record.ts'

type RefJson = readonly [type: string, id: string]
type NumberJson = number | null

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

export interface ChangingJson {
  readonly type: string
  readonly id: string
  readonly state: JobState
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
  readonly mark?: Omit<MarkPart, 'until' | 'held' | 'own'> & { until: NumberJson; held?: true; own?: true }
  // Absent: unchanged. Null: removed.
  readonly payload?: BytesJson | null
  readonly result?: BytesJson | null
  /** True: the error of the last attempt. */
  readonly error?: BytesJson | true | null
  readonly attempts?: AttemptsJson
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
  readonly group?: string
  readonly chain?: RefJson
  readonly chainIndex?: number
  readonly origin?: RefJson
  readonly root?: RefJson
  readonly onBlockerFailure?: 'wait'
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
    group: fixed.group,
    chain: fixed.chain && refToJson(fixed.chain),
    chainIndex: fixed.chainIndex || undefined,
    origin: fixed.origin && refToJson(fixed.origin),
    root: fixed.root && refToJson(fixed.root),
    onBlockerFailure: fixed.onBlockerFailure === 'wait' ? 'wait' : undefined,
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
    group: json.group,
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
    blockers: json.blockers?.map(({ ref, done = false, held = false }) => ({ ref: refFrom(ref), done, held })),
    openBlockers: json.openBlockers ?? 0,
    mark: mark && { ...mark, until: numberFrom(mark.until), held: mark.held ?? false, own: mark.own ?? false },
  }
  return { type, id, fixed: undefined, changing }
}

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
