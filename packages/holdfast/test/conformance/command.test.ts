// `npm run conformance` as a child process: it prints its result and exits.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { programOf } from '../../../../scripts/test-programs.ts'
import { isFull } from '../full-size.ts'

const script = programOf(new URL('../../../../scripts/conformance.ts', import.meta.url))

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function run(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--conditions=@holdfast/source', script, ...args], (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
  })
}

for (const driver of ['memory', 'redis', 'postgres', 'postgres-js']) {
  const skip = driver === 'postgres-js' && !isFull && 'test:all'
  test(`${driver}: runs one history by its seed and path, and the process exits`, { skip }, async () => {
    const { code, stdout, stderr } = await run('--driver', driver, '--seed', '7', '--path', '0')
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    assert.match(stdout, new RegExp(`^model: ${driver}: 1 histories, \\d+ commands, seed 7: clean$`, 'm'))
  })
}

test('wrong usage is reported with the usage line', async () => {
  const { code, stdout, stderr } = await run('--driver', 'oracle')
  assert.deepEqual({ code, stdout }, { code: 2, stdout: '' })
  assert.match(stderr, /driver: .*oracle/)
  assert.match(stderr, /usage: npm run conformance/)
})
