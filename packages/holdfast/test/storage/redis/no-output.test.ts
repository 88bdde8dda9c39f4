// Whatever happens to the server: nothing is printed, nothing keeps the process alive, and no error is unhandled.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { programOf } from '../../../../../scripts/test-programs.ts'
import { libraries } from './connection-fixture.ts'

const child = programOf(new URL('no-output-child.ts', import.meta.url))

for (const { name } of libraries) {
  for (const way of ['made', 'given']) {
    test(`${name}, ${way}: a process that lost its server prints nothing, and exits after close()`, async () => {
      const running = spawn(process.execPath, ['--conditions=@holdfast/source', child, name, way])
      let doneAt = Infinity
      running.stdout.on('data', () => (doneAt = performance.now()))
      const [stdout, stderr, [code]] = await Promise.all([
        text(running.stdout),
        text(running.stderr),
        once(running, 'exit'),
      ])
      assert.deepEqual({ stdout, stderr, code }, { stdout: 'done', stderr: '', code: 0 })
      assert.ok(performance.now() - doneAt < 1_000, 'something kept it alive')
    })
  }
}
