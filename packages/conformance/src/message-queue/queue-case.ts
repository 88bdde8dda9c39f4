// A case of the message-queue suite: data, as those of the storage suite. Time is real, so cases wait for what should happen
// and allow it plenty of time; only what must not happen has a short one.

import assert from 'node:assert/strict'
import { systemClock } from 'holdfast'
import type { Delivery, MessageQueue } from 'holdfast/tasks'
import type { RetryPolicy } from 'holdfast/tasks'
import type { StorageMessageQueue } from 'holdfast/tasks'

/** What a case may ask of the queue it is given. A foreign queue takes what it can. */
export interface QueueSettings {
  /** @default that of the subject */
  readonly name?: string
  readonly concurrency?: number
  readonly retryPolicy?: RetryPolicy
  readonly replaces?: (message: unknown) => string | undefined
}

/** What a case needs of the queue; without it the case is skipped. */
export type QueueNeed =
  | 'ordering' // heeds orderingKey
  | 'nativeRetrial'
  | 'nativeDeduplication'
  | 'enqueueMany'
  | 'getDepth'
  | 'extended'

export interface MessageQueueSubject {
  /** A queue over the messages of this subject, which has none at first. Those of one name share their messages. */
  open(settings?: QueueSettings): MessageQueue | Promise<MessageQueue>
  /** Heeds `orderingKey`. @default true */
  readonly ordering?: boolean
  /** Of everything that was opened. */
  close(): Promise<void>
}

export interface QueueCase {
  /** Reads as a sentence: what holds. */
  readonly name: string
  readonly needs?: readonly QueueNeed[]
  readonly proves?: readonly string[]
  run(context: QueueCaseContext): Promise<void>
}

interface Listening {
  /** The messages handled so far, in the order in which they began. */
  readonly began: unknown[]
  /** Aborts, and waits for the end. */
  stop(): Promise<void>
  readonly ended: Promise<void>
}

type Handler = (message: any, delivery: Delivery | undefined) => void | Promise<void>

interface QueueCaseContext {
  open(settings?: QueueSettings): Promise<MessageQueue>
  /** For cases that need `extended`. */
  openExtended(settings?: QueueSettings): Promise<StorageMessageQueue>
  /** Retries at once, three runs in all. */
  readonly soon: RetryPolicy
  listen(queue: MessageQueue, handler?: Handler): Listening
  /** Waits until it is true, for up to 20 s. */
  until(condition: () => boolean | Promise<boolean>, what: string): Promise<void>
  /** For what must not happen. */
  pause(ms?: number): Promise<void>
}

const pause = (ms = 150): Promise<void> => new Promise((resolve) => void systemClock.after(ms, resolve))

export async function runQueueCase(item: QueueCase, subject: MessageQueueSubject): Promise<void> {
  const listenings: Listening[] = []
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
      const listening = { began, stop, ended }
      listenings.push(listening)
      return listening
    },
    until: async (condition, what) => {
      const deadline = systemClock.monotonic() + 20_000
      while (!(await condition())) {
        assert.ok(systemClock.monotonic() < deadline, `${what}: did not come true within 20 s`)
        await pause(5)
      }
    },
    pause,
  }
  try {
    await item.run(context)
    for (const listening of listenings) await listening.stop()
  } finally {
    for (const listening of listenings) void listening.stop().catch(() => {})
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

export async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}
