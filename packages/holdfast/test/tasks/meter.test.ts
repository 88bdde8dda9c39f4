// Metrics of tasks: a known task is counted by its name, an unknown one as unknown, and a run once by how it ended.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createTasks, type Meter, meterTasks } from 'holdfast/tasks'
import { anything, recordingQueue } from './fakes.ts'

function metered(t: TestContext) {
  const totals = new Map<string, number>()
  const instrument = (name: string) => {
    const short = name.replace('holdfast.tasks.', '')
    const count = (value: number, attributes: Record<string, string> = {}): void => {
      const { task, reason = '' } = attributes
      const key = `${short} ${task} ${reason}`.trim()
      totals.set(key, (totals.get(key) ?? 0) + value)
    }
    return { add: count, record: (_ms: number, attributes?: Record<string, string>) => count(1, attributes) }
  }
  const meter: Meter = { createCounter: instrument, createUpDownCounter: instrument, createHistogram: instrument }
  t.after(meterTasks(meter))
  return () => Object.fromEntries([...totals].toSorted())
}

async function bench(t: TestContext) {
  const totals = metered(t)
  const queue = recordingQueue()
  const tasks = createTasks({ queue, maxAttempts: 2, backoff: 'none', logger: {} })
  const task = tasks.defineTask('mail', {
    schema: anything(),
    handler: () => {
      throw new Error('no')
    },
  })
  await tasks.start()
  t.after(() => tasks.stop())
  return { totals, queue, tasks, task }
}

test('data that cannot be decoded is a failure of its task, by name; a task that is not defined is unknown', async (t) => {
  const { totals, queue } = await bench(t)
  const message = { v: 1, type: 'holdfast.task', id: '1', data: '{', enqueuedAt: 0, attempt: 2 }
  for (const task of ['mail', 'a name from the wire']) await queue.enqueue({ ...message, task })
  await queue.deliver()
  await queue.deliver()
  assert.deepEqual(totals(), { 'failed mail deserialization': 1, 'failed unknown unknown_task': 1 })
})

test('a run whose retry is sent counts as retried; one whose retry cannot be sent counts as failed, and not as both', async (t) => {
  const { totals, queue, tasks, task } = await bench(t)
  await tasks.enqueueTask(task, 1)
  await queue.deliver()
  const retried = { 'enqueued mail': 1, 'started mail': 1, 'in_flight mail': 0, 'duration mail': 1 }
  assert.deepEqual(totals(), Object.fromEntries(Object.entries({ ...retried, 'retried mail handler': 1 }).toSorted()))
  await queue.deliver()
  await tasks.enqueueTask(task, 2)
  queue.failure = new Error('unavailable')
  await assert.rejects(queue.deliver(), queue.failure)
  assert.deepEqual(totals(), {
    'duration mail': 3,
    'enqueued mail': 2,
    'failed mail handler': 1,
    'failed mail retry_enqueue': 1,
    'in_flight mail': 0,
    'retried mail handler': 1,
    'started mail': 3,
  })
})
