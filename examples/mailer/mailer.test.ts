import assert from 'node:assert/strict'
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve as resolvePath } from 'node:path'
import type { Readable } from 'node:stream'
import { test, type TestContext } from 'node:test'
import { programOf } from '../../scripts/test-programs.ts'

async function directory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'holdfast-mailer-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return join(path, 'data')
}

/** Runs the demo as `npm start` does, without a terminal. @returns its exit code or signal, and all that it wrote */
async function start(
  args: readonly string[],
  onOutput: (child: ChildProcessByStdio<null, Readable, Readable>, output: string) => void = () => {},
): Promise<{ code: unknown; output: string }> {
  const main = programOf(new URL('./main.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=@holdfast/source', main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
      onOutput(child, output)
    })
  }
  const code = await new Promise((resolve) => child.on('close', (status, signal) => resolve(status ?? signal)))
  return { code, output }
}

test('the demo sends every mail, ends by itself, and prints plain lines without a terminal', async (t) => {
  const data = await directory(t)
  const { code, output } = await start(['--mails', '16', '--data', data])
  assert.equal(code, 0, output)
  assert.match(output, /15 mails sent, 1 refused by the server, 0 lost\./)
  assert.match(output, /reader-13@.*given up \(550 no such mailbox\)/)
  assert.match(output, /attempt 1 failed \(451 busy, try again later\)/)
  assert.ok(!output.includes('\u001b'), 'no escape sequences')
  assert.deepEqual(readdirSync(data), ['last.db'], 'only what can be looked at is left')
  const [, url] = /npm run dashboard -- --url (sqlite:\S+)\n$/.exec(output)!
  assert.equal(resolvePath(url!.slice('sqlite:'.length)), join(data, 'last.db'))
})

test('a demo that loses a mail says so and ends with 1', async (t) => {
  const lose = ['--lose', 'reader-4@holdfast.example']
  const { code, output } = await start(['--mails', '4', '--data', await directory(t), ...lose])
  assert.equal(code, 1)
  assert.match(output, /Lost: reader-4@holdfast\.example/)
})

for (const signal of ['SIGINT', 'SIGKILL'] as const) {
  test(`ended by ${signal} in the middle, it carries on when it is started again, and no mail is lost`, async (t) => {
    const args = ['--mails', '48', '--data', await directory(t)]
    const first = await start(args, (child, output) => {
      if (output.includes('sent 10 of 48') && !child.killed) child.kill(signal)
    })
    assert.equal(first.code, signal === 'SIGINT' ? 130 : signal, first.output)
    const second = await start(args)
    assert.equal(second.code, 0, second.output)
    assert.match(second.output, /carrying on: \d\d were sent before/)
    assert.match(second.output, /47 mails sent, 1 refused by the server, 0 lost\./)
  })
}

// The first output comes when the signal handlers are installed; the modules are loaded after it.
for (const [signal, delayMs] of [
  ['SIGINT', 0],
  ['SIGINT', 50],
  ['SIGINT', 100],
  ['SIGINT', 200],
  ['SIGTERM', 0],
] as const) {
  test(`${signal} ${delayMs} ms after its first output ends it with one sentence and 130`, async (t) => {
    let isSent = false
    const { code, output } = await start(['--data', await directory(t)], (child) => {
      if (!isSent) setTimeout(() => child.kill(signal), delayMs)
      isSent = true
    })
    assert.equal(code, 130, output)
    assert.match(output, /\nStopped: \d+ mails sent, \d+ to go\. Start it again, and it carries on\.\n$/)
    assert.doesNotMatch(output, /Error|^ +at /m)
  })
}

test('a wrong flag is refused', async () => {
  const { code, output } = await start(['--mails', 'many'])
  assert.equal(code, 2)
  assert.match(output, /--mails: expected an integer 1 … 10000, got many/)
})
