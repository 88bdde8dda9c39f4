// What tasks ask of a queue: the contract, which foreign queues fit too, by their capability flags.

import { printable, usageError } from '../../errors.ts'
import type { Duration } from '../duration.ts'

export interface MessageQueueEnqueueOptions {
  /** Not before this time has passed. */
  readonly delay?: Duration
  /** Messages of one key run one at a time, in the order of their enqueues. */
  readonly orderingKey?: string
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
   * Who needs it strict uses a queue with `nativeDeduplication`, such as StorageMessageQueue.
   */
  readonly deduplicationKey?: string
}

/** Options of the job underneath, for queues that are `extended`. */
export interface JobOptions {
  /** Integer -100…100, greater first. @default 0 */
  readonly priority?: number
}

/** What an `extended` queue understands beside. */
export interface ExtendedEnqueueOptions extends MessageQueueEnqueueOptions {
  /** Of the message. @default a UUIDv7 */
  readonly id?: string
  /** Of the messages of enqueueMany, one each. */
  readonly ids?: readonly string[]
  /** Keys of different scopes do not meet. */
  readonly deduplicationScope?: string
  /** From the due time. @default the queue's */
  readonly deduplicationTtl?: Duration
  readonly job?: JobOptions
}

/** What an `extended` queue answers. Deduplicated: the ids are the survivor's. */
export interface EnqueueReceipt {
  readonly status: 'enqueued' | 'deduplicated'
  readonly ids: readonly string[]
}

/** What an `extended` queue tells a handler beside the message. */
export interface Delivery {
  readonly id: string
  /** This run included, from 1; released runs do not count. */
  readonly attempt: number
  /** Epoch ms. */
  readonly enqueuedAt: number
  readonly orderingKey?: string
  /** Aborts when this run should end. */
  readonly signal: AbortSignal
  /** The run before this one was lost with its worker. */
  readonly lost?: boolean
}

// Any message: the queue does not look inside.
export type MessageHandler = (message: any, delivery?: Delivery) => void | Promise<void>

export interface QueueDepth {
  readonly queued: number
  readonly ready?: number
  readonly delayed?: number
}

export interface MessageQueue {
  /** The queue runs a failed message again by itself. @default false */
  readonly nativeRetrial?: boolean
  /** The queue heeds `deduplicationKey` by itself. Counts only if it is exactly true. @default false */
  readonly nativeDeduplication?: boolean
  /** enqueueMany stores all or none. @default true where enqueueMany exists */
  readonly atomicEnqueueMany?: boolean
  /** Ours: understands ExtendedEnqueueOptions and RetryError, answers with receipts, tells the handler of the delivery. */
  readonly extended?: true
  enqueue(message: unknown, options?: MessageQueueEnqueueOptions): Promise<void | EnqueueReceipt>
  enqueueMany?(messages: readonly unknown[], options?: MessageQueueEnqueueOptions): Promise<void | EnqueueReceipt>
  listen(handler: MessageHandler, options?: { readonly signal?: AbortSignal }): Promise<void>
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
  throw usageError('BATCH_TOO_LARGE', `${name}: expected at most ${largestBatch}, got ${size}`, {
    size,
    limit: largestBatch,
  })
}
