// npm run demo:federation [-- --timeout 30]
//
// Runs three servers on this machine, each a process with a SQLite file in a temporary directory. Exits with 0 only if every
// expected event happened. It gives up after a time without any event, in seconds: a busy machine may need longer for all of them.

import { setMaxListeners } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runDemo } from './demo.ts'

const { values } = parseArgs({ options: { timeout: { type: 'string', default: '30' } } })
const timeout = new AbortController()
// Every event that is waited for listens to it.
setMaxListeners(0, timeout.signal)
const timer = setTimeout(() => timeout.abort(), Number(values.timeout) * 1_000)
const onProgress = (): void => void timer.refresh()
const directory = await mkdtemp(join(tmpdir(), 'holdfast-federation-demo-'))
try {
  await runDemo({ directory, print: console.log, onProgress, timeout: timeout.signal })
  console.log('\nEvery event was seen.')
} catch (error) {
  console.error(`\nThe demo failed: ${(error as Error).message}`)
  process.exitCode = 1
} finally {
  clearTimeout(timer)
  await rm(directory, { recursive: true, force: true })
}
