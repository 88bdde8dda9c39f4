// Runs the example as a user does.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

test('two apps federate, and the process exits by itself', () => {
  const main = fileURLToPath(new URL('main.ts', import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--conditions=@holdfast/source', main], {
    encoding: 'utf8',
    timeout: 60_000,
  })
  assert.equal(status, 0, stderr)
  assert.equal(stderr, '')
  const lines = stdout
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, '<origin>')
    .trimEnd()
    .split('\n')
  assert.equal(lines[0], 'beta: alice of <origin> follows bob')
  assert.equal(lines[1], 'alpha: bob was followed; GET / answers: the app itself')
  assert.equal(lines[2], 'beta: alice of <origin> writes: hello, bob')
  assert.match(lines[3] ?? '', /^alpha: <origin> acknowledged the post: .*"federationPostId":"post-1"/)
  assert.equal(lines[4], 'alpha: beta has no user carol')
  assert.equal(lines.length, 5)
})
