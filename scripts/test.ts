// Runs the tests on Node's own runner, straight from the sources.
//
//   npm test                                  every test
//   npm test -- claim sqlite                  only files whose path contains one of the words
//   npm test -- --test-name-pattern=fence     options go to the runner
//   npm run test:all                          the same tests at the full size of their specification
//
// Tests that need a server start one; where one is missing, it is installed first (servers/install.ts).
// A run that finds no test fails: a green run must mean that something ran.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Guard } from '../servers/guard.ts'
import { installChromium, installPgbouncer, installPostgres, installRedis } from '../servers/install.ts'
import { templateVariable } from '../servers/postgres-cluster.ts'
import { folderVariable } from '../servers/process.ts'
import { processesOf } from './test-processes.ts'
import { buildPrograms, programsFolder, programsVariable } from './test-programs.ts'

const args = process.argv.slice(2)
const isFull = args.includes('--all') || process.env.HOLDFAST_TEST_ALL === '1'
const options = args.filter((arg) => arg.startsWith('-') && arg !== '--all')
const words = args.filter((arg) => !arg.startsWith('-'))

const globs = [
  'packages/*/test/**/*.test.ts',
  'examples/**/*.test.ts',
  'chaos/**/*.test.ts',
  'servers/*.test.ts',
  'scripts/*.test.ts',
]
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
  await buildPrograms()
  if (files.some((file) => file.includes('dashboard'))) {
    installChromium()
    // The server of the dashboard sends the app as the build makes it.
    await (await import('../packages/dashboard/build/build-app.ts')).buildApp()
  }
} catch (error) {
  console.error((error as Error).message)
  process.exit(1)
}

// In memory, if there is room: to copy, fill and remove the data directory of a Postgres server takes up to a second of CPU on a disk,
// and a quarter of that in memory.
const [memory, roomBytes] = ['/dev/shm', 4 * 2 ** 30]
const serverFolder = existsSync(memory) && freeBytes(memory) >= roomBytes ? memory : tmpdir()

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

// The guard removes it when this process ends, however it ends.
const folder = mkdtempSync(join(serverFolder, 'holdfast-tests-'))
const guard = new Guard(folder)

const env = {
  ...process.env,
  ...(isFull && { HOLDFAST_TEST_ALL: '1' }),
  // Most of what a process takes to start is to strip and compile the sources. Several hundred processes of a run, and those of
  // the next, do it once for each file that has changed.
  NODE_COMPILE_CACHE:
    process.env.NODE_COMPILE_CACHE ?? fileURLToPath(new URL('../node_modules/.cache/tests', import.meta.url)),
  [programsVariable]: programsFolder,
  [folderVariable]: process.env[folderVariable] ?? serverFolder,
  [templateVariable]: join(folder, 'postgres'),
}

const runner = spawn(
  process.execPath,
  [
    '--test',
    '--conditions=@holdfast/source',
    // Four more than cores: much of what is tested is that something waits. With two more, the processes together ran for 2,236 s in a
    // run of 572 s, and used 935 s of the CPU of two cores.
    `--test-concurrency=${availableParallelism() + 4}`,
    // Long enough for a machine that does ten other things. At full size one test makes several times as many calls.
    `--test-timeout=${isFull ? 900_000 : 300_000}`,
    // A process whose tests are done is ended: left alone, Node 26 can spin for ever while it cleans up after the sockets of
    // the proxies that some tests let fall silent. What must leave no handle open has a test in a process of its own.
    '--test-force-exit',
    `--import=${new URL('whole-reports.ts', import.meta.url)}`,
    `--import=${new URL('test-context.ts', import.meta.url)}`,
    '--test-reporter=spec',
    ...options,
    // A name pattern must match the tests of a file, not the suites that a shared process makes of its files.
    ...(options.length === 0 ? processesOf(files, folder) : files),
  ],
  { stdio: 'inherit', env },
)

// Otherwise it would go on after a signal that was sent to this process alone.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => runner.kill(signal))
const [status] = (await once(runner, 'exit')) as [number | null]

guard.clear()
// No status means a signal ended the runner.
process.exit(status ?? 1)
