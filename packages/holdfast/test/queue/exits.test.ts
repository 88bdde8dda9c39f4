// After stop() nothing holds the process open. The child has leases and polls of minutes, so a timer that was forgotten
// would show.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { describe, test } from 'node:test'
import { programOf } from '../../../../scripts/test-programs.ts'

const child = programOf(new URL('./fixtures/exit.ts', import.meta.url))

async function run(scene: string): Promise<{ code: number | null; output: string; afterStopMs: number }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number | null; output: string; afterStopMs: number }>()
  let output = ''
  let stoppedAt = 0
  const running = spawn(process.execPath, ['--conditions=@holdfast/source', child, scene])
  const onOutput = (chunk: Buffer): void => {
    output += String(chunk)
    if (output.includes('stopped')) stoppedAt ||= performance.now()
  }
  running.stdout.on('data', onOutput)
  running.stderr.on('data', onOutput)
  const timer = setTimeout(() => running.kill('SIGKILL'), 20_000)
  running.on('exit', (code) => {
    clearTimeout(timer)
    resolve({ code, output, afterStopMs: performance.now() - stoppedAt })
  })
  return promise
}

describe('after stop', { concurrency: 4 }, () => {
  for (const [scene, what] of [
    ['work', '[trap 37] a worker that ran jobs'],
    ['ten', '[trap 37] a queue that was started ten times at once'],
    ['stuck', '[trap 37] a worker whose handler never ended'],
    ['cap', '[trap 37] a worker that gave an attempt up'],
    ['reaper', '[trap 37] a Reaper with election'],
    ['early', '[trap 22] a producer that never called start, and waited'],
    ['stream', '[trap 37] a queue whose events were read'],
    ['outage', '[trap 37] a worker whose storage fails'],
  ] as const) {
    test(`${what}: the process ends by itself after stop`, async () => {
      const { code, output, afterStopMs } = await run(scene)
      assert.equal(code, 0, output)
      assert.equal(output.trim(), 'stopped')
      // Under a second on a machine with nothing else to do; what was forgotten would last for at least twenty.
      assert.ok(afterStopMs < 10_000, `${afterStopMs} ms`)
    })
  }
})
