// How long the record of a job is kept after its end.

import type { Retention } from '../../storage/storage.ts'

/** How long records are kept, by end state. A state that is not named keeps its default. Only an age is supported: `count` is refused. */
export interface RetentionOptions {
  /** Age in ms. 0: deleted at its end, and its id is free. Infinity: kept. */
  readonly completed?: { readonly ageMs: number } | undefined
  /** As `completed`. */
  readonly failed?: { readonly ageMs: number } | undefined
  /** As `completed`. */
  readonly cancelled?: { readonly ageMs: number } | undefined
}

/** Resolves the given ages over the defaults. */
export function retainedBy(given: RetentionOptions | undefined, defaults: Retention): Retention {
  if (given === undefined) return defaults
  return {
    completedMs: given.completed?.ageMs ?? defaults.completedMs,
    failedMs: given.failed?.ageMs ?? defaults.failedMs,
    cancelledMs: given.cancelled?.ageMs ?? defaults.cancelledMs,
  }
}
