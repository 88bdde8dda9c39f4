// Defects on purpose are found: a run that finds nothing is one that could have.

import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { chaos } from './short-run.ts'

test('a planted defect is found, and the logs are kept', async (t) => {
  const flags = ['--driver', 'sqlite', '--seconds', '4', '--kinds', 'kill', '--plant', 'lost']
  const { report, output, code, folder } = await chaos(t, ...flags)
  assert.equal(code, 1, output)
  assert.ok(report.lost > 0, output)
  assert.equal(report.violations.find(({ check }) => check === 'lost')!.entries.length > 0, true)
  const [kept] = readdirSync(folder).filter((name) => name.startsWith('holdfast-chaos'))
  assert.ok(existsSync(join(folder, kept!, 'logs', 'supervisor.log')), output)
})

for (const [driver, defect, kind] of [
  ['sqlite', 'early', 'kill'],
  ['sqlite', 'stale', 'stop'],
  ['postgres', 'torn', 'kill'],
] as const) {
  test(`a planted defect is found by its name: ${defect}`, async (t) => {
    const flags = ['--driver', driver, '--seconds', '6', '--kinds', kind, '--plant', defect]
    const { report, output, code } = await chaos(t, ...flags)
    assert.equal(code, 1, output)
    assert.ok(report[defect] > 0, output)
  })
}
