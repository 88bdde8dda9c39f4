// npm run simulate: many seeds, each a whole run of processes on one storage in virtual time; then checks. See --help.

import { parseArgs } from 'node:util'
import { defects } from './defects/index.ts'
import type { Defect } from './defects/defect.ts'
import { findDefect, type Found } from './find-defect.ts'
import { hashOfHistory, runSeed, type SeedRun } from './run-seed.ts'
import { commandOf, shrink } from './shrink.ts'
import { storedSeeds } from './stored-seeds.ts'
import type { FaultKind } from './world/faults.ts'
import type { Kind } from './world/kinds.ts'
import type { Reduction } from './world/setup.ts'

const help = `\
npm run simulate -- --seeds <n> [options]

  --seeds <n>        number of seeds                                             default 1000
  --from <n>         the first one                                               default 1
  --minutes <n>      ends earlier, after so many minutes
  --replays <n>      every n-th seed runs twice, and the histories are compared  default 50
  --seed <n>         one seed; with --without, --kinds, --operations, --producers and --workers a part of it
  --trace            prints the history of that seed
  --defects [list]   plants each defect, and counts the seeds until it is found; --seeds is the most for one (2000)
  --defect <name>    plants one defect
  --help

Exit 0: clean. 1: a violation, a replay that differs, or a defect that was not found. 2: the run could not start.
`

/** After so many seeds with a violation, a run ends. */
const mostFailures = 20

const options = {
  seeds: { type: 'string' },
  from: { type: 'string', default: '1' },
  minutes: { type: 'string' },
  replays: { type: 'string', default: '50' },
  seed: { type: 'string' },
  trace: { type: 'boolean' },
  without: { type: 'string' },
  kinds: { type: 'string' },
  operations: { type: 'string' },
  producers: { type: 'string' },
  workers: { type: 'string' },
  defects: { type: 'boolean' },
  defect: { type: 'string' },
  help: { type: 'boolean' },
} as const

try {
  const { values, positionals } = parseArgs({ args: process.argv.slice(2), options, allowPositionals: true })
  const defect = values.defect === undefined ? undefined : defectNamed(values.defect)
  if (values.help) console.log(help)
  else if (values.defects) await findDefects(positionals, numberOf(values.seeds, 2_000), numberOf(values.from, 1))
  else if (values.seed !== undefined)
    await replay(Number(values.seed), reductionOf(values), defect, values.trace === true)
  else
    await many(
      numberOf(values.seeds, 1_000),
      numberOf(values.from, 1),
      numberOf(values.minutes, Infinity),
      numberOf(values.replays, 50),
      defect,
    )
} catch (error) {
  console.error(error)
  process.exitCode = 2
}

function numberOf(text: string | undefined, absent: number): number {
  const value = text === undefined ? absent : Number(text)
  if (Number.isNaN(value)) throw new Error(`expected a number, got "${text}"`)
  return value
}

function defectNamed(name: string): Defect {
  const found = defects.find((one) => one.name === name)
  if (!found) throw new Error(`--defect: expected one of ${defects.map((one) => one.name).join(', ')}, got "${name}"`)
  return found
}

function reductionOf(values: { [name: string]: string | boolean | undefined }): Reduction {
  const list = (name: string): string[] | undefined => (values[name] as string | undefined)?.split(',')
  const number = (name: string): number | undefined => (values[name] === undefined ? undefined : Number(values[name]))
  return {
    without: list('without') as FaultKind[] | undefined,
    kinds: list('kinds') as Kind[] | undefined,
    operations: number('operations'),
    producers: number('producers'),
    workers: number('workers'),
  }
}

