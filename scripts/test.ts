// Runs the tests on Node's own runner, straight from the sources.
//
//   npm test                                  every test
//   npm test -- claim sqlite                  only files whose path contains one of the words
//   npm test -- --test-name-pattern=fence     options go to the runner
//   npm run test:all                          the same tests at the full size of their specification
//
// Tests that need a server start one; where one is missing, it is installed first (servers/install.ts).
// A run that finds no test fails: a green run must mean that something ran.

import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { installPgbouncer, installPostgres, installRedis } from '../servers/install.ts'

const args = process.argv.slice(2)
const isFull = args.includes('--all')
const options = args.filter((arg) => arg.startsWith('-') && arg !== '--all')
const words = args.filter((arg) => !arg.startsWith('-'))

const globs = ['packages/*/test/**/*.test.ts', 'examples/**/*.test.ts', 'chaos/**/*.test.ts', 'servers/*.test.ts']
const files = globSync(globs, { exclude: ['**/node_modules/**'] })
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .toSorted()

if (files.length === 0) {
  console.error(words.length === 0 ? 'No test files found.' : `No test file matches ${words.join(', ')}.`)
  process.exit(1)
}

// Before the tests, once, and not by several of them side by side.
try {
  installRedis()
  installPostgres()
  installPgbouncer()
} catch (error) {
  console.error((error as Error).message)
  process.exit(1)
}

const { status } = spawnSync(
  process.execPath,
  [
    '--test',
    '--conditions=@holdfast/source',
    // Two more than cores: much of what is tested is that something waits.
    `--test-concurrency=${availableParallelism() + 2}`,
    '--test-timeout=120000',
    // A process whose tests are done is ended: left alone, Node 26 can spin for ever while it cleans up after the sockets of
    // the proxies that some tests let fall silent. What must leave no handle open has a test in a process of its own.
    '--test-force-exit',
    `--import=${new URL('whole-reports.ts', import.meta.url)}`,
    '--test-reporter=spec',
    ...options,
    ...files,
  ],
  { stdio: 'inherit', env: isFull ? { ...process.env, HOLDFAST_TEST_ALL: '1' } : process.env },
)

// No status means a signal ended the runner.
process.exit(status ?? 1)
