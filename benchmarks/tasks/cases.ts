// The measured cases, in the order of the tables.

import type { MessageQueue } from 'holdfast/tasks'
import { batchRate, deliveryRate, enqueueMs, enqueueRate, fill, handleRate } from './measure.ts'

export interface QueueBenchCase {
  readonly name: string
  readonly unit: 'messages/s' | 'ms'
  /** Concurrent handlers, for queues with that setting. @default the queue's own */
  readonly concurrency?: number
  /** @param backlog the number of messages of the large backlog */
  run(queue: MessageQueue, seconds: number, backlog: number): Promise<number>
}

const few = 1_000

/** Fills the queue; half of the messages are due in an hour. */
const waiting = (queue: MessageQueue, count: number): Promise<void> => fill(queue, count / 2, count / 2)

const enqueueAt = async (queue: MessageQueue, count: number): Promise<number> => {
  await waiting(queue, count)
  return enqueueMs(queue, 300)
}

const handleAt = async (queue: MessageQueue, count: number, seconds: number): Promise<number> => {
  await waiting(queue, count)
  return 1_000 / (await handleRate(queue, 400, seconds))
}

export const cases: readonly QueueBenchCase[] = [
  {
    name: 'enqueue, one at a time',
    unit: 'messages/s',
    run: (queue, seconds) => enqueueRate(queue, 1, seconds),
  },
  {
    name: 'enqueue, 100 in flight',
    unit: 'messages/s',
    run: (queue, seconds) => enqueueRate(queue, 100, seconds),
  },
  {
    name: 'enqueueMany of 100, one at a time',
    unit: 'messages/s',
    run: (queue, seconds) => batchRate(queue, 1, seconds),
  },
  {
    name: 'enqueueMany of 100, 10 in flight',
    unit: 'messages/s',
    run: (queue, seconds) => batchRate(queue, 10, seconds),
  },
  {
    name: 'handle, one at a time, 3,000 waiting',
    unit: 'messages/s',
    concurrency: 1,
    run: async (queue, seconds) => {
      await fill(queue, 3_000)
      return handleRate(queue, 2_500, seconds)
    },
  },
  {
    name: 'handle, as it comes, 3,000 waiting',
    unit: 'messages/s',
    run: async (queue, seconds) => {
      await fill(queue, 3_000)
      return handleRate(queue, 2_500, seconds)
    },
  },
  {
    name: 'enqueue to handler, one under way',
    unit: 'messages/s',
    concurrency: 1,
    run: (queue, seconds) => deliveryRate(queue, 1, seconds),
  },
  {
    name: 'enqueue to handler, 100 under way',
    unit: 'messages/s',
    run: (queue, seconds) => deliveryRate(queue, 100, seconds),
  },
  { name: 'one enqueue, 1,000 waiting', unit: 'ms', run: (queue) => enqueueAt(queue, few) },
  { name: 'one enqueue, many waiting', unit: 'ms', run: (queue, _seconds, backlog) => enqueueAt(queue, backlog) },
  {
    name: 'one handled, 1,000 waiting',
    unit: 'ms',
    concurrency: 1,
    run: (queue, seconds) => handleAt(queue, few, seconds),
  },
  {
    name: 'one handled, many waiting',
    unit: 'ms',
    concurrency: 1,
    run: (queue, seconds, backlog) => handleAt(queue, backlog, seconds),
  },
]
