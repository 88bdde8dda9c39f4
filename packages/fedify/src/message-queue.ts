// Fedify's MessageQueue over a StorageMessageQueue. Messages are plain JSON, as Fedify makes them, private keys included.

import type {
  MessageQueue,
  MessageQueueEnqueueOptions,
  MessageQueueListenOptions,
  RetryPolicy as FedifyRetryPolicy,
} from '@fedify/fedify'
import { createJsonSerde, type Storage } from 'holdfast'
import type { ReviveVerdict } from 'holdfast/storage'
import {
  type CancelMessageOptions,
  type CancelMessageResult,
  type EnqueueReceipt,
  type ExtendedEnqueueOptions,
  type FailedMessage,
  type MessageCounts,
  publishTaskEvent,
  type StorageQueueDepth,
  type RetryPolicy,
  StorageMessageQueue,
  type StorageMessageQueueOptions,
  type StoredMessage,
} from 'holdfast/tasks'
import { retryPolicyOf } from './retry-policy.ts'
import { storableKey } from './storable-key.ts'
import type { TemporalNamespace } from './temporal.ts'

/** The options of StorageMessageQueue, with three other defaults: face 'fedify', maxAttempts 21 (about two days), replaces by id. */
export interface HoldfastMessageQueueOptions extends Omit<StorageMessageQueueOptions, 'retryPolicy'> {
  /**
   * When a failed message runs again: a retry policy of Fedify, such as createExponentialBackoffPolicy(), or one of holdfast/tasks.
   * Decides about the number of runs by itself: not together with maxAttempts or backoff.
   */
  readonly retryPolicy?: FedifyRetryPolicy | RetryPolicy | undefined
  /** Where a retry policy of Fedify gets its `elapsedTime` from: `{ Duration }` of a polyfill. @default the global Temporal */
  readonly temporal?: TemporalNamespace | undefined
  /** Which messages a deduplication key applies to: `task`, those of one task name and origin; `global`, all. @default 'task' */
  readonly deduplicationScope?: 'task' | 'global' | undefined
}

/** Fedify's options, and one that later versions of Fedify send. */
export interface HoldfastMessageQueueEnqueueOptions extends MessageQueueEnqueueOptions {
  /** At most one message per key and window. The storage decides in one move with the message. */
  readonly deduplicationKey?: string | undefined
  /** Of enqueueMany: the `resume` of a BATCH_INTERRUPTED error. Sends the messages of that call which are missing. */
  readonly resume?: string | undefined
}

/** With the default backoff, about two days of retries. */
const maxAttempts = 21

/**
 * A message is leased, handled, and deleted once its handler has ended. Order holds per ordering key across retries, also where
 * Fedify enqueues a message again by itself.
 *
 * Do not wrap it in ParallelMessageQueue, which acknowledges before the work is done: use `concurrency`. With native retrial
 * Fedify's own retry policies and attempt numbers do not apply.
 */
export class HoldfastMessageQueue implements MessageQueue, AsyncDisposable {
  readonly nativeRetrial: boolean
  readonly nativeDeduplication = true as const
  readonly atomicEnqueueMany = true as const
  readonly #queue: StorageMessageQueue
  readonly #isGlobal: boolean

