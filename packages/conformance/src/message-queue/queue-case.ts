// A case of the message-queue suite is data, as in the storage suite. Time is real: a case waits long for what must happen
// (20 s), and only a short time for what must not happen (150 ms).

import assert from 'node:assert/strict'
import { systemClock } from 'holdfast/storage'
import type { Delivery, MessageQueue } from 'holdfast/tasks'
import type { RetryPolicy } from 'holdfast/tasks'
import type { StorageMessageQueue } from 'holdfast/tasks'

/** Settings that a case may ask for. A foreign queue uses those that it knows. */
export interface QueueSettings {
  /** Name of the queue. @default the subject's own */
  readonly name?: string
  readonly concurrency?: number
  readonly retryPolicy?: RetryPolicy
  readonly replaces?: (message: unknown) => string | undefined
}

/** A capability without which a case is skipped. */
export type QueueNeed =
  | 'ordering' // respects orderingKey
  | 'nativeRetrial'
  | 'nativeDeduplication'
  | 'enqueueMany'
  | 'getDepth'
  | 'extended'

export interface MessageQueueSubject {
  /** Opens a queue over the messages of this subject, which is empty at first. Queues of one name share their messages. */
  open(settings?: QueueSettings): MessageQueue | Promise<MessageQueue>
  /** Whether the queues respect `orderingKey`. @default true */
  readonly ordering?: boolean
  /** Closes every queue that was opened. */
  close(): Promise<void>
}

export interface QueueCase {
  /** A sentence that states what holds. */
  readonly name: string
  readonly needs?: readonly QueueNeed[]
  readonly proves?: readonly string[]
  run(context: QueueCaseContext): Promise<void>
}

interface ListenHandle {
  /** The messages handled so far, in the order in which they began. */
  readonly began: unknown[]
  /** Aborts `listen` and waits until it has ended. */
  stop(): Promise<void>
  readonly ended: Promise<void>
}

type Handler = (message: any, delivery: Delivery | undefined) => void | Promise<void>

interface QueueCaseContext {
  open(settings?: QueueSettings): Promise<MessageQueue>
  /** As `open`, for cases that need `extended`. */
  openExtended(settings?: QueueSettings): Promise<StorageMessageQueue>
  /** Retries at once, up to three runs in all. */
  readonly soon: RetryPolicy
  listen(queue: MessageQueue, handler?: Handler): ListenHandle
  /** Waits up to 20 s until the condition is true. */
  until(condition: () => boolean | Promise<boolean>, what: string): Promise<void>
  /** Waits, to see that something does not happen. @default 150 ms */
  pause(ms?: number): Promise<void>
}

const pause = (ms = 150): Promise<void> => new Promise((resolve) => void systemClock.after(ms, resolve))

export async function runQueueCase(item: QueueCase, subject: MessageQueueSubject): Promise<void> {
  const handles: ListenHandle[] = []
  const context: QueueCaseContext = {
    open: async (settings) => subject.open(settings),
    openExtended: async (settings) => (await subject.open(settings)) as StorageMessageQueue,
    soon: ({ attempt }) => (attempt < 3 ? 0 : null),
    listen: (queue, handler = () => {}) => {
      const controller = new AbortController()
      const began: unknown[] = []
      const ended = queue.listen(
        (message, delivery) => {
          began.push(message)
          return handler(message, delivery)
        },
        { signal: controller.signal },
      )
      const stop = async (): Promise<void> => {
        controller.abort()
        await ended
      }
      const handle = { began, stop, ended }
      handles.push(handle)
      return handle
    },
    until: async (condition, what) => {
      const deadline = systemClock.monotonic() + 20_000
      while (!(await condition())) {
        assert.ok(systemClock.monotonic() < deadline, `expected within 20 s: ${what}`)
        await pause(5)
      }
    },
    pause,
  }
  try {
    await item.run(context)
    for (const handle of handles) await handle.stop()
  } finally {
    for (const handle of handles) void handle.stop().catch(() => {})
    await subject.close()
  }
}

export function meets(need: QueueNeed, queue: MessageQueue, subject: MessageQueueSubject): boolean {
  switch (need) {
    case 'ordering':
      return subject.ordering !== false
    case 'enqueueMany':
    case 'getDepth':
      return typeof queue[need] === 'function'
    default:
      return queue[need] === true
  }
}

/** A message that no queue can store. */
export function cyclic(): object {
  const message: Record<string, unknown> = {}
  message.self = message
  return message
}

export async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}
