// Benches with a fake clock, for the tests of tasks and the message queue.

import type { TestContext } from 'node:test'
import { MemoryStorage } from 'holdfast'
import { createTasks, StorageMessageQueue, type StorageMessageQueueOptions, type TasksOptions } from 'holdfast/tasks'
import { type FakeClock, fakeClock } from 'holdfast/testing'
import { faulty } from '../queue/faulty-storage.ts'
import { recordEvents, keepingLogger } from './fakes.ts'

export const second = 1_000

/** A message queue with a fake clock, a storage whose calls can fail, and a logger that keeps its records. */
export function queueBench(t: TestContext, options: StorageMessageQueueOptions = {}) {
  const clock = fakeClock()
  const faults = faulty(new MemoryStorage({ clock }))
  const logger = keepingLogger()
  const queue = new StorageMessageQueue(faults.storage, { clock, logger, ...options })
  t.after(async () => {
    const closed = queue.close()
    await clock.advance(40 * second)
    await closed
  })
  return { clock, faults, logger, queue }
}

/** Tasks over a memory storage with a fake clock, and a logger that keeps its records. */
export function tasksBench(t: TestContext, options: TasksOptions = {}) {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  const logger = keepingLogger()
  const tasks = createTasks({ storage, clock, logger, ...options })
  t.after(async () => {
    const disposed = tasks[Symbol.asyncDispose]()
    await clock.advance(40 * second)
    await disposed
  })
  return { clock, storage, logger, tasks, events: recordEvents(tasks) }
}

/** Resolves after so long on that clock. */
export const wait = (clock: FakeClock, ms: number): Promise<void> =>
  new Promise((resolve) => void clock.after(ms, resolve))
