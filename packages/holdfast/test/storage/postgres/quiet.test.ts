// A process that has closed its Postgres database ends by itself, and neither it nor a library has said anything, also
// when connections were lost meanwhile.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { libraryNames, server } from './trial.ts'

const child = fileURLToPath(new URL('quiet-child.ts', import.meta.url))

for (const library of libraryNames) {
  test(`${library}: nothing is said, and nothing keeps the process`, async (t) => {
    const { url } = await server(t)
    const args = ['--conditions=@holdfast/source', child, library, url]
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
    assert.deepEqual([stdout, stderr], ['closed\n', ''])
  })
}
