// Planted defects are found: a clean run means that the checks work. Defects that do not hide each other share a run. `npm test` has
// the first run: the other checks are tested there by histories that are written by hand (flow-checks.test.ts, operating-checks.test.ts, checks.test.ts).

import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isFull } from '../packages/holdfast/test/full-size.ts'
import type { Report } from './report.ts'
import { chaosUntil } from './short-run.ts'

/** The checks that find them, if they have another name. */
const checkOf: Readonly<Record<string, string>> = { staleReport: 'stale', handed: 'fence' }

const runs = [
  ['sqlite', 'stop', 'lost', 'early', 'stale', 'misordered', 'reports'],
  ['sqlite', 'stop', 'staleReport', 'paused', 'redrive'],
  ['postgres', 'kill', 'torn'],
  ['sqlite', 'stop', 'limits', 'rate', 'slots', 'keys'],
  ['sqlite', 'stop', 'turns', 'slowed'],
  ['redis', 'stop', 'handed'],
] as const

for (const [index, [driver, kind, ...defects]] of runs.entries()) {
  const list = defects.join(',')
  test(
    `planted defects are found by their checks, and the logs are kept: ${list}`,
    { timeout: 300_000, skip: index > 0 && !isFull && 'test:all' },
    async (t) => {
      const names = defects.map((defect) => checkOf[defect] ?? defect)
      // In one run or in several: a short one may have too few jobs for all of them.
      const missing = new Set<string>(names)
      const isFound = (report: Report): boolean => {
        for (const { check } of report.violations) missing.delete(check)
        return missing.size === 0
      }
      const flags = ['--driver', driver, '--kinds', kind, '--plant', list]
      const { report, output, code, folder } = await chaosUntil(t, isFound, ...flags)
      assert.equal(code, 1, output)
      // The violation shows earlier entries, if the logs have them.
      const lost = report.violations.find(({ check }) => check === 'lost')
      assert.ok(!lost || lost.entries.length > 0, output)
      const [kept] = readdirSync(folder).filter((name) => name.startsWith('holdfast-chaos'))
      assert.ok(existsSync(join(folder, kept!, 'logs', 'supervisor.log')), output)
    },
  )
}
