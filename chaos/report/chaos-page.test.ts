// The generated page says what the reports say: sums, violations, and what has not run.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { VolumeReport } from '../volume/volume-report.ts'
import { pageOf } from './chaos-page.ts'
import { type ChaosReport, type MatrixReport, noReport, withReport } from './chaos-report.ts'

const durations = { count: 12, p50: 900, p99: 2_100, max: 2_200 }
const volume = (driver: string, jobs: number, lost: number): VolumeReport =>
  ({
    commit: 'abc',
    options: { driver, seed: 7, leaseMs: 2_000 },
    jobs,
    seconds: 10,
    jobsPerSecond: jobs / 10,
    doubleRuns: 3,
    lost,
    doubleRecorded: 0,
    stale: 0,
    violations: lost,
    faults: { kills: 4, stops: 2, points: 0, serverKills: 1, sessions: 0, proxyFaults: 5 },
    recovery: durations,
  }) as unknown as VolumeReport

const ran = { commit: 'abc', seed: 5, runs: 1 }
const matrix = {
  cells: [
    { ...ran, cell: 'K1/sqlite', by: 'rig', faults: 17, violations: [] },
    { ...ran, cell: 'D4/redis', by: 'scenario', faults: 2, violations: ['lost: m1'], note: 'a tail' },
  ],
} as unknown as MatrixReport

test('runs are summed, the last run of a cell counts, and what has not run says so', () => {
  const all = [volume('sqlite', 1_000, 0), volume('redis', 2_500, 1), matrix].reduce(withReport, noReport)
  const page = pageOf(all)
  assert.match(page, /In total 3,500 jobs, 1 lost, 0 recorded twice, 0 stale/)
  assert.match(page, /2 ran, with 19 faults; 1 of them with a violation/)
  assert.match(page, /\| K1 \|.*\| – \| not run \| 17 \| not run \|/)
  assert.match(page, /\| D4\/redis \| 5 \| abc \| a tail; \*\*lost: m1\*\* \|/)
  const again = { ...matrix, cells: [{ ...matrix.cells[1]!, violations: [] }] }
  assert.match(pageOf(withReport(all, again)), /; 0 of them with a violation/)
  assert.throws(() => withReport(all, {}), /expected a report/)
})

test('the page of the docs is the one of its JSON', () => {
  const file = new URL('../../docs/chaos-report.json', import.meta.url)
  assert.ok(existsSync(file))
  const report = JSON.parse(readFileSync(file, 'utf8')) as ChaosReport
  assert.equal(readFileSync(new URL('../../docs/chaos-report.md', import.meta.url), 'utf8'), pageOf(report))
})