  /** @throws TypeError INVALID_ARGUMENT */
  constructor(storage: Storage, options: HoldfastMessageQueueOptions = {}) {
    const { deduplicationScope = 'task', face = 'fedify', replaces = idOf, retryPolicy, temporal, ...rest } = options
    if (deduplicationScope !== 'task' && deduplicationScope !== 'global') throw invalidScope(deduplicationScope)
    this.#isGlobal = deduplicationScope === 'global'
    this.#queue = new StorageMessageQueue(storage, {
      ...rest,
      face,
      replaces,
      // A retry policy decides about the number of runs by itself.
      maxAttempts: rest.maxAttempts ?? (retryPolicy === undefined ? maxAttempts : undefined),
      retryPolicy: retryPolicy && retryPolicyOf(retryPolicy, temporal),
      // Fedify leaves members undefined that JSON drops: so its messages stay plain JSON in the storage.
      messageSerde: rest.messageSerde ?? createJsonSerde(),
    })
    this.nativeRetrial = this.#queue.nativeRetrial
  }

  // `any` is Fedify's own signature.
  async enqueue(message: any, options?: HoldfastMessageQueueEnqueueOptions): Promise<void> {
    this.#reportSkip(message, await this.#queue.enqueue(message, this.#optionsOf(message, options)))
  }

  /**
   * Stores any number of messages. Up to 1,000, and under a deduplication key up to 10,000, all are stored or none. More go in moves
   * of 1,000, each stored whole or not at all.
   * @throws BATCH_INTERRUPTED, if a part is stored and then the storage failed for longer than its `callTimeoutMs`. A call with the
   * same messages and its `resume` sends the rest. A second sendActivity() makes other messages: every inbox gets the activity again
   */
  async enqueueMany(messages: readonly any[], options?: HoldfastMessageQueueEnqueueOptions): Promise<void> {
    this.#reportSkip(messages[0], await this.#queue.enqueueMany(messages, this.#optionsOf(messages[0], options)))
  }

  listen(handler: (message: any) => Promise<void> | void, options?: MessageQueueListenOptions): Promise<void> {
    return this.#queue.listen((message) => handler(message), { signal: options?.signal })
  }

  /** Counts the messages that wait: due (`ready`), not yet due (`delayed`), and both (`queued`). */
  getDepth(): Promise<StorageQueueDepth> {
    return this.#queue.getDepth()
  }

  /** Lists the messages that failed for good, oldest first. They are kept for 14 days, unless `retention` says otherwise. */
  failed(): AsyncIterable<FailedMessage> {
    return this.#queue.failed()
  }

  /** Counts the messages by state. */
  counts(): Promise<MessageCounts> {
    return this.#queue.counts()
  }

  /** Returns a message with its state, runs and error, or null: a completed message is deleted at once. */
  get(id: string): Promise<StoredMessage | null> {
    return this.#queue.get(id)
  }

  /** Cancels a message that waits, and by `abort` or `force` one that runs. */
  cancel(id: string, options?: CancelMessageOptions): Promise<CancelMessageResult> {
    return this.#queue.cancel(id, options)
  }

  /** Runs failed and cancelled messages again. */
  revive(ids: readonly string[]): Promise<ReviveVerdict[]> {
    return this.#queue.revive(ids)
  }

  /** Stops its listeners and disconnects. A storage that others use stays connected. Never rejects. */
  close(): Promise<void> {
    return this.#queue.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Only the known options: a later Fedify may send others. */
  #optionsOf(message: unknown, options: HoldfastMessageQueueEnqueueOptions = {}): ExtendedEnqueueOptions {
    const { delay, orderingKey, deduplicationKey, resume } = options
    return {
      ...(delay !== undefined && { delay }),
      ...(resume !== undefined && { resume }),
      ...(orderingKey !== undefined && { orderingKey: storableKey(orderingKey) }),
      ...(deduplicationKey !== undefined && {
        deduplicationKey: storableKey(deduplicationKey),
        deduplicationScope: this.#isGlobal ? '' : scopeOf(message),
      }),
    }
  }

  /** Fedify's methods return nothing, so a skip is an event. */
  #reportSkip(message: unknown, { status, ids: [id] }: EnqueueReceipt): void {
    if (status !== 'duplicate') return
    const { taskName, type } = partsOf(message)
    const task = [taskName, type].find((name) => typeof name === 'string') ?? 'unknown'
    publishTaskEvent({ name: 'deduplicated', task, queue: this.#queue.name, id, path: 'native' })
  }
}

function invalidScope(got: unknown): TypeError {
  const message = `HoldfastMessageQueue: deduplicationScope: expected 'task' or 'global', got ${JSON.stringify(got)}`
  return Object.assign(new TypeError(message), { code: 'INVALID_ARGUMENT' })
}

type Parts = { readonly [name in 'id' | 'type' | 'taskName' | 'baseUrl']?: unknown }

const partsOf = (message: unknown): Parts => (message !== null && typeof message === 'object' ? message : {})

function idOf(message: unknown): string | undefined {
  const { id } = partsOf(message)
  return typeof id === 'string' ? id : undefined
}

/** Keys of tasks with different names or origins are independent. */
function scopeOf(message: unknown): string {
  const { taskName, baseUrl } = partsOf(message)
  if (typeof taskName !== 'string') return ''
  return JSON.stringify([typeof baseUrl === 'string' ? baseUrl : null, taskName])
}
