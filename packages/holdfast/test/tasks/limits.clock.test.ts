// Limits of tasks and of message queues.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createAdmin, MemoryStorage } from 'holdfast'
import { createTasks, StorageMessageQueue } from 'holdfast/tasks'
import { drain, fakeClock } from 'holdfast/testing'
import { queueBench, second, tasksBench, wait } from './clock-bench.ts'
import { anything, recordingQueue } from './fakes.ts'

const minute = 60 * second

describe('limits of a task', () => {
  test('[F20] [F22] hold for the task alone, which has a queue of its own', async (t) => {
    const { tasks, clock, events } = tasksBench(t)
    const began = clock.now()
    const at: Record<string, number[]> = { slow: [], free: [] }
    const define = (name: string, limits?: object) =>
      tasks.defineTask(name, {
        schema: anything(),
        limits,
        handler: ({ task }) => void at[task]!.push(clock.now() - began),
      })
    const slow = define('slow', { rate: { limit: 1, perMs: minute } })
    const free = define('free')
    await tasks.start()
    await tasks.enqueueTaskMany(slow, [1, 2, 3])
    await tasks.enqueueTaskMany(free, [1, 2, 3])
    await clock.advance(5 * minute)
    assert.deepEqual(at, { slow: [0, minute, 2 * minute], free: [0, 0, 0] })
    assert.deepEqual([...new Set(events.map(({ task, queue }) => `${task} ${queue}`))].toSorted(), [
      'free default',
      'slow default/slow',
    ])
    assert.equal((await tasks.counts()).states.failed, 0)
  })

  test('[F20] a task that is defined after start() is limited, too; the queue is closed with the tasks', async (t) => {
    const { tasks, clock } = tasksBench(t)
    await tasks.start()
    let [running, most] = [0, 0]
    const task = tasks.defineTask('late', {
      schema: anything(),
      limits: { concurrency: 2 },
      handler: async () => {
        most = Math.max(most, ++running)
        await wait(clock, second)
        running--
      },
    })
    await tasks.enqueueTaskMany(task, [1, 2, 3, 4, 5])
    await clock.advance(minute)
    assert.deepEqual([running, most], [0, 2])
  })

  test('[F7] [F20] its schedules add to its own queue', async (t) => {
    const { tasks, clock } = tasksBench(t)
    const runs: unknown[] = []
    tasks.defineTask('report', {
      schema: anything(),
      limits: { concurrency: 1 },
      handler: ({ schedule }, data) => void runs.push([schedule!.name, data]),
      schedules: { minutely: { everyMs: minute, data: 'x', weight: 1 } },
    })
    await tasks.start()
    await clock.advance(2 * minute)
    assert.deepEqual(runs, [
      ['minutely', 'x'],
      ['minutely', 'x'],
    ])
  })

  test('[F24] QUEUE_FULL and weights: a batch is stored whole or not at all', async (t) => {
    const { tasks } = tasksBench(t)
    const task = tasks.defineTask('mail', {
      schema: anything(),
      limits: { maxWaiting: 3, rate: { limit: 5, perMs: second } },
      handler: () => {},
    })
    await tasks.enqueueTaskMany(task, [1, 2])
    const full = { name: 'QueueFullError', code: 'QUEUE_FULL', of: 'type', waiting: 2, max: 3, queue: 'default/mail' }
    await assert.rejects(tasks.enqueueTaskMany(task, [3, 4]), full)
    assert.equal((await tasks.getDepth()).queued, 2)
    await tasks.enqueueTask(task, 3)
    await assert.rejects(tasks.enqueueTask(task, 4), { code: 'QUEUE_FULL', waiting: 3 })
    await assert.rejects(tasks.enqueueTask(task, 4, { weight: 6 }), { code: 'INVALID_ARGUMENT', message: /weight/ })
    await assert.rejects(tasks.enqueueTask(task, 4, { job: { weight: 6 } }), { code: 'INVALID_ARGUMENT' })
  })

  test('[F20] need a queue over a storage, and none beside them', () => {
    const options = { schema: anything(), handler: () => {}, limits: { concurrency: 1 } }
    assert.throws(() => createTasks({ queue: recordingQueue() }).defineTask('t', options), {
      code: 'FEATURE_UNSUPPORTED',
    })
    const storage = new MemoryStorage()
    const queue = new StorageMessageQueue(storage)
    const tasks = createTasks({ storage })
    assert.throws(() => tasks.defineTask('t', { ...options, queue }), { code: 'INVALID_ARGUMENT', message: /limits/ })
    assert.throws(() => tasks.defineTask('t', { ...options, limits: { rates: {} } as object }), {
      message: /did you mean rate/,
    })
    // A definition that was refused is not there.
    tasks.defineTask('t', options)
  })
})

