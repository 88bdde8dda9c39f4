// The queue contract of tasks. Queues of other libraries fit it too, by their capability flags.

import type { Health } from '../../engine/health.ts'
import type { Directive } from '../../engine/job/directives.ts'
import type { DeduplicationOptions } from '../../engine/job/deduplication.ts'
import type { GroupOptions, SharedJobOptions } from '../../engine/job/job-options.ts'
import type { JobSchedule } from '../../engine/schedule/slot-job.ts'
import type { JobState, ReviveVerdict } from '../../storage/storage.ts'
import type { Duration } from '../duration.ts'
import type { CancelOptions, CancelResult } from '../../engine/operate/cancel.ts'
import type { FailedMessage, MessageCounts, StoredMessage } from './stored-message.ts'

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

/** Options of a job that only `extended` queues carry. */
export type JobOptions = Pick<SharedJobOptions, 'priority' | 'timeoutMs' | 'expiresInMs' | 'search' | 'weight'>

/** A group that only `extended` queues carry. */
export interface GroupedOptions {
  /**
   * Key of the group of the message, within its queue: groups take turns, and the limits of a queue may bound each. Or an object: with
   * `ordered: true` it is the same as orderingKey. Not together with orderingKey.
   */
  readonly group?: string | GroupOptions | undefined
}

/** A deduplication that only `extended` queues carry. */
export interface ModeOptions {
  /**
   * A deduplication key with a mode, instead of deduplicationKey. The mode decides what a second message with the key does. For one
   * message, not for a batch.
   */
  readonly deduplication?: DeduplicationOptions | undefined
}

/** Options that only an `extended` queue understands. */
export interface ExtendedEnqueueOptions
  extends MessageQueueEnqueueOptions, DueOptions, JobOptions, ModeOptions, GroupedOptions {
  /** Id of the message. @default a UUIDv7 */
  readonly id?: string | undefined
  /** Ids of the messages of enqueueMany, one each. */
  readonly ids?: readonly string[] | undefined
  /** Keys of different scopes are independent. @default '' */
  readonly deduplicationScope?: string | undefined
  /** How long a deduplication key is taken, from the due time. @default the queue's */
  readonly deduplicationTtl?: Duration | undefined
  /** Alias of priority, timeoutMs, expiresInMs, search and weight, as one object. */
  readonly job?: JobOptions | undefined
  /** Of enqueueMany: the `resume` of a BATCH_INTERRUPTED error. Sends the messages of that call which are missing. */
  readonly resume?: string | undefined
}

/** The answer of an `extended` queue. */
export interface EnqueueReceipt {
  /**
   * `duplicate`: another message has the deduplication key, and nothing was stored. `replaced`: the message took the place of the
   * one that has the key (modes `debounce` and `followUp`). `stale`: its version is not above the last one (mode `ascending`).
   */
  readonly status: 'enqueued' | 'duplicate' | 'replaced' | 'stale'
  /** One id for each message, in order; of a duplicate and a replaced one, the id under which the message with the key is stored. */
  readonly ids: readonly string[]
  /** Indexes of the messages that were not stored, because their own id (`id`, `ids`) is taken. Absent: none. */
  readonly duplicates?: readonly number[] | undefined
  /** Of a duplicate and a replaced message: the state of the message that has the key. */
  readonly state?: JobState | undefined
  /** Of a stale message: the last accepted version. */
  readonly version?: number | undefined
  /** True of a duplicate and of a stale message: nothing was stored. */
  readonly deduplicated?: true | undefined
}

