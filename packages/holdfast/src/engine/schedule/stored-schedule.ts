// A schedule in the key-value store: an entry per schedule, under the owner of its name. An owner is a queue, or a whole face.

import { checkScheduleName, resolveRule, scheduleOptions } from './schedule.ts'
import { integer, nonNegative, text } from '../../option-checks.ts'
import { isValid, readJson } from '../read-json.ts'
import { isDeepStrictEqual } from 'node:util'
import type { KvKey } from '../../storage/kv.ts'
import type { Bytes, NewJob, Retention, SearchFields } from '../../storage/storage.ts'
import type { Schedule } from './schedule.ts'

/** The job that a schedule adds, without what each slot decides. */
type JobTemplate = Pick<
  NewJob,
  'type' | 'payload' | 'priority' | 'weight' | 'maxAttempts' | 'timeoutMs' | 'expiresInMs' | 'search' | 'retention'
>

export interface StoredSchedule extends Schedule {
  readonly name: string
  readonly job: JobTemplate
  /** Only slots after this instant are fired: when it was put, changed or resumed. */
  readonly since: number
  /** Set while it is paused. */
  readonly paused?: { readonly since: number; readonly by?: string | undefined } | undefined
  /** The release of the code that declared it; a later release that lacks it removes it. Absent: an operator put it. */
  readonly release?: number | undefined
}

export const schedulesKey: KvKey = ['holdfast', 'schedules']

export const ownerKey = (owner: string): KvKey => [...schedulesKey, owner]
export const entryKey = (owner: string, name: string): KvKey => [...schedulesKey, owner, name]
/** How far a schedule is: a Mark. It may be behind: the storage decides by the version of the key. */
export const markKey = (owner: string, name: string): KvKey => ['holdfast', 'schedule marks', owner, name]
/** The greatest release that reconciled the schedules of an owner. */
export const releaseKey = (owner: string): KvKey => ['holdfast', 'schedule releases', owner]

interface Json extends Omit<StoredSchedule, 'job'> {
  readonly job: Omit<JobTemplate, 'payload' | 'retention' | 'search'> & {
    readonly payload?: string | undefined
    readonly search?: SearchFields | undefined
    readonly retention: readonly (number | null)[]
  }
}

export function encodeSchedule(schedule: StoredSchedule): Bytes {
  const { payload, retention, ...job } = schedule.job
  const { completedMs, failedMs, cancelledMs } = retention
  const json: Json = {
    ...schedule,
    job: {
      ...job,
      payload: payload && Buffer.from(payload).toString('base64'),
      // JSON has no Infinity: it becomes null.
      retention: [completedMs, failedMs, cancelledMs],
    },
  }
  return Buffer.from(JSON.stringify(json))
}

/** @returns undefined for an entry that cannot be read: it is left out, and the other schedules of its owner go on */
export function decodeSchedule(bytes: Bytes): StoredSchedule | undefined {
  const json = readJson(bytes) as Json | undefined
  return isValid(() => checkSchedule(json!)) ? scheduleOf(json!) : undefined
}

function checkSchedule(json: Json): void {
  const { name, since, paused, release, job } = json
  checkScheduleName(name)
  nonNegative('since', since)
  if (paused !== undefined) nonNegative('paused.since', paused.since)
  if (release !== undefined) integer(0)('release', release)
  const rule = Object.keys(scheduleOptions).filter((key) => json[key as keyof Schedule] !== undefined)
  const isEvery = json.everyMs !== undefined
  resolveRule(
    name,
    // An interval is stored with the time zone that it does not use.
    Object.fromEntries(
      rule.filter((key) => !isEvery || key !== 'timeZone').map((key) => [key, json[key as keyof Schedule]]),
    ),
  )
  text(1_024)('type', job.type)
  if (job.payload !== undefined && typeof job.payload !== 'string') throw new TypeError('payload')
  if (!Array.isArray(job.retention) || job.retention.length !== 3) throw new TypeError('retention')
  for (const ms of job.retention) if (ms !== null) nonNegative('retention', ms)
}

function scheduleOf({ job, cron, everyMs, ...json }: Json): StoredSchedule {
  const [completedMs, failedMs, cancelledMs] = job.retention.map((ms) => ms ?? Infinity)
  const retention = { completedMs, failedMs, cancelledMs } as Retention
  const payload = job.payload === undefined ? {} : { payload: Buffer.from(job.payload, 'base64') }
  const { payload: _, ...rest } = job
  return { ...json, cron, everyMs, job: { ...rest, ...payload, retention } }
}

/** True if the two fire the same jobs at the same instants, whatever the order of their fields. */
export function isSameSchedule(a: StoredSchedule, b: StoredSchedule): boolean {
  const content = (schedule: StoredSchedule): unknown => {
    const { since: _, paused: __, release: ___, ...rest } = schedule
    return JSON.parse(Buffer.from(encodeSchedule(rest as StoredSchedule)).toString())
  }
  return isDeepStrictEqual(content(a), content(b))
}

/** How far a schedule is. */
export interface Mark {
  /** Slots up to this instant are fired or skipped. */
  readonly passedTo: number
  /** The last slot that was fired. */
  readonly firedAt?: number | undefined
}

export const encodeMark = (mark: Mark): Bytes => Buffer.from(JSON.stringify(mark))

/** One that cannot be read is at the start: the storage decides by the version of the key. */
export function decodeMark(bytes: Bytes): Mark {
  const { passedTo, firedAt } = (readJson(bytes) ?? {}) as Partial<Mark>
  return {
    passedTo: Number.isSafeInteger(passedTo) ? passedTo! : -1,
    ...(Number.isSafeInteger(firedAt) && { firedAt }),
  }
}
