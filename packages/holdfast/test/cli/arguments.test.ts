// Arguments: what is refused, with the nearest word; and random ones, which never crash.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import * as fc from 'fast-check'
import { SqliteStorage } from 'holdfast/sqlite'
import { optionsOf } from '../../src/cli/command.ts'
import { commands } from '../../src/cli/commands.ts'
import { quickFolder } from '../drivers.ts'
import { sized } from '../full-size.ts'
import { hostile, cli } from './test-host.ts'

async function emptyStorage(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(quickFolder, 'holdfast-cli-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const storage = new SqliteStorage({ path: join(folder, 'jobs.db'), durability: 'relaxed' })
  await storage.connect()
  await storage.disconnect()
  return folder
}

test('wrong use exits 2 and says what was meant', async (t) => {
  const cwd = await emptyStorage(t)
  const at = ['--url', 'sqlite:./jobs.db']
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /no command is given/],
    [['pasue', 'x'], /Did you mean pause\?/],
    [['list', ...at], /unknown command 'list'\. Did you mean jobs\?/],
    [['worker', ...at], /Did you mean work\?/],
    [['help', 'jbos'], /Did you mean jobs\?/],
    [['jobs', '--statee', 'failed', ...at], /unknown option '--statee'\. Did you mean --state\?/],
    [['jobs', '--state', 'faild', ...at], /unknown value of --state 'faild'\. Did you mean failed\?/],
    [['jobs', '--state', 'stuck', ...at], /Expected one of: scheduled, blocked, queued, .*cancelled\./],
    [['jobs', '-x', ...at], /unknown option '-x'.*\n.*\nRun holdfast jobs --help for its options/],
    [['jobs', '--limit', 'ten', ...at], /--limit: expected an integer, got 'ten'/],
    [['jobs', '--limit', '0', ...at], /limit: expected an integer 1 … 1000, got 0/],
    [['jobs', '--from', 'yesterday', ...at], /--from: expected a time such as/],
    [['jobs', '--cursor', 'nonsense', ...at], /cursor/],
    [['jobs', '--where', 'x', ...at], /--where: expected field=value/],
    [['jobs', 'extra', ...at], /unexpected argument 'extra'/],
    [['jobs', '--json=1', ...at], /--json takes no value/],
    [['jobs', '--limit'], /--limit needs a value/],
    [['jobs', '--limit', '5', '--limit', '6', ...at], /--limit is given twice/],
    [['job', ...at], /<id> is missing/],
    [['job', '', ...at], /<id> is empty/],
    [['job', 'x'.repeat(513), ...at], /1 … 512 bytes/],
    [['job', 'x', '--type', 'none', ...at], /no type is named 'none'/],
    [['tail', '--every', '5', ...at], /a duration such as/],
    [['schedules', 'lst', ...at], /Did you mean list\?/],
    [['completion', 'tcsh'], /unknown <shell> 'tcsh'.*(?:Did you mean|Expected one of: bash, zsh, fish)/],
    [['status', '--url', './jobs.db'], /--url: expected sqlite:.* Did you mean sqlite:\.\/jobs\.db\?/],
    [['status', '--url', 'me:secret@db/x'], /--url: expected sqlite:[^?]*\n/],
    [['status', '--config', 'none.ts'], /--config: there is no file \/.*none\.ts\. Check the path/],
    [['status', '--url', 'mysql://root:secret@localhost/x'], /there is no driver for 'mysql:'/],
    [['status', '--url', 'sqlite:./none.db'], /there is no file .*\. Check the path\. A worker, holdfast enqueue/],
    [['status', '--url', 'sqlite:'], /the path is missing/],
    [['status', '--url', 'sqlite::memory:'], /a storage in memory/],
    [['status', '--url', 'file:./none'], /there is no directory/],
    [['status', '--schema', 'x', ...at], /--schema is for postgres/],
    [['status', '--prefix', 'x', ...at], /--prefix is for redis/],
    [['dashboard', '--port', '70000', ...at], /--port: expected 0 … 65535/],
    [['redrive', '--all', '--yes', '--edit', './none.ts', ...at], /cannot be loaded/],
  ]
  for (const [args, expected] of cases) {
    const { code, out, errors } = await cli(args, { cwd })
    assert.deepEqual([code, out], [2, ''], `${args.join(' ')}: ${errors}`)
    assert.match(errors, expected)
    assert.doesNotMatch(errors, /secret/)
    if (args.length === 0) continue
    const json = await cli([...args, '--json'], { cwd })
    if (json.code === 2 && json.errors.startsWith('{')) assert.equal(JSON.parse(json.errors).error.code, 'USAGE')
  }
})

test('--help of every command: at most 80 columns, with every option and an example', async () => {
  for (const command of commands) {
    const { code, out } = await cli([command.name, '--help'])
    assert.equal(code, 0)
    for (const line of out.split('\n')) {
      const isExample = command.examples.some((example) => line.includes(example.line))
      assert.ok(isExample || line.length <= 80, line)
    }
    for (const name of Object.keys(optionsOf(command))) assert.match(out, new RegExp(`--${name}\\b`))
    assert.equal((await cli(['help', command.name])).out, out)
  }
})

/** Commands that end by themselves, and change nothing outside the storage. */
const ending = commands.filter(({ name }) => !['top', 'tail', 'work', 'logs', 'dashboard'].includes(name))

test('random arguments: a typed answer, never a crash', { timeout: 300_000 }, async (t) => {
  const cwd = await emptyStorage(t)
  const words = [
    // What a parser might take for an option.
    ...'|-|--|--=|-=|---|--__proto__|--constructor=1|--no-json|-yh|-yy|-5'.split('|'),
    // Values of options, right and wrong.
    ...'../..|*|%s|{}|{"__proto__":1}|1e21|NaN|1/0s|5/1m|0ms|99999999999d|2026-02-31|0001-01-01'.split('|'),
    ...'a=b|a>=1|__proto__=1|queue.mail|queue.|.|failed|list|prune'.split('|'),
    hostile,
    '\0',
    '\ud83d',
    'x'.repeat(2_000),
  ]
  const argument = (names: readonly string[]) =>
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...names.map((name) => `--${name}`)) },
      { weight: 3, arbitrary: fc.constantFrom(...words) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
      { weight: 1, arbitrary: fc.constantFrom(...names.map((name) => `--${name}=5`)) },
    )
  const line = fc.constantFrom(...ending).chain((command) => {
    // A folder or a config of this machine must not be reached by chance.
    const names = Object.keys(optionsOf(command)).filter((name) => !['url', 'config', 'edit'].includes(name))
    return fc.array(argument(names), { maxLength: 6 }).map((args) => ({ command, args }))
  })
  await fc.assert(
    fc.asyncProperty(line, async ({ command, args }) => {
      const { code, out, errors } = await cli([command.name, ...args], {
        cwd,
        env: { HOLDFAST_URL: 'sqlite:./jobs.db', COLUMNS: '80' },
      })
      assert.ok(code === 0 || code === 1 || code === 2, `${code}`)
      // A stack is printed for a defect only.
      assert.doesNotMatch(errors, /^ {4}at /m)
      if (code === 2) assert.notEqual(errors, '')
      assert.doesNotMatch(out + errors, /[^\P{Cc}\n]/u)
    }),
    { numRuns: sized(150, 60), seed: 20_261_117 },
  )
})
