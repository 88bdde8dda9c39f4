// cancel, as Queue, tasks and operators call it: its options, and the caller's answer.

import { integer, isBoolean, text } from '../../option-checks.ts'
import type { Table } from '../../resolve-options.ts'
import type { CancelVerdict } from '../../storage/storage.ts'

/** Options of a cancel by an operator, of one job or of many. Without `abort` and `force`, a running job is left alone. */
export interface OperatorCancelOptions {
  /**
   * Aborts the signal of a running job, in whatever process. If its handler throws then, the job ends as cancelled; if it still
   * succeeds, as completed. @default false
   */
  readonly abort?: boolean | undefined
  /** Ends a running job as cancelled at once, whatever its handler does: what that returns is dropped. Implies `abort`. @default false */
  readonly force?: boolean | undefined
  /**
   * Why, in 1 … 1,024 bytes; of createAdmin() up to 4,096. It is kept in the record, and given to the handler's signal and to callers
   * that wait for the job.
   */
  readonly reason?: string | undefined
}

/** Options of cancel(). */
export interface CancelOptions extends OperatorCancelOptions {
  /** With `abort`: waits until the running job has ended, at most this time in ms. @default 0 */
  readonly waitMs?: number | undefined
}

export const operatorCancelOptions = {
  abort: { default: false, check: isBoolean },
  force: { default: false, check: isBoolean },
  reason: { check: text(4_096) },
} as const satisfies Table

export const cancelOptions = {
  ...operatorCancelOptions,
  reason: { check: text(1_024) },
  waitMs: { default: 0, check: integer(0) },
} as const satisfies Table

/**
 * Answer of cancel(). `cancelled`: the job does not run, or no longer. `processing`: it runs; with `aborting` its signal aborts.
 * `completed`, `failed`: it has ended. `not_found`: no record of this id exists. After `waitMs`, the state that the job reached.
 */
export type CancelResult =
  | { readonly status: 'cancelled' | 'not_found' | 'completed' | 'failed' }
  | { readonly status: 'processing'; readonly aborting?: true | undefined }

export function cancelResult({ verdict }: CancelVerdict): CancelResult {
  return verdict === 'cancelling' ? { status: 'processing', aborting: true } : { status: verdict }
}
