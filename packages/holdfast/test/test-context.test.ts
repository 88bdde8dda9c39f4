// The test runner with scripts/test-context.ts: whatever goes wrong in a test fails the run, and is told of the right test.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const context = new URL('../../../scripts/test-context.ts', import.meta.url).href

const broken = `
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
const failure = (name) => { throw new Error('error of ' + name) }
test('fine', async () => { await sleep(1) })
test('throws', () => failure('throws'))
test('rejects after a wait', async () => { await sleep(1); failure('rejects') })
test('throws in a timer', async () => { setTimeout(() => failure('timer'), 1); await sleep(50) })
test('leaves a rejected promise', async () => { void Promise.reject(new Error('error of promise')); await sleep(50) })
describe('suite', () => {
  test('nested', async (t) => { await t.test('inner', async () => { await sleep(1); failure('inner') }) })
})
`

test('errors of tests are found with their tests', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'broken.test.mjs')
  writeFileSync(file, broken)
  // Without the variables of this run, which would make it a part of this one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const args = ['--test', '--test-reporter=tap', `--import=${context}`, file]
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
  assert.equal(status, 1)
  const failed = Array.from(stdout.matchAll(/^ *not ok \d+ - (.+)$/gm), ([, name]) => name)
  const expected = [
    'throws',
    'rejects after a wait',
    'throws in a timer',
    'leaves a rejected promise',
    'inner',
    'nested',
    'suite',
  ]
  assert.deepEqual(failed, expected)
  for (const name of ['throws', 'rejects', 'timer', 'promise', 'inner'])
    assert.match(stdout, new RegExp(`error of ${name}`))
  assert.match(stdout, /^# pass 1$/m)
})
