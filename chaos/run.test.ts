// The harness itself, in short runs: it is clean on every driver, finds a defect that was planted, fills a disk, and leaves no
// process behind when it is killed.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { drivers } from './drivers.ts'
import { entriesOf } from './entries.ts'
import type { Report } from './report.ts'

const exported = (
  JSON.parse(readFileSync(new URL('../packages/holdfast/package.json', import.meta.url), 'utf8')) as {
    exports: Record<string, unknown>
  }
).exports
const built = Object.keys(drivers).filter((driver) => `./${driver}` in exported)

for (const driver of built) {
  const kinds = drivers[driver]!.kinds.filter((kind) => kind !== 'full')

  test(`${driver}: 8 s of ${kinds.join(', ')}`, async (t) => {
    const flags = ['--driver', driver, '--seconds', '8', '--kinds', kinds.join(',')]
    const { report, output, code } = await chaos(t, ...flags)
    assert.equal(code, 0, output)
    assert.ok(report.kills >= 5 && report.stops >= 2 && report.points >= 1, output)
    if (kinds.includes('server')) assert.ok(report.serverKills >= 1 && report.reconnect.all.count >= 1, output)
    if (kinds.includes('proxy')) assert.ok(Object.keys(report.proxyFaults).length >= 2, output)
    assert.deepEqual(report.violations, [])
    t.diagnostic(output.trim().split('\n').at(-1)!)
  })

  if (!drivers[driver]!.kinds.includes('full')) continue

  test(`${driver}: a full disk`, async (t) => {
    const { report, output, code } = await chaos(t, '--driver', driver, '--kinds', 'full')
    if (report.skipped.length > 0) return t.skip(report.skipped[0])
    assert.equal(code, 0, output)
    assert.match(report.full!.refusedWith!, /./)
  })
}

const [driver] = built

test('a planted defect is found, and the logs are kept', { skip: !driver }, async (t) => {
  const flags = ['--driver', driver!, '--seconds', '4', '--kinds', 'kill', '--plant', 'lost']
  const { report, output, code, folder } = await chaos(t, ...flags)
  assert.equal(code, 1, output)
  assert.ok(report.lost > 0, output)
  assert.equal(report.violations.find(({ check }) => check === 'lost')!.entries.length > 0, true)
  const [kept] = readdirSync(folder).filter((name) => name.startsWith('holdfast-chaos'))
  assert.ok(existsSync(join(folder, kept!, 'logs', 'supervisor.log')), output)
})

for (const [defect, flags] of [
  ['early', ['--driver', 'sqlite', '--kinds', 'kill']],
  ['stale', ['--driver', 'sqlite', '--kinds', 'stop']],
] as const) {
  test(`a planted defect is found by its name: ${defect}`, { skip: !built.includes('sqlite') }, async (t) => {
    const { report, output, code } = await chaos(t, ...flags, '--seconds', '6', '--plant', defect)
    assert.equal(code, 1, output)
    assert.ok(report[defect] > 0, output)
  })
}

test('killed itself, it leaves no process behind, stopped ones included', { skip: !driver }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'chaos-test-'))
  const run = start(folder, '--driver', driver!, '--seconds', '20', '--kinds', 'stop', '--lease', '5000')
  // Its own lines come later: the processes are there, and one of them is stopped, when its log says so.
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

test('what cannot be is refused', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'chaos-test-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const wrong = [
    [],
    ['--driver', 'paper'],
    ['--driver', 'sqlite', '--kinds', 'flood'],
    ['--driver', 'sqlite', '--kinds', 'kill,server'],
    ['--driver', 'file', '--kinds', 'proxy'],
    ['--driver', 'redis', '--kinds', 'full'],
    ['--driver', 'sqlite', '--seconds', 'x'],
  ]
  for (const flags of wrong) {
    const { code, output } = await ended(start(folder, ...flags))
    assert.equal(code, 2)
    assert.match(output, /expected/)
  }
})

interface Outcome {
  readonly code: number | null
  readonly output: string
  readonly report: Report
  /** Where its directory is. */
  readonly folder: string
}

async function chaos(t: TestContext, ...flags: string[]): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'chaos-test-'))
  const json = join(folder, 'report.json')
  const { code, output } = await ended(start(folder, '--json', json, ...flags))
  assert.ok(existsSync(json), output)
  const report = JSON.parse(readFileSync(json, 'utf8')) as Report
  // A failure that was not asked for is kept, for whoever looks into it.
  t.after(() => {
    if (code === 0 || report.plant) rmSync(folder, { recursive: true })
  })
  return { code, output, report, folder }
}

function start(folder: string, ...flags: string[]): ChildProcess {
  const file = fileURLToPath(new URL('run.ts', import.meta.url))
  return spawn(process.execPath, ['--conditions=@holdfast/source', '--no-warnings', file, ...flags], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function ended(run: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = ''
  run.stdout!.on('data', (chunk) => (output += chunk))
  run.stderr!.on('data', (chunk) => (output += chunk))
  const code = await new Promise<number | null>((resolve) => run.on('close', resolve))
  return { code, output }
}

async function until(isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!isSo()) {
    assert.ok(performance.now() < deadline, 'it did not come to that within 30 s')
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
