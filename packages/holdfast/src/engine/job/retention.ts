// How long a job of a Queue is kept after its end.

import type { Retention } from '../../storage/storage.ts'

/** By end; an end that is not named is kept as long as `resultTTL` says. Swept by age alone: a `count` is refused. */
export interface QueueRetention {
  /** In ms. 0: gone at its end, and its id is free. Infinity: kept. */
  readonly completed?: { readonly ageMs: number }
  readonly failed?: { readonly ageMs: number }
  readonly cancelled?: { readonly ageMs: number }
}

/** What is given, over what rules otherwise. */
export function retainedBy(given: QueueRetention | undefined, otherwise: Retention): Retention {
  if (given === undefined) return otherwise
  return {
    completedMs: given.completed?.ageMs ?? otherwise.completedMs,
    failedMs: given.failed?.ageMs ?? otherwise.failedMs,
    cancelledMs: given.cancelled?.ageMs ?? otherwise.cancelledMs,
  }
}
