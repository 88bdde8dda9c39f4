// The harness in short runs: clean on every driver, with a full disk, and without processes left behind when it is
// killed.

import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { isFull } from '../packages/holdfast/test/full-size.ts'
import { drivers, usualKinds } from './drivers.ts'
import { entriesOf } from './entries.ts'
import { FlagError, parseFlags } from './flags.ts'
import type { Report } from './report.ts'
import { chaos, chaosUntil, ended, start } from './short-run.ts'

const exported = (
  JSON.parse(readFileSync(new URL('../packages/holdfast/package.json', import.meta.url), 'utf8')) as {
    exports: Record<string, unknown>
  }
).exports
const built = Object.keys(drivers).filter((driver) => `./${driver}` in exported)

/** Jobs per second at most. More make more load, not other faults. `npm run test:all` has the rate of the driver. */
const highestRate = isFull ? Infinity : 75

/** The one with most kinds of faults. `npm run test:all` has the others, for which this is the same harness. */
const ordinary = ['redis']

for (const driver of built) {
  const kinds = usualKinds(drivers[driver]!).filter((kind) => kind !== 'full')
  const rate = Math.min(drivers[driver]!.rate, highestRate)

  const isEnough = (report: Report): boolean =>
    report.kills >= 3 &&
    report.stops >= 1 &&
    report.points >= 1 &&
    (!kinds.includes('server') || report.reconnect.all.count >= 1) &&
    (!kinds.includes('proxy') || Object.keys(report.proxyFaults).length >= 2) &&
    (!kinds.includes('session') || report.sessionsEnded >= 2) &&
    (report.rows === undefined || report.rows >= 10)

  test(
    `[trap 9] [trap 41] [trap 43] ${driver}: a short run of ${kinds.join(', ')}`,
    { timeout: 300_000, skip: !isFull && !ordinary.includes(driver) && 'test:all' },
    async (t) => {
      const flags = ['--driver', driver, '--kinds', kinds.join(','), '--rate', String(rate)]
      const { report, output, code } = await chaosUntil(t, isEnough, ...flags)
      assert.equal(code, 0, output)
      assert.equal(report.rows !== undefined, drivers[driver]!.hasRows === true)
      assert.deepEqual(report.violations, [])
      t.diagnostic(output.trim().split('\n').at(-1)!)
    },
  )

  if (!drivers[driver]!.kinds.includes('full')) continue

  test(`[trap 46] ${driver}: a full disk`, async (t) => {
    const { report, output, code } = await chaos(t, '--driver', driver, '--kinds', 'full')
    if (report.skipped.length > 0) return t.skip(report.skipped[0])
    assert.equal(code, 0, output)
    assert.match(report.full!.refusedWith!, /./)
  })
}

const [driver] = built

test('a killed run leaves no process behind, stopped ones included', { skip: !driver }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'chaos-test-'))
  const run = start(folder, '--driver', driver!, '--seconds', '20', '--kinds', 'stop', '--lease', '5000')
  // Its output comes later: the log shows when the processes run and one of them is stopped.
  const log = (): string => {
    const [name] = readdirSync(folder)
    const file = join(folder, name ?? '', 'logs', 'supervisor.log')
    return name && existsSync(file) ? readFileSync(file, 'utf8') : ''
  }
  await until(() => log().includes('"stopped"'))
  const pids = entriesOf(log()).flatMap((entry) => (entry.what === 'spawned' ? [entry.pid] : []))
  t.after(() => rmSync(folder, { recursive: true }))
  run.kill('SIGKILL')
  await until(() => pids.every((pid) => !isAlive(pid)))
})

test('invalid flags are refused', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'chaos-test-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const { code, output } = await ended(start(folder))
  assert.equal(code, 2)
  assert.match(output, /expected/)
  const wrong = [
    ['--driver', 'paper'],
    ['--driver', 'sqlite', '--kinds', 'flood'],
    ['--driver', 'sqlite', '--kinds', 'kill,server'],
    ['--driver', 'file', '--kinds', 'proxy'],
    ['--driver', 'redis', '--kinds', 'full'],
    ['--driver', 'sqlite', '--seconds', 'x'],
  ]
  for (const flags of wrong) {
    assert.throws(
      () => parseFlags(flags),
      (error) => error instanceof FlagError && error.message.includes('expected'),
    )
  }
})

async function until(isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!isSo()) {
    assert.ok(performance.now() < deadline, 'expected the condition to be true within 30 s')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
