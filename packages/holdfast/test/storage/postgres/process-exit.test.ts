// A process that has closed its Postgres database exits by itself and prints nothing, even after lost connections.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { programOf } from '../../../../../scripts/test-programs.ts'
import { libraryNames, sharedServer, stopShared } from './fixtures.ts'

after(stopShared)

const child = programOf(new URL('process-exit-child.ts', import.meta.url))

for (const library of libraryNames) {
  test(`${library}: nothing is printed, and the process exits`, async () => {
    const { url } = await sharedServer()
    const args = ['--conditions=@holdfast/source', child, library, url]
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
    assert.deepEqual([stdout, stderr], ['closed\n', ''])
  })
}
