// The states of a job as a table. A test compares random histories with it: they make these changes, and no other.

import type { JobState } from '../../storage.ts'

/**
 * The states that a job can change to, from each state. It begins scheduled, queued or blocked; or failed, if a blocker had
 * failed before.
 *
 * Scheduled, queued and failing jobs differ in why they wait. All three can be claimed once due, and no process moves them: a
 * scheduled job reads as queued from its runAt on. Without a worker, a job may be completed or failed in any live state.
 */
export const stateTable: Readonly<
  Record<JobState, { readonly waits: boolean; readonly ends: boolean; readonly to: readonly JobState[] }>
> = {
  // queued: its runAt has come, or was changed.
  scheduled: { waits: true, ends: false, to: ['queued', 'completed', 'failed', 'cancelled'] },
  queued: { waits: true, ends: false, to: ['scheduled', 'processing', 'completed', 'failed', 'cancelled'] },
  failing: { waits: true, ends: false, to: ['processing', 'completed', 'failed', 'cancelled'] },
  // queued, scheduled: the last blocker completed, or ended. failed: one of them failed. processing: a claim ended the last blocker,
  // and then took the job.
  blocked: { waits: false, ends: false, to: ['queued', 'scheduled', 'processing', 'completed', 'failed', 'cancelled'] },
  processing: {
    waits: false,
    ends: false,
    // queued: released, or its lease was lost. scheduled: snoozed. failing: a retry.
    to: ['queued', 'scheduled', 'failing', 'completed', 'failed', 'cancelled'],
  },
  completed: { waits: false, ends: true, to: [] },
  // From here by revive().
  failed: { waits: false, ends: true, to: ['queued', 'scheduled', 'blocked'] },
  cancelled: { waits: false, ends: true, to: ['queued', 'scheduled', 'blocked'] },
}

export type TerminalState = 'completed' | 'failed' | 'cancelled'

export function isTerminal(state: JobState): state is TerminalState {
  // Not by the table: this is asked several times for every job, and a comparison costs a fraction of a look-up.
  return state === 'completed' || state === 'failed' || state === 'cancelled'
}

/** True of a job that waits for its runAt, and for nothing else. */
export function isWaiting(state: JobState): boolean {
  return stateTable[state].waits
}
