// Runs one seed: the world, then every check.

import { createHash } from 'node:crypto'
import type { Defect } from './defects/defect.ts'
import type { History, Violation } from './history/entries.ts'
import { check } from './invariants/index.ts'
import { drawSetup, type Reduction, type Setup } from './world/setup.ts'
import { World } from './world/world.ts'

export interface SeedRun {
  readonly seed: number
  readonly setup: Setup
  readonly history: History
  /** Events of the virtual time. */
  readonly steps: number
  readonly violations: readonly Violation[]
}

export async function runSeed(seed: number, reduction: Reduction = {}, defect?: Defect): Promise<SeedRun> {
  const { stackTraceLimit } = Error
  // Lost connections make many errors, and no check reads a stack.
  Error.stackTraceLimit = 0
  try {
    return await runWorld(seed, reduction, defect)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

async function runWorld(seed: number, reduction: Reduction, defect: Defect | undefined): Promise<SeedRun> {
  const setup = drawSetup(seed, reduction)
  const world = new World(setup, defect)
  await world.run()
  const { history } = world
  return { seed, setup, history, steps: world.timeline.steps, violations: check(history) }
}

/** A hash of every entry of the history, byte by byte. */
export function hashOfHistory({ entries }: History): string {
  const hash = createHash('sha256')
  for (const entry of entries) hash.update(`${JSON.stringify(entry)}\n`)
  return hash.digest('hex')
}
