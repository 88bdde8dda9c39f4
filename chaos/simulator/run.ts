// npm run simulate: many seeds, each a whole run of processes on one storage in virtual time; then checks. See --help.

import { parseArgs } from 'node:util'
import { defects } from './defects/index.ts'
import type { Defect } from './defects/defect.ts'
import { findDefect, type Found } from './find-defect.ts'
import { type ManySeeds, runInProcesses, runMany } from './many-seeds.ts'
import { hashOfHistory, runSeed } from './run-seed.ts'
import type { FaultKind } from './world/faults.ts'
import type { Kind } from './world/kinds.ts'
import type { Reduction } from './world/setup.ts'

const help = `\
npm run simulate -- --seeds <n> [options]

  --seeds <n>        number of seeds                                             default 1000
  --from <n>         the first one                                               default 1
  --minutes <n>      ends earlier, after so many minutes
  --replays <n>      every n-th seed runs twice, and the histories are compared  default 50
  --processes <n>    splits the seeds among so many processes                    default 1
  --new              leaves out the stored seeds, which come first
  --seed <n>         one seed; with --without, --kinds, --operations, --producers and --workers a part of it
  --trace            prints the history of that seed
  --defects [list]   plants each defect, and counts the seeds until it is found; --seeds is the most for one (2000)
  --defect <name>    plants one defect
  --help

Exit 0: clean. 1: a violation, a replay that differs, or a defect that was not found. 2: the run could not start.
`

const options = {
  seeds: { type: 'string' },
  from: { type: 'string', default: '1' },
  minutes: { type: 'string' },
  replays: { type: 'string', default: '50' },
  processes: { type: 'string', default: '1' },
  new: { type: 'boolean' },
  // One of several processes: it sends its totals, and prints none.
  part: { type: 'boolean' },
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
  else {
    const many: ManySeeds = {
      seeds: numberOf(values.seeds, 1_000),
      from: numberOf(values.from, 1),
      minutes: numberOf(values.minutes, Infinity),
      replays: numberOf(values.replays, 50),
      defect,
      stored: values.new !== true,
    }
    if (values.part) process.send!(await runMany(many))
    else await runAndPrint(many, numberOf(values.processes, 1))
  }
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

async function runAndPrint(many: ManySeeds, processes: number): Promise<void> {
  const startedAt = performance.now()
  const { stored, seeds, replayed, steps, entries, failed } =
    processes === 1 ? await runMany(many) : await runInProcesses(processes, new URL(import.meta.url), many)
  const seconds = (performance.now() - startedAt) / 1_000
  console.log(
    `simulate seeds=${seeds} from=${many.from} stored=${stored} replayed=${replayed} steps=${steps} entries=${entries} ` +
      `seconds=${seconds.toFixed(0)} seedsPerSecond=${((stored + seeds) / seconds).toFixed(0)} failed=${failed} verdict=${failed === 0 ? 'pass' : 'fail'}`,
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
