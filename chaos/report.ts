// The report of a run, as JSON.

import { cpus } from 'node:os'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Run } from './chaos.ts'
import type { Entry } from './entries.ts'
import { driverNamed } from './drivers.ts'
import type { Flags } from './flags.ts'
import { repeatedAfterExpiry, timesAsked, type Violation, wasAcked } from './history.ts'
import { type Durations, durationsOf, type Recovery, recoveryOf } from './recovery.ts'
import { type Operated, operatedOf } from './operated.ts'
import { returnsOf } from './reconnect.ts'
import { shortfallsOf } from './shortfalls.ts'

export interface Report {
  readonly version: string
  readonly commit: string
  readonly machine: { readonly node: string; readonly cores: number; readonly cpu: string }
  readonly driver: string
  readonly seed: number
  readonly seconds: number
  readonly leaseMs: number
  readonly kinds: readonly string[]
  readonly plant?: string
  /** Acknowledged jobs. */
  readonly jobs: number
  /** Jobs by kind and end state. */
  readonly ends: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** Jobs added more than once under the same id. */
  readonly askedAgain: number
  readonly kills: number
  readonly stops: number
  readonly points: number
  /** Kills of the server, each followed by a restart. */
  readonly serverKills: number
  /** Times that the server was stopped and continued. */
  readonly freezes: number
  /** Sessions that the server ended. */
  readonly sessionsEnded: number
  /** User rows, each written with a job in one transaction. */
  readonly rows?: number
  /** Connection faults by kind. */
  readonly proxyFaults: Readonly<Record<string, number>>
  /** Jobs that ended their process. */
  readonly poison: number
  readonly pointsByName: Readonly<Record<string, number>>
  readonly lost: number
  readonly doubleRecorded: number
  /** Outcomes accepted from a run that no longer held the job. */
  readonly stale: number
  /** Rows and jobs of one transaction of which one exists without the other. */
  readonly torn: number
  /** Runs that started early. */
  readonly early: number
  readonly misordered: number
  readonly paused: number
  readonly reports: number
  readonly redrive: number
  /** Limits of a type or group, or of an ordered group, that were exceeded. */
  readonly limits: number
  readonly rate: number
  readonly slowed: number
  readonly turns: number
  /** Slots of the schedule with no job or several. */
  readonly slots: number
  readonly keys: number
  readonly operated: Operated
  /** Handlers that ran again after an interruption. */
  readonly doubleRuns: number
  /** Outcomes that the storage refused by their fence. */
  readonly refusedOutcomes: number
  readonly waitsTimedOut: number
  /** Jobs whose add was repeated after their record had expired: they may have run as new jobs. */
  readonly repeatedAfterExpiry: number
  /**
   * Separate: `whileBlocked`, while a stopped process blocked the storage; `whileAway`, while the server was away
   * too; `claimLost`, with another lost claim in between.
   */
  readonly recovery: Readonly<Record<keyof Omit<Recovery, 'blocked'>, Durations>>
  /** From the return of the server or its proxy to the first answered call of each process. */
  readonly reconnect: Readonly<Record<'all' | 'afterServer' | 'afterProxy', Durations>>
  /** Duration of each block. */
  readonly blocked: Durations
  readonly errors: Readonly<Record<string, number>>
  readonly violations: readonly Violation[]
  /** What happened less often than required. */
  readonly shortfalls: readonly string[]
  readonly skipped: readonly string[]
  readonly full?: Run['full']
  readonly verdict: 'pass' | 'fail'
}

