// Runs the examples: each is a program that ends by itself and prints what happened.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { programOf } from '../../scripts/test-programs.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))

const expectedOutput: Readonly<Record<string, readonly string[]>> = {
  'nightly-report': [
    'next: 2026-03-28 03:00:00 GMT+1',
    'next: 2026-03-29 03:00:00 GMT+2',
    'release 1: sales for 03-28T02:00, at 03-28T02:00',
    'release 1: sales for 03-29T01:00, at 03-29T01:00',
    'a changed schedule has no missed slots',
    'release 2: sales and stock for 04-01T01:00, at 04-01T01:00',
    'release 2: sales and stock for 04-03T01:00, at 04-03T12:00',
  ],
  operate: [
    "chain 'tidy': hourly, every 3600000 ms",
    "queue 'mail': digest, @weekly",
    "mails the digest, by schedule 'digest'",
    'paused by ada, next slot: undefined',
  ],
}

test('every example has its test', () => {
  const files = globSync('*.ts', { cwd: folder }).filter((file) => !file.endsWith('.test.ts'))
  assert.deepEqual(files.map((file) => file.replace(/\.ts$/, '')).toSorted(), Object.keys(expectedOutput).toSorted())
})

for (const [name, expected] of Object.entries(expectedOutput)) {
  test(`examples/schedules/${name}.ts prints what it should`, async () => {
    const args = ['--conditions=@holdfast/source', programOf(new URL(`${name}.ts`, import.meta.url))]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    assert.deepEqual(stdout.trimEnd().split('\n'), expected)
  })
}