async function many(
  seeds: number,
  from: number,
  minutes: number,
  replays: number,
  defect: Defect | undefined,
): Promise<void> {
  const startedAt = performance.now()
  /** Invariants whose violation was shown in full. */
  const shown = new Set<string>()
  let [ran, steps, entries, replayed, failed] = [0, 0, 0, 0, 0]
  const runOne = async (seed: number, reduction: Reduction): Promise<void> => {
    const run = await runSeed(seed, reduction, defect)
    ran++
    steps += run.steps
    entries += run.history.entries.length
    if (run.violations.length > 0) {
      failed++
      await report(run, defect, shown)
    }
    if (ran % replays !== 0) return
    replayed++
    const again = await runSeed(seed, reduction, defect)
    if (hashOfHistory(again.history) === hashOfHistory(run.history)) return
    failed++
    console.log(`seed ${seed}: the second run differs from the first`)
  }
  for (const { seed, found: _, ...reduction } of storedSeeds()) await runOne(seed, reduction)
  const stored = ran
  for (let index = 0; index < seeds; index++) {
    await runOne(from + index, {})
    const elapsedMs = performance.now() - startedAt
    if ((index + 1) % 1_000 === 0)
      console.log(`${index + 1} seeds, ${Math.round((1_000 * ran) / elapsedMs)} a second, ${failed} failed`)
    if (elapsedMs > minutes * 60_000 || failed >= mostFailures) break
  }
  const seconds = (performance.now() - startedAt) / 1_000
  console.log(
    `simulate seeds=${ran - stored} from=${from} stored=${stored} replayed=${replayed} steps=${steps} entries=${entries} ` +
      `seconds=${seconds.toFixed(0)} seedsPerSecond=${(ran / seconds).toFixed(0)} failed=${failed} verdict=${failed === 0 ? 'pass' : 'fail'}`,
  )
  if (failed > 0) process.exitCode = 1
}

async function replay(seed: number, reduction: Reduction, defect: Defect | undefined, trace: boolean): Promise<void> {
  const run = await runSeed(seed, reduction, defect)
  if (trace) for (const entry of run.history.entries) console.log(JSON.stringify(entry))
  console.log(JSON.stringify(run.setup))
  for (const { invariant, sentence } of run.violations) console.log(`${invariant}: ${sentence}`)
  console.log(
    `seed ${seed}: ${run.history.entries.length} entries, ${run.violations.length} violations, history ${hashOfHistory(run.history).slice(0, 16)}`,
  )
  if (run.violations.length > 0) process.exitCode = 1
}

/** Prints the violations of a seed; the first one of an invariant made as small as possible, and the command that replays it. */
async function report(run: SeedRun, defect: Defect | undefined, shown: Set<string>): Promise<void> {
  const invariants = [...new Set(run.violations.map(({ invariant }) => invariant))]
  console.log(`seed ${run.seed}: ${invariants.join(', ')}: ${run.violations[0]!.sentence}`)
  if (invariants.every((invariant) => shown.has(invariant))) return
  for (const invariant of invariants) shown.add(invariant)
  const { reduction, run: smallest } = await shrink(run, defect)
  for (const { invariant, sentence, entries } of smallest.violations.slice(0, 3)) {
    console.log(`  ${invariant}: ${sentence}`)
    for (const entry of entries) console.log(`    ${JSON.stringify(entry)}`)
  }
  console.log(`  ${commandOf(run.seed, reduction, defect)}`)
}

async function findDefects(names: readonly string[], most: number, from: number): Promise<void> {
  const chosen = names.length === 0 ? defects : names.map(defectNamed)
  const found: Found[] = []
  for (const defect of chosen) {
    const result = await findDefect(defect, from, most)
    found.push(result)
    const how =
      result.seeds === undefined
        ? `not found in ${most} seeds`
        : `found by ${result.invariant} after ${result.seeds} seeds`
    console.log(`${defect.name}: ${how}`)
  }
  const missed = found.filter(({ seeds }) => seeds === undefined)
  const slowest = found.toSorted((a, b) => (b.seeds ?? Infinity) - (a.seeds ?? Infinity)).slice(0, 2)
  console.log(
    `defects planted=${found.length} found=${found.length - missed.length} slowest=${slowest.map(({ defect, seeds }) => `${defect.name}:${seeds ?? 'none'}`).join(',')}`,
  )
  if (missed.length > 0) process.exitCode = 1
}
