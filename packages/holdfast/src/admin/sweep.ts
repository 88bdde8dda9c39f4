// admin.sweep(): deletes what has expired, without waiting for a worker to do it.

import { engineDefaults } from '../engine/defaults.ts'
import { publishToProcess } from '../engine/events.ts'
import type { GuardedStorage } from '../engine/guard.ts'
import { publishEnded } from '../engine/work/outcome-events.ts'

/** What a sweep did. */
export interface SweepResult {
  /** Records that were deleted. */
  readonly jobs: number
  /** Waiting jobs that were ended, because their deadline was over. */
  readonly ended: number
  /** Deduplication keys that were deleted. */
  readonly marks: number
  /** Key-value entries that were deleted. */
  readonly entries: number
}

/** In batches, until nothing is left. */
export async function sweepAll(storage: Pick<GuardedStorage, 'sweep'>): Promise<SweepResult> {
  let result: SweepResult = { jobs: 0, ended: 0, marks: 0, entries: 0 }
  for (;;) {
    const { jobs, ended, marks, entries, more } = await storage.sweep({ limit: engineDefaults.sweepLimit })
    publishEnded(ended, new Map(), publishToProcess)
    result = {
      jobs: result.jobs + jobs,
      ended: result.ended + ended.length,
      marks: result.marks + marks,
      entries: result.entries + entries,
    }
    if (!more) return result
  }
}
