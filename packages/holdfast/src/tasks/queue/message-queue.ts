// The queue contract of tasks. Queues of other libraries fit it too, by their capability flags.

import type { Directive } from '../../engine/job/directives.ts'
import { printable, usageError } from '../../errors.ts'
import type { JobState } from '../../storage/storage.ts'
import type { Duration } from '../duration.ts'

/** Options that every queue understands. */
export interface MessageQueueEnqueueOptions {
  /** Not before this time has passed. Alias of delayMs, which foreign queues do not know. */
  readonly delay?: Duration | undefined
  /** Messages of one key run one at a time, in the order of their enqueues. */
  readonly orderingKey?: string | undefined
  /**
   * At most one message per key and window. A queue with `nativeDeduplication` decides this in one move with the message.
   *
   * Over any other queue tasks use a conditional write of their key-value store, and that is best effort:
   *
   * - (a) Marker and message are two writes. A process that dies between them suppresses the key for the TTL, with nothing
   *   enqueued.
   * - (b) A send that failed ambiguously gives the key back: a duplicate is possible.
   * - (c) If the store's conditional write is not truly atomic, two concurrent enqueuers can both miss the key and both enqueue.
   * - (d) The fallback `open` may mean no deduplication at all.
   * - (e) It limits enqueues, not runs: delivery is at least once.
   * - (f) A foreign queue has its own scope and window, and need not keep order across retries.
   *
   * Strict deduplication needs a queue with `nativeDeduplication`, such as StorageMessageQueue.
   */
  readonly deduplicationKey?: string | undefined
}

/** When a message becomes due: at most one of the two. */
export interface DueOptions {
  /** Delay from the storage's now, in ms. */
  readonly delayMs?: number | undefined
  /** Instant, as epoch ms or a Date. One in the past is due at once. */
  readonly runAt?: number | Date | undefined
}

/** Options of the job underneath, for queues that are `extended`. */
export interface JobOptions {
  /** Integer -100 … 100, greater first. @default 0 */
  readonly priority?: number | undefined
}

/** Options that only an `extended` queue understands. */
export interface ExtendedEnqueueOptions extends MessageQueueEnqueueOptions, DueOptions {
  /** Id of the message. @default a UUIDv7 */
  readonly id?: string | undefined
  /** Ids of the messages of enqueueMany, one each. */
  readonly ids?: readonly string[] | undefined
  /** Keys of different scopes are independent. @default '' */
  readonly deduplicationScope?: string | undefined
  /** How long a deduplication key is taken, from the due time. @default the queue's */
  readonly deduplicationTtl?: Duration | undefined
  /** Options of the job underneath. */
  readonly job?: JobOptions | undefined
}

/** The answer of an `extended` queue. */
export interface EnqueueReceipt {
  /** `duplicate`: another message has the deduplication key, and nothing was stored. */
  readonly status: 'enqueued' | 'duplicate'
  /** Ids of the stored messages; of a duplicate, the id of the message that has the key. */
  readonly ids: readonly string[]
  /** Of a duplicate: the state of the message that has the key. */
  readonly state?: JobState | undefined
  /** True of a duplicate. Alias of the status. */
  readonly deduplicated?: true | undefined
}

/** What an `extended` queue passes to a handler beside the message. */
export interface Delivery {
  readonly id: string
  /** Number of this run, from 1; released runs do not count. */
  readonly attempt: number
  /** Epoch ms. */
  readonly enqueuedAt: number
  readonly orderingKey?: string | undefined
  /** Aborts when this run should end. */
  readonly signal: AbortSignal
  /** The previous run lost its lease: its worker died or was cut off. */
  readonly lost?: boolean | undefined
}

/** May return snooze() or fail(), on queues that are `extended`. The message is any: the queue does not look inside. */
export type MessageHandler = (message: any, delivery?: Delivery) => void | Directive | Promise<void | Directive>

export interface QueueDepth {
  readonly queued: number
  readonly ready?: number | undefined
  readonly delayed?: number | undefined
}

/** A worker of an `extended` queue, ready to take messages. */
export interface Consumer {
  /**
   * Takes no new message, lets handlers run for `graceMs`, aborts them, and releases what is unfinished. Never rejects.
   * @param options.graceMs default: the queue's
   */
  stop(options?: { readonly graceMs?: number | undefined }): Promise<void>
}

export interface MessageQueue {
  /** The queue retries a failed message by itself. @default false */
  readonly nativeRetrial?: boolean | undefined
  /** The queue applies `deduplicationKey` by itself. Counts only if it is exactly true. @default false */
  readonly nativeDeduplication?: boolean | undefined
  /** enqueueMany stores all messages or none. @default true where enqueueMany exists */
  readonly atomicEnqueueMany?: boolean | undefined
  /** A queue of this package: it understands ExtendedEnqueueOptions, RetryError, snooze() and fail(), and returns receipts. */
  readonly extended?: true | undefined
  enqueue(message: unknown, options?: MessageQueueEnqueueOptions): Promise<void | EnqueueReceipt>
  enqueueMany?(messages: readonly unknown[], options?: MessageQueueEnqueueOptions): Promise<void | EnqueueReceipt>
  /** Resolves after the signal aborted and the running handlers have ended. */
  listen(handler: MessageHandler, options?: { readonly signal?: AbortSignal | undefined }): Promise<void>
  /** Of `extended` queues: as listen(), but resolves when ready. Tasks use it where it exists, else listen(). */
  consume?(handler: MessageHandler): Promise<Consumer>
  getDepth?(): Promise<QueueDepth>
}

/** The most messages in one enqueueMany. */
const largestBatch = 10_000

/** @throws TypeError INVALID_PAYLOADS, BATCH_TOO_LARGE */
export function checkBatch(name: string, messages: unknown): asserts messages is readonly unknown[] {
  if (!Array.isArray(messages)) {
    throw usageError('INVALID_PAYLOADS', `${name}: expected an array, got ${printable(messages)}`)
  }
  const { length: size } = messages
  if (size <= largestBatch) return
  throw usageError('BATCH_TOO_LARGE', `${name}: expected at most ${largestBatch}, got ${size}. Send several batches.`, {
    size,
    limit: largestBatch,
  })
}
