import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('main.ts', import.meta.url))

/** Runs the demo as `npm run demo:federation` does. @param timeout in seconds */
async function demo(timeout: number): Promise<{ readonly code: number | null; readonly output: string }> {
  const args = ['--conditions=@holdfast/source', main, '--timeout', String(timeout)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [code, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { code, output: out + err }
}

test('three servers federate: a burst, an outage that hurts no other server, and one with other keys that is refused', async () => {
  // The machine may be busy with other tests: the test checks that everything happens, not how soon.
  const { code, output } = await demo(100)
  assert.equal(code, 0, output)
  const inOrder = [
    'beta   applied a FEDERATE from alpha',
    'alpha  received the acknowledgement of beta: deliver-follow',
    'alpha  has the row: ann follows bob on beta, accepted and acknowledged',
    'beta   applied a FEDERATE_POST from alpha',
    'alpha  verified that beta has its post',
    '3. 200 users of alpha follow bea on beta at once.',
    'beta   applied 200 follows, each once, and refused none',
    '4. beta is killed',
    'alpha  marks beta unhealthy: CONN_REFUSED',
    'gamma  applied 200 follows while beta was dead',
    '5. beta starts again',
    'alpha  has the row: fan 1 follows ben on beta, accepted and acknowledged',
    'beta   applied 200 follows that had waited, each once',
    'alpha  pin_mismatch: beta shows other keys, refused',
    'alpha  keeps the pinned keys of beta',
    'Every event was seen.',
  ]
  let at = 0
  for (const line of inOrder) {
    at = output.indexOf(line, at)
    assert.ok(at >= 0, `"${line}" is missing, or out of order:\n${output}`)
  }
})

test('the demo fails, and names the event that did not happen in time', async () => {
  const { code, output } = await demo(0)
  assert.equal(code, 1, output)
  assert.match(output, /The demo failed: \w+: no event "listening"/)
})
