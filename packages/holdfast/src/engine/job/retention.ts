// How long the record of a job is kept after its end, and how many records of a type are kept.

import { yearMs } from '../../option-checks.ts'
import { standardRetention } from '../../storage/retention.ts'
import type { KeepCount, Retention } from '../../storage/storage.ts'

/** How long a Queue keeps ended jobs, unless it is told. */
export const queueRetention = Object.freeze(standardRetention(3_600_000))

/** How long records are kept, by end state. A state that is not named keeps its default. */
export interface RetentionOptions {
  /** Age in ms. 0: deleted at its end, and its id is free. Infinity: kept. */
  readonly completed?: { readonly ageMs: number } | undefined
  /** As `completed`. */
  readonly failed?: { readonly ageMs: number } | undefined
  /** As `completed`. */
  readonly cancelled?: { readonly ageMs: number } | undefined
}

/** How long records of a type are kept, and how many, by end state. The bound that is reached first counts. */
export interface TypeRetentionOptions {
  readonly completed?: KeptRecords | undefined
  /** As `completed`. */
  readonly failed?: KeptRecords | undefined
  /** As `completed`. */
  readonly cancelled?: KeptRecords | undefined
}

/**
 * `ageMs`: age in ms; 0: deleted at its end, and its id is free; Infinity: kept, or with a count 100 years; without it, the default of the end
 * state. `count`: number of records; workers of the type delete older ones with their sweeps, every 5 to 60 s. At least one of the two.
 */
export type KeptRecords =
  | { readonly ageMs: number; readonly count?: number | undefined }
  | { readonly ageMs?: number | undefined; readonly count: number }

/** How many ended chains of a type are kept, by end state. Their ages are set where they are started. */
export interface RetentionCounts {
  readonly completed?: { readonly count: number } | undefined
  /** As `completed`. */
  readonly failed?: { readonly count: number } | undefined
  /** As `completed`. */
  readonly cancelled?: { readonly count: number } | undefined
}

/** Resolves the given ages over the defaults. */
export function retainedBy(given: TypeRetentionOptions | undefined, defaults: Retention): Retention {
  if (given === undefined) return defaults
  return {
    completedMs: ageOf(given.completed, defaults.completedMs),
    failedMs: ageOf(given.failed, defaults.failedMs),
    cancelledMs: ageOf(given.cancelled, defaults.cancelledMs),
  }
}

/** A sweep finds records by their expiry: one that is counted has one. */
function ageOf(kept: KeptRecords | undefined, defaultMs: number): number {
  const ageMs = kept?.ageMs ?? defaultMs
  return ageMs === Infinity && kept?.count !== undefined ? 100 * yearMs : ageMs
}

const ends = ['completed', 'failed', 'cancelled'] as const

/** The counts of a type, as a sweep applies them. */
export function keptCounts(type: string, given: TypeRetentionOptions | undefined): readonly KeepCount[] {
  return ends.flatMap((state) => {
    const count = given?.[state]?.count
    return count === undefined ? [] : [{ type, state, count }]
  })
}
