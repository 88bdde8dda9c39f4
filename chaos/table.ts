// The report for people: a table, and one line.

import type { Durations } from './recovery.ts'
import type { Report } from './report.ts'

export function tableOf(report: Report): string {
  const { ends, recovery, pointsByName, errors, full, skipped, shortfalls, violations } = report
  const rows = [
    ...Object.entries(ends).map(([kind, states]) => [`jobs ${kind}`, list(states)]),
    ['asked again', `${numeral(report.askedAgain)} ids whose answer was lost with their producer, or refused`],
    [
      'ran again',
      `${numeral(report.doubleRuns)} runs; ${numeral(report.refusedOutcomes)} outcomes refused by their fence`,
    ],
    ['poison', `${numeral(report.poison)} processes ended by their job`],
    ['kill points', list(pointsByName)],
    ['after a kill', durations(recovery.afterKill, report.leaseMs)],
    ['after a stop', durations(recovery.afterStop, report.leaseMs)],
    ...(report.waitsTimedOut > 0 ? [['timed out', `${report.waitsTimedOut} requests`]] : []),
    ...Object.entries(errors).map(([message, times]) => [`${numeral(times)} errors`, message]),
    ...(full && full.skipped === undefined
      ? [
          [
            'disk full',
            `${full.acked} jobs; ${full.completedWhileFull} completed while full; refused: ${full.refusedWith}`,
          ],
        ]
      : []),
    ...skipped.map((line) => ['skipped', line]),
    ...shortfalls.map((line) => ['TOO LITTLE', line]),
    ...Object.entries(Object.groupBy(violations, ({ check }) => check)).flatMap(([check, found]) => [
      ...found!.slice(0, 5).map(({ sentence }) => [`VIOLATION ${check}`, sentence]),
      ...(found!.length > 5 ? [['', `and ${found!.length - 5} more`]] : []),
    ]),
  ]
  const width = Math.max(...rows.map(([name]) => name!.length))
  return rows.map(([name, text]) => `${name!.padEnd(width)}  ${text}`).join('\n')
}

export function lineOf(report: Report): string {
  const { driver, seed, seconds, jobs, kills, stops, points, lost, doubleRecorded, recovery, leaseMs } = report
  const { p50, p99 } = recovery.afterKill
  return [
    `chaos ${driver} seed ${seed} seconds ${seconds}: jobs ${numeral(jobs)} kills ${kills} stops ${stops} points ${points}`,
    `lost ${lost} doubleRecorded ${doubleRecorded} violations ${report.violations.length}`,
    `recovery p50 ${numeral(p50)} ms p99 ${numeral(p99)} ms (lease ${numeral(leaseMs)} ms) ${report.verdict}`,
  ].join(' ')
}

/** The aim is that of specs/reliability.md: p50 within the lease, p99 within a second more. */
function durations({ count: samples, p50, p99, max }: Durations, leaseMs: number): string {
  if (samples === 0) return 'no sample'
  const isReached = p50 <= leaseMs && p99 <= leaseMs + 1_000
  const aim = `aim: p50 <= ${numeral(leaseMs)}, p99 <= ${numeral(leaseMs + 1_000)}: ${isReached ? 'reached' : 'MISSED'}`
  return `${numeral(samples)} jobs: p50 ${numeral(p50)} ms, p99 ${numeral(p99)} ms, max ${numeral(max)} ms (${aim})`
}

const list = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, number]) => `${name} ${numeral(number)}`)
    .join(', ') || 'none'

const numeral = (value: number): string => value.toLocaleString('en-US')