describe('groups of tasks', () => {
  test('[F21] group, or orderingKey, which is an ordered group', async (t) => {
    const { tasks, clock } = tasksBench(t)
    const ran: unknown[] = []
    const task = tasks.defineTask('t', {
      schema: anything(),
      handler: async ({ orderingKey }, data) => {
        ran.push([orderingKey, data])
        await wait(clock, second)
      },
    })
    await tasks.enqueueTask(task, 1, { orderingKey: 'o' })
    await tasks.enqueueTask(task, 2, { group: { key: 'o', ordered: true } })
    await tasks.enqueueTask(task, 3, { group: 'free' })
    await tasks.enqueueTask(task, 4, { group: 'free' })
    await assert.rejects(tasks.enqueueTask(task, 5, { group: 'o' }), { code: 'GROUP_KIND', ordered: true })
    await assert.rejects(tasks.enqueueTask(task, 5, { group: 'o', orderingKey: 'o' }), { code: 'INVALID_ARGUMENT' })
    await tasks.start()
    await clock.settle()
    assert.deepEqual(ran.toSorted(), [
      ['free', 3],
      ['free', 4],
      ['o', 1],
    ])
    await clock.advance(2 * second)
    assert.deepEqual(ran.at(-1), ['o', 2])
  })

  test('[F21] a foreign queue carries neither group nor weight', async () => {
    const tasks = createTasks({ queue: recordingQueue() })
    const task = tasks.defineTask('t', { schema: anything(), handler: () => {} })
    await assert.rejects(tasks.enqueueTask(task, 1, { group: 'g', weight: 2 }), {
      code: 'FEATURE_UNSUPPORTED',
      message: /weight and group/,
    })
  })
})

describe('limits of a message queue', () => {
  test('[F20] [F22] hold for all its messages, and an operator sets others', async (t) => {
    const { queue, clock, faults } = queueBench(t, { limits: { rate: { limit: 1, perMs: minute } } })
    const began = clock.now()
    const at: number[] = []
    await queue.consume(() => void at.push(clock.now() - began))
    await queue.enqueueMany([1, 2, 3, 4])
    await clock.advance(minute)
    assert.deepEqual(at, [0, minute])
    await using admin = createAdmin({ storage: faults.storage, clock })
    await admin.limits.set({ face: 'task', name: 'default' }, { rate: { limit: Infinity, perMs: 1 } })
    await clock.settle()
    assert.deepEqual(at, [0, minute, minute, minute])
  })
})

test('[F41] drain() ends when what is left waits for a limit', async () => {
  const clock = fakeClock()
  const storage = new MemoryStorage({ clock })
  await using tasks = createTasks({ storage, clock, logger: {} })
  let runs = 0
  const task = tasks.defineTask('t', {
    schema: anything(),
    limits: { rate: { limit: 2, perMs: minute } },
    handler: () => void runs++,
  })
  await tasks.enqueueTaskMany(task, [1, 2, 3])
  assert.equal((await drain(tasks, { storage })).completed, 2)
  await clock.advance(minute)
  assert.equal((await drain(tasks, { storage })).completed, 1)
  assert.equal(runs, 3)
})
