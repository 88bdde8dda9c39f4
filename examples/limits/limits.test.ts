// Runs the examples: each is a program that ends by itself and prints what happened.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const folder = fileURLToPath(new URL('.', import.meta.url))

const expectedOutput: Readonly<Record<string, readonly string[]>> = {
  'slow-service': [
    '0 s: call 0',
    '0 s: call 1',
    '0 s: call 2',
    '1 s: call 3',
    '1 s: call 5',
    '1 s: c4 was told to wait 10000 ms',
    '3 wait until 11 s',
    '11 s: call 6',
    '11 s: call 7',
    '11 s: call 4',
  ],
  tenants: [
    "large: group 'large' of queue 'exports': 5 jobs wait, and at most 5 may (maxWaiting). The job was refused, and nothing was written. Add it again later, or raise the limit.",
    'running: large 2, small 2',
    'ada set the limits of large: {"limit":4,"maxWaiting":5,"onFailure":"continue","fair":true}',
    'running: large 4',
  ],
}

test('every example has its test', () => {
  const files = globSync('*.ts', { cwd: folder }).filter((file) => !file.endsWith('.test.ts'))
  assert.deepEqual(files.map((file) => file.replace(/\.ts$/, '')).toSorted(), Object.keys(expectedOutput).toSorted())
})

for (const [name, expected] of Object.entries(expectedOutput)) {
  test(`examples/limits/${name}.ts prints what it should`, async () => {
    const args = ['--conditions=@holdfast/source', `${folder}${name}.ts`]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    assert.deepEqual(stdout.trimEnd().split('\n'), expected)
  })
}
