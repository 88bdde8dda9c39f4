// Fedify's MessageQueue over a StorageMessageQueue. Messages hold what Fedify puts into them, private keys included.

import type { MessageQueue, MessageQueueEnqueueOptions, MessageQueueListenOptions } from '@fedify/fedify'
import type { Storage } from 'holdfast'
import type { ReviveVerdict } from 'holdfast/storage'
import {
  type EnqueueReceipt,
  type ExtendedEnqueueOptions,
  exponentialBackoff,
  type FailedMessage,
  publishTaskEvent,
  type QueueDepth,
  StorageMessageQueue,
  type StorageMessageQueueOptions,
} from 'holdfast/tasks'
import { storableKey } from './storable-key.ts'

export interface HoldfastMessageQueueOptions extends StorageMessageQueueOptions {
  /**
   * Whom a deduplication key is for: tasks of one name and origin, or everybody. @default 'task'
   */
  readonly deduplicationScope?: 'task' | 'global'
}

/** With what later versions of Fedify send. */
export interface HoldfastMessageQueueEnqueueOptions extends MessageQueueEnqueueOptions {
  /** At most one message per key and window; decided by the storage in one move with the message. */
  readonly deduplicationKey?: string
}

/** About two days of retries. */
const maxAttempts = 21

/**
 * Lease, handle, settle: only a message whose handler ended is taken out. Order holds per ordering key across retries, also
 * where Fedify enqueues a message again by itself.
 *
 * Do not wrap it in ParallelMessageQueue, which answers before the work is done: use `concurrency`. With native retrial
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
    const { deduplicationScope = 'task', ...rest } = options
    if (deduplicationScope !== 'task' && deduplicationScope !== 'global') {
      throw Object.assign(new TypeError("deduplicationScope: expected 'task' or 'global'"), {
        code: 'INVALID_ARGUMENT',
      })
    }
    this.#isGlobal = deduplicationScope === 'global'
    this.#queue = new StorageMessageQueue(storage, {
      retryPolicy: exponentialBackoff({ maxAttempts }),
      replaces: idOf,
      ...rest,
    })
    this.nativeRetrial = this.#queue.nativeRetrial
  }

  // Fedify's own signature.
  async enqueue(message: any, options?: HoldfastMessageQueueEnqueueOptions): Promise<void> {
    this.#tell(message, await this.#queue.enqueue(message, this.#optionsOf(message, options)))
  }

  async enqueueMany(messages: readonly any[], options?: HoldfastMessageQueueEnqueueOptions): Promise<void> {
    this.#tell(messages[0], await this.#queue.enqueueMany(messages, this.#optionsOf(messages[0], options)))
  }

  listen(handler: (message: any) => Promise<void> | void, options?: MessageQueueListenOptions): Promise<void> {
    return this.#queue.listen((message) => handler(message), { signal: options?.signal })
  }

  getDepth(): Promise<Required<QueueDepth>> {
    return this.#queue.getDepth()
  }

  /** The messages that failed for good, oldest first; kept for 30 days. */
  failed(): AsyncIterable<FailedMessage> {
    return this.#queue.failed()
  }

  /** Failed messages run again. */
  revive(ids: readonly string[]): Promise<ReviveVerdict[]> {
    return this.#queue.revive(ids)
  }

  /** Ends its listeners as an abort does, and gives its count of the storage back. */
  close(): Promise<void> {
    return this.#queue.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** What is known, and nothing that a later Fedify may add. */
  #optionsOf(message: unknown, options: HoldfastMessageQueueEnqueueOptions = {}): ExtendedEnqueueOptions {
    const { delay, orderingKey, deduplicationKey } = options
    return {
      ...(delay !== undefined && { delay }),
      ...(orderingKey !== undefined && { orderingKey: storableKey(orderingKey) }),
      ...(deduplicationKey !== undefined && {
        deduplicationKey: storableKey(deduplicationKey),
        deduplicationScope: this.#isGlobal ? '' : scopeOf(message),
      }),
    }
  }

  #tell(message: unknown, { status, ids: [id] }: EnqueueReceipt): void {
    if (status !== 'deduplicated') return
    const { taskName, type } = partsOf(message)
    const task = [taskName, type].find((name) => typeof name === 'string') ?? 'unknown'
    publishTaskEvent({ name: 'deduplicated', task, queue: this.#queue.name, id, path: 'native' })
  }
}

type Parts = { readonly [name in 'id' | 'type' | 'taskName' | 'baseUrl']?: unknown }

const partsOf = (message: unknown): Parts => (message !== null && typeof message === 'object' ? message : {})

function idOf(message: unknown): string | undefined {
  const { id } = partsOf(message)
  return typeof id === 'string' ? id : undefined
}

/** Tasks of different names or origins do not suppress one another. */
function scopeOf(message: unknown): string {
  const { taskName, baseUrl } = partsOf(message)
  if (typeof taskName !== 'string') return ''
  return JSON.stringify([typeof baseUrl === 'string' ? baseUrl : null, taskName])
}
