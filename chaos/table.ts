// The report as text: a table and a summary line.

import { driverNamed } from './drivers.ts'
import type { FullDisk } from './full-disk.ts'
import { type Durations, returnMs } from './recovery.ts'
import type { Report } from './report.ts'

export function tableOf(report: Report): string {
  const { ends, recovery, pointsByName, errors, full, skipped, shortfalls, violations } = report
  const rows = [
    ...Object.entries(ends).map(([kind, states]) => [`jobs ${kind}`, list(states)]),
    ['added again', `${numeral(report.askedAgain)} ids whose reply was lost or refused`],
    [
      'ran again',
      `${numeral(report.doubleRuns)} runs; ${numeral(report.refusedOutcomes)} outcomes refused by their fence`,
    ],
    ['operated', operatedLine(report)],
    ['limited', limitedLine(report)],
    ['keys', list(report.operated.keys)],
    ['poison', `${numeral(report.poison)} processes ended by their job`],
    ['kill points', list(pointsByName)],
    ['after a kill', durations(recovery.afterKill, report.leaseMs)],
    ['after a stop', durations(recovery.afterStop, report.leaseMs)],
    ...(report.blocked.count > 0
      ? [
          [
            'storage held',
            `${report.blocked.count} times by a stopped process, up to ${numeral(report.blocked.max)} ms`,
          ],
          ['  meanwhile', plain(recovery.whileBlocked)],
        ]
      : []),
    ...(recovery.claimLost.count > 0 ? [['  claim lost too', plain(recovery.claimLost)]] : []),
    ...(recovery.whileAway.count > 0 ? [['  server away', plain(recovery.whileAway)]] : []),
    ...(driverNamed(report.driver).serve
      ? [
          ...(report.sessionsEnded > 0 ? [['sessions', `${numeral(report.sessionsEnded)} ended by the server`]] : []),
          ['proxy faults', list(report.proxyFaults)],
          ['server reconnect', returns(report.reconnect.afterServer)],
          ['proxy reconnect', returns(report.reconnect.afterProxy)],
        ]
      : []),
    ...(report.rows === undefined
      ? []
      : [["the user's rows", `${numeral(report.rows)}, each with its job; ${numeral(report.torn)} without`]]),
    ...(report.repeatedAfterExpiry > 0
      ? [['expired', `${report.repeatedAfterExpiry} jobs whose add was repeated when their record was gone`]]
      : []),
    ...(report.waitsTimedOut > 0 ? [['timed out', `${report.waitsTimedOut} requests`]] : []),
    ...Object.entries(errors).map(([message, times]) => [`${numeral(times)} errors`, message]),
    ...(full && full.skipped === undefined ? [['disk full', fullDisk(full)]] : []),
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
  const { driver, seed, seconds, jobs, kills, stops, points, lost, doubleRecorded, stale, early, misordered } = report
  const { recovery, reconnect, leaseMs, serverKills, proxyFaults } = report
  const faults = Object.values(proxyFaults).reduce((one, other) => one + other, 0)
  const { p50, p99 } = recovery.afterKill
  return [
    `chaos ${driver} seed ${seed} seconds ${seconds}: jobs ${numeral(jobs)} kills ${kills} stops ${stops} points ${points}`,
    ...(driverNamed(driver).serve ? [`serverKills ${serverKills} proxyFaults ${faults}`] : []),
    ...(report.kinds.includes('freeze') ? [`freezes ${report.freezes}`] : []),
    ...(report.kinds.includes('session') ? [`sessionsEnded ${report.sessionsEnded}`] : []),
    ...(report.rows === undefined ? [] : [`rows ${numeral(report.rows)} torn ${report.torn}`]),
    `lost ${lost} doubleRecorded ${doubleRecorded} stale ${stale} early ${early} misordered ${misordered} violations ${report.violations.length}`,
    `recovery p50 ${numeral(p50)} ms p99 ${numeral(p99)} ms (lease ${numeral(leaseMs)} ms)`,
    ...(driverNamed(driver).serve
      ? [`reconnect p99 ${numeral(reconnect.all.p99)} ms max ${numeral(reconnect.all.max)} ms`]
      : []),
    report.verdict,
  ].join(' ')
}

function fullDisk({ acked, refusedWith, refusedAfterMs, maybeApplied, completedWhileFull }: FullDisk): string {
  const refusal = `${refusedWith} (after ${refusedAfterMs} ms, maybeApplied ${maybeApplied})`
  return `${acked} jobs accepted; ${completedWhileFull} completed while it was full; refused: ${refusal}`
}

function operatedLine({ operated }: Report): string {
  const { pauses, redriven, choices, lines, reportsUnanswered } = operated
  const ofLines = `${numeral(lines)} log lines, ${numeral(reportsUnanswered)} reports sent again`
  return `${numeral(pauses)} pauses, ${numeral(redriven)} jobs redriven, ${numeral(choices)} claims with a choice of priorities, ${ofLines}`
}

function limitedLine({ operated }: Report): string {
  const { typeFull, groupFull, rateFull, slowDowns, turns, slots, handedOver = 0 } = operated
  const full = `full: type ${numeral(typeFull)}, groups ${numeral(groupFull)}, rate ${numeral(rateFull)} times`
  return `${full}; ${numeral(slowDowns)} slow-downs, ${numeral(turns)} turns of groups, ${numeral(slots)} slots, ${numeral(handedOver)} hand-overs`
}

/** The target: p50 within the lease, p99 within one second more. */
function durations(found: Durations, leaseMs: number): string {
  const { count, p50, p99 } = found
  if (count === 0) return plain(found)
  const isReached = p50 <= leaseMs && p99 <= leaseMs + 1_000
  const target = `target: p50 <= ${numeral(leaseMs)}, p99 <= ${numeral(leaseMs + 1_000)}: ${isReached ? 'reached' : 'MISSED'}`
  return `${plain(found)} (${target})`
}

/** The target: within 2 s. */
function returns(found: Durations): string {
  if (found.count === 0) return 'no sample'
  const { count, p50, p99, max } = found
  const figures = `p50 ${numeral(p50)} ms, p99 ${numeral(p99)} ms, max ${numeral(max)} ms`
  return `${numeral(count)} times: ${figures} (target: ${numeral(returnMs)}: ${max <= returnMs ? 'reached' : 'MISSED'})`
}

function plain({ count, p50, p99, max }: Durations): string {
  if (count === 0) return 'no sample'
  return `${numeral(count)} jobs: p50 ${numeral(p50)} ms, p99 ${numeral(p99)} ms, max ${numeral(max)} ms`
}

const list = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, number]) => `${name} ${numeral(number)}`)
    .join(', ') || 'none'

const numeral = (value: number): string => value.toLocaleString('en-US')
