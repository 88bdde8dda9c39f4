// Runs the command in its own folder, for its tests.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Report } from './report.ts'

interface Outcome {
  readonly code: number | null
  readonly output: string
  readonly report: Report
  /** The parent of its directory. */
  readonly folder: string
}

/** Runs the command to its end. */
export async function chaos(t: TestContext, ...flags: string[]): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'chaos-test-'))
  // A server may have to run as another user.
  chmodSync(folder, 0o755)
  const json = join(folder, 'report.json')
  const { code, output } = await ended(start(folder, '--json', json, ...flags))
  assert.ok(existsSync(json), output)
  const report = JSON.parse(readFileSync(json, 'utf8')) as Report
  // The directory of an unexpected failure is kept for inspection.
  t.after(() => {
    if (report.violations.length === 0 || report.plant) rmSync(folder, { recursive: true, force: true })
  })
  return { code, output, report, folder }
}

/**
 * On a slow machine too little may happen in a few seconds: then the run is repeated, longer. A run
 * with a violation is not repeated, unless a defect was planted, which must be found: mostly that takes one kill.
 */
export async function chaosUntil(
  t: TestContext,
  isEnough: (report: Report) => boolean,
  ...flags: string[]
): Promise<Outcome> {
  let outcome: Outcome
  // The first is mostly enough beside other tests: one that is not costs more than a longer one.
  for (const seconds of flags.includes('--plant') ? [6, 12, 24, 50] : [8, 16, 24, 50]) {
    outcome = await chaos(t, '--seconds', String(seconds), ...flags)
    const { plant, violations, shortfalls } = outcome.report
    if (plant === undefined && violations.length > 0) return outcome
    if (isEnough(outcome.report) && (plant !== undefined || shortfalls.length === 0)) return outcome
    t.diagnostic(`too few events in ${seconds} s`)
  }
  assert.fail(outcome!.output)
}

export function start(folder: string, ...flags: string[]): ChildProcess {
  const file = fileURLToPath(new URL('run.ts', import.meta.url))
  return spawn(process.execPath, ['--conditions=@holdfast/source', '--no-warnings', file, ...flags], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

export async function ended(run: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = ''
  run.stdout!.on('data', (chunk) => (output += chunk))
  run.stderr!.on('data', (chunk) => (output += chunk))
  const code = await new Promise<number | null>((resolve) => run.on('close', resolve))
  return { code, output }
}
