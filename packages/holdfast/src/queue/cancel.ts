// A call to cancel: its options and the caller's answer.

import type { CancelVerdict } from '../storage/storage.ts'

export interface CancelOptions {
  /** Aborts the signal of a running job, wherever it runs. Without it, a running job is left alone. @default false */
  readonly abort?: boolean | undefined
}

/**
 * Answer of cancel(). `cancelled`: the job never starts. `processing`: it runs; with `aborting` its signal aborts. `completed`,
 * `failed`: it has ended. `not_found`: no record of this id exists.
 */
export type CancelResult =
  | { status: 'cancelled' | 'not_found' | 'completed' | 'failed' }
  | { status: 'processing'; aborting?: true }

export function cancelResult({ verdict }: CancelVerdict): CancelResult {
  return verdict === 'cancelling' ? { status: 'processing', aborting: true } : { status: verdict }
}
