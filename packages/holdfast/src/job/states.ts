// The life of a job as a table. Everything else that is said about states follows from it.

import type { JobState } from '../storage/storage.ts'

/**
 * The states that one move can lead to, from each.
 *
 * add → scheduled | queued | blocked (or failed, by a blocker that failed before)
 * scheduled, queued, failing differ in why they wait; all three are claimable once due, and no process moves them.
 */
const stateTable: Readonly<
  Record<JobState, { readonly waits: boolean; readonly ends: boolean; readonly to: readonly JobState[] }>
> = {
  scheduled: { waits: true, ends: false, to: ['queued', 'scheduled', 'processing', 'failed', 'cancelled'] },
  queued: { waits: true, ends: false, to: ['scheduled', 'processing', 'failed', 'cancelled'] },
  failing: { waits: true, ends: false, to: ['failing', 'processing', 'failed', 'cancelled'] },
  // Completed without a worker, or unblocked, or failed with a blocker.
  blocked: { waits: false, ends: false, to: ['queued', 'scheduled', 'completed', 'failed', 'cancelled'] },
  processing: {
    waits: false,
    ends: false,
    // queued: released, or its lease was lost. scheduled: snoozed. failing: a retry.
    to: ['queued', 'scheduled', 'failing', 'completed', 'failed', 'cancelled'],
  },
  completed: { waits: false, ends: true, to: [] },
  // revive
  failed: { waits: false, ends: true, to: ['queued', 'scheduled', 'blocked'] },
  cancelled: { waits: false, ends: true, to: ['queued', 'scheduled', 'blocked'] },
}

export type TerminalState = 'completed' | 'failed' | 'cancelled'

export function isTerminal(state: JobState): state is TerminalState {
  return stateTable[state].ends
}

/** Waits for its time, and for nothing else. */
export function isWaiting(state: JobState): boolean {
  return stateTable[state].waits
}
