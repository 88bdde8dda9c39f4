// npm run demo:federation [-- --patience 30]
//
// Three servers on this machine, each a process with a SQLite file in a temporary directory. Ends with 0 only if everything
// happened that should, within so many seconds.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runDemo } from './demo.ts'

const { values } = parseArgs({ options: { patience: { type: 'string', default: '30' } } })
const patience = new AbortController()
const timer = setTimeout(() => patience.abort(), Number(values.patience) * 1_000)
const directory = await mkdtemp(join(tmpdir(), 'holdfast-federation-demo-'))
try {
  await runDemo({ directory, tell: console.log, patience: patience.signal })
  console.log('\nAll of it was seen.')
} catch (error) {
  console.error(`\nNot all of it was seen: ${(error as Error).message}`)
  process.exitCode = 1
} finally {
  clearTimeout(timer)
  await rm(directory, { recursive: true, force: true })
}
