// What the operations on single jobs answer: verdicts of the storage in the words of the faces.

import type { CancelVerdict, RemoveVerdict, ReviveVerdict } from '../../storage/storage.ts'

/**
 * - `retried`: the job is due now, and its attempts are counted anew.
 * - `not_retryable`: it waits, runs or has completed; or a blocker that it needs is gone.
 * - `conflict`: another job has taken its deduplication key since.
 */
export interface RetryResult {
  readonly status: 'retried' | 'not_retryable' | 'conflict' | 'not_found'
}

export function retryResult({ verdict }: ReviveVerdict): RetryResult {
  if (verdict === 'revived') return { status: 'retried' }
  return { status: verdict === 'conflict' || verdict === 'not_found' ? verdict : 'not_retryable' }
}

/** `not_terminal`: the job, or its chain, has not ended: cancel it first. `referenced`: unfinished jobs wait for its chain. */
export interface RemoveResult {
  readonly status: 'removed' | 'not_terminal' | 'referenced' | 'not_found'
}

export function removeResult({ verdict }: RemoveVerdict): RemoveResult {
  const isShown = verdict === 'removed' || verdict === 'not_terminal' || verdict === 'referenced'
  return { status: isShown ? verdict : 'not_found' }
}

/** `processing`: the job runs and was left alone. `cancelling`: its handler was asked to stop. */
export type OperatorCancelResult = { readonly status: CancelVerdict['verdict'] }
