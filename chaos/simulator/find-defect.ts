// Looks for a planted defect, seed after seed.

import type { Defect } from './defects/defect.ts'
import { runSeed } from './run-seed.ts'

export interface Found {
  readonly defect: Defect
  /** Number of seeds that it took. Undefined: it was not found. */
  readonly seeds: number | undefined
  readonly seed?: number
  readonly invariant?: string
}

/** @param from the first seed @param most seeds */
export async function findDefect(defect: Defect, from: number, most: number): Promise<Found> {
  for (let index = 0; index < most; index++) {
    const seed = from + index
    const { violations } = await runSeed(seed, {}, defect)
    const hit = violations.find(({ invariant }) => defect.breaks.includes(invariant))
    if (hit) return { defect, seeds: index + 1, seed, invariant: hit.invariant }
  }
  return { defect, seeds: undefined }
}
