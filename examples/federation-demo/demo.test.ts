import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('main.ts', import.meta.url))

/** As `npm run demo:federation` does. @param patience in seconds */
async function demo(patience: number): Promise<{ readonly code: number | null; readonly output: string }> {
  const args = ['--conditions=@holdfast/source', main, '--patience', String(patience)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [code, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { code, output: out + err }
}

test('three servers federate, one dies and comes back, and one with other keys is refused', async () => {
  // The machine may be busy with other tests: what is looked for is that everything comes, not how soon.
  const { code, output } = await demo(100)
  assert.equal(code, 0, output)
  const inOrder = [
    'beta   has applied a FEDERATE from alpha',
    'alpha  has its acknowledgement from beta: deliver-follow',
    'alpha  has the row: ann follows bob on beta, accepted and acknowledged',
    'beta   has applied a FEDERATE_POST from alpha',
    'alpha  knows that beta has its post',
    '3. beta is killed',
    'alpha  finds beta unhealthy: CONN_REFUSED',
    'alpha  has the row: ann follows gus on gamma, accepted and acknowledged',
    '4. beta starts again',
    'alpha  finds beta healthy',
    'alpha  has the row: ann follows ben on beta, accepted and acknowledged',
    'beta   has applied each once: ann follows ben, ann follows bob, post',
    'alpha  pin_mismatch: beta shows other keys, refused',
    'alpha  still has the keys of beta that it had',
    'All of it was seen.',
  ]
  let at = 0
  for (const line of inOrder) {
    at = output.indexOf(line, at)
    assert.ok(at >= 0, `"${line}" did not come in its turn:\n${output}`)
  }
})

test('what does not come is said, and the demo fails', async () => {
  const { code, output } = await demo(0)
  assert.equal(code, 1, output)
  assert.match(output, /Not all of it was seen: \w+ did not come to: listening/)
})
