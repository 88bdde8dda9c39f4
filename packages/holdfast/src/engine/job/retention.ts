// How long a job is kept after its end.

import type { Retention } from '../../storage/storage.ts'

/** By end state; one that is not named keeps its default. Records are deleted by age alone: a `count` is refused. */
export interface RetentionOptions {
  /** In ms. 0: deleted at its end, and its id is free. Infinity: kept. */
  readonly completed?: { readonly ageMs: number } | undefined
  readonly failed?: { readonly ageMs: number } | undefined
  readonly cancelled?: { readonly ageMs: number } | undefined
}

/** The given ages, over those that hold otherwise. */
export function retainedBy(given: RetentionOptions | undefined, otherwise: Retention): Retention {
  if (given === undefined) return otherwise
  return {
    completedMs: given.completed?.ageMs ?? otherwise.completedMs,
    failedMs: given.failed?.ageMs ?? otherwise.failedMs,
    cancelledMs: given.cancelled?.ageMs ?? otherwise.cancelledMs,
  }
}
