// The page about chaos runs, from the JSON reports of runs: the matrix, runs for volume, and the simulator.

import type { CommittedResult } from '../matrix/results.ts'
import type { MatrixSummary } from '../matrix/matrix-table.ts'
import type { Report } from '../report.ts'
import type { VolumeReport } from '../volume/volume-report.ts'

export interface MatrixReport {
  readonly version: string
  readonly machine: VolumeReport['machine']
  readonly seconds: number
  readonly summary: MatrixSummary
  readonly cells: readonly CommittedResult[]
}

/** What is kept in docs/chaos-report.json. */
export interface ChaosReport {
  /** Each cell by its last run. */
  readonly cells: Readonly<Record<string, CommittedResult>>
  /** Runs for volume, by driver and seed. */
  readonly volume: Readonly<Record<string, VolumeReport>>
  /** Runs of `npm run chaos`, by driver and seed. */
  readonly runs: Readonly<Record<string, RunFigures>>
}

type RunFigures = Pick<
  Report,
  | 'commit'
  | 'driver'
  | 'seed'
  | 'seconds'
  | 'leaseMs'
  | 'jobs'
  | 'kills'
  | 'stops'
  | 'points'
  | 'serverKills'
  | 'freezes'
  | 'sessionsEnded'
  | 'lost'
  | 'doubleRecorded'
  | 'stale'
  | 'doubleRuns'
  | 'verdict'
> & {
  readonly proxyFaults: number
  readonly violations: number
  readonly p50: number
  readonly p99: number
  readonly samples: number
}

export const noReport: ChaosReport = { cells: {}, volume: {}, runs: {} }

/** @param report of any of the commands @throws Error if it is none */
export function withReport(all: ChaosReport, report: object): ChaosReport {
  if ('cells' in report) return withMatrix(all, report as MatrixReport)
  if ('volume' in report) return (report.volume as VolumeReport[]).reduce(withReport, all)
  if ('options' in report) {
    const one = report as VolumeReport
    return { ...all, volume: { ...all.volume, [`${one.options.peer ?? one.options.driver} ${one.options.seed}`]: one } }
  }
  if ('pointsByName' in report) return withRun(all, report as Report)
  throw new Error('expected a report of chaos:matrix, chaos:volume or chaos')
}

function withMatrix(all: ChaosReport, { cells }: MatrixReport): ChaosReport {
  const added = cells.map((cell) => [cell.cell, { ...cell, violations: cell.violations.slice(0, 5) }] as const)
  return { ...all, cells: { ...all.cells, ...Object.fromEntries(added) } }
}

function withRun(all: ChaosReport, report: Report): ChaosReport {
  const { commit, driver, seed, seconds, leaseMs, jobs, kills, stops, points, serverKills, freezes, sessionsEnded } =
    report
  const { lost, doubleRecorded, stale, doubleRuns, verdict, recovery } = report
  const { p50, p99, count } = recovery.afterKill
  const figures: RunFigures = {
    commit,
    driver,
    seed,
    seconds,
    leaseMs,
    jobs,
    kills,
    stops,
    points,
    serverKills,
    freezes,
    sessionsEnded,
    lost,
    doubleRecorded,
    stale,
    doubleRuns,
    verdict,
    p50,
    p99,
    samples: count,
    proxyFaults: Object.values(report.proxyFaults).reduce((one, other) => one + other, 0),
    violations: report.violations.length,
  }
  return { ...all, runs: { ...all.runs, [`${driver} ${seed}`]: figures } }
}