/** What an `extended` queue passes to a handler beside the message. */
export interface Delivery {
  readonly id: string
  /** Number of this run, from 1; released runs do not count. */
  readonly attempt: number
  /** Epoch ms. */
  readonly enqueuedAt: number
  /** The ordering key, or the key of the group. */
  readonly orderingKey?: string | undefined
  /** The schedule that added the message, and the slot. Absent: none did. */
  readonly schedule?: JobSchedule | undefined
  /** Aborts when this run should end. */
  readonly signal: AbortSignal
  /** Longest run of this message, in ms, if its enqueue set one. */
  readonly timeoutMs?: number | undefined
  /** The last run that counts lost its lease: its worker died or was cut off. */
  readonly lost?: boolean | undefined
  /** Reports how far this run has come: any JSON value of at most 4 KiB, of which the last is stored. @throws SerializationError, TOO_LARGE */
  progress?(value: unknown): void
  /** Adds a line of at most 8 KiB to the log of the message. @throws INVALID_ARGUMENT */
  log?(text: string, fields?: Readonly<Record<string, unknown>>): void
}

/** May return snooze(), rateLimited() or fail(), on queues that are `extended`. The message is any: the queue does not look inside. */
export type MessageHandler = (message: any, delivery?: Delivery) => void | Directive | Promise<void | Directive>

/** Messages that wait. */
export interface QueueDepth {
  /** All that wait. */
  readonly queued: number
  /** Those that are due. */
  readonly ready?: number | undefined
  /** Those that wait for their time. */
  readonly delayed?: number | undefined
}

/** Messages that wait in a queue over a storage, which knows both parts. Not Required<QueueDepth>: with exactOptionalPropertyTypes that has undefined. */
export interface StorageQueueDepth extends QueueDepth {
  readonly ready: number
  readonly delayed: number
}

/** A worker of an `extended` queue, ready to take messages. */
export interface Consumer {
  /**
   * Takes no new message, lets handlers run for `graceMs`, aborts them, and releases what is unfinished. Never rejects.
   * @param options.graceMs default: the queue's
   */
  stop(options?: { readonly graceMs?: number | undefined }): Promise<void>
  /** Returns whether it runs messages, and why not. Makes no call. */
  health?(): Health
}

export interface ConsumeOptions {
  /** The handler applies the `timeoutMs` of the queue and of the messages by itself. @default false */
  readonly handlesTimeouts?: boolean | undefined
  /** Aborted before it is ready: it begins no message, and consume() rejects with the reason. Without effect later. */
  readonly signal?: AbortSignal | undefined
}

export interface MessageQueue {
  /** The queue retries a failed message by itself. @default false */
  readonly nativeRetrial?: boolean | undefined
  /** The queue applies `deduplicationKey` by itself. Counts only if it is exactly true. @default false */
  readonly nativeDeduplication?: boolean | undefined
  /** enqueueMany stores all messages under one deduplication key, or none. @default true where enqueueMany exists */
  readonly atomicEnqueueMany?: boolean | undefined
  /**
   * The form in which the queue takes `delay`: a number of ms, or a Temporal.Duration.
   * @default 'temporal' for the queues of Fedify, recognised by their class names; 'ms' for others
   */
  readonly durations?: 'ms' | 'temporal' | undefined
  /** A queue of this package: it understands ExtendedEnqueueOptions, RetryError, snooze(), rateLimited() and fail(), and returns receipts. */
  readonly extended?: true | undefined
  enqueue(message: unknown, options?: MessageQueueEnqueueOptions): Promise<void | EnqueueReceipt>
  enqueueMany?(messages: readonly unknown[], options?: MessageQueueEnqueueOptions): Promise<void | EnqueueReceipt>
  /** Resolves after the signal aborted and the running handlers have ended. */
  listen(handler: MessageHandler, options?: { readonly signal?: AbortSignal | undefined }): Promise<void>
  getDepth?(): Promise<QueueDepth>

  // Of `extended` queues:
  /** Longest run of a message that sets none itself, in ms. */
  readonly timeoutMs?: number | undefined
  /** As listen(), but resolves when ready. Tasks use it where it exists, else listen(). */
  consume?(handler: MessageHandler, options?: ConsumeOptions): Promise<Consumer>
  counts?(): Promise<MessageCounts>
  failed?(): AsyncIterable<FailedMessage>
  revive?(ids: readonly string[]): Promise<ReviveVerdict[]>
  get?(id: string): Promise<StoredMessage | null>
  cancel?(id: string, options?: CancelOptions): Promise<CancelResult>
}
