// The report of a run for volume.

import { cpus } from 'node:os'
import { serverAway } from '../reconnect.ts'
import { awaySpans, blockedSpans, type Durations, durationsOf } from '../recovery.ts'
import { commitOf, versionOf } from '../report.ts'
import { versionOf as versionOfPeer } from '../../benchmarks/peers.ts'
import { driverNamed } from '../drivers.ts'
import { peerNamed } from './peers/index.ts'
import type { VolumeOptions, VolumeRun } from './run-volume.ts'

export interface VolumeReport {
  readonly version: string
  readonly commit: string
  readonly machine: { readonly node: string; readonly cores: number; readonly cpu: string }
  readonly options: VolumeOptions
  /** Of a peer: what was run, and how. */
  readonly peer?: { readonly name: string; readonly version: string; readonly configuration: string }
  /** Acknowledged jobs. */
  readonly jobs: number
  readonly seconds: number
  readonly jobsPerSecond: number
  readonly faults: Readonly<Record<'kills' | 'stops' | 'points' | 'serverKills' | 'sessions' | 'proxyFaults', number>>
  /** Attempts beyond the first of each job. */
  readonly doubleRuns: number
  readonly refusedOutcomes: number
  readonly lost: number
  readonly doubleRecorded: number
  readonly stale: number
  readonly violations: number
  readonly sentences: readonly string[]
  /** From the kill to the next claim of a job that the process held. */
  readonly recovery: Durations
  /** The same, while the server was away, a stopped process held the storage, or a claim in between was lost too. */
  readonly recoveryApart: Durations
  readonly serverAwayMs: number
  readonly peakMemoryMB: number
  readonly verdict: 'pass' | 'fail'
}

export function volumeReportOf(options: VolumeOptions, run: VolumeRun): VolumeReport {
  const { history, entries, seconds, problems } = run
  const { counts, sentences } = history.violations()
  const count = (what: string): number => entries.filter((entry) => entry.what === what).length
  const ends = entries.filter((entry) => entry.what === 'exited' && entry.code !== null && entry.code !== 0)
  const unhandled = entries.flatMap((entry) => (entry.what === 'unhandled' ? [`unhandled: ${entry.message}`] : []))
  const violations =
    Object.values(counts).reduce((one, other) => one + other, 0) + problems.length + ends.length + unhandled.length
  const jobs = history.acked
  const recovery = recoveryOf(run, options)
  return {
    version: versionOf(),
    commit: commitOf(),
    machine: { node: process.version, cores: cpus().length, cpu: cpus()[0]?.model ?? 'unknown' },
    options,
    ...(options.peer !== undefined && { peer: describe(options.peer, options.leaseMs) }),
    jobs,
    seconds: Math.round(seconds),
    jobsPerSecond: Math.round(jobs / seconds),
    faults: {
      kills: count('killed'),
      stops: count('continued'),
      points: count('crashing'),
      serverKills: count('serverKilled'),
      sessions: count('sessionEnded'),
      proxyFaults: count('disturbed'),
    },
    doubleRuns: history.runs - jobs,
    refusedOutcomes: history.refused,
    lost: counts.lost ?? 0,
    doubleRecorded: counts.doubleRecorded ?? 0,
    stale: counts.stale ?? 0,
    violations,
    sentences: [...problems, ...unhandled, ...sentences],
    ...recovery,
    serverAwayMs: Math.round(serverAway(entries).reduce((sum, { from, to }) => sum + to - from, 0)),
    peakMemoryMB: Math.round(process.resourceUsage().maxRSS / 1_024),
    verdict: violations === 0 ? 'pass' : 'fail',
  }
}

function describe(name: string, leaseMs: number): VolumeReport['peer'] {
  const peer = peerNamed(name)
  return { name, version: versionOfPeer(peer.package), configuration: peer.configuration(leaseMs) }
}

function recoveryOf({ history, entries, answers }: VolumeRun, { leaseMs, driver }: VolumeOptions) {
  const killedAt = new Map<string, number>()
  for (const entry of entries) {
    if (entry.what === 'killed') killedAt.set(entry.process, entry.at)
    if (entry.what === 'crashing') killedAt.set(entry.by, entry.at)
  }
  const spans = [
    ...awaySpans(entries),
    ...(driverNamed(driver).serve ? [] : blockedSpans(entries, leaseMs / 2, answers)),
  ]
  const plain: number[] = []
  const apart: number[] = []
  for (const { run, next } of history.interrupted) {
    const from = killedAt.get(run.process)
    if (from === undefined || !next || next.at < from) continue
    const isApart = next.attempt > run.attempt + 1 || spans.some((span) => span.from < next.at && from < span.to)
    ;(isApart ? apart : plain).push(next.at - from)
  }
  return { recovery: durationsOf(plain), recoveryApart: durationsOf(apart) }
}

export function volumeLineOf(report: VolumeReport): string {
  const { options, jobs, seconds, jobsPerSecond, faults, recovery, recoveryApart } = report
  const { kills, stops, serverKills, proxyFaults } = faults
  return [
    `volume ${options.peer ?? options.driver} seed ${options.seed}: jobs ${jobs} in ${seconds} s (${jobsPerSecond}/s)`,
    `kills ${kills} stops ${stops} serverKills ${serverKills} proxyFaults ${proxyFaults}`,
    `lost ${report.lost} doubleRecorded ${report.doubleRecorded} stale ${report.stale} violations ${report.violations}`,
    `doubleRuns ${report.doubleRuns} refused ${report.refusedOutcomes}`,
    `recovery n ${recovery.count} p50 ${recovery.p50} ms p99 ${recovery.p99} ms max ${recovery.max} ms (lease ${options.leaseMs} ms)`,
    `apart n ${recoveryApart.count} p99 ${recoveryApart.p99} ms; checker ${report.peakMemoryMB} MB ${report.verdict}`,
  ].join(' ')
}