export function reportOf(flags: Flags, { history, violations, full }: Run): Report {
  const { driver, seed, seconds, leaseMs, kinds, plant } = flags
  const { entries, jobs } = history
  const crashes = entries.flatMap((entry) => (entry.what === 'crashing' ? [entry.point] : []))
  const points = crashes.filter((point) => point !== 'poison').map((point) => point.slice(0, point.lastIndexOf(':')))
  const recovery = recoveryOf(history, leaseMs, !driverNamed(driver).serve)
  const violated = (name: string): number => violations.filter(({ check }) => check === name).length
  const runs = count(entries, 'started')
  const counts = {
    jobs: jobs.filter(wasAcked).length,
    kills: count(entries, 'killed'),
    stops: count(entries, 'continued'),
    points: points.length,
    serverKills: count(entries, 'serverKilled'),
    freezes: count(entries, 'serverThawed'),
    sessionsEnded: count(entries, 'sessionEnded'),
    proxyFaults: tally(entries.flatMap((entry) => (entry.what === 'disturbed' ? [entry.fault] : []))),
  }
  const pointsByName = tally(points)
  const operated = operatedOf(history)
  const shortfalls = shortfallsOf(flags, { ...counts, pointsByName, operated })
  return {
    version: versionOf(),
    commit: commitOf(),
    machine: { node: process.version, cores: cpus().length, cpu: cpus()[0]?.model ?? 'unknown' },
    driver,
    seed,
    seconds,
    leaseMs,
    kinds,
    plant,
    ...counts,
    rows: history.rows?.length,
    ends: endsOf(history.jobs),
    askedAgain: jobs.filter((job) => timesAsked(job) > 1).length,
    poison: crashes.length - points.length,
    pointsByName,
    lost: violated('lost'),
    doubleRecorded: violated('doubleRecorded'),
    stale: violated('stale'),
    torn: violated('torn'),
    early: violated('early'),
    misordered: violated('misordered'),
    paused: violated('paused'),
    reports: violated('reports'),
    redrive: violated('redrive'),
    limits: violated('limits'),
    rate: violated('rate'),
    slowed: violated('slowed'),
    turns: violated('turns'),
    slots: violated('slots'),
    keys: violated('keys'),
    operated,
    doubleRuns: runs - new Set(entries.flatMap((entry) => (entry.what === 'started' ? [entry.id] : []))).size,
    refusedOutcomes: entries.filter((entry) => entry.what === 'settled' && entry.verdict !== 'settled').length,
    waitsTimedOut: count(entries, 'waitTimedOut'),
    repeatedAfterExpiry: jobs.filter(repeatedAfterExpiry).length,
    recovery: {
      afterKill: durationsOf(recovery.afterKill),
      afterStop: durationsOf(recovery.afterStop),
      whileBlocked: durationsOf(recovery.whileBlocked),
      whileAway: durationsOf(recovery.whileAway),
      claimLost: durationsOf(recovery.claimLost),
    },
    reconnect: reconnectOf(history),
    blocked: durationsOf(recovery.blocked),
    errors: tally(entries.flatMap((entry) => (entry.what === 'error' ? [entry.message] : []))),
    violations,
    shortfalls,
    skipped: full?.skipped === undefined ? [] : [`full: ${full.skipped}`],
    full,
    verdict: violations.length === 0 && shortfalls.length === 0 ? 'pass' : 'fail',
  }
}

function reconnectOf(history: Run['history']): Report['reconnect'] {
  const returns = returnsOf(history)
  const durations = (...after: readonly string[]): Durations =>
    durationsOf(returns.filter((one) => after.includes(one.after)).flatMap(({ ms }) => ms ?? []))
  return {
    all: durations('server', 'proxy'),
    afterServer: durations('server'),
    afterProxy: durations('proxy'),
  }
}

function endsOf(jobs: Run['history']['jobs']): Record<string, Record<string, number>> {
  const ends: Record<string, Record<string, number>> = {}
  for (const { kind, record } of jobs) {
    const state = record?.state ?? 'gone'
    ends[kind] ??= {}
    ends[kind][state] = (ends[kind][state] ?? 0) + 1
  }
  return ends
}

const count = (entries: readonly Entry[], what: Entry['what']): number =>
  entries.filter((entry) => entry.what === what).length

function tally(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

export function versionOf(): string {
  const file = new URL('../packages/holdfast/package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** The commit, with a mark if the sources differ from it. */
export function commitOf(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty', '--abbrev=12'], {
      cwd: new URL('.', import.meta.url),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return 'unknown'
  }
}
