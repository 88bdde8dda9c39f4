// What a StorageMessageQueue is made with, and what it makes of it.

import { type Clock, systemClock } from '../../clock.ts'
import type { Logger } from '../../engine/emit.ts'
import { resolveOptions } from '../../resolve-options.ts'
import { type Duration, toMs } from '../duration.ts'
import { storageQueueOptions } from '../options.ts'
import { exponentialBackoff, type RetryPolicy } from '../retry.ts'

export interface StorageMessageQueueOptions {
  /** The job type: queues of different names share nothing. @default 'default' */
  readonly name?: string
  /** Messages at a time, per listen(). @default 10 */
  readonly concurrency?: number
  /** How long a dead worker's message stays its own; renewed while the handler runs. @default 30_000 */
  readonly leaseMs?: number
  /** The net under the hints. @default 1 s */
  readonly pollInterval?: Duration
  /** For handlers to end after an abort; then their messages are released. @default 30 s */
  readonly grace?: Duration
  /** Whether callers should leave retries to this queue. A handler that throws is run again in any case. @default true */
  readonly nativeRetrial?: boolean
  /** @default exponentialBackoff() */
  readonly retryPolicy?: RetryPolicy
  /** From the due time. @default 1 h */
  readonly deduplicationTtl?: Duration
  /** As JSON. @default 16_777_216 */
  readonly maxMessageBytes?: number
  /**
   * The identity of a message. When a handler enqueues a message of the identity and ordering key of the one in hand, that
   * one is replaced: it keeps its place, and no attempt is spent. @default none
   */
  readonly replaces?: (message: unknown) => string | undefined
  /** Told of storage failures while listening. @default NODE_DEBUG=holdfast */
  readonly logger?: Logger
  /** @default the system's */
  readonly clock?: Clock
}

/** Complete: nothing inside asks for a default. @throws TypeError INVALID_ARGUMENT */
export function resolveStorageQueueOptions(options: StorageMessageQueueOptions | undefined) {
  const resolved = resolveOptions('StorageMessageQueue', options, storageQueueOptions)
  const { pollInterval, grace, deduplicationTtl, retryPolicy, clock } = resolved
  return {
    ...resolved,
    clock: clock ?? systemClock,
    retryPolicy: retryPolicy ?? exponentialBackoff({ clock }),
    pollMs: toMs(pollInterval),
    graceMs: toMs(grace),
    deduplicationTtlMs: toMs(deduplicationTtl),
  }
}
