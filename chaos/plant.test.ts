// Planted defects are found: a clean run means that the checks work.

import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Report } from './report.ts'
import { chaosUntil } from './short-run.ts'

for (const [driver, defect, kind] of [
  ['sqlite', 'lost', 'kill'],
  ['sqlite', 'early', 'kill'],
  ['sqlite', 'stale', 'stop'],
  ['postgres', 'torn', 'kill'],
] as const) {
  test(`a planted defect is found by its check, and the logs are kept: ${defect}`, { timeout: 300_000 }, async (t) => {
    const isFound = (report: Report): boolean => report[defect] > 0
    const flags = ['--driver', driver, '--kinds', kind, '--plant', defect]
    const { report, output, code, folder } = await chaosUntil(t, isFound, ...flags)
    assert.equal(code, 1, output)
    // The violation shows earlier entries, if the logs have them.
    const { entries } = report.violations.find(({ check }) => check === defect)!
    assert.ok(defect !== 'lost' || entries.length > 0, output)
    const [kept] = readdirSync(folder).filter((name) => name.startsWith('holdfast-chaos'))
    assert.ok(existsSync(join(folder, kept!, 'logs', 'supervisor.log')), output)
  })
}
