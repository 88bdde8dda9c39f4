import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'

/** Runs the demo as `npm start` does, without a terminal. */
async function start(...args: string[]): Promise<{ code: unknown; output: string }> {
  const main = new URL('./main.ts', import.meta.url).pathname
  const child = spawn(process.execPath, ['--conditions=@holdfast/source', main, ...args])
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (output += chunk))
  const code = await new Promise((resolve) => child.on('exit', resolve))
  return { code, output }
}

test('the demo sends every mail, ends by itself, and prints plain lines without a terminal', async () => {
  const { code, output } = await start('--mails', '16')
  assert.equal(code, 0, output)
  assert.match(output, /15 mails sent, 1 refused by the server, 0 lost\./)
  assert.match(output, /reader-13@.*given up \(550 no such mailbox\)/)
  assert.match(output, /attempt 1 failed \(451 busy, try again later\)/)
  assert.ok(!output.includes('\u001b'), 'no escape sequences')
})

test('a demo that loses a mail says so and ends with 1', async () => {
  const { code, output } = await start('--mails', '4', '--lose', 'reader-4@holdfast.example')
  assert.equal(code, 1)
  assert.match(output, /Lost: reader-4@holdfast\.example/)
})

test('a wrong flag is refused', async () => {
  const { code, output } = await start('--mails', 'many')
  assert.equal(code, 2)
  assert.match(output, /--mails: expected an integer 1 … 10000, got many/)
})
