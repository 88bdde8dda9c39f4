// Runs many seeds one after the other, in this process or in several at once. Every violation is printed.

import { fork } from 'node:child_process'
import type { Defect } from './defects/defect.ts'
import { hashOfHistory, runSeed, type SeedRun } from './run-seed.ts'
import { commandOf, shrink } from './shrink.ts'
import { storedSeeds } from './stored-seeds.ts'
import type { Reduction } from './world/setup.ts'

export interface ManySeeds {
  readonly seeds: number
  /** The first one. */
  readonly from: number
  readonly minutes: number
  /** Every n-th seed runs twice. */
  readonly replays: number
  readonly defect: Defect | undefined
  /** Whether the stored seeds run first. */
  readonly stored: boolean
}

export interface Totals {
  readonly stored: number
  readonly seeds: number
  readonly replayed: number
  readonly steps: number
  readonly entries: number
  readonly failed: number
}

/** After so many seeds with a violation, a run ends. */
const mostFailures = 20

export async function runMany({ seeds, from, minutes, replays, defect, stored }: ManySeeds): Promise<Totals> {
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
  const known = stored ? storedSeeds() : []
  for (const { seed, found: _, ...reduction } of known) await runOne(seed, reduction)
  for (let index = 0; index < seeds; index++) {
    await runOne(from + index, {})
    const elapsedMs = performance.now() - startedAt
    if ((index + 1) % 1_000 === 0)
      console.log(
        `seeds ${from} … ${from + index}: ${Math.round((1_000 * ran) / elapsedMs)} a second, ${failed} failed`,
      )
    if (elapsedMs > minutes * 60_000 || failed >= mostFailures) break
  }
  return { stored: known.length, seeds: ran - known.length, replayed, steps, entries, failed }
}

/** Splits the seeds among processes. @param script a program that takes `--part` and the flags below, and sends its totals */
export async function runInProcesses(count: number, script: URL, given: ManySeeds): Promise<Totals> {
  const each = Math.ceil(given.seeds / count)
  const parts = Array.from({ length: count }, (_, index) => {
    const from = given.from + index * each
    const seeds = Math.max(0, Math.min(each, given.from + given.seeds - from))
    return runPart(script, { ...given, from, seeds, stored: given.stored && index === 0 })
  })
  const sum = (field: keyof Totals, all: readonly Totals[]): number => all.reduce((total, one) => total + one[field], 0)
  const all = await Promise.all(parts)
  return {
    stored: sum('stored', all),
    seeds: sum('seeds', all),
    replayed: sum('replayed', all),
    steps: sum('steps', all),
    entries: sum('entries', all),
    failed: sum('failed', all),
  }
}

function runPart(script: URL, { seeds, from, minutes, replays, defect, stored }: ManySeeds): Promise<Totals> {
  const flags = [
    `--seeds=${seeds}`,
    `--from=${from}`,
    `--replays=${replays}`,
    ...(minutes === Infinity ? [] : [`--minutes=${minutes}`]),
    ...(defect ? [`--defect=${defect.name}`] : []),
    ...(stored ? [] : ['--new']),
  ]
  return new Promise((resolve, reject) => {
    const child = fork(script, ['--part', ...flags])
    let totals: Totals | undefined
    child.on('message', (message) => (totals = message as Totals))
    child.on('error', reject)
    child.on('exit', (code, signal) =>
      totals ? resolve(totals) : reject(new Error(`seeds from ${from}: the process ended with ${signal ?? code}`)),
    )
  })
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
