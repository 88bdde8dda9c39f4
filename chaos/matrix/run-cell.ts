// Runs cells of the fault matrix. The cells of the rig share one run per driver; each other cell has its own.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runChaos } from '../chaos.ts'
import { driverNamed } from '../drivers.ts'
import type { Entry } from '../entries.ts'
import { parseFlags } from '../flags.ts'
import type { Cell } from './cells.ts'
import { groupsOf } from './groups.ts'
import { rigFaults } from './rig-faults.ts'
import { scenarios } from './scenarios/index.ts'
import type { ScenarioResult } from './scenarios/scenario.ts'

export interface CellResult extends Omit<ScenarioResult, 'skipped'> {
  readonly cell: string
  readonly by: Cell['way']['by']
  readonly seed: number
  readonly runs: number
  /** The reason why it did not run. */
  readonly skipped?: string
}

export interface MatrixOptions {
  readonly seed: number
  readonly seconds: number
  print(line: string): void
}

export const nameOf = ({ fault, driver }: Cell): string => `${fault}/${driver}`

export async function runCells(cells: readonly Cell[], options: MatrixOptions): Promise<CellResult[]> {
  const results: CellResult[] = []
  for (const group of groupsOf(cells)) {
    const [{ way, driver }] = group as [Cell]
    const run =
      way.by === 'rig' ? () => runRig(driver, group, options) : async () => [await runAlone(group[0]!, options)]
    results.push(...(await attempt(group, run, options)))
  }
  return results
}

/** What a cell throws is a violation of that cell, and the others go on. */
async function attempt(
  cells: readonly Cell[],
  run: () => Promise<CellResult[]>,
  { seed, print }: MatrixOptions,
): Promise<CellResult[]> {
  print(`running ${cells.map(nameOf).join(', ')}`)
  try {
    return await run()
  } catch (error) {
    const violations = [`it could not run: ${(error as Error).message}`]
    return cells.map((cell) => ({ cell: nameOf(cell), by: cell.way.by, seed, runs: 0, faults: 0, violations }))
  }
}

/** All kinds of faults at the same time; then kill points alone, which comes to all of them. */
async function runRig(driver: string, own: readonly Cell[], options: MatrixOptions): Promise<CellResult[]> {
  const all = driverNamed(driver).kinds.filter((kind) => kind !== 'full')
  const runs = [await runOnRig(driver, all, options), await runOnRig(driver, ['point'], options)]
  return own.map((cell) => {
    const isOne = rigFaults[cell.fault as keyof typeof rigFaults] as (typeof rigFaults)['K7']
    const faults = runs.flatMap(({ entries }) => entries).filter(isOne).length
    const violations = runs.flatMap((run) => run.violations)
    return { cell: nameOf(cell), by: 'rig', seed: options.seed, runs: runs.length, faults, violations }
  })
}

interface RigRun {
  readonly entries: readonly Entry[]
  readonly violations: readonly string[]
}

async function runOnRig(driver: string, kinds: readonly string[], options: MatrixOptions): Promise<RigRun> {
  const { seconds, seed, print } = options
  const args = ['--driver', driver, '--seconds', String(seconds), '--seed', String(seed), '--kinds', kinds.join(',')]
  const flags = parseFlags(args)!
  return inDirectory(`holdfast-matrix-${driver}-`, async (directory) => {
    const { history, violations } = await runChaos(flags, directory, (line, isPassing) => isPassing || print(line))
    return { entries: history.entries, violations: violations.map(({ check, sentence }) => `${check}: ${sentence}`) }
  })
}

async function runAlone(cell: Cell, options: MatrixOptions): Promise<CellResult> {
  const { way, driver } = cell
  const { seed, seconds } = options
  const head = { cell: nameOf(cell), by: way.by, seed }
  if (way.by === 'nothing') return { ...head, runs: 0, faults: 0, violations: [], skipped: way.reason }
  if (way.by === 'tests') return { ...head, ...(await runTests(way.files, way.names, way.all === true)) }
  if (way.by !== 'scenario') throw new Error(`${nameOf(cell)}: no way to run it alone`)
  const run = await scenarios[way.scenario]()
  return inDirectory(`holdfast-matrix-${nameOf(cell).replace('/', '-')}-`, async (directory) => {
    const result = await run({ driver, seed, seconds, directory })
    return { ...head, runs: result.skipped === undefined ? 1 : 0, ...result }
  })
}

async function runTests(files: readonly string[], names: string, isAll: boolean) {
  const script = fileURLToPath(new URL('../../scripts/test.ts', import.meta.url))
  const child = spawn(process.execPath, [script, ...files, `--test-name-pattern=${names}`], {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
    env: { ...process.env, ...(isAll && { HOLDFAST_TEST_ALL: '1' }) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  const code = await new Promise((resolve) => child.on('close', resolve))
  return resultOfTests(output, Number(code))
}

/** @param output of Node's spec reporter */
export function resultOfTests(output: string, code: number): Pick<CellResult, 'runs' | 'faults' | 'violations'> {
  const count = (what: string): number => Number(new RegExp(`^ℹ ${what} (\\d+)$`, 'm').exec(output)?.[1] ?? 0)
  const [pass, fail] = [count('pass'), count('fail') + count('cancelled')]
  const failed = [...output.matchAll(/^\s*✖ (.+) \([\d.]+ms\)$/gm)].map(([, name]) => `failed: ${name}`)
  const violations = [...new Set(failed)]
  if (violations.length === 0 && (fail > 0 || code !== 0)) violations.push(`tests ended with ${code}, ${fail} failed`)
  return { runs: pass + fail, faults: pass + fail, violations }
}

async function inDirectory<T extends { readonly violations: readonly string[] }>(
  prefix: string,
  run: (directory: string) => Promise<T>,
): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), prefix))
  const result = await run(directory)
  // What failed is kept.
  if (result.violations.length === 0) rmSync(directory, { recursive: true, force: true })
  return result
}
