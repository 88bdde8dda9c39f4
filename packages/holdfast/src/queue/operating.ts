// Options of the operating methods of a Queue.

import type { BulkOptions } from '../engine/operate/bulk-action.ts'

/** Options of pause() and resume(). */
export interface QueuePauseOptions {
  /** Key of a group. @default the whole queue */
  readonly group?: string | undefined
  /** Name of the operator, which counts() shows. @default none */
  readonly by?: string | undefined
}

/** Options of drainWaiting(). */
export interface DrainWaitingOptions extends BulkOptions {
  /** Deletes the records, too. Without it they stay as cancelled, for their retention. @default false */
  readonly remove?: boolean | undefined
}
