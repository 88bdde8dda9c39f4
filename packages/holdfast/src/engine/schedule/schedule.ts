// A schedule as its user gives it, and as it is stored.

import { invalidArgument } from '../../errors.ts'
import { checkText, integer, oneOf, text, yearMs } from '../../option-checks.ts'
import { resolveOptions, type Table } from '../../resolve-options.ts'

/** When a schedule fires, and what it does about slots that were missed. The same on every face. */
export interface ScheduleRule {
  /** Cron expression of 5 fields, or 6 with seconds first, or a name such as `@daily`. Either this or everyMs. Needs the package croner. */
  readonly cron?: string | undefined
  /** Ms between two slots, at least 1_000. Slots are multiples of it since 1970-01-01T00:00Z, whenever a process starts. */
  readonly everyMs?: number | undefined
  /** IANA name of the time zone of `cron`. @default 'UTC' */
  readonly timeZone?: string | undefined
  /** Slots that no process fired in time: none, the newest, or all of them up to catchUpLimit, oldest first. @default 'latest' */
  readonly catchUp?: 'skip' | 'latest' | 'all' | undefined
  /** Most slots that `catchUp: 'all'` makes up for at once, the newest ones: 1 … 1_000. @default 100 */
  readonly catchUpLimit?: number | undefined
  /** A slot is missed when it is so late, in ms. @default 60_000 */
  readonly graceMs?: number | undefined
  /** A slot whose predecessor has not ended: both run, or the slot is skipped, or its job waits. @default 'allow' */
  readonly overlap?: 'allow' | 'skip' | 'queue' | undefined
  /** Spreads schedules: the jobs of this one are due up to so many ms after their slots, always the same number. @default 0 */
  readonly jitterMs?: number | undefined
}

/** The rule with its defaults. */
export interface Schedule {
  readonly cron: string | undefined
  readonly everyMs: number | undefined
  readonly timeZone: string
  readonly catchUp: 'skip' | 'latest' | 'all'
  readonly catchUpLimit: number
  readonly graceMs: number
  readonly overlap: 'allow' | 'skip' | 'queue'
  readonly jitterMs: number
}

export const scheduleOptions = {
  cron: { check: text(512) },
  everyMs: { check: integer(1_000, 100 * yearMs) },
  timeZone: { default: 'UTC', check: isTimeZone },
  catchUp: { default: 'latest', check: oneOf('skip', 'latest', 'all') },
  catchUpLimit: { default: 100, check: integer(1, 1_000) },
  graceMs: { default: 60_000, check: integer(0, yearMs) },
  overlap: { default: 'allow', check: oneOf('allow', 'skip', 'queue') },
  jitterMs: { default: 0, check: integer(0, yearMs) },
} as const satisfies Table

/** @throws TypeError INVALID_ARGUMENT */
export function resolveRule(where: string, rule: ScheduleRule): Schedule {
  const { cron, everyMs, timeZone, ...rest } = resolveOptions(where, rule, scheduleOptions, `${where}: `)
  if ((cron === undefined) === (everyMs === undefined))
    throw invalidArgument(`${where}: cron`, 'either cron or everyMs', cron)
  if (everyMs !== undefined && rule.timeZone !== undefined) {
    throw invalidArgument(`${where}: timeZone`, 'no time zone with everyMs', timeZone)
  }
  return { cron, everyMs, timeZone, ...rest }
}

/** The name is part of the ids of jobs. @throws TypeError INVALID_ARGUMENT */
export function checkScheduleName(name: unknown): asserts name is string {
  checkText('schedule', name, 256)
}

function isTimeZone(name: string, value: unknown): void {
  if (typeof value === 'string' && isKnownZone(value)) return
  throw invalidArgument(name, "the IANA name of a time zone, such as 'Europe/Berlin'", value)
}

function isKnownZone(timeZone: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone }) !== undefined
  } catch {
    return false
  }
}
