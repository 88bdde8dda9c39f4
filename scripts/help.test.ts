// Programs of the repository that answer --help. Those that need the packages of benchmarks/ are not here.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

for (const [name, program] of [
  ['conformance', './conformance.ts'],
  ['bench:compare', '../benchmarks/compare/run.ts'],
] as const) {
  test(`npm run ${name} -- --help says how it is called`, async () => {
    const file = fileURLToPath(new URL(program, import.meta.url))
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [
      '--conditions=@holdfast/source',
      file,
      '--help',
    ])
    assert.match(stdout, new RegExp(`npm run ${name} -- --`))
    assert.doesNotMatch(stdout, /^\/\//m)
    assert.equal(stderr, '')
  })
}
