// The report of a run over chains, as JSON and as text.

import { cpus } from 'node:os'
import type { Flags } from '../flags.ts'
import type { Violation } from '../history.ts'
import { commitOf, versionOf } from '../report.ts'
import type { ChainsRun } from './kill.ts'

export interface ChainsReport {
  readonly version: string
  readonly commit: string
  readonly machine: { readonly node: string; readonly cores: number; readonly cpu: string }
  readonly driver: string
  readonly seed: number
  readonly seconds: number
  readonly leaseMs: number
  readonly kinds: readonly string[]
  readonly plant?: string
  /** Orders started; `chains` includes their blockers. */
  readonly orders: number
  readonly endedUnderFaults: number
  readonly chains: number
  readonly jobs: number
  readonly kills: number
  readonly stops: number
  /** Handlers that ran again, after their process was killed or lost the lease. */
  readonly ranAgain: number
  readonly rows?: ChainsRun['rows']
  readonly drainMs: number
  readonly violations: readonly Violation[]
  readonly shortfalls: readonly string[]
  readonly verdict: 'pass' | 'fail'
}

/** Kills per second below which a run proves too little. */
const leastKills = 0.75

export function chainsReportOf(flags: Flags, run: ChainsRun): ChainsReport {
  const { driver, seed, seconds, leaseMs, kinds, plant, chains: orders } = flags
  const { entries, violations, endedUnderFaults, rows } = run
  const count = (what: string): number => entries.filter((entry) => entry.what === what).length
  const kills = count('killed')
  const ranAgain = count('started') - run.jobs.length
  const shortfalls = [
    ...(kinds.includes('kill') && kills < leastKills * seconds ? [`kills ${kills}`] : []),
    // Otherwise the kills hit idle processes.
    ...(ranAgain < kills / 2 ? [`handlers that ran again ${ranAgain}`] : []),
  ]
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
    orders,
    endedUnderFaults,
    chains: run.chains.length,
    jobs: run.jobs.length,
    kills,
    stops: count('continued'),
    ranAgain,
    rows,
    drainMs: Math.round(run.drainMs),
    violations,
    shortfalls,
    verdict: violations.length === 0 && shortfalls.length === 0 ? 'pass' : 'fail',
  }
}

export function chainsLines(report: ChainsReport): string {
  const { violations, shortfalls, rows, verdict } = report
  const found = Map.groupBy(violations, ({ check }) => check)
  return [
    ...[...found].map(([check, all]) => `VIOLATED ${check}: ${all.length}, such as: ${all[0]!.sentence}`),
    ...shortfalls.map((what) => `TOO LITTLE: ${what}`),
    ...Object.entries(rows ?? {}).map(
      ([table, match]) =>
        `rows ${table}: ${match.rows} beside ${match.jobs} completed jobs; twice ${match.twice}, ` +
        `without job ${match.rowsWithoutJob}, job without row ${match.jobsWithoutRow}`,
    ),
    `${report.driver} chains ${verdict}: ${report.orders} started, ${report.endedUnderFaults} ended under ${report.seconds} s of ` +
      `faults; with their blockers ${report.chains} chains, ${report.jobs} jobs; kills ${report.kills}, stops ${report.stops}, ` +
      `ran again ${report.ranAgain}, drained in ${(report.drainMs / 1_000).toFixed(1)} s, seed ${report.seed}`,
  ].join('\n')
}
