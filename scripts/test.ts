// Runs the tests on Node's own runner, straight from the sources.
//
//   npm test                                  every test
//   npm test -- claim sqlite                  only files whose path contains one of the words
//   npm test -- --test-name-pattern=fence     options go to the runner
//
// A run that finds no test fails: a green run must mean that something ran.

import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'

const args = process.argv.slice(2)
const options = args.filter((arg) => arg.startsWith('-'))
const words = args.filter((arg) => !arg.startsWith('-'))

const files = globSync(['packages/*/test/**/*.test.ts', 'examples/**/*.test.ts', 'chaos/**/*.test.ts'], {
  exclude: ['**/node_modules/**'],
})
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .toSorted()

if (files.length === 0) {
  console.error(words.length === 0 ? 'No test files found.' : `No test file matches ${words.join(', ')}.`)
  process.exit(1)
}

const { status } = spawnSync(
  process.execPath,
  [
    '--test',
    '--conditions=@holdfast/source',
    `--test-concurrency=${availableParallelism()}`,
    '--test-timeout=120000',
    '--test-reporter=spec',
    ...options,
    ...files,
  ],
  { stdio: 'inherit' },
)

// No status means a signal ended the runner.
process.exit(status ?? 1)
